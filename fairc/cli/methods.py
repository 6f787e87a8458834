"""`fairc methods`: print what a paper's section on methods says of RUN, and BibTeX."""

from __future__ import annotations

from pathlib import Path

import click

from fairc.runtime.report.methods import methods as written
from fairc.runtime.report.run import Run
from fairc.runtime.store.folder import runs_in

from . import console
from .options import Command, quiet, type_path
from .results import fresh_tables
from .unpacking import run_of


@click.command(cls=Command)
@click.argument("run", metavar="RUN|PACK", type=type_path)
@quiet()
def methods(run: Path) -> None:
    """Print what a paper's section on methods says of RUN, and BibTeX.

    One paragraph: network, flows, kernel, engine, seeds, repetitions, validity, statistics, and
    departures from the study that `source` names; then entries of fairc and of the sources in
    `source` and `title`.
    """
    run = run_of(run)
    for folder in runs_in(run).values():
        fresh_tables(folder)
        console.result(written(Run(folder)))
