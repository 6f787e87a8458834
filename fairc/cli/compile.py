"""`fairc compile`: write the plan and the emitted programs; byte-identical each time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from fairc.compiler import emit
from fairc.compiler.plan import Cell, Plan
from fairc.compiler.targets import find
from fairc.compiler.targets.index import PAGE
from fairc.runtime.formatting import counted

from . import console
from .failures import UsageError
from .sources import compiled, show_choice, show_warnings
from .targets import Allowed, Code, must_be_named


def compile(
    file: Path,
    output: Path,
    targets: tuple[str, ...],
    engine: str | None,
    settings: dict[str, str],
    allow_module: bool,
    allow_program: bool,
) -> None:
    """Write the plan and the emitted programs; byte-identical each time."""
    compilations = compiled(file, settings, engine)
    folders = [
        output / c.experiment.name if len(compilations) > 1 else output for c in compilations
    ]
    programs = []
    jobs = any(target.finish for target in find(targets))
    allowed = Allowed(images=True, modules=allow_module, programs=allow_program)
    for compilation, folder in zip(compilations, folders, strict=True):
        try:
            programs.append(
                emit(
                    compilation,
                    folder,
                    targets or None,
                    partial(_refuse, allowed) if jobs else None,
                )
            )
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(str(error), "name another folder with -o") from None
    show_warnings(*compilations)
    for compilation, folder, commands in zip(compilations, folders, programs, strict=True):
        show_choice(compilation.plan)
        for line in next_steps(compilation.plan, folder, commands):
            console.outcome(line)


def _refuse(allowed: Allowed, cell: Cell) -> None:
    """Raise UsageError for code of a cell that is not allowed: a job runs it without asking."""
    code = Code()
    code.add(cell)
    code.refuse(allowed)


def next_steps(plan: Plan, folder: Path, programs: Sequence[str]) -> Iterator[str]:
    """Yield what was written, the engine that `fairc run` will use, and the next commands.

    programs: what runs the first cell in the folder without fairc.
    """
    yield (
        f"{folder}: {counted(plan.cells, 'cell')} for the engine {plan.engine}; {PAGE} lists them"
    )
    place = shlex.quote(str(folder))
    run = f"fairc run {place}"
    if must_be_named(plan.engine):
        run += f" --engine {plan.engine}"
    steps = [(run, f"all cells, on {plan.engine}, with a report")]
    steps += [(f"cd {place} && {each}", "the first cell by itself") for each in programs]
    width = max(len(command) for command, _ in steps)
    yield from (f"    {command:{width}}  # {what}" for command, what in steps)
