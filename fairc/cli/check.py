"""`fairc check`: parse and check experiments; run nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from fairc import compiler, dsl
from fairc.compiler.plan import Cell
from fairc.dsl.core.diagnostics import CompileError, Diagnostics
from fairc.dsl.core.problems import fail
from fairc.dsl.experiment import Experiment
from fairc.runtime.engines import kind_of
from fairc.runtime.host import faults

from . import console
from .failures import Status
from .sources import load

STANDARD_INPUT = Path("-")
CONFIGURATIONS = 1000
"""At most this many configurations are compiled, evenly spread: all of them in most experiments."""


def check(files: tuple[Path, ...], settings: dict[str, str], form: str) -> int:
    """Parse and check experiments; run nothing."""
    total: list[Diagnostics] = [diagnose(path, settings) for path in files]
    everything = Diagnostics(d for found in total for d in found)
    if form == "json":
        console.result(dsl.render_json(everything).rstrip("\n"))
    elif form == "github":
        console.result(dsl.render_github(everything).rstrip("\n"))
    elif form == "concise":
        console.diagnostics(dsl.render_concise(everything))
    else:
        console.diagnostics(dsl.render_full(everything, console.coloured(sys.stderr)))
    if form in ("full", "concise"):
        for path, found in zip(files, total, strict=True):
            console.say(f"{path}: {verdict(found)}")
    return Status.WRONG if everything.errors else Status.WELL


def diagnose(path: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Diagnostics:
    """Return every diagnostic of a file: the front end's and the compiler's.

    settings: as of `--set`, name -> expression.
    """
    try:
        if path == STANDARD_INPUT:
            text = dsl.decoded(sys.stdin.buffer.read(dsl.SIZE_LIMIT + 1), "<stdin>")
            experiments, found = dsl.load_all(text, settings)
        else:
            experiments, found = load(path, settings)
    except CompileError as error:
        return Diagnostics(error.diagnostics)
    each = [compiled(experiment, experiment.diagnostics) for experiment in experiments]
    is_whole = all(len(experiment.beside) <= len(experiments) for experiment in experiments)
    kept = dsl.in_common((d for one in each for d in one), each, is_whole=is_whole)
    return Diagnostics([*found, *kept])


def compiled(experiment: Experiment | None, found: Diagnostics) -> Diagnostics:
    """Return what was found in a file and, if it can be compiled, what the compiler finds."""
    if experiment is None or found.errors or any(d.code == "not-yet" for d in found):
        return found
    compilation = compiler.compile(experiment)
    try:
        cells = [cell for cell, _ in compilation.representatives(CONFIGURATIONS)]
        refuse_large(cells, compilation.choice_so_far().engine)
    except CompileError as error:
        return Diagnostics([*compilation.diagnostics, *error.diagnostics])
    return compilation.diagnostics


def refuse_large(cells: Iterable[Cell], engine: str) -> None:
    """Raise CompileError for the first cell that needs more memory than this computer has."""
    for cell in cells:
        needs = kind_of(engine).needs(cell)
        if needs is not None and needs.memory_bytes > faults.memory_bytes():
            fail(
                "too-little-memory",
                f"a cell needs {needs}, and this computer has less",
                help=needs.remedy,
            )


def verdict(found: Diagnostics) -> str:
    """Count errors and warnings."""
    errors = len(found.errors)
    warnings = len(found) - errors
    parts = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((errors, "error"), (warnings, "warning"))
        if count
    ]
    return ", ".join(parts) or "no problems found"
