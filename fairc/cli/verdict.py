"""`fairc verdict`: decide the claims of a run, and count its valid cells."""

from __future__ import annotations

from pathlib import Path

from fairc.runtime.claims.forms import FORMS, Answer
from fairc.runtime.run.outcome import count_cells, decide_claims
from fairc.runtime.store.folder import Store, runs_in

from . import console
from .failures import Status
from .results import fresh_tables
from .unpacking import opened


def verdict(run: Path, form: str, strict: bool) -> int:
    """Decide the claims of a run, and count its valid cells."""
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
