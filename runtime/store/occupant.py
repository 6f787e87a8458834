"""Whose a folder is, before anything in it is replaced: the experiment named by its plan, of any
version.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from pathlib import Path

from pydantic import ValidationError

from fairc.compiler.files import content, lines
from fairc.compiler.record import FILES, recorded
from fairc.dsl.core.source import printable

# A cell's line begins with its id.
_ID = re.compile(rb'\{"id":\s*"[0-9a-f]+"')


WRITTEN = ("cells", "tables", "figures")
"""Folders of a run directory in which files are replaced."""


PHASE_CHECK = "phase-check"
DOCUMENTS = ("plan.json", "cells.jsonl", "emitted.json", "lock.json")
REPORTS = ("report.html", "report.md")
NAMES = (*DOCUMENTS, FILES, *REPORTS, "tables", "figures", "spec", PHASE_CHECK)
"""Names in a run directory, besides `cells` and two hidden ones."""

MAX_PATH_BYTES = 4095 - 600
"""Longest path of a run directory: of what Linux takes (PATH_MAX), what files of a cell that runs
add is subtracted.
"""

PARTIAL = ".partial"
"""Everything unfinished is here; a process that holds the lock may remove what it finds."""
_UNFINISHED = re.compile(
    r"plan|tables|(lock|emitted)\.json"
    r"|([0-9a-f]{16}-)?[0-9a-f]{16}\.(work|cell|replaced|stored)|[\w.-]+\.part"
)


def named(plan: Path) -> tuple[str, str] | None:
    """Return the experiment and the file that a plan of any version names; None if they cannot be
    read.
    """
    try:
        header = json.loads(content(plan))
        experiment, file = header["experiment"], header["file"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return _shown(str(experiment)), _shown(str(file))


def _shown(text: str) -> str:
    return printable(text[:80])


def share_cells(first: Path, second: Path) -> bool:
    """Return whether a cell is in both of two `cells.jsonl`."""
    try:
        ids = {found[0] for line in lines(first) if (found := _ID.match(line))}
        return any(found[0] in ids for line in lines(second) if (found := _ID.match(line)))
    except OSError:
        return False


def obstacle(run: Path) -> str:
    """Return why nothing may be written into a folder as a run directory; empty: nothing is in the
    way.
    """
    if (room := MAX_PATH_BYTES - len(os.fsencode(run.absolute()))) < 0:
        return (
            f"the path of the run directory is {-room} bytes too long for the files in it; name a"
            " shorter one with -o"
        )
    if not is_utf8(run):
        return f"{str(run)!a} is not UTF-8, which the tables' library needs"
    if (found := link(run)) is not None:
        return f"{found} is a link, and nothing is written through one: remove it"
    if (name := foreign(run)) is not None:
        return (
            f"{run} holds {name}, which fairc did not write and a run would replace; give this run"
            " its own directory with -o"
        )
    return ""


def spec(folder: Path) -> list[str]:
    """Return the names of a plan's spec and of the files that it reads, in a folder that holds
    nothing else there.
    """
    paths = sorted((folder / "spec").rglob("*"))
    return [path.relative_to(folder).as_posix() for path in paths if path.is_file()]


def tables(run: Path, known: Collection[str] = ()) -> list[str]:
    """Return the names of tables that are there, of those that a run writes.

    known: names of files that fairc is known to have written; it saves time.
    """
    there = {path.relative_to(run).as_posix() for path in run.glob("tables/*.parquet")}
    if there <= {*known}:
        return sorted(there)
    from .columns import TABLES  # loads numpy

    return sorted(there & {f"tables/{name}.parquet" for name in TABLES})


def foreign(run: Path) -> str | None:
    """Return the name of something in a folder that fairc did not write and that a run would
    replace, or None.

    In a run directory its record tells, file by file: here only what it says nothing of.
    """
    partial = run / PARTIAL
    if partial.is_dir() and not partial.is_symlink():
        if strange := [p.name for p in partial.iterdir() if not _UNFINISHED.fullmatch(p.name)]:
            return f"{PARTIAL}/{_shown(min(strange))}"
    elif os.path.lexists(partial):
        return PARTIAL
    if recorded(run) is not None or is_run(run):
        return None
    if os.path.lexists(run / ".lock") and not _is_lock(run / ".lock"):
        return ".lock"
    if os.path.lexists(run / "cells") and not _is_empty(run / "cells"):
        return "cells"
    return next((name for name in NAMES if os.path.lexists(run / name)), None)


def documents(run: Path) -> list[str]:
    """Return the documents in a run directory; all of them are fairc's, even where its record is
    lost.

    So are its tables: only programs write and read these. Of a spec, a report or a figure nothing
    says who wrote it.
    """
    return [name for name in DOCUMENTS if (run / name).is_file()] if is_run(run) else []


def is_run(folder: Path) -> bool:
    """Return whether a folder without a record is a run directory: one with a plan and a lock."""
    locked = (folder / "lock.json").is_file() or (folder / ".lock").is_file()
    return locked and (folder / "cells.jsonl").is_file() and named(folder / "plan.json") is not None


def _is_lock(path: Path) -> bool:
    try:
        return not path.is_symlink() and re.fullmatch(rb"\d*\n?", content(path)[:40]) is not None
    except OSError:
        return False


def _is_empty(folder: Path) -> bool:
    try:
        return not any(folder.iterdir())
    except OSError:
        return False


def link(run: Path) -> Path | None:
    """Return a symbolic link in a run directory that something would be written through, or None.

    A run directory may be a stranger's: what is written into it must not end up elsewhere.
    """
    for folder in (run, *(run / name for name in WRITTEN if not (run / name).is_symlink())):
        try:
            with os.scandir(folder) as entries:
                found = [entry.name for entry in entries if entry.is_symlink()]
        except (FileNotFoundError, NotADirectoryError):
            continue
        if found:
            return folder / min(found)
    return None


def is_utf8(path: Path) -> bool:
    """Return whether a path is UTF-8; file names may be any bytes."""
    try:
        os.fsencode(path).decode()
    except UnicodeDecodeError:
        return False
    return True


def first(error: ValidationError) -> str:
    """Return the first error in a document, without quoting the document."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part)[:80] for part in found["loc"]) or "the document"
    message = f"{where}: {found['msg'].removeprefix('Value error, ')}"[:400]
    return printable(message)
