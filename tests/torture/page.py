"""docs/reliability.md, from the record."""

from __future__ import annotations

from collections.abc import Iterable

from .record import Record
from .strategy import Strategy


def render(record: Record, strategies: Iterable[Strategy]) -> str:
    """Return the page."""
    return ""
