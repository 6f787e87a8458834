"""`fairc verdict`: decide the claims of a run, and count its valid cells."""

from __future__ import annotations

from pathlib import Path

import click

from fairc.runtime.claims.forms import FORMS, Answer
from fairc.runtime.run.outcome import count_cells, decide_claims
from fairc.runtime.store.folder import Store, runs_in

from . import console
from .failures import Status
from .options import Command, form, quiet, type_path
from .results import fresh_tables
from .unpacking import opened


@click.command(cls=Command)
@click.argument("run", metavar="RUN|PACK", type=type_path)
@form("text", "json", "junit", "md", help="junit and md are for CI and its comments.")
@click.option(
    "--strict",
    is_flag=True,
    help="Also exit with 1 when a claim is undecided or cells of the plan were not run.",
)
@quiet()
def verdict(run: Path, form: str, strict: bool) -> int:
    """Decide the claims of a run, and count its valid cells.

    The exit status is 1 when a claim fails or a cell is not valid; with --strict also when a claim
    is undecided or cells of the plan were not run. Of a file with several experiments, RUN is their
    folder, and all of them count.
    """
    with opened(run) as folder:
        found = [answered(each, strict) for each in runs_in(folder).values()]
    for line in FORMS[form](found):
        console.result(line)
    return Status.WELL if all(answer.well for answer in found) else Status.NOT_ALL_VALID


def answered(run: Path, strict: bool) -> Answer:
    """Return claims and validity of a run directory; its tables are brought up to date."""
    measured = fresh_tables(run)
    store = Store(run)
    return Answer(
        measured.plan, decide_claims(measured, store), count_cells(measured, store), strict
    )
