"""Many flows of one statement, shown as one: by the mean of theirs in each cell.

This is the one rule for tables, the report, its numbers in large type and its figures: flows of a
statement (of one index, or of one group of users) are shown as one where a cell has more than
MOST_FLOWS of them. It counts the flows of a cell, so a sweep over an index does not make a crowd of
flows that never run together, and it counts only those that are shown, so flows that a condition
chooses by name keep their names.

Flows of a cell are not independent, so they give one value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from fairc.dsl.model.names import statement_of

if TYPE_CHECKING:
    from .reading import Value

MOST_FLOWS = 12
"""More flows of one statement in a cell are shown as one."""


def crowds(
    cells: Iterable[Collection[str]], shown: Collection[str], above: int = MOST_FLOWS
) -> dict[str, str]:
    """Return the name of all flows of a statement, by flow, of those that are shown as one.

    cells: the flows of each cell, by their labels; those of equal cells once. shown: which flows
    are shown at all. above: a cell has more flows of the statement than this.
    """
    most: Counter[str] = Counter()
    for flows in cells:
        most |= Counter(statement_of(flow) for flow in flows if flow in shown)
    return {flow: name for flow in shown if most[name := statement_of(flow)] > above}


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
    return of._replace(
        measure=measure, number=number, reason=reason, censored=censored, started=started
    )
