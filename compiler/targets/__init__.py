"""Targets of `fairc compile`: a module each, listed in `TARGETS`.

A target writes something for every cell (`begin`), something for the whole plan (`finish`), or
both.

mininet     a program per configuration; program: what it says; code: a cell as Python source
containers  a Compose file per cell; images: third-party images of flows
slurm       a job array; kubernetes: an Indexed Job; jobs: what both share
index       what is emitted for cells; naming: of configurations
runner      `cell/`, which runs cells, beside what is emitted; rendering: templates
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairc.compiler.binary import EndpointsMissing, find_endpoints
from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Cell, Plan
from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.dsl.core.registry import Registry, suggest

from . import containers, images, kubernetes, mininet, slurm
from .index import Emitted
from .naming import Names

__all__ = ["TARGETS", "Emitted", "EndpointsMissing", "Names", "Target", "find", "find_endpoints"]

Writer = Callable[[Cell, str], None]
"""Writes a cell; the text is the name of its configuration (`naming`)."""
Begin = Callable[[Path], AbstractContextManager[Writer]]
Finish = Callable[[Path, Plan, Estimate], None]


@dataclass(frozen=True, slots=True)
class Target:
    """A target by name.

    begin: prepares a folder, gives a function that writes one cell into it, and writes what is left
    at its exit. finish: writes the parts for the whole plan into the folder, after its cells have
    been estimated one by one.
    engine: what can run what its programs can; empty: whatever the plan's engine can. emitted: what
    it writes for a cell, for the index.
    """

    name: str
    about: str
    begin: Begin | None = None
    finish: Finish | None = None
    engine: str = ""
    emitted: Emitted | None = None


@contextmanager
def _begin_json(directory: Path) -> Iterator[Writer]:
    """Write nothing more: the plan and its cells are there for every target."""
    yield lambda cell, name: None


def _without_images(target: str) -> Begin:
    """Return what refuses third-party images, and writes nothing for a cell."""

    @contextmanager
    def begin(directory: Path) -> Iterator[Writer]:
        yield lambda cell, name: images.refuse(cell, target)

    return begin


TARGETS: Registry[Target] = Registry(
    "target",
    "target",
    (
        Target(
            "mininet",
            "a Mininet program per configuration",
            mininet.begin,
            engine="mininet",
            emitted=mininet.EMITTED,
        ),
        Target("json", "plan.json and cells.jsonl only", _begin_json),
        Target(
            "containers",
            "a Compose file per cell",
            containers.begin,
            engine="docker",
            emitted=containers.EMITTED,
        ),
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
