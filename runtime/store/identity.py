"""Is a stored result that of its cell, and are two results of it the same?

The cell, its key, the folder and the result have to agree.
"""

from __future__ import annotations

import math
from pathlib import Path

from fairc.compiler.cells.grid import genuine
from fairc.compiler.files import content
from fairc.compiler.plan import Cell
from fairc.runtime.measurement.results import CellResult

from .cell_folder import RESULT, SERIES, ours
from .folder import key_of

OF_THE_HOST = {"wall_s", "analysis"}
"""Fields of a result that differ where the cell did the same: wall time, and the version that
analysed it.
"""


def mismatch(cell: Cell, key: str, result: CellResult) -> str:
    """Return why a result is not that of a cell, or is none that fairc writes; empty if it is.

    key: the name of the folder that holds it.
    """
    if not genuine(cell):
        return (
            f"the cell {cell.id} of the plan has been changed: that is not the hash of its content"
        )
    if result.cell != cell.id:
        return f"it is the result of the cell {result.cell}, not of {cell.id}"
    if result.key != key:
        return f"it is the result with the key {result.key}, not {key}"
    if key_of(cell, result.engine, result.image, result.emitted) != key:
        return "its key is not the hash of its cell, engine, machine and input"
    return _unsound(result)


def _unsound(result: CellResult) -> str:
    """Return what in a result no analysis writes."""
    names = [(value.metric, value.flow, value.load) for value in result.metrics]
    if len(set(names)) < len(names):
        return "it has a value twice"
    flows = [flow.flow for flow in result.flows]
    if len(set(flows)) < len(flows):
        return "it has a flow twice"
    numbers = (
        result.virtual_s,
        result.wall_s,
        *(value.value for value in result.metrics),
        *(limit.share for limit in result.limits),
        *(n for f in result.flows for n in (f.start_s, f.first_byte_s, f.end_s, f.goodput_bps)),
    )
    if not all(number is None or math.isfinite(number) for number in numbers):
        return "a value in it is not a number"
    return ""


def differences(first: Path, second: Path) -> list[str]:
    """Return the fields and files in which two stored cells differ, wall times aside.

    Raises OSError, ValueError.
    """
    one, other = (
        CellResult.model_validate_json(content(folder / RESULT)) for folder in (first, second)
    )
    fields = (name for name in CellResult.model_fields if name not in OF_THE_HOST)
    found = [name for name in fields if getattr(one, name) != getattr(other, name)]
    archives = {n for folder in (first, second) for n in ours(folder) if n.endswith(".har")}
    names = {SERIES} | archives
    return found + [name for name in sorted(names) if not _same(first / name, second / name)]


def _same(first: Path, second: Path) -> bool:
    """Return whether two files have equal bytes, or neither is there."""
    there = [path.is_file() for path in (first, second)]
    return not any(there) or (all(there) and first.read_bytes() == second.read_bytes())
