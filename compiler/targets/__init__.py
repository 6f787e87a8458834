"""What can be emitted from a plan: one module per target, `TARGETS` is the set of their names.

A target writes something for every cell (`begin`), something for the whole plan (`finish`), or
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Cell, Plan
from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.dsl.core.registry import Registry, suggest

from . import containers, images, kubernetes, mininet, slurm
from .binary import EndpointsMissing, find_endpoints

__all__ = ["TARGETS", "EndpointsMissing", "Target", "find", "find_endpoints", "in_one_file"]

Writer = Callable[[Cell], None]
Begin = Callable[[Path], Writer]
Finish = Callable[[Path, Plan, Estimate], None]


@dataclass(frozen=True, slots=True)
class Target:
    """A target by name.

    begin: prepares a folder and returns a function that writes one cell into it. finish: writes the
    parts for the whole plan into the folder, after its cells have been estimated one by one.
    begin_alone: as begin, but with each program and everything that runs it in one file. engine:
    what can run what its programs can; empty: whatever the plan's engine can.
    """

    name: str
    about: str
    begin: Begin | None = None
    finish: Finish | None = None
    begin_alone: Begin | None = None
    engine: str = ""


def _begin_json(directory: Path) -> Writer:
    """Write nothing more: the plan and its cells are there for every target."""
    return lambda cell: None


def _without_images(name: str) -> Begin:
    """Return what refuses third-party images, and writes nothing for a cell."""
    return lambda directory: lambda cell: images.refuse(cell, name)


TARGETS: Registry[Target] = Registry(
    "target",
    "target",
    (
        Target(
            "mininet",
            "a standalone Mininet program per cell",
            mininet.begin,
            begin_alone=partial(mininet.begin, alone=True),
            engine="mininet",
        ),
        Target("json", "plan.json and cells.jsonl only", _begin_json),
        Target("containers", "a Compose file per cell", containers.begin, engine="docker"),
        Target(
            "kubernetes",
            "an Indexed Job: a pod per cell",
            _without_images("kubernetes"),
            kubernetes.finish,
        ),
        Target("slurm", "a job array: a task per cell", _without_images("slurm"), slurm.finish),
    ),
)

TARGETS.accept("fairc.targets")


def in_one_file(target: Target) -> Target:
    """Return the target with each program and everything that runs it in one file, if it supports
    that.
    """
    return target if target.begin_alone is None else replace(target, begin=target.begin_alone)


def find(names: Iterable[str]) -> list[Target]:
    """Return targets by name, each once. Raises CompileError for those unknown."""
    found: dict[str, Target] = {}
    problems = []
    known = {target.name: target for target in TARGETS}
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
        else:
            found[name] = target
    if problems:
        raise CompileError(problems)
    return list(found.values())
