"""The compiler: from a checked experiment to a plan, its cells, and what is emitted from them.

In order of control flow:

    passes         from one configuration to the parts of a cell
    cells          a configuration through the passes, and a repetition to a cell
    engines        what each engine lacks, and what a cell costs on it
    engine_choice  what each engine cannot run, and which one runs the plan
    compilation    the plan's header and the stream of cells
    plan           the contract: Plan and Cell; schema: as JSON Schema
    estimate       time and disk space of a run; loss_rate: of connections under random losses
    binary         where the endpoints' program is
    targets        what can be emitted
    emission       a folder with the plan and the emitted programs; record: which files in it are
                   ours; files: read up to a bound, written completely or not at all
"""

from typing import TYPE_CHECKING

from fairc.dsl.core.on_demand import on_demand

if TYPE_CHECKING:
    from .compilation import Compilation as Compilation
    from .compilation import compile as compile
    from .emission import emit as emit
    from .plan import Cell as Cell
    from .plan import Plan as Plan

__getattr__ = on_demand(
    __name__,
    {
        ".compilation": "Compilation compile",
        ".emission": "emit",
        ".plan": "Cell Plan",
    },
)
"""The plan in it is what the words are lowered to."""
