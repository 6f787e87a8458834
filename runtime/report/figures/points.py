"""A point of a line: an estimate at a place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A value of a line, in the metric's SI unit; low, high: its interval, or None.

    of: the configuration that it is of alone, or empty.
    """

    x: float
    value: float
    low: float | None
    high: float | None
    n: int
    of: str = ""
