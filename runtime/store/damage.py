"""Damage to a stored cell: which files are not as they were written, and what is still known of its run."""

from __future__ import annotations

from pathlib import Path

from fairc.compiler.files import content
from fairc.compiler.plan import Cell
from fairc.compiler.record import FILES, Ran, recorded

from . import hashes, tables
from .cell_folder import RAW, RESULT, SERIES
from .results import CellResult


def of_cell(cell: Cell, folder: Path, thorough: bool = False) -> dict[str, str]:
    """Return the files of a cell that are not what was stored, and why: name -> reason.

    Raw artefacts that `clean --raw` has removed are not reported. thorough: read the raw artefacts instead of
    checking only their size. A result of an earlier version has no hashes: only unreadable files are reported.
    """
    if not (folder / FILES).exists():
        return _unreadable(cell, folder) if (folder / RESULT).exists() else {}
    known = recorded(folder)
    if known is None:
        return {FILES: "it cannot be read"}
    found = hashes.differing(folder, known, () if thorough else (RAW,))
    if found.get(RAW) == hashes.MISSING:
        del found[RAW]
    return found


def _unreadable(cell: Cell, folder: Path) -> dict[str, str]:
    try:
        tables.read_stored(cell, folder)
    except tables.TableError as error:
        return {SERIES if _is_result(folder / RESULT) else RESULT: str(error)}
    return {}


def _is_result(file: Path) -> bool:
    try:
        CellResult.model_validate_json(content(file))
    except (OSError, ValueError):
        return False
    return True


def ran(folder: Path) -> Ran | None:
    """Return what is known of a cell's run; None if it did not finish or nothing is known."""
    known = recorded(folder)
    if known is not None:
        return known.ran
    try:
        old = CellResult.model_validate_json(content(folder / RESULT))
    except (OSError, ValueError):
        return None
    if old.status != "ok":
        return None
    return Ran(result_sha256=old.result_sha256, virtual_s=old.virtual_s, wall_s=old.wall_s)
