"""Engines: what runs a cell.

base             the contract
uml, vm          in virtual time; guest_job: a cell's way into a guest and out of it; entering:
                 changes that wait for a state of a flow
mininet, docker  in real time; host: what this machine's kernel has; container_probe: for containers
script           how a cell's script ended
elsewhere        the engine that ran stored cells, which runs nothing here
doctor           what this machine offers each engine; kept_calibration: what engines have measured

`ENGINES` names them for the command line; a module is imported when its engine is used. What each
cannot run, and which one runs a plan, follows from the plan: `fairc.compiler.engine_choice`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairc.compiler import engine_choice
from fairc.compiler.engine_choice import VIRTUAL_TIME, Reason
from fairc.compiler.plan import Cell
from fairc.dsl.core.registry import Registry, suggest
from fairc.runtime.host.faults import MemoryNeed

if TYPE_CHECKING:
    from .base import Engine

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine by name.

    summary: what it is, on one line. factory: `module:class`, the module below this package or with
    its full name; the class takes a function that is called with what a long preparation is doing.
    hidden: not offered to a user. slower: the name of the same engine with half the guest's speed,
    for `fairc calibrate`. like: the engine whose limits it has; itself, unless it is one for tests.
    computing_is_free: whether what hosts compute takes no time of its clock
    (cell/expansion.py). risk: what it does to this machine, after "which"; empty: nothing. image:
    the name of the image that its machine boots for cells without a browser (runtime/vm/recipe.py),
    `containers` for that of containers; empty: it has none. memory: `module:function` as the
    factory; the function returns what a cell needs of this machine's memory
    (runtime/uml/memory.py); empty: all need the same.
    """

    name: str
    summary: str
    factory: str
    hidden: bool = False
    slower: str = ""
    like: str = ""
    computing_is_free: bool = False
    risk: str = ""
    image: str = ""
    memory: str = ""

    @property
    def family(self) -> str:
        """The engine whose limits it has, by name: its own, unless it is one for tests."""
        return self.like or self.name

    def cannot(self, cell: Cell) -> Iterator[Reason]:
        """Yield what in a cell it cannot run, whatever machine it is on; nothing if it can."""
        asked = engine_choice.of_cell(cell)
        for reason in engine_choice.cannot(self.family, asked):
            yield replace(reason, engine=self.name)

    def make(self, report: Report) -> Engine:
        """Return the engine, not yet prepared."""
        engine: Engine = _named(self.factory)(report)
        return engine

    def needs(self, cell: Cell) -> MemoryNeed | None:
        """Return what a cell needs of this machine's memory; None: what every cell does."""
        found: MemoryNeed | None = _named(self.memory)(cell) if self.memory else None
        return found


def _named(name: str) -> Callable[..., Any]:
    """Return what `module:attribute` names, the module below this package or with its full name."""
    module, _, attribute = name.partition(":")
    place = module if "." in module else f".{module}"
    found: Callable[..., Any] = getattr(import_module(place, __name__), attribute)
    return found


ENGINES: Registry[EngineKind] = Registry(
    "engine",
    "engine",
    (
        EngineKind(
            "uml",
            "the Linux kernel as a program in virtual time, without root",
            "uml:UmlEngine",
            computing_is_free=True,
            image="uml",
            memory="fairc.runtime.uml.memory:needs",
        ),
        EngineKind(
            "vm",
            "a Linux machine in virtual time, without root",
            "vm:VmEngine",
            slower="vm-half",
            image="plain",
        ),
        EngineKind(
            "vm-half", "vm with half the guest's speed", "vm:HalfSpeedVmEngine", True, like="vm"
        ),
        EngineKind(
            "mininet",
            "this machine's kernel in real time, as root",
            "mininet:MininetEngine",
            risk="runs as root on this machine's kernel",
        ),
        EngineKind(
            "docker",
            "containers on this machine, in real time",
            "docker:DockerEngine",
            image="containers",
        ),
    ),
)

ENGINES.accept("fairc.engines")
VARIABLE = "FAIRC_ENGINE"


def names() -> list[str]:
    """Return the engines that a user can request; a hidden one only where FAIRC_ENGINE names it."""
    asked = os.environ.get(VARIABLE)
    return [kind.name for kind in ENGINES if not kind.hidden or kind.name == asked]


def kind_of(name: str) -> EngineKind:
    """Return the entry of the engine with a name. Raises LookupError for an unknown name."""
    known = names()
    for kind in ENGINES:
        if kind.name == name and name in known:
            return kind
    near = suggest(name, known)
    hint = f"did you mean `{near}`?" if near else f"known: {', '.join(known)}"
    raise LookupError(f"no engine is called `{name}`; {hint}")


def make(name: str, report: Report) -> Engine:
    """Return the engine with a name, not yet prepared. Raises LookupError for an unknown name."""
    return kind_of(name).make(report)


def instead(name: str, cells: Iterable[Cell]) -> str | None:
    """Return the fastest other engine in virtual time that can run all of some cells, if there is
    one.
    """
    able = {kind.name: kind for kind in ENGINES if kind.name in VIRTUAL_TIME and kind.name != name}
    for cell in cells:
        able = {word: kind for word, kind in able.items() if not any(kind.cannot(cell))}
    return next((word for word in VIRTUAL_TIME if word in able), None)


def emitted(engine: str, cell: Cell) -> str:
    """Return the hash of what an engine gives a cell's conductor, as far as this fairc knows it."""
    for kind in ENGINES:
        if kind.name == engine:
            return kind.make(lambda _: None).emitted(cell)
    return ""
