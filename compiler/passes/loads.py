"""Page loads: objects, HTTP versions and pauses as parts of the plan, and how long loads may take."""

from __future__ import annotations

from functools import lru_cache

from fairc.compiler import plan
from fairc.compiler.draws import draw
from fairc.dsl.model import Flow, Load, Page

from .draft import DraftFlow

NS = 10**9
MIN_TIMEOUT_NS = 60 * NS
TIMEOUT_FACTOR = 10
ROUND_TRIPS = 4
"""Of a connection's begin: TCP, TLS, a request; and one for slow start."""

OWN_NS = 30 * NS
"""For a browser to begin, and to end, around each load."""


def load_of(flow: DraftFlow, pauses_ns: tuple[int, ...]) -> plan.LoadWorkload:
    """Return the workload of a page load."""
    declared = flow.flow
    load = declared.workload
    assert isinstance(load, Load)
    return plan.LoadWorkload(
        page=_objects(load.page),
        client=load.client,
        protocols=load.protocols,
        idle_ns=pauses_ns,
        timeout_ns=timeout_ns(flow, load),
        quic_parameters=dict(declared.quic_parameters),
    )


def pauses_ns(flow: Flow, seed: int) -> tuple[int, ...]:
    """Return the pause before each load of a flow, ns: the first has none, each other draws its own."""
    load = flow.workload
    if not isinstance(load, Load):
        return ()
    drawn = (draw(load.idle, seed, "idle", flow.name, str(k)) for k in range(1, load.loads))
    return (0, *(round(pause * NS) for pause in drawn))


def timeout_ns(flow: DraftFlow, load: Load) -> int:
    """Return after what time a load has failed, ns: as written, else 10 times what it needs."""
    if load.timeout_ns is not None:
        return load.timeout_ns
    return max(MIN_TIMEOUT_NS, TIMEOUT_FACTOR * load_ns(flow, load))


def load_ns(flow: DraftFlow, load: Load) -> int:
    """Return what one load needs alone: its bytes at the bottleneck's rate, and its round trips, ns."""
    moving_ns = load.page.size_bytes * 8 * NS // flow.rate_bps if flow.rate_bps else 0
    return moving_ns + (ROUND_TRIPS + load.page.depth) * flow.base_rtt_ns


def patience_ns(flow: DraftFlow) -> int:
    """Return how long all loads of a flow take at most, without their pauses, ns."""
    load = flow.flow.workload
    if not isinstance(load, Load):
        return 0
    return load.loads * (timeout_ns(flow, load) + OWN_NS)


@lru_cache(1024)
def _objects(page: Page) -> tuple[plan.PageObject, ...]:
    return tuple(
        plan.PageObject(path=o.path, bytes=o.size_bytes, type=o.type, parent=o.parent)
        for o in page.objects
    )
