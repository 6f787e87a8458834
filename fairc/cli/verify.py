"""`fairc verify`: is everything that is stored what was written?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import console
from .failures import Status, Wrong
from .options import quiet, type_path

if TYPE_CHECKING:
    from fairc.runtime.store.verification import Verified

SHOWN = 40


@click.command()
@click.argument("target", metavar="RUN", type=type_path)
@click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True
)
@quiet()
def verify(target: Path, form: str) -> int:
    """Compare every file of RUN with the hash that was recorded when it was written.

    Cells with their raw artefacts, plan, lock, tables, figures and report, and the phase check. Nothing is
    changed; what is damaged is listed with what repairs it, and the exit status is 1 then.
    """
    found = looked_at(target)
    for line in FORMS[form](target, found):
        console.result(line)
    return Status.NOT_ALL_VALID if found.damaged else Status.WELL


def looked_at(target: Path) -> Verified:
    """Verify what a path names: a run directory. Raises Wrong, StoreError."""
    from fairc.runtime.store import verification

    if target.is_dir():
        return verification.verify(target)
    raise Wrong(f"{target} is not a run directory")


def as_text(target: Path, found: Verified) -> Iterator[str]:
    """Yield for people: a table of what is damaged, and how much was looked at."""
    from .results import aligned

    if found.damaged:
        shown = found.damaged[:SHOWN]
        rows = [["file", "damage", "what repairs it"]]
        rows += [[one.file, one.why, one.repair] for one in shown]
        yield from aligned(rows, left=3)
        if len(found.damaged) > SHOWN:
            yield f"... and {len(found.damaged) - SHOWN} more: --format json"
        yield ""
    for note in found.notes:
        yield f"note: {note}"
    counts = f"{found.files} files of {found.cells} cells and the run"
    yield f"{target}: {counts}: {len(found.damaged) or 'none'} damaged"


def as_json(target: Path, found: Verified) -> Iterator[str]:
    """Yield the object that docs/cli.md describes."""
    document = {"target": str(target), "whole": not found.damaged, **asdict(found)}
    yield json.dumps(document, indent=2, ensure_ascii=False)


FORMS: dict[str, Callable[[Path, Verified], Iterator[str]]] = {"text": as_text, "json": as_json}
