"""`fairc run`: run what is missing, and report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import click

from fairc.compiler.plan import Cell
from fairc.runtime import engines
from fairc.runtime.engines.base import ConfiningEngine, Engine, RunsImages
from fairc.runtime.host.clean import remove_temporary
from fairc.runtime.host.faults import NotBuilt
from fairc.runtime.run import history, lock, rounds
from fairc.runtime.run.history import invocation
from fairc.runtime.store import occupant
from fairc.runtime.store.folder import LOCK, Store, StoreError, read_cells

from . import console, interruption, options
from .collect import collect
from .conclusion import conclude, default_run
from .failures import UsageError
from .options import jobs, quiet, settings, type_path, where
from .packs import is_pack, run_of
from .phase import check_phases
from .sources import offering, requested_engine, selection, show_choice
from .targets import check, on_engine, read_target

T = TypeVar("T")


@click.command()
@click.argument("target", metavar="FILE|DIR", type=type_path)
@click.option("-o", "--output", metavar="RUN", type=type_path, help="[default: results/EXPERIMENT]")
@options.engine()
@jobs()
@settings()
@where("Run only cells that meet a condition, as in `exclude`.")
@click.option("--fresh", is_flag=True, help="Run all cells again, even finished ones.")
@click.option(
    "--phase-check",
    "phases",
    is_flag=True,
    help="Then rerun some cells with hosts that delay packets by up to the time of one full frame.",
)
@click.option(
    "--collect",
    "collecting",
    is_flag=True,
    help="Run nothing: collect the results of `fairc cell` from DIR.",
)
@click.option(
    "--machine",
    metavar="IDENTITY",
    help="With --collect: the machine whose results to take, if several ran cells.",
)
@click.option(
    "--allow-image",
    is_flag=True,
    help="With --engine docker: run the container images named by flows. Images are code.",
)
@click.option("--strict", is_flag=True, help="Also exit with 1 when a claim is undecided.")
@quiet()
def run(
    target: Path,
    output: Path | None,
    engine: str | None,
    jobs: int,
    settings: dict[str, str],
    where: str | None,
    fresh: bool,
    phases: bool,
    collecting: bool,
    machine: str | None,
    allow_image: bool,
    strict: bool,
) -> int:
    """Run the missing cells of FILE, or of the compiled plan in DIR, and write the report.

    Ctrl-C at any time: finished cells are kept, and the same command resumes.
    """
    if collecting:
        if settings or engine or where or fresh or phases:
            raise UsageError(
                "--collect runs nothing: --set, --engine, --where, --fresh and --phase-check do"
                " not apply"
            )
        return collect(target, output, machine, jobs, strict=strict)
    if machine:
        raise UsageError("--machine needs --collect: it chooses whose results to collect")
    packed = is_pack(target)
    target = run_of(target, output)
    (what, *_), requested = read_target(target, settings), requested_engine(engine)
    wanted = selection(where, what.axes)
    with Store(output or default_run(what.experiment)) as store:
        store.keep_experiment(what.experiment)
        if phases and (obstacle := occupant.obstacle(store.path / occupant.PHASE_CHECK)):
            raise StoreError(obstacle)
        if engine:
            store.keep_engine(engine)
        plan, write = on_engine(what, store.engine, engine, requested)
        staged = store.stage(write)
        show_choice(plan)
        check(plan.engine, staged, allow_image)

        def cells() -> Iterator[Cell]:
            return read_cells(staged if staged.exists() else store.path)

        again = "`--engine {0}`" + (f" with `-o {store.path}-{{0}}`" if store.engine else "")
        with (
            offering(plan.engine, cells, again),
            closing(prepared(plan.engine, allow_image, packed)) as prepared_engine,
        ):
            store.adopt(staged)
            asked = invocation(store, where, phases=phases)
            return sweep(
                store,
                prepared_engine,
                jobs,
                wanted,
                asked,
                fresh=fresh,
                phases=phases,
                strict=strict,
            )


def prepared(name: str, allow_image: bool, of_strangers: bool) -> Engine:
    """Return an engine that is ready to run. Raises EngineUnavailable.

    of_strangers: what it runs may be a stranger's.
    """
    remove_temporary()  # left over from killed runs
    engine = engines.make(name, console.say)
    if allow_image and isinstance(engine, RunsImages):
        engine.allow_images = True
    if isinstance(engine, ConfiningEngine):
        engine.of_strangers = of_strangers
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
    strict: bool = False,
) -> int:
    """Run the missing cells of the store's plan, and report; return the exit status.

    asked: what the lock keeps of this command (runtime/run/history.py). phases: also run the phase
    check.
    strict: as for `conclude`.
    """
    if not any(map(wanted, store.cells())):
        raise UsageError("no cell of the plan meets the --where condition")
    interruption.keeps("finished cells are kept; the same command resumes")
    record = history.carried(store, asked)
    described = with_images(lambda: lock.describe(store.path, engine))  # one with Chromium, say
    store.write_json(LOCK, {**described, **record})
    counts = rounds.run(store, engine, console.progress(), jobs, wanted, fresh, console.say)
    checked = check_phases(store, engine, jobs, wanted, fresh) if phases else None
    return conclude(store, counts, checked, strict=strict)
