"""Metrics that are unknown for flows split by proxies, or without captures, and why."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.curves import Trace
from fairc.runtime.measurement.results import MetricValue
from fairc.words.metrics import METRICS

SHARED = (
    "other flows share its proxies, so its packets at the bottleneck cannot be distinguished from"
    " theirs"
)
UNCAPTURED = "no packets were captured (`captures = none`)"
TWO_LEGS = "its server sent these on one connection, and proxies sent the packets on another one"


def known_values(
    measurement: Measurement, request: MetricRequest, values: tuple[MetricValue, ...]
) -> Iterator[MetricValue]:
    """Yield the values of a metric; those that cannot be known come without a number."""
    unseen = {f.name for f in measurement.sessions(request.sessions) if measurement.unseen(f)}
    split = {f.name for f in measurement.flows if measurement.split(f)}
    entry = METRICS[request.name]
    for value in values:
        from_packets = value.metric in entry.from_packets
        if not measurement.captured and (entry.packets != "none" or from_packets):
            yield value.model_copy(update={"value": None, "reason": UNCAPTURED, "links": None})
        elif entry.packets == "flow" and value.flow in unseen:
            # Packets are no reason for a flow of which none can be seen.
            yield value.model_copy(update={"value": None, "reason": SHARED, "links": None})
        elif entry.packets == "flow" and unseen and value.flow is None:
            yield _without(value, SHARED)
        elif from_packets and value.flow in split:
            yield _without(value, TWO_LEGS)
        else:
            yield value


def known_traces(
    measurement: Measurement, request: MetricRequest, traces: tuple[Trace, ...]
) -> Iterator[Trace]:
    """Yield the traces of a metric, except those that proxies hide."""
    unseen = {f.name for f in measurement.sessions(request.sessions) if measurement.unseen(f)}
    for trace in traces:
        hidden = METRICS[request.name].packets == "flow" and trace.flow in {None, *unseen}
        if not (unseen and hidden):
            yield trace


def _without(value: MetricValue, reason: str) -> MetricValue:
    """Return a value without its number; one that has none keeps its reason."""
    if value.value is None and value.links is None:
        return value
    return value.model_copy(update={"value": None, "reason": reason, "links": None})
