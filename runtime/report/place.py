"""The path of a run's report, and whether it is up to date.

The record of a run directory (`files.json`) has the hash of what its report was made of, beside
those of the files of the report. Nothing here draws: a run with nothing to do stays without
matplotlib.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import fairc
from fairc.compiler.record import FILES, ForeignFileError, Record, Recorded, recorded
from fairc.dsl.core import plugins
from fairc.runtime.run import lock
from fairc.runtime.store import hashes
from fairc.runtime.store.occupant import PARTIAL, PHASE_CHECK, REPORTS

PAGE = "report.html"
FOLDER = "figures"

WHOLE = ("html", "svg", "pdf")
"""The formats that a run writes."""

SUFFIXES = frozenset({".py", ".j2", ".css", ".js", ".fexp"})
"""Of code and templates."""


def made_of(run: Path, known: Recorded) -> str:
    """Hash what the report of a run directory is made of: plan, lock, spec and tables, those of a
    phase check, and the program that makes it.

    known: the record of the directory.
    """
    total = hashlib.sha256(_program().encode())
    for name, file in sorted(known.files.items()):
        if not _is_of_report(name):
            total.update(f"{name} {file.sha256 if file else None}\n".encode())
    check = recorded(run / PHASE_CHECK)
    total.update((check.text() if check else "").encode())
    return total.hexdigest()


def made_of_all(folder: Path, names: Sequence[str]) -> str:
    """Hash what the page of several experiments is made of; empty if one of their own reports is
    not up to date.
    """
    own = [known.report if (known := recorded(folder / name)) else "" for name in names]
    if not all(own):
        return ""
    lines = (f"{name} {report}\n" for name, report in zip(names, own, strict=True))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def current(run: Path) -> list[Path]:
    """Return the files of the report of a run directory if it has all formats of `WHOLE`, is made
    of what is there and is as written; else none.
    """
    known = recorded(run)
    if known is None or not known.report or known.report != made_of(run, known):
        return []
    return _whole(run, known)


def current_of_all(folder: Path, names: Sequence[str]) -> list[Path]:
    """Return the files of the report of several experiments, like `current`."""
    known, made = recorded(folder), made_of_all(folder, names)
    if known is None or not made or known.report != made:
        return []
    return _whole(folder, known)


def record_of_all(folder: Path) -> Record:
    """Return the record of the folder of several experiments. Raises ForeignFileError."""
    require_place(folder)
    scratch = folder / PARTIAL
    scratch.mkdir(exist_ok=True)
    return Record(folder, scratch)


def require_place(folder: Path) -> None:
    """Raise ForeignFileError where something of the user's is in the way of the page of all
    experiments in a folder; nothing is written.
    """
    if os.path.lexists(folder / FILES) and recorded(folder) is None:
        raise ForeignFileError(
            f"{folder / FILES} is not a file that fairc wrote, and would be replaced: move or"
            " remove it"
        )
    if (folder / PARTIAL).is_symlink() or not (
        (folder / PARTIAL).is_dir() or not (folder / PARTIAL).exists()
    ):
        raise ForeignFileError(f"{folder / PARTIAL} is in the way of the report: move or remove it")
    Record(folder, folder / PARTIAL).require_free([PAGE])


def _whole(folder: Path, known: Recorded) -> list[Path]:
    """Return the files of a report, the page first, if they are as written."""
    files = {name: file for name, file in known.files.items() if _is_of_report(name)}
    if PAGE not in files or hashes.differing(folder, known.model_copy(update={"files": files})):
        return []
    return [folder / name for name in sorted(files, key=lambda name: (name != PAGE, name))]


def _is_of_report(name: str) -> bool:
    return name in REPORTS or name.startswith(f"{FOLDER}/")


@cache
def _program() -> str:
    """Hash the code that makes reports, with the versions of the libraries and plug-ins that it
    uses.
    """
    total = hashlib.sha256()
    for package in sorted(
        name for _, name, is_package in iter_modules(fairc.__path__) if is_package
    ):
        (folder,) = map(Path, import_module(f"fairc.{package}").__path__)
        for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES):
            total.update(f"{package}/{path.relative_to(folder)}\n".encode() + path.read_bytes())
    for name in sorted({*lock.LIBRARIES, "fonttools", *plugins.packages()}):
        total.update(f"{name} {lock.installed(name)}\n".encode())
    return total.hexdigest()
