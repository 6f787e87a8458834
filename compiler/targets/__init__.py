"""What can be emitted from a plan: one module per target, `TARGETS` is the set of their names.

A target that is known but not built yet stands in the set with `begin = None` and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fairc.compiler.plan import Cell
from fairc.dsl.diagnostics import CompileError, Diagnostic
from fairc.dsl.registry import Registry, suggest

from . import mininet
from .binary import EndpointsMissing, find_endpoints

__all__ = ["TARGETS", "EndpointsMissing", "Target", "find", "find_endpoints"]

Writer = Callable[[Cell], None]
Begin = Callable[[Path], Writer]


@dataclass(frozen=True, slots=True)
class Target:
    """A target by name.

    begin: prepares a folder and returns what writes one cell into it; None: not there yet.
    """

    name: str
    about: str
    begin: Begin | None


def _begin_json(directory: Path) -> Writer:
    """Write nothing more: the plan and its cells are there for every target."""
    return lambda cell: None


TARGETS: Registry[Target] = Registry(
    "target",
    "target",
    (
        Target("mininet", "a standalone Mininet program per cell", mininet.begin),
        Target("json", "plan.json and cells.jsonl alone", _begin_json),
        Target("containers", "a Compose file per cell", None),
        Target("kubernetes", "Indexed Jobs", None),
        Target("slurm", "job arrays", None),
    ),
)


def find(names: Iterable[str]) -> dict[str, Begin]:
    """Return how to begin each target. Raises CompileError for those unknown or not there yet."""
    found: dict[str, Begin] = {}
    problems = []
    known = {target.name: target for target in TARGETS}
    ready = ", ".join(sorted(name for name, target in known.items() if target.begin))
    for name in names:
        target = known.get(name)
        if target is None:
            near = suggest(name, known)
            problems.append(
                Diagnostic(
                    code="unknown-target",
                    message=f"no target is called `{name}`"
                    + (f": did you mean `{near}`?" if near else ""),
                    help=f"known: {', '.join(TARGETS.names())}",
                )
            )
        elif target.begin is None:
            problems.append(
                Diagnostic(
                    code="target-not-yet",
                    message=f"the target `{name}` ({target.about}) is not there yet",
                    help=f"what can be emitted now: {ready}",
                )
            )
        else:
            found[name] = target.begin
    if problems:
        raise CompileError(problems)
    return found
