"""Engines: what runs a cell. `base` is the contract; one module each for the engines.

`ENGINES` names them for the command line; a module is imported when its engine is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from fairc.dsl.registry import Registry, suggest

from .base import Engine

Report = Callable[[str], None]
FAKE = "fake"


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine by name.

    summary: what it is, on one line. factory: `module:class` below this package; the class takes
    a function that is told what a long preparation is doing. hidden: not offered to a user. slower:
    the name of the same engine with half the guest's speed, for `fairc calibrate`. computing_is_free:
    whether what hosts compute takes no time of its clock (targets/processing.py).
    """

    name: str
    summary: str
    factory: str
    hidden: bool = False
    slower: str = ""
    computing_is_free: bool = False

    def make(self, report: Report) -> Engine:
        """Return the engine, not yet prepared."""
        module, _, name = self.factory.partition(":")
        engine: Engine = getattr(import_module(f".{module}", __name__), name)(report)
        return engine


ENGINES: Registry[EngineKind] = Registry(
    "engine",
    "engine",
    (
        EngineKind(
            "vm", "a Linux machine in virtual time, without root", "vm:VmEngine", slower="vm-half"
        ),
        EngineKind("vm-half", "vm with half the guest's speed", "vm:HalfSpeedVmEngine", True),
        EngineKind(
            "mininet", "this machine's kernel in real time, as root", "mininet:MininetEngine"
        ),
        EngineKind("docker", "containers on this machine, in real time", "docker:DockerEngine"),
        EngineKind(FAKE, "invented results, for tests of fairc itself", "fake:FakeEngine", True),
    ),
)
DEFAULT = "vm"


def names() -> list[str]:
    """Return the engines that a user can ask for; the fake one only where FAIRC_ENGINE names it."""
    asked = os.environ.get("FAIRC_ENGINE")
    return [kind.name for kind in ENGINES if not kind.hidden or kind.name == asked]


def make(name: str | None, report: Report) -> Engine:
    """Return the engine with a name, not yet prepared.

    name: None: what FAIRC_ENGINE says, else the default.
    Raises LookupError for a name that there is not.
    """
    name = name or os.environ.get("FAIRC_ENGINE") or DEFAULT
    known = names()
    for kind in ENGINES:
        if kind.name == name and name in known:
            return kind.make(report)
    near = suggest(name, known)
    hint = f"did you mean `{near}`?" if near else f"known: {', '.join(known)}"
    raise LookupError(f"no engine is called `{name}`; {hint}")
