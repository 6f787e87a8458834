"""`fairc run`: run the missing cells of FILE or of the plan in DIR, and write the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fairc import dsl
from fairc.compiler.plan import Cell
from fairc.compiler.record import SPEC
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime import engines
from fairc.runtime.engines.base import ConfiningEngine, Engine, RunsPrograms
from fairc.runtime.host.clean import remove_temporary
from fairc.runtime.host.faults import NotBuilt
from fairc.runtime.report import place
from fairc.runtime.run import history, lock, programs, rounds
from fairc.runtime.run.history import invocation
from fairc.runtime.store import occupant
from fairc.runtime.store.folder import LOCK, PLAN, Store, StoreError, read_cells

from . import console, interruption
from .conclusion import conclude, page_of_all
from .failures import UsageError
from .results import default_run
from .sources import offering, requested_engine, selection, show_choice
from .targets import Allowed, RunTarget, check, on_engine, read_target
from .unpacking import is_pack, run_of

T = TypeVar("T")


def run(
    target: Path,
    output: Path | None,
    engine: str | None,
    jobs: int,
    settings: dict[str, str],
    where: str | None,
    fresh: bool,
    phases: bool,
    keep_raw: bool,
    collecting: bool,
    machine: str | None,
    allow_image: bool,
    allow_module: bool,
    allow_program: bool,
    strict: bool,
) -> int:
    """Run the missing cells of FILE or of the plan in DIR, and write the report."""
    if collecting:
        if settings or engine or where or fresh or phases or not keep_raw:
            raise UsageError(
                "--collect runs nothing: --set, --engine, --where, --fresh, --phase-check and"
                " --drop-raw do not apply"
            )
        from .collect import collect

        return collect(target, output, machine, jobs, strict=strict)
    if machine:
        raise UsageError("--machine needs --collect: it chooses whose results to collect")
    packed = is_pack(target)
    target = run_of(target, output)
    options = RunOptions(
        engine=engine,
        requested=requested_engine(engine),
        jobs=jobs,
        where=where,
        fresh=fresh,
        phases=phases,
        keep_raw=keep_raw,
        allowed=Allowed(images=allow_image, modules=allow_module, programs=allow_program),
        packed=packed,
        strict=strict,
        chose_folder=output is not None,
    )
    experiments = read_target(target, settings)
    if len(experiments) > 1:
        return all_of(experiments, output, options)
    (what,) = experiments
    return one_of(what, folder_of(what, output, engine), options)


def folder_of(what: RunTarget, output: Path | None, engine: str | None) -> Path:
    """Return the run directory of one experiment; output, engine: of `-o` and `--engine`."""
    folder = output or default_run(what.experiment, what.suite)
    if output is None and _has_others(folder, engine):
        return _beside(folder, engine)
    return folder


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run.

    engine: as named on the command line; requested: or by FAIRC_ENGINE. chose_folder: by `-o`.
    """

    engine: str | None
    requested: str | None
    jobs: int
    allowed: Allowed
    chose_folder: bool
    where: str | None = None
    fresh: bool = False
    phases: bool = False
    keep_raw: bool = True
    packed: bool = False
    strict: bool = False


def all_of(experiments: Sequence[RunTarget], output: Path | None, options: RunOptions) -> int:
    """Run the experiments of a file one after the other, each in a run directory of its own below
    one folder, and report them on one page; return the exit status.
    """
    folder, engine = output or default_run(experiments[0].suite), options.engine
    if output is None and any(
        _has_others(folder / what.experiment, engine) for what in experiments
    ):
        folder = _beside(folder, engine)
    if (folder / PLAN).exists():
        raise UsageError(
            f"{folder} is the run directory of one experiment, and the file has several",
            "name another folder with -o",
        )
    meant = [what for what in experiments if _has_names(options.where, what)] or experiments
    place.require_place(folder)
    for what in meant:
        Store(folder / what.experiment).require_place(what.experiment)
    statuses: list[int] = []
    for number, what in enumerate(meant, 1):
        console.outcome(f"experiment {what.experiment}, {number} of {len(meant)}")
        statuses.append(one_of(what, folder / what.experiment, options))
        console.outcome("")
    names = [what.experiment for what in experiments]
    page = page_of_all(folder, [name for name in names if (folder / name / PLAN).exists()])
    console.outcome(f"report of all: {page}")
    return max(statuses)


def _has_others(folder: Path, engine: str | None) -> bool:
    """Return whether a run directory has results of another engine than `--engine` names."""
    return engine is not None and Store(folder).engine not in (None, engine)


def _beside(folder: Path, engine: str | None) -> Path:
    """Return where a run on an engine goes that is not the one of the usual folder's results."""
    other = folder.with_name(f"{folder.name}-{engine}")
    console.say(f"{folder} has results of another engine: this run goes to {other}")
    return other


def _has_names(where: str | None, what: RunTarget) -> bool:
    """Return whether an experiment has the names in `--where`; others are left out."""
    try:
        selection(where, what.axes)
    except CompileError:
        return False
    return True


def one_of(what: RunTarget, folder: Path, options: RunOptions) -> int:
    """Run the missing cells of an experiment, and report; return the exit status."""
    wanted = selection(options.where, what.axes)
    with Store(folder) as store:
        store.keep_experiment(what.experiment)
        if options.phases and (obstacle := occupant.obstacle(store.path / occupant.PHASE_CHECK)):
            raise StoreError(obstacle)
        if options.engine:
            store.keep_engine(options.engine)
        plan, write = on_engine(what, store.engine, options.engine, options.requested)
        staged = store.stage(write)
        show_choice(plan)
        here = options.engine or what.engine or options.requested
        if store.engine and store.engine != here and not what.engine and plan.engine_asked:
            console.say(
                f"engine {plan.engine}: {store.path} has its results, and a run directory keeps its"
                " engine; with -o another directory, the file runs on its own"
            )
        check(plan.engine, staged, options.allowed)

        def cells() -> Iterator[Cell]:
            return read_cells(staged if staged.exists() else store.path)

        moves = store.engine is not None and options.chose_folder
        again = "`--engine {0}`" + (f" with `-o {store.path}-{{0}}`" if moves else "")
        with (
            offering(plan.engine, cells, again),
            closing(
                prepared(
                    plan.engine, options.allowed, options.packed, what.folder, store.path / SPEC
                )
            ) as prepared_engine,
        ):
            store.adopt(staged)
            return sweep(
                store,
                prepared_engine,
                options.jobs,
                wanted,
                invocation(store, lock.planned(store.path), options.where, phases=options.phases),
                fresh=options.fresh,
                phases=options.phases,
                keep_raw=options.keep_raw,
                strict=options.strict,
            )


def prepared(
    name: str,
    allowed: Allowed,
    of_strangers: bool,
    folder: Path | None = None,
    spec: Path | None = None,
) -> Engine:
    """Return an engine that is ready to run. Raises EngineUnavailable.

    of_strangers: what it runs may be a stranger's. folder: of the compiled plan that it runs. spec:
    the folder with the files that its plan was compiled from.
    """
    remove_temporary()  # left over from killed runs
    engine = engines.make(name, console.say)
    allowed.tell(engine, spec)
    if isinstance(engine, ConfiningEngine):
        engine.of_strangers = of_strangers
    if folder is not None and isinstance(engine, RunsPrograms):
        engine.programs = programs.unchanged(folder)
    try:
        with_images(engine.prepare)
    except BaseException:
        engine.close()
        raise
    return engine


def with_images(attempt: Callable[[], T]) -> T:
    """Return what an attempt does, made again for each image that it lacks and that the user has
    built now.

    Raises NotBuilt where the user does not agree, or nobody is at the terminal.
    """
    while True:
        try:
            return attempt()
        except NotBuilt as lack:
            if not console.agreed(f"{lack}: build it now ({lack.cost})?"):
                raise
            lack.build(console.say)


def sweep(
    store: Store,
    engine: Engine,
    jobs: int,
    wanted: Callable[[Cell], bool],
    asked: Mapping[str, Any],
    *,
    fresh: bool,
    phases: bool,
    keep_raw: bool,
    strict: bool = False,
) -> int:
    """Run the missing cells of the store's plan, and report; return the exit status.

    asked: what the lock keeps of this command (runtime/run/history.py). phases: also run the phase
    check.
    keep_raw: as for `Sweep`. strict: as for `conclude`.
    """
    if not any(map(wanted, store.cells())):
        where = asked.get("where", "")
        raise UsageError(
            f"no cell of the plan meets the --where condition `{where}`",
            dsl.condition(where).values({axis.name: axis.values for axis in store.plan.axes}),
        )
    interruption.keeps("finished cells are kept; the same command resumes")
    record = history.carried(store, asked)
    described = with_images(lambda: lock.describe(store.path, engine))  # one with Chromium, say
    store.write_json(LOCK, {**described, **record})
    counts = rounds.run(
        store, engine, console.progress(), jobs, wanted, fresh, keep_raw, console.say
    )
    checked = None
    if phases:
        from .phase import check_phases

        checked = check_phases(store, engine, jobs, wanted, fresh, keep_raw)
    return conclude(store, counts, checked, strict=strict)
