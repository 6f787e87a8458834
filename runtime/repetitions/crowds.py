"""Many flows of one statement, shown as one: by the mean of theirs in each cell.

Flows of a cell are not independent, so they give one value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from .reading import Measure, Value

MOST_FLOWS = 12
"""More flows of one statement are shown as one."""


def mean(measure: Measure, values: Sequence[Value]) -> Value:
    """Return the mean of the values of a cell's flows, of those that have one."""
    of = min(values, key=lambda v: v.number is not None)  # one that says why, if any does
    sizes = [v.size for v in values if v.size is not None]
    size = fmean(sizes) if sizes else math.inf
    number, reason = (size, "") if math.isfinite(size) else (None, of.reason)
    censored, started = sum(v.censored for v in values), sum(v.started for v in values)
    return Value(measure, of.outcome, number, reason, of.protocol, censored, started)
