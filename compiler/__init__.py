"""The compiler: from a checked experiment to a plan, its cells, and what is emitted from them.

In order of control flow:

    passes         from one configuration to the parts of a cell
    cells          a configuration through the passes, and a repetition to a cell
    engines        what each engine lacks, and what a cell costs on it
    engine_choice  what each engine cannot run, and which one runs the plan
    compilation    the plan's header and the stream of cells
    plan           the contract: Plan and Cell; schema: as JSON Schema
    estimate       time and disk space of a run
    binary         where the endpoints' program is
    targets        what can be emitted
    emission       a folder with the plan and the emitted programs
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .compilation import Compilation, compile
    from .emission import emit
    from .plan import Cell, Plan

__all__ = ["Cell", "Compilation", "Plan", "compile", "emit"]

_HOMES = {
    "Cell": "plan",
    "Compilation": "compilation",
    "Plan": "plan",
    "compile": "compilation",
    "emit": "emission",
}


def __getattr__(name: str) -> object:
    """Return what the package offers; on demand, since the plan in it is what the words are lowered
    to.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
