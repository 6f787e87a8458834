"""Whose a folder is, before anything in it is replaced: the experiment named by its plan, of any version."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

# A cell's line begins with its id.
_ID = re.compile(rb'\{"id":\s*"[0-9a-f]+"')


WRITTEN = ("cells", "tables", "figures")
"""Folders of a run directory in which files are replaced."""


LARGEST_BYTES = 256 << 20
"""Largest document that is read as a whole; a genuine one with 100,000 cells is a tenth of it."""


class IrregularError(OSError):
    """A pipe, a folder, a device or an endless file is where a document should be."""


def named(plan: Path) -> tuple[str, str] | None:
    """Return the experiment and the file that a plan of any version names; None if they cannot be read."""
    try:
        header = json.loads(content(plan))
        experiment, file = header["experiment"], header["file"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return _shown(str(experiment)), _shown(str(file))


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:80])


def share_cells(first: Path, second: Path) -> bool:
    """Return whether a cell is in both of two `cells.jsonl`."""
    try:
        with first.open("rb") as one, second.open("rb") as other:
            ids = {found[0] for line in one if (found := _ID.match(line))}
            return any(found[0] in ids for line in other if (found := _ID.match(line)))
    except OSError:
        return False


def holds(folder: Path) -> bool:
    """Return whether something other than an empty folder is there."""
    try:
        return any(folder.iterdir())
    except FileNotFoundError:
        return False
    except OSError:
        return True


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


def content(path: Path) -> bytes:
    """Return the content of a document, which must be a regular file of limited size. Raises OSError."""
    if path.exists() and not path.is_file():
        raise IrregularError(errno.EINVAL, "it is not a regular file", str(path))
    with path.open("rb") as file:
        found = file.read(LARGEST_BYTES + 1)
    if len(found) > LARGEST_BYTES:
        raise IrregularError(errno.EINVAL, "it is too large for a document", str(path))
    return found
