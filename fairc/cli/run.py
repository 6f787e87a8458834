"""`fairc run`: run what is missing, and report."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import console
from .collect import collect
from .conclusion import conclude, default_run
from .failures import Status, Wrong
from .options import quiet, settings, type_path, where
from .phase import check_phases
from .sources import compiled, selection, show_warnings

if TYPE_CHECKING:
    from fairc.compiler.plan import Plan
    from fairc.runtime.engines.base import Engine


@click.command()
@click.argument("target", metavar="FILE|DIR", type=type_path)
@click.option("-o", "--output", metavar="RUN", type=type_path, help="[default: results/EXPERIMENT]")
@click.option("--engine", metavar="NAME", help="vm, mininet or docker.  [default: vm]")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Cells at once.  [default: all cores]")
@settings()
@where("Run only cells that fulfil a condition, as in `exclude`.")
@click.option("--fresh", is_flag=True, help="Run all cells again, also those that are there.")
@click.option(
    "--phase-check",
    "phases",
    is_flag=True,
    help="Then repeat a part with hosts that take up to a full frame's time for a packet.",
)
@click.option(
    "--collect",
    "collecting",
    is_flag=True,
    help="Run nothing: collect what `fairc cell` left in DIR.",
)
@click.option(
    "--machine", metavar="IDENTITY", help="With --collect: whose results, if several ran cells."
)
@click.option(
    "--allow-image",
    is_flag=True,
    help="With --engine docker: run the container images that flows name. They are code.",
)
@quiet()
def run(
    target: Path,
    output: Path | None,
    engine: str | None,
    jobs: int | None,
    settings: dict[str, str],
    where: str | None,
    fresh: bool,
    phases: bool,
    collecting: bool,
    machine: str | None,
    allow_image: bool,
) -> int:
    """Run what is missing of FILE, or of the compiled plan in DIR, and write the report.

    Ctrl-C at any time: finished cells are kept, and the same command resumes.
    """
    if collecting:
        if settings or engine or where or fresh or phases:
            raise Wrong(
                "--collect runs nothing: --set, --engine, --where, --fresh and --phase-check mean nothing"
            )
        return collect(target, output, machine, jobs or len(os.sched_getaffinity(0)))
    if machine:
        raise Wrong("--machine says whose results --collect takes; `run` knows its own")
    from fairc.runtime import engines, lock
    from fairc.runtime.store import LOCK, Store
    from fairc.runtime.sweep import Sweep

    plan, write = planned(target, settings)
    wanted = selection(where, (axis.name for axis in plan.axes))
    try:
        made = engines.make(engine, console.say)
    except LookupError as error:
        raise Wrong(error.args[0]) from None
    with closing(made), Store(output or default_run(plan.experiment)) as store:
        staged = store.stage(write)
        allow_images(made, staged, allow_image)
        made.prepare()
        store.adopt(staged)
        store.write_json(LOCK, lock.describe(store.path, made))
        sweep = Sweep(
            store, made, console.progress(), jobs or len(os.sched_getaffinity(0)), wanted, fresh
        )
        checked = None
        try:
            counts = sweep.run()
            if counts.total == 0:
                raise Wrong("no cell of the plan fulfils the condition of --where")
            if phases:
                checked = check_phases(store, made, sweep.jobs, wanted, fresh)
        except KeyboardInterrupt:
            console.complain("interrupted: finished cells are kept; the same command resumes")
            return Status.INTERRUPTED
        return conclude(store, counts, checked)


def allow_images(engine: Engine, staged: Path, allowed: bool) -> None:
    """Let the engine run the images that flows name, or refuse them. Raises Wrong."""
    from fairc.compiler.targets.images import names
    from fairc.runtime.store import read_cells

    wanted = sorted({name for cell in read_cells(staged) for name in names(cell)})
    if not wanted:
        return
    listed = ", ".join(f"`{name}`" for name in wanted)
    if engine.name != "docker":
        raise Wrong(
            f"the engine {engine.name} cannot run images: {listed}",
            "`--engine docker --allow-image` runs them in containers",
        )
    if not allowed:
        raise Wrong(
            f"flows name images of others, which are code: {listed}",
            "`--allow-image` says that they may run: each in containers without capabilities, host"
            " network or files of yours; never pulled, only what this machine's Docker engine has",
        )
    from fairc.runtime.engines.docker import DockerEngine

    if isinstance(engine, DockerEngine):
        engine.allow_images = True


def planned(target: Path, settings: dict[str, str]) -> tuple[Plan, Callable[[Path], None]]:
    """Return a plan's header, and what writes the plan into a folder. Raises CompileError."""
    if target.is_dir():
        from fairc.runtime.store import CELLS, PLAN, read_plan

        if settings:
            raise Wrong(f"--set changes a file; {target} is a plan that has been compiled already")

        def copy(folder: Path) -> None:
            for name in (PLAN, CELLS):
                shutil.copyfile(target / name, folder / name)

        return read_plan(target), copy

    from fairc.compiler import emit

    compilation = compiled(target, settings)

    def write(folder: Path) -> None:
        emit(compilation, folder, ("json",))
        show_warnings(compilation)

    return compilation.plan, write
