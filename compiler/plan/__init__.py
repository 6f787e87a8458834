"""The plan: the contract between the compiler and everything that runs cells.

A plan is a header (`plan.json`, a `Plan`) and its cells as JSON Lines (`cells.jsonl`, one `Cell`
per line), so that 100,000 of them can be streamed. Each cell is complete: readers need neither the
language nor the header. Integers carry their unit in the name: ns, bit/s, bytes.

A cell and all parts of it are the classes that it runs with (fairc.cell: model, links, queues,
workloads; numbers, text: the types of their fields). What an experiment asks, such as its metrics,
figures and claims, are the classes of the checked experiment (fairc.dsl.model: requests, claims,
expressions).
The rest:

    consistency  contradictions that a cell must not contain
    cells      cells as JSON
    identity   their names: hashes of what they are
    requests   contradictions that a header must not contain
    header     the plan: what was swept, what is measured and shown
"""

from fairc.cell.links import (
    Change,
    ChosenLoss,
    Entering,
    GilbertElliott,
    Impairment,
    Interface,
    Shaper,
)
from fairc.cell.model import (
    SAMPLE_EVERY_NS,
    Cable,
    Capture,
    Cell,
    Flow,
    Node,
    Route,
    RouteChange,
    Subflow,
    TransportOptions,
    Tunnel,
)
from fairc.cell.modules import KernelModule
from fairc.cell.queues import Qdisc, Queue
from fairc.cell.workloads import (
    Distribution,
    PageObject,
    SharedArrivals,
    Workload,
)
from fairc.dsl.model.base import Model
from fairc.dsl.model.claims import Claim, ClaimUnit, Contrast
from fairc.dsl.model.expressions import (
    Amount,
    CellValue,
    Expression,
    Operation,
    Selection,
    Statistic,
)
from fairc.dsl.model.requests import (
    Axis,
    Comparison,
    FigureRequest,
    Formula,
    Goal,
    Input,
    MetricRequest,
    Precision,
    Requests,
    Shown,
    ShownQuantity,
)

from .cells import cell_json, check, check_drawn, parse_cell
from .header import OUTDATED, PLAN_VERSION, Plan

__all__ = [
    "OUTDATED",
    "PLAN_VERSION",
    "SAMPLE_EVERY_NS",
    "Amount",
    "Axis",
    "Cable",
    "Capture",
    "Cell",
    "CellValue",
    "Change",
    "ChosenLoss",
    "Claim",
    "ClaimUnit",
    "Comparison",
    "Contrast",
    "Distribution",
    "Entering",
    "Expression",
    "FigureRequest",
    "Flow",
    "Formula",
    "GilbertElliott",
    "Goal",
    "Impairment",
    "Input",
    "Interface",
    "KernelModule",
    "MetricRequest",
    "Model",
    "Node",
    "Operation",
    "PageObject",
    "Plan",
    "Precision",
    "Qdisc",
    "Queue",
    "Requests",
    "Route",
    "RouteChange",
    "Selection",
    "Shaper",
    "SharedArrivals",
    "Shown",
    "ShownQuantity",
    "Statistic",
    "Subflow",
    "TransportOptions",
    "Tunnel",
    "Workload",
    "cell_json",
    "check",
    "check_drawn",
    "parse_cell",
]
