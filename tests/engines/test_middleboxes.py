"""Middleboxes, classes and a tunnel of links in one cell on the fast engine."""

from __future__ import annotations

import middleboxes

from fairc.runtime.measurement import Measurement

SPEC = middleboxes.SPEC


def test_each_of_them_works(measured: Measurement) -> None:
    middleboxes.check(measured)
