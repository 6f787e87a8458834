"""Harm: the share of its performance that a flow loses beside others, against being alone.

    harm = (alone - beside) / alone    where more of the metric is better (goodput, throughput, qoe)
    harm = (beside - alone) / beside   where less of it is better (rtt, fct, loss_rate, plt, ...)

beside: the flow's value of the metric in the cell. alone: its value in the cell's baseline, which
has the same network and, of all flows, only those that a name of the request means:
`harm(victim)`, `harm(a, b)` for a and b each alone; without a name each statement of the file is
alone in turn. `harm.NAME` compares the first value of the metric NAME, in the same window; `harm`
is `harm.goodput`.

0: the flow does as well as alone. 1: it gets nothing, or waits for ever. Below 0: it does better
beside the others. Where a cell has no other flows harm is 0 by definition, and it has no baseline.
Where both values are 0 harm is 0; where only the denominator is 0 it is not defined. What is larger
than any value beside others, such as the page load time of a page that never loaded, has harm 1;
alone, it leaves harm undefined.

Baselines are cells of the run: the plan declares them, one for each repetition, shared by all
configurations that are the same without the other flows. A baseline draws alike what the
configurations of a repetition draw alike: starts, sizes and arrivals, and with `paired = on` the
random losses. Where a baseline failed or is not valid harm has no value.

Unit: 1. Source: Ware, Mukerjee, Seshan and Sherry, Beyond Jain's Fairness Index: Setting the Bar
for the Deployment of Congestion Control Algorithms, HotNets 2019, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from fairc.compiler.plan import MetricRequest
from fairc.dsl.model.metric_names import unmarked
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.results import MetricValue
from fairc.words.metrics import METRICS

from .base import Metric, Value

Better = Literal["more", "less"]

_FORMULAS: Mapping[Better, str] = {
    "more": "(alone - beside) / alone",
    "less": "(beside - alone) / beside",
}
_ENTRY = METRICS["harm"]


def harm(alone: float, beside: float, better: Better) -> float | None:
    """Return the harm of a value beside others; either may be infinite. None: it is not defined."""
    if alone == beside and math.isfinite(alone):
        return 0.0
    whole = alone if better == "more" else beside
    if whole == 0 or math.isinf(alone):
        return None
    if math.isinf(beside):
        return 1.0 if better == "less" else None
    return (alone - beside if better == "more" else beside - alone) / whole


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return nothing: no cell has harm by itself (`compare`, runtime/store/baselines.py)."""
    return ()


def compare(
    value: Value, beside: MetricValue, alone: MetricValue | None, reason: str
) -> MetricValue:
    """Return the harm of a flow. reason: why it has no value alone."""
    better = _ENTRY.compared[unmarked(value.name).partition(".")[2]]
    number, why = None, ""
    if beside.size is None:
        why = f"beside the others: {beside.reason or 'no value'}"
    elif alone is None or alone.size is None:
        why = f"alone: {reason or (alone.reason if alone else '') or 'no value'}"
    else:
        number = harm(alone.size, beside.size, better)
        if number is None:
            why = (
                "alone it is larger than any value"
                if math.isinf(alone.size)
                else f"it would be divided by zero: {_FORMULAS[better]}"
            )
    cut = [one for one in (beside, alone) if one is not None and number is not None]
    return MetricValue(
        metric=value.name,
        flow=beside.flow,
        value=number,
        unit=value.unit,
        reason=why,
        load=beside.load,
        censored=sum(one.censored for one in cut),
        started=sum(one.started for one in cut),
    )


METRIC = Metric(
    _ENTRY.name,
    tuple(
        Value(
            f"{_ENTRY.name}.{name}",
            "1",
            f"of `{name}`: {_FORMULAS[better]}",
            "of what both cells compare had not ended",
        )
        for name, better in _ENTRY.compared.items()
    ),
    compute,
)
