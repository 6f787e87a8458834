"""One table of a metric over the repetitions: what `fairc table` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NotRequired, TypedDict

from fairc.runtime.statistics import STATISTICS, Estimate
from fairc.runtime.statistics.repeated import FIXED

from .reading import Measurements, UnknownName
from .samples import Group, Where, samples


class Row(TypedDict):
    """A row of `fairc table --format json`; value and interval in SI base units.

    by: as of a Group. n: values that were summarised. invalid: cells left out, because their set-up
    is not valid or they failed. censored: transfers, loads or videos that had not ended, which the
    cells' values leave out.
    reason: why cells that count have no value; empty where all have one. no_interval: why
    there is none, empty where there is one. remark: what biases the value or its interval; empty if
    nothing does. flows, lowest, highest: of many flows of one statement, summarised as one: how
    many they are, and between what the statistics of single ones are.
    """

    metric: str
    unit: str
    stat: str
    by: dict[str, str | None]
    n: int
    invalid: int
    censored: int
    value: float | None
    ci_low: float | None
    ci_high: float | None
    reason: str
    no_interval: str
    remark: str
    flows: NotRequired[int]
    lowest: NotRequired[float]
    highest: NotRequired[float]


def summarise(
    measured: Measurements,
    metric: str,
    by: Sequence[str] | None = None,
    where: Where | None = None,
    stat: str = "median",
    *,
    together: bool = False,
) -> list[Row]:
    """Summarise a metric over the cells of each group.

    metric: `goodput`, `fairness.F`; a metric of several values stands for its first one. by: what
    makes a group, out of the swept names, `flow`, `repetition`, `load` and `protocol`; None: all
    swept names and `flow`. where: whether a cell is looked at, of its bindings, `repetition` and
    `load` as text. Groups come in the order of the plan. Mixtures have no interval (mixtures.py).

    together: as of `samples`; rows of single flows are then only had by asking for them in `by`.

    Raises UnknownName, and TableError when the tables cannot be read.
    """
    try:
        FIXED.statistic(stat)
    except KeyError:
        raise UnknownName("statistic", stat, (*STATISTICS, "p90", "p99.9", "...")) from None
    name, unit, groups = samples(measured, metric, by, where, together=together)
    rows = []
    for group in groups:
        statistic = group.repeated.statistic(stat)
        row = _row(name, unit, stat, group, statistic(group.values))
        if group.crowd:
            each = [statistic(values).value for values in group.crowd.values()]
            known = [value for value in each if value is not None]
            row["flows"] = len(each)
            if known:
                row["lowest"], row["highest"] = min(known), max(known)
        rows.append(row)
    return rows


def _row(metric: str, unit: str, stat: str, group: Group, estimate: Estimate) -> Row:
    if group.mixed:
        estimate = replace(estimate, low=None, high=None, reason=group.mixed)
    return Row(
        metric=metric,
        unit=unit,
        stat=stat,
        by=group.by,
        n=estimate.n,
        invalid=group.left_out,
        censored=group.omitted.censored,
        value=estimate.value,
        ci_low=estimate.low,
        ci_high=estimate.high,
        reason="; ".join(group.omitted.reasons),
        no_interval=estimate.reason if estimate.low is None else "",
        remark="; ".join(filter(None, (group.remark, group.times, estimate.remark))),
    )
