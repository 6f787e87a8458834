"""Changes of links that wait for a state of a flow's controller: the instants, from its log.

The log alone decides, in the run that teaches the instant as in the one that has the change. So
what a cell's artefacts say can be checked against what was done in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fairc.cell.schedule import AHEAD_NS
from fairc.compiler.plan import Cell, Change, Entering, interfaces_of

Lines = Callable[[str], Iterator[Mapping[str, Any]]]
"""Yields what a file of a cell has, objects with an integer `t_ns`."""

AFTER_NS = 2 * AHEAD_NS
"""From a state's first entry in the log to the change. What carries it out gets ready AHEAD_NS
before, which is after the entry: until then both runs do the same.
"""


class LogFault(Exception):
    """A log is missing or broken; the message names it."""


def awaited(cell: Cell) -> frozenset[tuple[Entering, int]]:
    """Return what changes of a cell's links wait for, and from when on, ns."""
    return frozenset(
        (change.entering, change.at_ns)
        for interface in interfaces_of(cell).values()
        for change in interface.changes
        if change.entering is not None
    )


def without(cell: Cell) -> Cell:
    """Return a cell whose waiting changes never come; everything else is as with them."""
    return _at(cell, {}) if awaited(cell) else cell


def resolved(cell: Cell, lines: Lines) -> Cell:
    """Return a cell with the times of its waiting changes, from the states that its flows logged.

    Raises what `lines` does.
    """
    waiting = awaited(cell)
    if not waiting:
        return cell
    entered = {each: entry_ns(cell, lines, *each) for each in waiting}
    return _at(cell, {each: ns + AFTER_NS for each, ns in entered.items() if ns is not None})


def entry_ns(cell: Cell, lines: Lines, entering: Entering, from_ns: int) -> int | None:
    """Return when a flow's log first shows a state, ns after the epoch; None: never."""
    if all(flow.name != entering.flow for flow in cell.flows):
        return None  # a baseline without it
    file = f"{entering.flow}.server.ndjson"
    found = (
        event["t_ns"]
        for event in lines(file)
        if event.get("event") == "sample"
        and event.get("state") == entering.state
        and event["t_ns"] >= from_ns
    )
    return min(found, default=None)


def never_ns(cell: Cell) -> int:
    """Return a time after the end of a cell, ns."""
    return max(cell.deadline_ns, cell.duration_ns or 0)


def difference(cell: Cell, first: Lines, second: Lines) -> str:
    """Return in what the second run of a cell is another one than its first, before its changes;
    nothing: in nothing.
    """
    for waited, from_ns in awaited(cell):
        until_ns = entry_ns(cell, first, waited, from_ns)
        if until_ns is not None:
            file = f"{waited.flow}.server.ndjson"
            logs = (_until(lines, file, until_ns) for lines in (first, second))
            if any(one != other for one, other in zip_longest(*logs)):
                return f"{file} of the second run differs before the flow enters {waited.state}"
    return ""


def _until(lines: Lines, file: str, until_ns: int) -> Iterator[Mapping[str, Any]]:
    """Yield what a log has up to a time, ns after the epoch."""
    return (event for event in lines(file) if event["t_ns"] <= until_ns)


def left_in(folder: Path) -> Lines:
    """Return what reads the logs in a folder; it raises LogFault."""

    def lines(file: str) -> Iterator[Mapping[str, Any]]:
        try:
            with (folder / file).open("rb") as log:
                for line in log:
                    event = json.loads(line)
                    if not isinstance(event, dict) or not isinstance(event.get("t_ns"), int):
                        raise LogFault(f"{file} has a line that is no object with t_ns")
                    yield event
        except (OSError, ValueError, RecursionError) as error:
            raise LogFault(f"{file} cannot be read: {error}") from None

    return lines


def _at(cell: Cell, times_ns: dict[tuple[Entering, int], int]) -> Cell:
    """Return a cell whose waiting changes have times; those without one come after its end."""

    def timed(change: Change) -> Change:
        if change.entering is None:
            return change
        at_ns = times_ns.get((change.entering, change.at_ns), never_ns(cell))
        return replace(change, at_ns=at_ns)

    nodes = tuple(
        replace(
            node,
            interfaces=tuple(
                replace(interface, changes=tuple(map(timed, interface.changes)))
                for interface in node.interfaces
            ),
        )
        for node in cell.nodes
    )
    return replace(cell, nodes=nodes)
