"""Identity of stored results: cell, key, folder and result have to agree."""

from __future__ import annotations

import math

from fairc.compiler.plan import Cell
from fairc.compiler.plan.identity import genuine
from fairc.runtime.measurement.results import CellResult

from .folder import key_of


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
