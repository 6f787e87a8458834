"""Many flows of one statement, shown as one: by the mean of theirs in each cell.

Flows of a cell are not independent, so they give one value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from fairc.dsl.model.names import base

from .reading import Value

MOST_FLOWS = 12
"""More flows of one statement are shown as one."""


def of_indexes(flows: Iterable[str]) -> dict[str, str]:
    """Return flow -> its name without its index, where more than MOST_FLOWS have this name."""
    found: dict[str, set[str]] = {}
    for flow in flows:
        if flow.endswith("]"):  # a user's flow is not one of its statement's indexes
            found.setdefault(base(flow), set()).add(flow)
    return {flow: name for name, own in found.items() if len(own) > MOST_FLOWS for flow in own}


def means(name: str, values: Iterable[Value]) -> list[Value]:
    """Return one value for each cell: the mean over its flows, as that of a flow of this name."""
    cells: dict[str, list[Value]] = {}
    for value in values:
        cells.setdefault(value.outcome.cell, []).append(value)
    return [_mean(name, own) for own in cells.values()]


def _mean(name: str, values: Sequence[Value]) -> Value:
    """Return the mean of the values of a cell's flows, of those that have one; infinite if one of
    them is.
    """
    of = min(values, key=lambda v: v.number is not None)  # one that says why, if any does
    sizes = [v.size for v in values if v.size is not None]
    size = fmean(sizes) if sizes else math.inf
    number, reason = (size, "") if math.isfinite(size) else (None, of.reason)
    censored, started = sum(v.censored for v in values), sum(v.started for v in values)
    measure = of.measure._replace(flow=name)
    return Value(measure, of.outcome, number, reason, of.protocol, censored, started)
