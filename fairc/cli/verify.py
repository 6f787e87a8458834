"""`fairc verify`: check a stored run or a pack, and say what that proves."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.run import repair, verification
from fairc.runtime.run.verification import DamagedFile, Verification, quoted, resume, stored
from fairc.runtime.store.cell_folder import RAW
from fairc.runtime.store.folder import Store, runs_in

from . import console
from .failures import Status, UsageError
from .results import aligned
from .targets import Allowed
from .verify_pack import verify_pack

SHOWN = 40
Verified = Mapping[Path, Verification]
"""Run directory -> what was found there."""


def verify(
    target: Path,
    form: str,
    sample: int | None,
    everything: bool,
    jobs: int,
    trust: bool,
    allow_module: bool,
    allow_program: bool,
) -> int:
    """Check a stored run or a pack, and say what that proves."""
    if everything and sample is not None:
        raise UsageError("--all and --sample contradict each other")
    if target.is_file():
        return verify_pack(
            target,
            None if everything else 3 if sample is None else sample,
            jobs,
            form,
            trust=trust,
            allowed=Allowed(modules=allow_module, programs=allow_program),
        )
    if everything or trust or allow_module or allow_program:
        raise UsageError(
            "--all, --trust, --allow-module and --allow-program are for packs: the cells of a run"
            " directory are not run again"
        )
    runs = runs_in(target)
    found = {run: looked_at(run, sample, jobs) for run in runs.values()}
    page = [] if "" in runs else [*verification.of_page(target)]
    for line in FORMS[form](found, page):
        console.result(line)
    whole = all(one.whole for one in found.values()) and not page
    return Status.WELL if whole else Status.NOT_ALL_VALID


def looked_at(target: Path, sample: int | None, jobs: int) -> Verification:
    """Verify the run directory at a path. Raises UsageError if there is none, StoreError.

    sample: of how many cells to derive the results from raw artefacts again; None: of all.
    """
    if not target.is_dir():
        raise UsageError(f"{target} is not a run directory")
    found = verification.verify(target)
    if found.raw and sample != 0 and not found.damaged:
        _derive(target, found, sample, jobs)
    return found


def _derive(run: Path, found: Verification, sample: int | None, jobs: int) -> None:
    """Derive results of a run, none of whose files is damaged, from raw artefacts again, and
    compare them.
    """
    store = Store(run)
    cells = [(cell, folder) for cell, folder in stored(store) if (folder / RAW).is_file()]
    if sample is not None and sample < len(cells):
        cells = random.SystemRandom().sample(cells, sample)
    console.say(f"deriving the results of {len(cells)} cells from their raw artefacts")
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("verify")) as scratch:
        other = repair.derived_again(store, cells, Path(scratch), jobs)
    found.derived = len(cells)
    found.damaged += [
        DamagedFile(f"cells/{key}", why, f"rm -r {quoted(store.folder(key))}; {resume(run)}")
        for key, why in other.items()
    ]


def as_text(found: Verified, page: Sequence[DamagedFile]) -> Iterator[str]:
    """Yield lines for people about each run. page: what is damaged of the page of all."""
    for place, (target, one) in enumerate(found.items()):
        yield from [""] if place else []
        yield from _lines(target, one)
    if page:
        yield ""
        yield from _table(page)


def _lines(target: Path, found: Verification) -> Iterator[str]:
    """Yield what was proved, of how much, and a table of what is damaged."""
    yield f"{target} {proved(found)}"
    if found.damaged:
        yield ""
        yield from _table(found.damaged[:SHOWN])
        if len(found.damaged) > SHOWN:
            yield f"... and {len(found.damaged) - SHOWN} more: --format json"
    if found.planned > found.cells:
        yield f"{found.planned - found.cells} cells have no result; to run them: {resume(target)}"
    for note in found.notes:
        yield f"note: {note}"


def _table(damaged: Sequence[DamagedFile]) -> Iterator[str]:
    rows = [["file", "damage", "repair"]]
    rows += [[one.file, one.why, one.repair] for one in damaged]
    yield from aligned(rows, left=3)


def proved(found: Verification) -> str:
    """Return what was proved, of how much, in one line."""
    if not found.planned:
        return "is damaged: its plan or its lock cannot be read, so nothing was proved of its cells"
    derived = "no result derived from raw artefacts again"
    if found.derived:
        derived = f"results of {found.derived} derived from raw artefacts again"
    parts = (
        "is whole" if found.whole else "is damaged" if found.damaged else "is not complete",
        f"{found.cells} of the plan's {found.planned} cells",
        f"{found.files} files compared with their hashes, {len(found.damaged) or 'none'} damaged",
        derived,
    )
    return f"{parts[0]}: {'; '.join(parts[1:])}"


def as_json(found: Verified, page: Sequence[DamagedFile]) -> Iterator[str]:
    """Yield the object that docs/run/cli.md describes."""
    documents = [
        {"target": str(target), "whole": one.whole, "proved": proved(one), **asdict(one)}
        for target, one in found.items()
    ]
    if len(documents) == 1 and not page:
        yield console.as_json(documents[0])
    else:
        damaged = [asdict(one) for one in page]
        yield console.as_json({"experiments": documents, "damaged": damaged})


FORMS: dict[str, Callable[[Verified, Sequence[DamagedFile]], Iterator[str]]] = {
    "text": as_text,
    "json": as_json,
}
