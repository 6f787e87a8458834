"""The pipeline: the passes in the order in which they lower a configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.model import Network, Scenario

from .captures import place_captures
from .draft import Draft
from .extra_rtts import lengthen
from .flows import find_bottlenecks, set_deadline, size_buffers
from .freeze import freeze
from .packets import check_packets, limit_packets
from .peps import reach, split
from .physics import warn
from .policers import police
from .ports import assign_ports
from .queues import size_queues
from .routing import route, trace
from .wiring import wire

Pass = Callable[[Draft], None]

NETWORK_PASSES: tuple[Pass, ...] = (  # look at the network, and at who talks to whom
    lengthen,  # the extra round trips of flows
    wire,  # nodes, cables, hops, names, addresses
    route,  # static routes to every host
    reach,  # routes between proxies
    trace,  # the path and the base RTT of every flow
    limit_packets,  # path MTUs
    find_bottlenecks,
    size_queues,  # limits in bytes or packets
    size_buffers,
    place_captures,
    freeze,  # nodes and cables as parts of the plan
)
TRAFFIC_PASSES: tuple[Pass, ...] = (  # look at workloads and times
    check_packets,
    assign_ports,
    split,  # proxies, and which ports they intercept
    police,  # policers, and whose bucket is whose
    set_deadline,
    warn,
)

KNOWN_NETWORKS = 1000

Talks = tuple[tuple[str, str, str, int, str], ...]
"""What of the flows the network's part depends on."""


class Lowering:
    """Lowers configurations; those that differ only in their traffic share the network's part.

    report: receives each diagnostic; the passes continue as far as they can.
    """

    def __init__(self, report: Callable[[Diagnostic], None]) -> None:
        self._report = report
        self._known: dict[Talks, list[tuple[Network, Draft]]] = {}
        self._count = 0

    def __call__(self, scenario: Scenario) -> Draft:
        """Run every pass that has not been run for an equal input."""
        talks = tuple(
            (f.name, f.server, f.client, f.extra_rtt_ns, f.transport) for f in scenario.flows
        )
        drafts = self._known.get(talks, ())
        known = next((draft for network, draft in drafts if network is scenario.network), None)
        if known is None:
            if self._count == KNOWN_NETWORKS:
                self._known.clear()
                self._count = 0
            known = _run(NETWORK_PASSES, Draft(scenario, self._report))
            # With the network as it was: `lengthen` replaces that of the draft.
            self._known.setdefault(talks, []).append((scenario.network, known))
            self._count += 1
        declared = {flow.name: flow for flow in scenario.flows}
        flows = [replace(flow, flow=declared[flow.flow.name]) for flow in known.flows]
        return _run(TRAFFIC_PASSES, replace(known, scenario=scenario, flows=flows))


def _run(passes: tuple[Pass, ...], draft: Draft) -> Draft:
    for step in passes:
        step(draft)
    return draft
