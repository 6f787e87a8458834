"""Flow completion time: how long a short transfer takes, from opening its connection to its last
byte.

    fct = last byte at the client's application - connection opened

over the transfers that began after the warm-up: with `requests` each request, with `file` each
connection. The handshake and its retries are included.

A transfer that had not ended when the flow was stopped or the cell ended is larger than all
completed ones in the percentiles, which interpolate linearly: a percentile that involves such a
transfer is not defined, nor is one of fewer than 1 / (1 - p) transfers (1 / p below the median),
which cannot tell it from an extreme. One that began just before the end may have been a short one:
percentiles err upwards, by the few that begin last. fct.mean is over the completed transfers;
fct.unfinished counts the others, mostly the slow ones: then the mean is too small. The column
`censored` counts them, and so does a remark wherever the mean is printed.

fct.group_..., under the name of a group of users or of an index (`fct.group_p99(q)` of the flows
`q[i]`), is the same over the transfers of all its flows in a cell. Cells are independent, transfers
are not: summaries and intervals are over cells, never over pooled transfers.

Unit: s (fct.count, fct.unfinished: 1). Source: Dukkipati and McKeown, Why flow-completion time is
the right metric for congestion control, CCR 36(1), 2006; Hyndman and Fan, Sample quantiles in
statistical packages, 1996, definition 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Distribution, Metric, Presentation, Value, declared
from .distribution import PERCENTILES, percentile_values
from .groups import of_users

WHAT = "the flow completion time"


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of a set of transfers."""

    mean: Value
    percentiles: Mapping[int, Value]
    count: Value
    unfinished: Value

    @property
    def times(self) -> tuple[Value, ...]:
        return (self.mean, *self.percentiles.values())

    @property
    def all(self) -> tuple[Value, ...]:
        return (*self.times, self.count, self.unfinished)


def _values(prefix: str, of: str) -> _Values:
    percentiles = percentile_values("fct", f"{WHAT}{of}", prefix)
    return _Values(
        declared(
            f"fct.{prefix}mean",
            f"mean flow completion time{of}, over the completed transfers",
            "transfers had not ended and are left out, so the mean is too small",
            Presentation() if prefix else Presentation(title="Mean completion time"),
            bounds="mean",
        ),
        dict(zip(PERCENTILES, percentiles, strict=True)),
        declared(f"fct.{prefix}count", f"transfers{of} that were completed"),
        declared(f"fct.{prefix}unfinished", f"transfers{of} started but not completed"),
    )


FLOW = _values("", "")
GROUP = _values("group_", " of all users of a group or all flows of an index")


def percentile(completed: NDArray[np.float64], unfinished: int, percent: int) -> float | None:
    """Return a percentile of completion times; None where it is infinite.

    completed: completion times, s, ascending. unfinished: how many transfers did not complete;
    their times count as infinite. There is at least one transfer in all.
    """
    place = (len(completed) + unfinished - 1) * percent / 100
    below = math.floor(place)
    if math.ceil(place) >= len(completed):
        return None
    part = place - below
    upper = completed[below + 1] if part else 0.0
    return float(completed[below] * (1 - part) + upper * part)


def _of_transfers(
    values: _Values, completed: NDArray[np.float64], unfinished: int, name: str
) -> tuple[MetricValue, ...]:
    """Return the values of some transfers. completed: times of those that were completed, s."""
    found, n = np.sort(completed), len(completed) + unfinished
    counts = (values.count.of(len(found), name), values.unfinished.of(unfinished, name))
    censored = unfinished, n
    if not len(found):
        reason = f"no transfer was completed, {unfinished} were started"
        if not unfinished:
            reason = "no transfer was started after the warm-up"
        return (
            *(value.of(None, name, reason, censored=censored) for value in values.times),
            *counts,
        )
    times = [values.mean.of(float(found.mean()), name, censored=censored)]
    for percent, value in values.percentiles.items():
        if n * min(percent, 100 - percent) < 100:
            of = value.meaning.partition(" of ")[0]
            times.append(value.of(None, name, f"too few transfers for a {of}: {n}"))
        else:
            reason = f"it is infinite: {unfinished} of {n} transfers were not completed"
            number = percentile(found, unfinished, percent)
            above = censored if number is None else (0, n)
            times.append(value.of(number, name, reason, censored=above))
    return (*times, *counts)


def _counted(measurement: Measurement, flow: FlowRecord) -> tuple[NDArray[np.float64], int] | None:
    """Return the times, s, of a flow's transfers after the warm-up, and how many never ended.

    None if its transfers have no end.
    """
    transfers = flow.transfers
    if transfers is None:
        return None
    unfinished = int((transfers.unfinished_s >= measurement.warmup_s).sum())
    return transfers.duration_s[transfers.start_s >= measurement.warmup_s], unfinished


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the completion times of the requested flows (default: all that have transfers)."""
    flows = measurement.sessions(request.sessions)
    if not request.sessions:
        flows = tuple(flow for flow in flows if flow.transfers is not None)
    if not flows:
        reason = "no flow has transfers with an end"
        users = bool(of_users(measurement, measurement.flows))
        values = (*FLOW.all, *GROUP.all) if users else FLOW.all
        return tuple(value.of(None, None, reason) for value in values)
    counted = {flow.name: _counted(measurement, flow) for flow in flows}
    found: list[MetricValue] = []
    for name, transfers in counted.items():
        if transfers is None:
            reason = "the flow has no transfers with an end"
            found += [value.of(None, name, reason) for value in FLOW.all]
        else:
            found += _of_transfers(FLOW, *transfers, name)
    for group in of_users(measurement, flows):
        members = [flow for of_user in group.users for flow in of_user]
        parts = [
            counted[flow.name] if flow.name in counted else _counted(measurement, flow)
            for flow in members
        ]
        known = [part for part in parts if part is not None]
        if known:
            times = np.concatenate([duration_s for duration_s, _ in known])
            found += _of_transfers(
                GROUP, times, sum(unfinished for _, unfinished in known), group.name
            )
    return tuple(found)


METRIC = Metric(
    "fct",
    (*FLOW.all, *GROUP.all),
    compute,
    distribution=Distribution(
        table="requests",
        column="fct_s",
        where="start_s >= begin_s AND start_s < until_s",
        there="fct.count",
        things="requests begun {when}",
        word="requests",
        took="took at most this long",
        infinite="; requests that never ended count as infinite, so a line may end below 1",
    ),
)
