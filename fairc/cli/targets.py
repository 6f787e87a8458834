"""The argument of `fairc run` (a file or a compiled plan), and the engine that may run it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from fairc import compiler
from fairc.compiler import engine_choice
from fairc.compiler.engine_choice import CHOICES, Reason, refusal
from fairc.compiler.plan import Cell, Plan
from fairc.compiler.targets.images import names
from fairc.dsl.core.diagnostics import CompileError
from fairc.dsl.experiment import Experiment
from fairc.runtime.engines.base import Engine, LoadsModules, RunsImages, RunsUserPrograms
from fairc.runtime.store.copying import copy_plan
from fairc.runtime.store.folder import LOCK, PLAN, Store, read_cells, read_plan, runs_in

from .failures import UsageError
from .results import suite_of
from .sources import Shown, engine_named, runnable, show_warnings

ALLOW_MODULE = (
    "`--allow-module` compiles them in a machine of the engine uml and lets them run in the guest"
    " of their engine, confined"
)
ALLOW_PROGRAM = "`--allow-program` lets them run in the guest of their engine, confined"
ALLOW_IMAGE = (
    "`--allow-image` lets them run, each in containers without capabilities, host network or your"
    " files; images are never pulled"
)
Written = tuple["Plan", Callable[[Path], None]]


@dataclass(frozen=True, slots=True)
class RunTarget:
    """A target to run, before it has an engine.

    suite: the name of its file, if that has several experiments; else empty. axes: the swept names.
    engine: the one that a compiled plan is for; None for a file. folder: of a compiled plan.
    on: an engine, or None for the one that the plan chooses -> the plan's header, and a function
    that writes the plan into a folder; raises CompileError.
    """

    experiment: str
    suite: str
    axes: tuple[str, ...]
    engine: str | None
    on: Callable[[str | None], Written]
    folder: Path | None = None


def read_target(target: Path, settings: dict[str, str]) -> list[RunTarget]:
    """Read the experiments of a file, or a compiled plan.

    Raises CompileError, StoreError, UsageError.
    """
    if not target.is_dir():
        shown: Shown = set()
        return [_of_file(experiment, shown) for experiment in runnable(target, settings)]
    if settings:
        _refuse_settings(target)
    return [_folder(run) for run in runs_in(target).values()]


def _refuse_settings(target: Path) -> NoReturn:
    """Raise UsageError, naming the command that applies settings to the plan's file; StoreError if
    it is no plan.
    """
    runs = runs_in(target)
    run = next(iter(runs.values()))
    plan = read_plan(run)
    spec = run / "spec" / plan.file
    named = run / "spec" / plan.target if "" in runs else spec
    into = f" -o {target}" if (run / LOCK).is_file() else ""
    raise UsageError(
        f"--set applies to a file, but {target} is a compiled plan",
        f"its file: fairc run {named}{into} --set NAME=VALUE" if spec.is_file() else "",
    )


def _of_file(experiment: Experiment, shown: Shown) -> RunTarget:
    """Return an experiment of a file; shown: warnings of other experiments."""
    experiment.count()

    def on(engine: str | None) -> Written:
        compilation = compiler.compile(experiment, engine)

        def write(folder: Path) -> None:
            compiler.emit(compilation, folder, ("json",))
            show_warnings(compilation, shown=shown)

        return compilation.plan, write

    suite = Path(experiment.file.name).stem if len(experiment.beside) > 1 else ""
    axes = tuple(axis.name for axis in experiment.axes)
    return RunTarget(experiment.name, suite, axes, None, on)


def _folder(target: Path) -> RunTarget:
    header = read_plan(target)

    def on(engine: str | None) -> Written:
        plan = header
        if engine not in (None, header.engine):
            asked = (asks for cell in read_cells(target) for asks in engine_choice.of_cell(cell))
            wants = dict.fromkeys(asked)
            choice = engine_choice.given(str(engine), wants)
            update = {
                "engine": choice.engine,
                "engine_reasons": choice.sentences,
                "engine_asked": not engine_choice.chosen_anyway(choice.engine, wants),
            }
            plan = header.model_copy(update=update)

        def write(folder: Path) -> None:
            copy_plan(target, folder)
            if plan is not header:
                text = plan.model_dump_json(indent=2) + "\n"
                (folder / PLAN).write_text(text, encoding="utf-8")

        return plan, write

    axes = tuple(axis.name for axis in header.axes)
    # A run directory is a plan, too; the engine of its results takes precedence.
    engine = Store(target).engine or header.engine
    return RunTarget(header.experiment, suite_of(header), axes, engine, on, target)


def on_engine(
    what: RunTarget, kept: str | None, asked: str | None, requested: str | None
) -> Written:
    """Return the plan on its engine: the one asked for, else the one with results, else the plan's.

    kept: the engine whose results are in the run directory. requested: the engine for a file if
    nothing else decides. Raises CompileError if the engine cannot run the plan, and UsageError if
    it runs as root and the user has not asked for it: a plan or a run directory cannot ask, as a
    stranger may have written it.
    """
    chosen = asked or kept or what.engine or requested
    requested_here = asked or (requested if what.engine is None else None)
    if requested_here != chosen:
        refuse_unrequested(chosen, "run directory" if kept else "plan")
    try:
        return what.on(chosen)
    except CompileError as error:
        if asked or not kept or any(d.code != "engine-cannot" for d in error.diagnostics):
            raise
        help = (
            f"the run directory has results of {kept} and keeps its engine: name another"
            " directory with -o"
        )
        raise CompileError([replace(d, help=help) for d in error.diagnostics]) from None


def must_be_named(engine: str) -> bool:
    """Return whether an engine runs a plan only where `--engine` names it. Raises UsageError."""
    return engine_named(engine).family not in CHOICES


def refuse_unrequested(engine: str | None, where: str) -> None:
    """Raise UsageError for an engine that the user must ask for, but that only `where` names."""
    if engine is not None and must_be_named(engine):
        kind = engine_named(engine)
        risk = f", which {kind.risk}" if kind.risk else ""
        raise UsageError(
            f"the {where} names the engine {engine}{risk}", f"`--engine {engine}` allows it"
        )


@dataclass(frozen=True, slots=True)
class Allowed:
    """The code of others that may run: container images, kernel modules, programs."""

    images: bool = False
    modules: bool = False
    programs: bool = False

    def tell(self, engine: Engine, spec: Path | None = None) -> None:
        """Let an engine run it; spec: the folder with the files of the plan."""
        if self.images and isinstance(engine, RunsImages):
            engine.allow_images = True
        if self.modules and isinstance(engine, LoadsModules):
            engine.allow_modules = True
        if self.programs and isinstance(engine, RunsUserPrograms):
            engine.allow_programs, engine.program_files = True, spec


def modules_of(cells: Iterable[Cell]) -> list[str]:
    """Return the files of the kernel modules that cells load, sorted."""
    return sorted({module.file for cell in cells for module in cell.modules.values()})


def programs_of(cells: Iterable[Cell]) -> list[str]:
    """Return the flows of cells with programs of the user's own, sorted."""
    flows = (flow for cell in cells for flow in cell.flows)
    own = (flow for flow in flows if flow.workload.own_code is not None)
    return sorted({flow.declared or flow.name for flow in own})


def check(engine: str, staged: Path, allowed: Allowed) -> None:
    """Check that an engine can run every cell, and that its images, modules and programs may run.

    Raises CompileError for what it cannot run, UsageError for code without permission and for an
    unknown engine.
    """
    kind = engine_named(engine)
    code = Code()
    reasons: dict[Reason, None] = {}
    for cell in read_cells(staged):
        reasons |= dict.fromkeys(kind.cannot(cell))
        code.add(cell)
    if reasons:
        raise CompileError([refusal(engine, reasons)])
    code.refuse(allowed)


class Code:
    """Third-party code that cells would run."""

    def __init__(self) -> None:
        self._images: set[str] = set()
        self._modules: set[str] = set()
        self._programs: set[str] = set()

    def add(self, cell: Cell) -> None:
        """Add that of a cell."""
        self._images.update(names(cell))
        self._modules.update(modules_of([cell]))
        self._programs.update(programs_of([cell]))

    def refuse(self, allowed: Allowed) -> None:
        """Raise UsageError for what is not allowed."""
        kinds = (
            (self._modules, allowed.modules, "flows load kernel modules", ALLOW_MODULE),
            (self._programs, allowed.programs, "these flows run programs", ALLOW_PROGRAM),
            (self._images, allowed.images, "flows use third-party images", ALLOW_IMAGE),
        )
        refused = [
            (f"{what}, which are code: {', '.join(f'`{name}`' for name in sorted(code))}", help)
            for code, may, what, help in kinds
            if code and not may
        ]
        if refused:
            raise UsageError(
                "; ".join(what for what, _ in refused), "; ".join(h for _, h in refused)
            )
