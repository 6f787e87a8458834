"""From the name of a file to an experiment and a compilation, with every diagnostic shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from . import console

if TYPE_CHECKING:
    from fairc.compiler import Compilation
    from fairc.compiler.plan import Cell
    from fairc.dsl.diagnostics import Diagnostics
    from fairc.dsl.model import Experiment


def load(path: Path, settings: Mapping[str, str]) -> tuple[Experiment | None, Diagnostics]:
    """Read and check a file; the experiment is None when it is wrong. Raises CompileError."""
    from fairc import dsl

    return dsl.load(dsl.read(path), settings)


def compiled(path: Path, settings: Mapping[str, str]) -> Compilation:
    """Return the compilation of a file that can run. Raises CompileError.

    Warnings are shown later, by `show_warnings`: the compiler has some of its own.
    """
    from fairc import compiler, dsl
    from fairc.dsl.diagnostics import CompileError

    experiment, found = load(path, settings)
    dsl.runnable(found).raise_if_errors()
    if experiment is None:
        raise CompileError(found)
    return compiler.compile(experiment)


def show_warnings(compilation: Compilation) -> None:
    """Show what the compiler found, once its cells have been asked for."""
    if len(compilation.diagnostics):
        show(compilation.diagnostics)


def show(diagnostics: Diagnostics) -> None:
    """Print diagnostics on standard error, with source lines and carets."""
    from fairc import dsl

    console.diagnostics(dsl.render_full(diagnostics, console.coloured(sys.stderr)))


def selection(where: str | None, names: Iterable[str]) -> Callable[[Cell], bool]:
    """Return which cells `--where` wants; names: what is swept. Raises CompileError."""
    if where is None:
        return lambda cell: True
    from fairc import dsl

    condition = dsl.condition(where)
    condition.check(list(names))
    return lambda cell: condition.matches(cell.bindings, cell.repetition)
