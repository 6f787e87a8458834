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
    places     their interfaces by name
    identity   their names: hashes of what they are
    requests   contradictions that a header must not contain
    header     the plan: what was swept, what is measured and shown
"""

from typing import TYPE_CHECKING

from fairc.dsl.core.on_demand import on_demand

if TYPE_CHECKING:
    from fairc.cell.links import Change as Change
    from fairc.cell.links import ChosenLoss as ChosenLoss
    from fairc.cell.links import Entering as Entering
    from fairc.cell.links import GilbertElliott as GilbertElliott
    from fairc.cell.links import Impairment as Impairment
    from fairc.cell.links import Interface as Interface
    from fairc.cell.links import Shaper as Shaper
    from fairc.cell.model import SAMPLE_EVERY_NS as SAMPLE_EVERY_NS
    from fairc.cell.model import Cable as Cable
    from fairc.cell.model import Capture as Capture
    from fairc.cell.model import Cell as Cell
    from fairc.cell.model import Flow as Flow
    from fairc.cell.model import Node as Node
    from fairc.cell.model import Route as Route
    from fairc.cell.model import RouteChange as RouteChange
    from fairc.cell.model import Subflow as Subflow
    from fairc.cell.model import TransportOptions as TransportOptions
    from fairc.cell.model import Tunnel as Tunnel
    from fairc.cell.queues import Qdisc as Qdisc
    from fairc.cell.queues import Queue as Queue
    from fairc.cell.workloads import Distribution as Distribution
    from fairc.cell.workloads import PageObject as PageObject
    from fairc.cell.workloads import SharedArrivals as SharedArrivals
    from fairc.cell.workloads import Workload as Workload
    from fairc.dsl.model.base import Model as Model
    from fairc.dsl.model.claims import Claim as Claim
    from fairc.dsl.model.claims import ClaimUnit as ClaimUnit
    from fairc.dsl.model.claims import Contrast as Contrast
    from fairc.dsl.model.expressions import Amount as Amount
    from fairc.dsl.model.expressions import CellValue as CellValue
    from fairc.dsl.model.expressions import Expression as Expression
    from fairc.dsl.model.expressions import Operation as Operation
    from fairc.dsl.model.expressions import Selection as Selection
    from fairc.dsl.model.expressions import Statistic as Statistic
    from fairc.dsl.model.requests import Axis as Axis
    from fairc.dsl.model.requests import Comparison as Comparison
    from fairc.dsl.model.requests import FigureRequest as FigureRequest
    from fairc.dsl.model.requests import Formula as Formula
    from fairc.dsl.model.requests import Goal as Goal
    from fairc.dsl.model.requests import Input as Input
    from fairc.dsl.model.requests import MetricRequest as MetricRequest
    from fairc.dsl.model.requests import Precision as Precision
    from fairc.dsl.model.requests import Requests as Requests
    from fairc.dsl.model.requests import Shown as Shown
    from fairc.dsl.model.requests import ShownQuantity as ShownQuantity

    from .cells import cell_json as cell_json
    from .cells import check as check
    from .cells import check_drawn as check_drawn
    from .cells import parse_cell as parse_cell
    from .header import OUTDATED as OUTDATED
    from .header import PLAN_VERSION as PLAN_VERSION
    from .header import Plan as Plan
    from .places import interfaces_of as interfaces_of

__getattr__ = on_demand(
    __name__,
    {
        "fairc.cell.links": "Change ChosenLoss Entering GilbertElliott Impairment Interface Shaper",
        "fairc.cell.model": "SAMPLE_EVERY_NS Cable Capture Cell Flow Node Route RouteChange Subflow"
        " TransportOptions Tunnel",
        "fairc.cell.queues": "Qdisc Queue",
        "fairc.cell.workloads": "Distribution PageObject SharedArrivals Workload",
        "fairc.dsl.model.base": "Model",
        "fairc.dsl.model.claims": "Claim ClaimUnit Contrast",
        "fairc.dsl.model.expressions": "Amount CellValue Expression Operation Selection Statistic",
        "fairc.dsl.model.requests": "Axis Comparison FigureRequest Formula Goal Input MetricRequest"
        " Precision Requests Shown ShownQuantity",
        ".cells": "cell_json check check_drawn parse_cell",
        ".header": "OUTDATED PLAN_VERSION Plan",
        ".places": "interfaces_of",
    },
)
"""A metric needs parts of a cell, and nothing that reads a plan or checks it."""
