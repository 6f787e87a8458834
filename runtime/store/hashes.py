"""Hashes of what was stored: `files.json` of a cell, and of a run directory.

    cells/KEY/files.json   every file of the cell, and what is known of its run
    RUN/files.json         plan, cells, lock, tables, figures and report; absent while they are written

Only what fairc itself wrote has hashes; whoever edits a file together with its hash is not noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from fairc.compiler.plan import Model

from .occupant import IrregularError, content
from .writing import whole

FILES = "files.json"
MISSING = "missing"
UNRECORDED = "no hash was recorded of it"
OF_RUN = ("plan.json", "cells.jsonl", "emitted.json", "lock.json", "report.html", "report.md")
OF_RUN_BELOW = (
    "tables/*.parquet",
    "figures/*.svg",
    "figures/*.pdf",
    "figures/*.csv",
    "figures/*.tex",
    "spec/**/*",
)

_OURS = r"((tables|figures)/)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}"
# Names given by the user: any that stay inside the folder.
_OF_SPEC = r"spec(/[^/\x00-\x1f\x7f]*[^./\x00-\x1f\x7f][^/\x00-\x1f\x7f]*){1,20}"
Name = Annotated[str, Field(pattern=f"^({_OURS}|{_OF_SPEC})$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class File(Model):
    """A file as it was written."""

    bytes: Annotated[int, Field(ge=0)]
    sha256: Sha256


class Ran(Model):
    """What the raw artefacts of a cell do not tell about its run; fields as in CellResult."""

    result_sha256: str
    virtual_s: float
    wall_s: float


class Recorded(Model):
    """The files of a folder, by their names below it. ran: only of a cell that an engine ran to its end."""

    files: dict[Name, File]
    ran: Ran | None = None


def record(folder: Path, names: Iterable[str], ran: Ran | None = None) -> None:
    """Hash files of a folder and store the hashes next to them. Raises OSError."""
    files = {name: _file(folder / name) for name in sorted(names)}
    with whole(folder / FILES) as part:
        text = Recorded(files=files, ran=ran).model_dump_json(indent=1) + "\n"
        part.write_text(text, encoding="utf-8")


def recorded(folder: Path) -> Recorded | None:
    """Return what is recorded of a folder; None if nothing is, or if the record itself is damaged."""
    try:
        return Recorded.model_validate_json(content(folder / FILES))
    except (FileNotFoundError, NotADirectoryError, IrregularError, ValidationError):
        return None


def differing(folder: Path, known: Recorded, unread: Container[str] = ()) -> dict[str, str]:
    """Return the files that are not as recorded, and why: name -> "missing", "12 bytes instead of 34", ...

    unread: files of which only the size is checked.
    """
    found = {}
    for name, file in known.files.items():
        if why := _difference(folder / name, file, name not in unread):
            found[name] = why
    return found


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
    if read and _file(path).sha256 != known.sha256:
        return "its content has changed since it was written"
    return ""


def _file(path: Path) -> File:
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return File(bytes=path.stat().st_size, sha256=sha256)


@contextmanager
def rewriting(run: Path) -> Iterator[None]:
    """Remove the record of a run directory while its files are written, and record them afterwards."""
    (run / FILES).unlink(missing_ok=True)
    yield
    record(run, of_run(run))


def of_run(run: Path) -> list[str]:
    """Return the names of the files of a run directory that are recorded."""
    below = (path for pattern in OF_RUN_BELOW for path in run.glob(pattern) if path.is_file())
    names = [name for name in OF_RUN if (run / name).is_file()]
    return [*names, *(path.relative_to(run).as_posix() for path in below)]
