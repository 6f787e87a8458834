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
from collections.abc import Iterator, Mapping
from typing import Literal

from fairc.compiler.plan import MetricRequest
from fairc.dsl.model.metric_names import metric_of
from fairc.dsl.model.names import called, label_of
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.results import MetricValue
from fairc.words.metrics import METRICS as WORDS

from .base import Metric, Sides, Solo, Value, declared

Better = Literal["more", "less"]

_FORMULAS: Mapping[Better, str] = {
    "more": "(alone - beside) / alone",
    "less": "(beside - alone) / beside",
}
_ENTRY = WORDS["harm"]


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
    """Return nothing: no cell has harm by itself (`compare`)."""
    return ()


def compare(sides: Sides) -> Iterator[MetricValue]:
    """Yield the harm of each flow."""
    flows = sides.cell.flows
    for name in sides.flows or dict.fromkeys(flow.declared or flow.name for flow in flows):
        members = {label_of(flow) for flow in flows if name in called(flow)}
        for beside in sides.beside:
            if beside.flow in members:
                yield _harm(sides.value, beside, sides.alone(name, beside.flow, beside.load))


def _harm(value: Value, beside: MetricValue, alone: Solo | None) -> MetricValue:
    """Return the harm of a flow. alone: None: there are no others."""
    if alone is None:
        number = None if beside.size is None else 0.0
        return value.of(number, beside.flow, beside.reason or "no value", beside.load)
    better = WORDS[metric_of(beside.metric)].better
    assert better is not None, beside.metric
    number, why, solo = None, "", alone.value
    if beside.size is None:
        why = f"beside the others: {beside.reason or 'no value'}"
    elif solo is None or solo.size is None:
        why = f"alone: {alone.reason}"
    else:
        number = harm(solo.size, beside.size, better)
        if number is None:
            why = (
                "alone it is larger than any value"
                if math.isinf(solo.size)
                else f"it would be divided by zero: {_FORMULAS[better]}"
            )
    of = [one for one in (beside, solo) if one is not None]
    return MetricValue(
        metric=value.name,
        flow=beside.flow,
        value=number,
        unit=value.unit,
        reason=why,
        load=beside.load,
        censored=0 if number is None else sum(one.censored for one in of),
        started=sum(one.started for one in of),
    )


def _value(name: str) -> Value:
    """Return the harm of a metric."""
    better = WORDS[name].better
    assert better is not None, name
    return declared(
        f"{_ENTRY.name}.{name}",
        f"of `{name}`: {_FORMULAS[better]}",
        "of what both cells compare had not ended",
    )


METRIC = Metric(_ENTRY.name, tuple(map(_value, _ENTRY.compared)), compute, compare=compare)
