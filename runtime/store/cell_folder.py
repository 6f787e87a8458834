"""The folder of a stored cell: replaced and removed without what the user keeps in it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from fairc.compiler.files import sync
from fairc.compiler.record import FILES, Record, recorded

RESULT, RAW, CONSOLE = "result.json", "raw.tar.zst", "console.txt"
ORIGIN = "made.json"
"""The provenance of a cell that ran on a cluster (runtime/run/cluster.py)."""
_KEY = re.compile(r"([0-9a-f]{16}-)?[0-9a-f]{16}")


def ours(folder: Path) -> set[str]:
    """Return the names in a cell's folder that fairc wrote.

    By the record; where there is none (an earlier version), or it is damaged, a cell's usual names,
    if the folder is named by a key. Keys of earlier versions do not begin with the cell's name.
    """
    known = recorded(folder)
    if known is not None:
        return {*known.files, FILES, ORIGIN}
    if not _KEY.fullmatch(folder.name):
        return set()
    others = (path.name for ending in ("har", "parquet") for path in folder.glob(f"*.{ending}"))
    return {RESULT, RAW, CONSOLE, FILES, ORIGIN, *others}


def has_others(folder: Path) -> bool:
    """Return whether something that fairc did not write is in a cell's folder."""
    return folder.is_dir() and bool({path.name for path in folder.iterdir()} - ours(folder))


def replace(target: Path, folder: Path, scratch: Path) -> None:
    """Replace a cell in whose folder the user keeps something, file by file, by the cell in another
    folder.

    result.json goes first and comes last: without it there is no cell. scratch: as for `Record`.
    Raises ForeignFileError, OSError.
    """
    record = Record(target, scratch)
    record.files = dict.fromkeys(ours(target) - {FILES})
    new = sorted((path.name for path in folder.iterdir()), key=lambda name: (name == RESULT, name))
    record.require_free(name for name in new if name != FILES)
    record.remove([RESULT] if RESULT in record.files else [])
    record.remove(record.files.keys() - set(new))
    record.move(folder, [name for name in new if name != FILES])
    (folder / FILES).replace(target / FILES)


def flush(folder: Path) -> None:
    """Flush a cell to the disk: whatever else is not there when the power fails can be told by its
    hash, and is derived again.
    """
    for name in (RAW, RESULT, FILES, ORIGIN):
        if (folder / name).exists():
            sync(folder / name)
    sync(folder)


def remove_raw(folder: Path) -> int:
    """Remove the raw artefacts of a cell; return the number of bytes freed."""
    path = folder / RAW
    if not path.is_file() or RAW not in ours(folder):
        return 0
    freed = path.stat().st_size
    path.unlink()
    return freed


def remove(target: Path, scratch: Path) -> None:
    """Remove a cell; what the user keeps in its folder stays.

    scratch: as for `Record`. Raises OSError.
    """
    if has_others(target):
        record = Record(target, scratch)
        record.files = dict.fromkeys(ours(target) - {FILES})
        record.remove(record.files)
        (target / FILES).unlink()
    elif os.path.lexists(target):
        shutil.rmtree(target)
