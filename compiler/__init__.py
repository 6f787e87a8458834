"""The compiler: from a checked experiment to a plan, its cells, and what is emitted from them.

In order of control flow:

    lower     the pipeline: a tuple of passes over one configuration
    draft     what the passes work on
    dynamics  rates, delays and losses over time; frames: sizes
    extra_rtts  the extra round trips of flows
    wiring    nodes, cables, hops, interface names, addresses
    routing   static routes; the path and base RTT of every flow
    packets   path MTUs, and what does not fit them
    flows     bottlenecks, socket buffers, the deadline; demand: what flows ask for; ports
    queues    limits in bytes or packets
    captures  where packets are seen
    physics   warnings
    freeze    nodes and cables as parts of the plan
    traffic   workloads and options as parts of the plan
    peps      proxies that split connections
    policers  policers, and their buckets
    loads     page loads as parts of the plan, and how long they may take
    grid      a lowered configuration and a repetition give a cell
    seeds     identities and random streams; draws: random numbers of a distribution
    variation what the seeds vary, in words
    engine_choice  what each engine cannot run, and which one runs the plan
    compilation   the plan's header and the stream of cells
    plan      the contract: Plan and Cell
    schema    the plan's JSON Schema
    estimate  what a run will take; costs: on which engine
    emission  a folder with the plan and the emitted programs
    targets   what can be emitted
"""

from .compilation import Compilation, compile
from .emission import emit
from .plan import Cell, Plan

__all__ = ["Cell", "Compilation", "Plan", "compile", "emit"]
