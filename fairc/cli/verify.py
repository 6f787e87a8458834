"""`fairc verify`: is everything that is stored what was written?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import console
from .failures import Status, Wrong
from .options import form, quiet, type_path

if TYPE_CHECKING:
    from fairc.runtime.store.verification import Verified

SHOWN = 40


@click.command()
@click.argument("target", metavar="RUN|PACK", type=type_path)
@form("text", "json")
@click.option(
    "--sample",
    type=click.IntRange(0),
    help="For a pack: how many cells to run again.  [default: 3]",
)
@click.option("--all", "everything", is_flag=True, help="For a pack: run every cell again.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1), help="Cells at a time.  [default: one per CPU]"
)
@click.option(
    "--trust",
    is_flag=True,
    help="For a pack: also run its own programs and endpoints, only inside the engine vm.",
)
@quiet()
def verify(
    target: Path, form: str, sample: int | None, everything: bool, jobs: int | None, trust: bool
) -> int:
    """Check that stored files are unchanged. RUN is a run directory, PACK a file of `fairc pack`.

    For a run directory: compare every file with the hash recorded when it was written, and list damaged files
    with their repair; nothing is changed. For a pack: check the hashes, compile its spec again, decide its claims
    again, and run some of its cells again; its own programs are run only with --trust. The exit status is 1 when
    something is damaged or differs.
    """
    if target.is_file():
        from .verify_pack import verify_pack

        if everything and sample is not None:
            raise Wrong("--all and --sample contradict each other")
        return verify_pack(
            target,
            None if everything else 3 if sample is None else sample,
            jobs,
            form,
            trust=trust,
        )
    if everything or sample is not None or jobs or trust:
        raise Wrong(
            "--sample, --all, --jobs and --trust are for packs; a run directory only has its hashes compared"
        )
    found = looked_at(target)
    for line in FORMS[form](target, found):
        console.result(line)
    return Status.NOT_ALL_VALID if found.damaged else Status.WELL


def looked_at(target: Path) -> Verified:
    """Verify the run directory at a path. Raises Wrong if there is none, StoreError."""
    from fairc.runtime.store import verification

    if target.is_dir():
        return verification.verify(target)
    raise Wrong(f"{target} is not a run directory")


def as_text(target: Path, found: Verified) -> Iterator[str]:
    """Yield lines for people: a table of what is damaged, and how much was checked."""
    from .results import aligned

    if found.damaged:
        shown = found.damaged[:SHOWN]
        rows = [["file", "damage", "repair"]]
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
    yield console.as_json(document)


FORMS: dict[str, Callable[[Path, Verified], Iterator[str]]] = {"text": as_text, "json": as_json}
