"""The plan: the contract between the compiler and everything that runs cells.

A plan is a header (`plan.json`, a `Plan`) and its cells as JSON Lines (`cells.jsonl`, one `Cell`
per line), so that 100,000 of them can be streamed. Each cell is complete: readers need neither the
language nor the header. Integers carry their unit in the name: ns, bit/s, bytes.

Queues, links, workloads, proxies, policers, routes and options of transports are the classes that a
cell runs with (fairc.cell: queues, links, workloads, experiment; numbers, text: the types of
their fields). What an experiment asks, such as its metrics, figures and claims, are the classes of
the checked experiment (fairc.dsl.model: requests, claims). The rest, from the smallest part to the
whole:

    base       what all parts have in common
    network    interfaces, routes, nodes, cables
    flows      who sends what to whom
    consistency  contradictions that a cell must not contain
    cells      a cell and its captures
    requests   contradictions that a header must not contain
    header     the plan: what was swept, what is measured and shown
"""

from fairc.cell.experiment import Pep, Policed, Policer, Route, TransportOptions
from fairc.cell.links import Change, GilbertElliott, Impairment, Shaper
from fairc.cell.queues import (
    Cake,
    CoDel,
    DualPi2,
    Fifo,
    Fq,
    FqCoDel,
    FqPie,
    Pie,
    Qdisc,
    Queue,
    Red,
    Sfq,
)
from fairc.cell.workloads import (
    BulkWorkload,
    Distribution,
    FileWorkload,
    Iperf3Workload,
    LoadWorkload,
    OnOffWorkload,
    PageObject,
    RequestsWorkload,
    SharedArrivals,
    VideoWorkload,
    Workload,
)
from fairc.dsl.model.base import Model
from fairc.dsl.model.claims import Claim, ClaimTerm, ClaimUnit
from fairc.dsl.model.requests import (
    Axis,
    FigureRequest,
    Goal,
    Input,
    MetricRequest,
    Precision,
    Selection,
    Setting,
)

from .base import MAX_PROCESSING_NS, SAMPLE_EVERY_NS, Mtu, SampleEvery
from .cells import Capture, Cell
from .flows import Flow
from .header import OUTDATED, PLAN_VERSION, Plan
from .network import Cable, Interface, Node

__all__ = [
    "MAX_PROCESSING_NS",
    "OUTDATED",
    "PLAN_VERSION",
    "SAMPLE_EVERY_NS",
    "Axis",
    "BulkWorkload",
    "Cable",
    "Cake",
    "Capture",
    "Cell",
    "Change",
    "Claim",
    "ClaimTerm",
    "ClaimUnit",
    "CoDel",
    "Distribution",
    "DualPi2",
    "Fifo",
    "FigureRequest",
    "FileWorkload",
    "Flow",
    "Fq",
    "FqCoDel",
    "FqPie",
    "GilbertElliott",
    "Goal",
    "Impairment",
    "Input",
    "Interface",
    "Iperf3Workload",
    "LoadWorkload",
    "MetricRequest",
    "Model",
    "Mtu",
    "Node",
    "OnOffWorkload",
    "PageObject",
    "Pep",
    "Pie",
    "Plan",
    "Policed",
    "Policer",
    "Precision",
    "Qdisc",
    "Queue",
    "Red",
    "RequestsWorkload",
    "Route",
    "SampleEvery",
    "Selection",
    "Setting",
    "Sfq",
    "Shaper",
    "SharedArrivals",
    "TransportOptions",
    "VideoWorkload",
    "Workload",
]
