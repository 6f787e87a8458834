"""The statistics of claims: what is estimated from a metric over the repetitions of a
configuration; and the trends of a statistic over a swept name.
"""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import A_COUNT, AnyName, Quantities
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import NUMBER

from .blocks.claim import A_CONDITION

A_PERCENTILE = Quantities((NUMBER,), low=0, high=100, open_low=True, open_high=True)

METRIC = Parameter(
    "metric", AnyName("a metric"), "metric or sub-value, of `measure`", required=True
)
TEST = Parameter("metric", A_CONDITION, "a metric compared with a bound", required=True)
P = Parameter("p", A_PERCENTILE, "the percentile, such as 90", required=True)
FLOW = Parameter("flow", AnyName("a flow"), "the flow or group of users, where there are several")
LOAD = Parameter("load", A_COUNT, "number of the page load, where there are several")
WHERE = Parameter("where", A_CONDITION, "the configuration, where two are compared")
_OF: tuple[Parameter[Any], ...] = (FLOW, LOAD, WHERE)


def _statistic(name: str, summary: str, *parameters: Parameter[Any]) -> Entry:
    return Entry(name=name, summary=summary, parameters=(*parameters, *_OF), runs=True)


MEDIAN = _statistic("median", "Median over the repetitions", METRIC)
MEAN = _statistic("mean", "Mean over the repetitions; assumes normal values", METRIC)
PERCENTILE = _statistic("percentile", "A percentile over the repetitions", METRIC, P)
COUNT = _statistic("count", "Share of the repetitions in which a comparison is true", TEST)

STATISTIC = Parameter("statistic", AnyName("a statistic"), "a median", required=True)
OVER = Parameter("over", AnyName("a swept name"), "a swept name, of quantities", required=True)


def _trend(name: str, summary: str) -> Entry:
    return Entry(name=name, summary=summary, parameters=(STATISTIC, OVER), runs=True)


INCREASING = _trend("increasing", "It rises with a swept name: a trend, and no step that falls")
DECREASING = _trend("decreasing", "It falls with a swept name: a trend, and no step that rises")

TRENDS: Registry[Entry] = Registry("trend of a claim", "trend", [INCREASING, DECREASING])

STATISTICS: Registry[Entry] = Registry(
    "statistic of a claim",
    "statistic",
    [MEDIAN, MEAN, PERCENTILE, COUNT],
    misplaced={
        f"p{p}": (
            f"over the repetitions it is `percentile(goodput(a), {p})`; within one, a value of the"
            f" metric, such as `median(rtt.p{p}(a))`"
        )
        for p in (5, 10, 25, 75, 90, 95, 99)
    },
)
