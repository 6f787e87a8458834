"""Comparison of stored files with the records (`files.json`) of a run directory and of its cells.

    cells/KEY/files.json   every file of the cell, and what is known of its run
    RUN/files.json         plan, cells, lock, spec, tables, figures and report

Only what fairc itself wrote has hashes; whoever edits a file together with its hash is not noticed.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from fairc.compiler.record import File, Recorded, of_file

from . import occupant

MISSING = "missing"
UNRECORDED = "fairc has not recorded that it wrote it"
UNFINISHED = "fairc was stopped while it wrote it"


def differing(folder: Path, known: Recorded, unread: Container[str] = ()) -> dict[str, str]:
    """Return the files that are not as recorded, and why: name -> "missing", "12 bytes instead of
    34", ...

    unread: files of which only the size is checked.
    """
    found = {}
    for name, file in known.files.items():
        why = UNFINISHED if file is None else _difference(folder / name, file, name not in unread)
        if why:
            found[name] = why
    return found


def unrecorded(run: Path, known: Recorded) -> list[str]:
    """Return the files of a run directory that results are read from, and that are not on
    record.
    """
    reports = (name for name in occupant.REPORTS if (run / name).exists())
    names = (*occupant.documents(run), *occupant.tables(run, known.files), *reports)
    return [name for name in names if name not in known.files]


def _difference(path: Path, known: File, read: bool) -> str:
    if path.is_symlink():
        return "a link"
    if not path.exists():
        return MISSING
    if not path.is_file():
        return "not a regular file"
    size = path.stat().st_size
    if size != known.bytes:
        return f"{size} bytes instead of {known.bytes}"
    if read and of_file(path).sha256 != known.sha256:
        return "its content has changed since it was written"
    return ""
