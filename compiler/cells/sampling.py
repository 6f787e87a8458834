"""Requirements of metrics on a configuration: the sampling interval of its flows, and the `check`
of each entry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from fairc.compiler.passes.routing import RoutedPath, Traffic
from fairc.compiler.plan import SAMPLE_EVERY_NS
from fairc.dsl import model
from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.core.source import Span
from fairc.dsl.model.names import called
from fairc.words.metric_entry import FlowTiming
from fairc.words.metrics import METRICS

WATCHED_EVERY_NS = 10_000_000


def sample_every_ns(
    flow: model.Flow, requests: Iterable[model.MetricRequest], watched: Collection[str] = ()
) -> int:
    """Return the sampling interval of a flow, ns: the shortest that one of its metrics requests, or
    that a change of a link needs.

    watched: flows whose states links wait for, by name.
    """
    if flow.transport == "udp":
        return SAMPLE_EVERY_NS
    wanted = (
        round(float(request.options.get(every.name, every.fallback.number)) * 1e9)
        for request in requests
        if (every := METRICS[request.name].every) is not None and request.is_of(called(flow))
    )
    most_ns = WATCHED_EVERY_NS if flow.name in watched else SAMPLE_EVERY_NS
    return min((most_ns, *wanted))


def check_requests(
    scenario: model.Scenario,
    traffic: Traffic,
    requests: Iterable[model.MetricRequest],
    places: Mapping[str, Span],
    report: Callable[[Diagnostic], None],
) -> None:
    """Report what metrics find wrong with their requests in a configuration, at their places."""
    for request in requests:
        check = METRICS[request.name].check
        if check is not None:
            asked = [
                _measured(scenario, flow, path, request)
                for flow, path in traffic
                if request.is_of(called(flow))
            ]
            for found in check(request, asked):
                report(replace(found, span=places[request.label]))


def _measured(
    scenario: model.Scenario, flow: model.Flow, path: RoutedPath, request: model.MetricRequest
) -> FlowTiming:
    ends = [ns for ns in (scenario.duration_ns, flow.stop_ns) if ns is not None]
    return FlowTiming(
        flow,
        base_rtt_ns=path.base_rtt_ns,
        sample_every_ns=sample_every_ns(flow, [request]),
        begins_ns=max(scenario.warmup_ns, flow.start_ns or 0),
        ends_ns=min(ends, default=None),
    )
