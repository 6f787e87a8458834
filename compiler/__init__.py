"""The compiler: from a checked experiment to a plan, its cells, and what is emitted from them.

In order of control flow:

    passes         one configuration through the passes; `lower` lists them in order
    cells          a lowered configuration and a repetition to a cell
    seeds          identities and random streams; draws: random numbers of a distribution
    engine_choice  what each engine cannot run, and which one runs the plan
    compilation    the plan's header and the stream of cells
    plan           the contract: Plan and Cell; schema: as JSON Schema
    estimate       what a run will take; costs: on which engine
    targets        what can be emitted
    emission       a folder with the plan and the emitted programs
"""

from .compilation import Compilation, compile
from .emission import emit
from .plan import Cell, Plan

__all__ = ["Cell", "Compilation", "Plan", "compile", "emit"]
