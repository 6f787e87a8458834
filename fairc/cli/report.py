"""`fairc report`: build the report of RUN from what is stored; nothing is run."""

from __future__ import annotations

from pathlib import Path

import click

from fairc.runtime.report import build
from fairc.runtime.store.folder import PLAN, Store, read_plan

from . import console
from .options import Command, quiet, type_path
from .packs import run_of
from .results import plan_of, refresh


@click.command(cls=Command)
@click.argument("run", metavar="RUN", type=type_path)
@click.option(
    "--format",
    "forms",
    type=click.Choice(("html", "md", "pdf", "svg", "csv", "tex")),
    multiple=True,
    default=("html",),
    show_default=True,
    help="May be repeated; pdf and svg are the figures, csv and tex the tables.",
)
@click.option(
    "--warmup-sensitivity",
    "warmup",
    is_flag=True,
    help="Also show results with half and with twice the warm-up, from raw artefacts.",
)
@quiet()
def report(run: Path, forms: tuple[str, ...], warmup: bool) -> None:
    """Build the report of RUN from what is stored; nothing is run."""
    run = run_of(run)
    several = experiments_in(run)
    for folder in several or [run]:
        plan_of(folder)  # otherwise a mistyped name would become a directory
        with Store(folder) as store:
            refresh(store)
            warm = {"warmup": True} if warmup else {}
            for path in build.build(folder, forms, **warm):
                console.outcome(str(path))
    if several and "html" in forms:
        console.outcome(str(build.build_all(run, [folder.name for folder in several])))


def experiments_in(folder: Path) -> list[Path]:
    """Return the run directories of the experiments of one file, in its order; none if the folder
    is a run directory itself.
    """
    if (folder / PLAN).exists():
        return []
    found = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{PLAN}"))}
    order = read_plan(next(iter(found.values()))).experiments if found else ()
    return [found[name] for name in order if name in found]
