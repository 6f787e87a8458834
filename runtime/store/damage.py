"""Damage to a stored cell: which files are not as they were written, and what is still known of its
run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fairc.compiler.files import content
from fairc.compiler.plan import Cell
from fairc.compiler.record import FILES, RunRecord, recorded
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.measurement.series import SERIES

from . import hashes
from .cell_folder import RAW, RESULT
from .identity import mismatch


def of_cell(cell: Cell, folder: Path, thorough: bool = False) -> dict[str, str]:
    """Return the files of a cell that are not what was stored, and why: name -> reason.

    A missing record of hashes is damage; raw artefacts that `clean --raw` has removed are none. The
    result of another cell comes with its raw artefacts, so these are named too. thorough: read the
    raw artefacts instead of checking only their size.
    """
    if not (folder / FILES).exists():
        there = (folder / RESULT).exists() or (folder / RAW).exists()
        return {FILES: hashes.MISSING} if there else {}
    known = recorded(folder)
    if known is None:
        return {FILES: "it cannot be read"}
    found = hashes.differing(folder, known, () if thorough else (RAW,))
    if found.get(RAW) == hashes.MISSING:
        del found[RAW]
    found |= {name: hashes.UNRECORDED for name in _ours(folder) if name not in known.files}
    if RESULT not in found:
        found |= _not_of(cell, folder)
    return found


def _ours(folder: Path) -> Iterator[str]:
    """Yield the files of a cell's folder that results are read from."""
    for name in sorted(path.name for path in folder.iterdir()):
        if name in (RESULT, RAW) or name.removesuffix(".parquet") in SERIES:
            yield name


def _not_of(cell: Cell, folder: Path) -> dict[str, str]:
    """Return what is wrong about a result whose bytes are as recorded."""
    try:
        result = CellResult.model_validate_json(content(folder / RESULT))
    except FileNotFoundError:
        return {RESULT: hashes.MISSING}
    except (OSError, ValueError):
        return {RESULT: "it cannot be read"}
    if why := mismatch(cell, folder.name, result):
        return {RESULT: why, RAW: "it is stored with the result of another cell"}
    for name in result.series or ():
        if not (folder / f"{name}.parquet").is_file():
            return {f"{name}.parquet": hashes.MISSING}
    return {}


def ran(folder: Path) -> RunRecord | None:
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
    return RunRecord(result_sha256=old.result_sha256, virtual_s=old.virtual_s, wall_s=old.wall_s)
