"""The values of a cell: of every metric that is requested, in its window, and of the file's own."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.compiler.plan import MetricRequest, Requests
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.curves import Trace
from fairc.runtime.measurement.record import Window
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.metrics import METRICS, Metric
from fairc.runtime.metrics.groups import group_named
from fairc.runtime.metrics.registry import full_name
from fairc.words import metrics as words

from . import formulas


def values(measurement: Measurement, requests: Requests) -> tuple[MetricValue, ...]:
    """Return every value that is requested, each once, in the order of the requests.

    Raises KeyError for a metric that does not exist.
    """
    found: list[MetricValue] = []
    known: dict[str, dict[formulas.Place, MetricValue]] = {}
    metrics = {metric.name: metric for metric in METRICS}
    bindings = measurement.cell.bindings
    for request in present(measurement, requests):
        is_implied = request in requests.implied
        wanted = {full_name(name) for name in request.values} if is_implied else None
        for value in _of(measurement, metrics[request.name], request.at(bindings)):
            of = known.setdefault(f"{value.metric}{request.mark}", {})
            place = value.flow, value.load
            if wanted is None or (value.metric in wanted and place not in of):
                update = {"metric": f"{value.metric}{request.mark}"}
                of[place] = value.model_copy(update=update) if request.mark else value
                found.append(of[place])
    asked = (*requests.implied, *requests.measure)
    measured = {request.name: request.sessions for request in asked}
    for formula in requests.formulas:
        values = tuple(formulas.values(measurement.cell, formula, known))
        known[formula.name] = {(value.flow, value.load): value for value in values}
        if formula.name in measured:
            flows = _named(measurement, measured[formula.name])
            found += (value for value in values if not flows or value.flow in flows)
    return tuple(found)


def _named(measurement: Measurement, sessions: tuple[str, ...]) -> set[str]:
    """Return the flows and groups that names stand for."""
    flows = measurement.sessions(sessions) if sessions else ()
    return {flow.name for flow in flows} | {*sessions}


def present(measurement: Measurement, requests: Requests) -> tuple[MetricRequest, ...]:
    """Return the requests of which the cell has any flow: of absent ones there are no values."""
    return tuple(r for r in requests.metrics if not r.sessions or measurement.sessions(r.sessions))


def in_window(measurement: Measurement, request: MetricRequest) -> Measurement:
    """Return the cell, of which metrics see the window of a request alone; all without one."""
    if request.window is None:
        return measurement
    return measurement.within(Window(*request.window.of(measurement.cell.bindings)))


def _of(
    measurement: Measurement, metric: Metric, request: MetricRequest
) -> tuple[MetricValue, ...]:
    """Return the values of a metric in the window of its request."""
    seen = in_window(measurement, request)
    if request.window is None:
        return tuple(known_values(seen, request, metric.compute(seen, request)))
    outside = {f"{metric.name}.{part}" for part in words.METRICS[metric.name].outside_windows}
    return tuple(
        value
        for value in known_values(seen, request, metric.compute(seen, request))
        if value.metric not in outside
    )


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
    groups = {group_named(f) for f in measurement.flows if measurement.unseen(f)} - {None}
    split = {f.name for f in measurement.flows if measurement.split(f)}
    entry = words.METRICS[request.name]
    for value in values:
        from_packets = value.metric in entry.from_packets
        if not measurement.captured and (entry.packets != "none" or from_packets):
            yield value.model_copy(update={"value": None, "reason": UNCAPTURED, "links": None})
        elif entry.packets == "flow" and value.flow in unseen | groups:
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
        hidden = words.METRICS[request.name].packets == "flow" and trace.flow in {None, *unseen}
        if not (unseen and hidden):
            yield trace


def _without(value: MetricValue, reason: str) -> MetricValue:
    """Return a value without its number; one that has none keeps its reason."""
    if value.value is None and value.links is None:
        return value
    return value.model_copy(update={"value": None, "reason": reason, "links": None})
