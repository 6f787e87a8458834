"""The pipeline: a configuration goes through the passes, in this order, and comes out lowered."""

from __future__ import annotations

from collections.abc import Callable

from fairc.dsl.diagnostics import Diagnostic
from fairc.dsl.model import Scenario

from .captures import place_captures
from .draft import Draft
from .flows import find_bottlenecks, set_deadline, size_buffers
from .freeze import freeze
from .physics import warn
from .queues import size_queues
from .routing import route, trace
from .wiring import wire

PASSES: tuple[Callable[[Draft], None], ...] = (
    wire,  # nodes, cables, hops, names, addresses
    route,  # static routes to every host
    trace,  # the path and the base RTT of every flow
    find_bottlenecks,
    size_queues,  # limits in bytes or packets
    size_buffers,
    set_deadline,
    place_captures,
    warn,
    freeze,  # nodes and cables of the plan, shared by all repetitions
)


def lower(scenario: Scenario, report: Callable[[Diagnostic], None]) -> Draft:
    """Run every pass; what is wrong goes to `report`, and the passes carry on as far as they can."""
    draft = Draft(scenario, report)
    for step in PASSES:
        step(draft)
    return draft
