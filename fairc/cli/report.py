"""`fairc report`: build the report from stored results."""

from __future__ import annotations

from pathlib import Path

import click

from fairc.runtime.report import build
from fairc.runtime.store.folder import Store

from . import console
from .options import quiet, type_path
from .packs import run_of
from .results import plan_of, refresh


@click.command()
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
    plan_of(run)  # otherwise a mistyped name would become a directory
    with Store(run) as store:
        refresh(store)
        built = build.build(run, forms, warmup=True) if warmup else build.build(run, forms)
        for path in built:
            console.outcome(str(path))
