"""`fairc report`: build the report of RUN from what is stored; nothing is run."""

from __future__ import annotations

from pathlib import Path

import click

from fairc.runtime.report import build
from fairc.runtime.store.folder import Store, runs_in

from . import console
from .options import Command, quiet, type_path
from .results import plan_of, refresh
from .unpacking import run_of


@click.command(cls=Command)
@click.argument("run", metavar="RUN|PACK", type=type_path)
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
    runs = runs_in(run)
    for folder in runs.values():
        plan_of(folder)  # otherwise a mistyped name would become a directory
        with Store(folder) as store:
            refresh(store)
            warm = {"warmup": True} if warmup else {}
            for path in build.build(folder, forms, **warm):
                console.outcome(str(path))
    if "" not in runs and "html" in forms:
        console.outcome(str(build.build_all(run, [*runs])))
