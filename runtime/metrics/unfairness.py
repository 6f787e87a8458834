"""Unfairness between two groups: what a user of the first gets, over what a user of the second
gets.

    unfairness = (W_a / n_a) / (W_b / n_b)

W: IP bytes of the group's flows at their bottleneck's exit, apportioned by serialisation time,
while both groups are active: from the later of the end of the warm-up and the start of the group
that starts last, to the end of the group that ends first. n: users of the group, one per host that
its flows go to; of flows without users, such as those of an index, each is one. All flows of a user
count together.

1: users of both groups get the same; above 1: users of the first get more. Swapping the groups
gives the inverse. A ratio without limit, because the second group got nothing, has no value; over
repetitions it counts as larger than any in medians and percentiles.

Unit: 1. Source: Sanhaji et al., ConEx Performance Evaluation and Application to Video Streaming,
2015 (throughput of a heavy user over that of a light one); measurement.md, rule 17.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared
from .groups import Group, named

UNFAIRNESS = declared("unfairness", "what a user of the first group gets over one of the second")


def _span(group: Group) -> tuple[float, float]:
    flows = [flow for user in group.users for flow in user]
    return min(flow.start_s for flow in flows), max(flow.end_s for flow in flows)


def _per_user(group: Group, edges_s: tuple[float, float]) -> float:
    flows = (flow for user in group.users for flow in user)
    return float(sum(flow.ip_bytes(np.array(edges_s))[0] for flow in flows)) / len(group.users)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the unfairness between the two groups that are named."""
    if len(request.sessions) != 2:
        return (UNFAIRNESS.of(None, None, "unfairness needs two named groups"),)
    first, second = (named(measurement, name) for name in request.sessions)
    if absent := [group.name for group in (first, second) if not group.users]:
        return (UNFAIRNESS.of(None, None, f"{' and '.join(absent)}: absent"),)
    (begin_a, end_a), (begin_b, end_b) = _span(first), _span(second)
    begin, end = max(begin_a, begin_b, measurement.begin_s), min(end_a, end_b, measurement.until_s)
    if end <= begin:
        reason = f"{first.name} and {second.name} are never active at the same time"
        return (UNFAIRNESS.of(None, None, reason),)
    a, b = (_per_user(group, (begin, end)) for group in (first, second))
    reason = f"{second.name} got nothing, so the ratio has no limit"
    if not a and not b:
        return (UNFAIRNESS.of(None, None, "neither group got anything"),)
    return (UNFAIRNESS.of(a / b if b else None, None, reason, censored=(int(not b), 1)),)


METRIC = Metric("unfairness", (UNFAIRNESS,), compute, figure="rates")
