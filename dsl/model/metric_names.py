"""The names of metrics' values, and their parts."""

from __future__ import annotations

from typing import Annotated

from fairc.cell.text import VISIBLE, Pattern

_WORD = "[A-Za-z_][A-Za-z0-9_]*"
ValueName = Annotated[str, Pattern(rf"^{_WORD}(?:\.{_WORD})?(?:\({VISIBLE}*\))?$", 1000)]
"""The name of a metric's value: `rtt`, `rtt.p95`, `rtt.p95(from: 5s)`."""

Mark = Annotated[str, Pattern(rf"^\({VISIBLE}*\)$", 800)]
"""The end of a value's name where one metric has several requests: `(from: 5s)`."""


def unmarked(value: str) -> str:
    """Return the name of a value without what distinguishes it from others of its metric.

    >>> unmarked("rtt.p95(from: 0.5s)")
    'rtt.p95'
    """
    return value.partition("(")[0]


def metric_of(value: str) -> str:
    """Return the name of the metric that a value is of.

    >>> metric_of("rtt.p95(from: 0.5s)")
    'rtt'
    """
    return unmarked(value).partition(".")[0]


def request_label(value: str) -> str:
    """Return the label of the request that a value is of.

    >>> request_label("rtt.p95(from: 0.5s)")
    'rtt(from: 0.5s)'
    """
    return metric_of(value) + value.removeprefix(unmarked(value))
