"""From a file's name to an experiment and a compilation, with every diagnostic shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fairc import compiler, dsl
from fairc.compiler import Compilation
from fairc.compiler.engine_choice import VIRTUAL_TIME
from fairc.compiler.plan import Cell, Plan
from fairc.dsl.core.diagnostics import CompileError, Diagnostics
from fairc.dsl.experiment import Experiment
from fairc.runtime import engines
from fairc.runtime.engines import EngineKind
from fairc.runtime.host.faults import EngineUnavailable, MachineFault

from . import console
from .failures import UsageError

SHOWN_REASONS = 3


def chosen(target: Path) -> tuple[Path, str | None]:
    """Return the file that a command names, and its experiment in `FILE.fexp:NAME`, else None."""
    file, colon, name = str(target).rpartition(":")
    if colon and name.isidentifier() and file.endswith(".fexp") and not target.exists():
        return Path(file), name
    return target, None


def load(target: Path, settings: Mapping[str, str]) -> tuple[tuple[Experiment, ...], Diagnostics]:
    """Read and check the experiments of a file; none if something is wrong. Raises CompileError."""
    file, name = chosen(target)
    return dsl.load_all(dsl.read(file), settings, name)


def runnable(target: Path, settings: Mapping[str, str]) -> tuple[Experiment, ...]:
    """Return the experiments of a file, ready to run. Raises CompileError if one of them is not.

    Warnings are shown later, by `show_warnings`: the compiler has some of its own.
    """
    experiments, found = load(target, settings)
    dsl.runnable(found).raise_if_errors()
    if not experiments:
        raise CompileError(found)
    return experiments


def compiled(
    target: Path, settings: Mapping[str, str], engine: str | None
) -> tuple[Compilation, ...]:
    """Return a compilation of each experiment of a file. Raises CompileError, UsageError.

    engine: the value of `--engine`; None: FAIRC_ENGINE decides or, without it, the plan.
    """
    requested = requested_engine(engine)
    return tuple(compiler.compile(each, requested) for each in runnable(target, settings))


def requested_engine(engine: str | None) -> str | None:
    """Return the engine asked for by `--engine` or FAIRC_ENGINE, if any. Raises UsageError."""
    name = engine or os.environ.get(engines.VARIABLE)
    return engine_named(name).name if name else None


def engine_named(name: str) -> EngineKind:
    """Return the engine with a name. Raises UsageError for an unknown one."""
    try:
        return engines.kind_of(name)
    except LookupError as error:
        raise UsageError(error.args[0]) from None


Shown = set[tuple[str, str, int, str]]
"""The keys of warnings that have been shown."""


def show_warnings(*compilations: Compilation, shown: Shown | None = None) -> None:
    """Show what the compiler found, unless quiet; call it once the cells have been compiled.

    shown: of other experiments of the file, not to be repeated; new ones are added.
    """
    each = [compilation.diagnostics for compilation in compilations]
    is_whole = all(len(compilation.beside) <= len(compilations) for compilation in compilations)
    found = dsl.in_common((d for one in each for d in one), each, is_whole=is_whole)
    shown = set() if shown is None else shown
    new = Diagnostics(d for d in found if d.key not in shown)
    shown |= {d.key for d in new}
    if new and not console.is_quiet():
        show(new)
    if again := len(found) - len(new):
        of = "warnings" if again > 1 else "warning"
        console.say(f"{again} {of} of an earlier experiment, not repeated")


def show_choice(plan: Plan) -> None:
    """Say what in the file rules out faster engines, if anything does."""
    for reason in plan.engine_reasons[:SHOWN_REASONS]:
        console.say(f"engine {plan.engine}: {reason}")
    if (hidden := len(plan.engine_reasons) - SHOWN_REASONS) > 0:
        console.say(f"engine {plan.engine}: {hidden} more, in plan.json")


@contextmanager
def offering(engine: str, cells: Callable[[], Iterable[Cell]], how: str) -> Iterator[None]:
    """If this machine lacks what a virtual-time engine needs, name another one that can run the
    plan.

    cells: reads the plan's cells. how: how to run them on the engine `{}`.
    """
    try:
        yield
    except EngineUnavailable as lacking:
        if engine not in VIRTUAL_TIME or isinstance(lacking, MachineFault):
            raise  # it names alternatives itself, or no engine would do better
        other = engines.instead(engine, cells())
        if other is None:
            raise
        remedy = f"{lacking.remedy}\nhelp: or {how.format(other)}: that engine can run it, too"
        raise EngineUnavailable(lacking.missing, remedy) from lacking


def show(diagnostics: Diagnostics) -> None:
    """Print diagnostics on standard error, with source lines and carets."""
    console.diagnostics(dsl.render_full(diagnostics, console.coloured(sys.stderr)))


def selection(where: str | None, names: Iterable[str]) -> Callable[[Cell], bool]:
    """Return the test for the cells that `--where` wants; names: the swept names.

    Raises CompileError.
    """
    if where is None:
        return lambda cell: True
    condition = dsl.condition(where)
    condition.check(list(names))
    return lambda cell: condition.matches(cell.bindings, cell.repetition)
