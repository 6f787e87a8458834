"""The checked experiment: what the front end hands to the compiler. No syntax, SI units, spans
kept.

A configuration is one point of the sweep; its scenario is the network and the flows with every
name resolved. Sizes that depend on the path (`2bdp`, `100ms`, `10pkt`) stay symbolic, because
only the compiler knows the routes.

From the smallest part to the whole:

    queues      queues and sizes
    links       rate, delay and losses of a link, and how they change
    network     nodes, links, proxies, tunnels
    workloads   what all workloads share; mechanisms/workloads has each of them; web pages
    flows       who sends what to whom
    expressions the tree that metrics of the file's own, claims, figures and goals are made of
    requests    axes, metrics, figures, precision; claims: what the run is to decide
    scenarios   scenarios, configurations
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .flows import Flow, Multipath, OwnCca, Transport
    from .links import (
        Burst,
        Direction,
        Event,
        LinkDevice,
        LinkMedium,
        Misplaced,
        Queue,
        Recording,
        Recordings,
        Trace,
        Transmit,
    )
    from .network import Link, Network, Node, Proxies, Tunnel
    from .requests import Input, MetricRequest
    from .scenarios import Configuration, Count, Scenario
    from .workloads import Distribution, Page, Path, Refusal, SimpleWorkload, Workload

__all__ = [
    "Burst",
    "Configuration",
    "Count",
    "Direction",
    "Distribution",
    "Event",
    "Flow",
    "Input",
    "Link",
    "LinkDevice",
    "LinkMedium",
    "MetricRequest",
    "Misplaced",
    "Multipath",
    "Network",
    "Node",
    "OwnCca",
    "Page",
    "Path",
    "Proxies",
    "Queue",
    "Recording",
    "Recordings",
    "Refusal",
    "Scenario",
    "SimpleWorkload",
    "Trace",
    "Transmit",
    "Transport",
    "Tunnel",
    "Workload",
]

_HOMES = {
    **dict.fromkeys(("Flow", "Multipath", "OwnCca", "Transport"), "flows"),
    **dict.fromkeys(
        (
            *("Burst", "Direction", "Event", "LinkDevice", "LinkMedium", "Misplaced"),
            *("Queue", "Recording", "Recordings", "Trace", "Transmit"),
        ),
        "links",
    ),
    **dict.fromkeys(("Link", "Network", "Node", "Proxies", "Tunnel"), "network"),
    **dict.fromkeys(("Input", "MetricRequest"), "requests"),
    **dict.fromkeys(("Configuration", "Count", "Scenario"), "scenarios"),
    **dict.fromkeys(
        ("Distribution", "Page", "Path", "Refusal", "SimpleWorkload", "Workload"), "workloads"
    ),
}


def __getattr__(name: str) -> object:
    """Return what the package offers; on demand, since plans hold its requests alone."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return found
