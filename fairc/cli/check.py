"""`fairc check`: parse and check experiments; nothing is run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fairc import compiler, dsl
from fairc.dsl.core.diagnostics import CompileError, Diagnostics
from fairc.dsl.experiment import Experiment

from . import console
from .failures import Status
from .options import Command, form, quiet, type_path
from .sources import load

CONFIGURATIONS = 1000
"""At most this many configurations are compiled, evenly spread: all of them in most experiments."""


@click.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=type_path)
@form("full", "concise", "json", help="json goes to standard output, for editors and CI.")
@quiet()
def check(files: tuple[Path, ...], form: str) -> int:
    """Parse and check experiments; nothing is run.

    Features that cannot run yet are warnings here, and errors in `plan` and `run`.
    """
    total: list[Diagnostics] = [diagnose(path) for path in files]
    everything = Diagnostics(d for found in total for d in found)
    if form == "json":
        console.result(dsl.render_json(everything).rstrip("\n"))
    elif form == "concise":
        console.diagnostics(dsl.render_concise(everything))
    else:
        console.diagnostics(dsl.render_full(everything, console.coloured(sys.stderr)))
    if form != "json":
        for path, found in zip(files, total, strict=True):
            console.say(f"{path}: {verdict(found)}")
    return Status.WRONG if everything.errors else Status.WELL


def diagnose(path: Path) -> Diagnostics:
    """Return every diagnostic of a file: the front end's and the compiler's."""
    try:
        experiments, found = load(path, {})
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
        for _ in compilation.representatives(CONFIGURATIONS):
            pass
        compilation.choice_so_far()
    except CompileError as error:
        return Diagnostics([*compilation.diagnostics, *error.diagnostics])
    return compilation.diagnostics


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
