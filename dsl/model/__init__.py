"""The checked experiment: what the front end hands to the compiler. No syntax, SI units, spans
kept.

A configuration is one point of the sweep; its scenario is the network and the flows with every
name resolved. Sizes that depend on the path (`2bdp`, `100ms`, `10pkt`) stay symbolic, because
only the compiler knows the routes.

From the smallest part to the whole:

    base        how all of it is checked; names: of flows and groups; metric_names: of values
    links       queue, rate, delay and losses of a link, and how they change
    network     nodes, links, proxies, tunnels
    workloads   what all workloads share; mechanisms/workloads has each of them; web pages
    flows       who sends what to whom
    expressions the tree that metrics of the file's own, claims, figures and goals are made of
    requests    axes, metrics, figures, precision; claims: what the run is to decide
    scenarios   scenarios, configurations
"""

from typing import TYPE_CHECKING

from fairc.dsl.core.on_demand import on_demand

if TYPE_CHECKING:
    from .flows import Flow as Flow
    from .flows import Multipath as Multipath
    from .flows import Stack as Stack
    from .flows import Transport as Transport
    from .flows import Trip as Trip
    from .links import Direction as Direction
    from .links import Event as Event
    from .links import LinkDevice as LinkDevice
    from .links import LinkMedium as LinkMedium
    from .links import Misplaced as Misplaced
    from .links import Queue as Queue
    from .links import Recording as Recording
    from .links import Recordings as Recordings
    from .links import Trace as Trace
    from .links import Transmit as Transmit
    from .network import Link as Link
    from .network import Network as Network
    from .network import Node as Node
    from .network import Proxies as Proxies
    from .network import Tunnel as Tunnel
    from .requests import Input as Input
    from .requests import MetricRequest as MetricRequest
    from .scenarios import Configuration as Configuration
    from .scenarios import Count as Count
    from .scenarios import Scenario as Scenario
    from .workloads import Distribution as Distribution
    from .workloads import Page as Page
    from .workloads import Path as Path
    from .workloads import Refusal as Refusal
    from .workloads import Workload as Workload

__getattr__ = on_demand(
    __name__,
    {
        ".flows": "Flow Multipath Stack Transport Trip",
        ".links": "Direction Event LinkDevice LinkMedium Misplaced Queue Recording Recordings"
        " Trace Transmit",
        ".network": "Link Network Node Proxies Tunnel",
        ".requests": "Input MetricRequest",
        ".scenarios": "Configuration Count Scenario",
        ".workloads": "Distribution Page Path Refusal Workload",
    },
)
"""Plans hold its requests alone."""
