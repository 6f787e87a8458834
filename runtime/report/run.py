"""A finished run as the report sees it: the plan, the lock, the cells, and queries on its
tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fairc.compiler.files import lines
from fairc.compiler.plan import Cell, Queue, interfaces_of, parse_cell
from fairc.dsl.model.names import flow_of_group, group_of, label_of, users_of
from fairc.runtime.metrics.registry import full_name, presentation
from fairc.runtime.repetitions.reading import Outcome, StoredMeasurements
from fairc.runtime.store.columns import TABLES
from fairc.runtime.store.folder import Store, StoreError, read_plan
from fairc.runtime.store.tables import RunTables

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A cell's line names its configuration before anything that a user can write.
_CONFIGURATION = re.compile(rb'"configuration":\s*"([^"]*)"')


class ReportError(Exception):
    """The run directory cannot be reported on; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One point of the sweep: its id, swept values in file order, and its cells by repetition."""

    id: str
    bindings: tuple[tuple[str, str], ...]
    outcomes: tuple[Outcome, ...]

    @property
    def label(self) -> str:
        """The swept values as text, or `the only configuration`."""
        return ", ".join(f"{k} = {v}" for k, v in self.bindings) or "the only configuration"

    @property
    def counted(self) -> tuple[Outcome, ...]:
        """The cells that summaries use."""
        return tuple(o for o in self.outcomes if o.counts)


class Run:
    """A run directory, opened for reading.

    path: the directory. rows, columns, register: as of RunTables; they raise TableError. measured:
    what its cells measured. axes: swept names in file order. repeated: how often the plan repeats
    its configurations.
    Raises ReportError when a part of it is missing or unreadable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise ReportError(f"{path} is not a run directory: there is no such directory")
        try:
            self.plan = read_plan(path)
            self.lock = Store(path).lock
        except StoreError as error:
            raise ReportError(str(error)) from None

        missing = [t for t in TABLES if not (path / "tables" / f"{t}.parquet").is_file()]
        if missing:
            raise ReportError(
                f"{path} has no results yet: {', '.join(f'tables/{t}.parquet' for t in missing)}"
                f" missing; run `fairc run {path}` first"
            )
        tables = RunTables(path / "tables")
        self.rows, self.columns, self.register = tables.rows, tables.columns, tables.register
        self.measured = StoredMeasurements(tables, self.plan)
        self.axes, self.repeated = self.measured.axes, self.measured.repeated

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """Every configuration with a cell in the tables, in the order of the axes' values."""
        groups: dict[str, list[Outcome]] = {}
        for outcome in sorted(self.measured.outcomes, key=lambda o: (o.repetition, o.cell)):
            groups.setdefault(outcome.configuration, []).append(outcome)
        places = [{value: i for i, value in enumerate(a.values)} for a in self.plan.axes]

        def place(configuration: Configuration) -> tuple[object, ...]:
            order = (
                (at.get(value, len(at)), value)
                for at, (_, value) in zip(places, configuration.bindings, strict=True)
            )
            return (*order, configuration.id)

        found = (Configuration(c, own[0].bindings, tuple(own)) for c, own in groups.items())
        return tuple(sorted(found, key=place))

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """Every cell of the tables by its id."""
        return {o.cell: o for c in self.configurations for o in c.outcomes}

    @cached_property
    def scenes(self) -> dict[str, Cell]:
        """One compiled cell of each configuration: its network and flows, by configuration id.

        Raises ReportError when `cells.jsonl` is missing or does not hold the plan's cells.
        """
        scenes: dict[str, Cell] = {}
        number = 0
        try:
            for number, line in enumerate(lines(self.path / "cells.jsonl"), 1):
                found = _CONFIGURATION.search(line)
                if found is None or found[1].decode() not in scenes:
                    try:
                        cell = parse_cell(line)
                    except ValidationError:
                        raise ReportError(
                            f"{self.path / 'cells.jsonl'}:{number} is not a cell of this version of"
                            " fairc"
                        ) from None
                    if not cell.baseline:
                        scenes.setdefault(cell.configuration, cell)
        except FileNotFoundError:
            raise ReportError(f"{self.path} has no cells.jsonl") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ReportError(f"{self.path / 'cells.jsonl'} cannot be read: {error}") from None
        if number != self.plan.cells:
            raise ReportError(
                f"{self.path / 'cells.jsonl'} has {number} cells where plan.json counts"
                f" {self.plan.cells}: `fairc verify {self.path}` says what repairs it"
            )
        return scenes

    @cached_property
    def flows(self) -> tuple[str, ...]:
        """Names of the flows in the order in which the experiment declares them."""
        names: dict[str, None] = {}
        for scene in self.scenes.values():
            names.update(dict.fromkeys(label_of(flow) for flow in scene.flows))
        return tuple(names)

    @cached_property
    def crowds(self) -> dict[str, str]:
        """The name of all flows of a statement, by flow, of those that are shown as one."""
        return self.measured.crowds(self.flows)

    def together(self, flows: Iterable[str]) -> dict[str, list[str]]:
        """Return the flows that are shown as one, by its name, in their order."""
        found: dict[str, list[str]] = {}
        for flow in flows:
            found.setdefault(self.crowds.get(flow, flow), []).append(flow)
        return found

    @cached_property
    def origins(self) -> dict[str, tuple[str, str]]:
        """Each flow's name without its user, and its group of users (or an empty text), by flow."""
        return {
            label_of(flow): (flow_of_group(flow), users_of(flow) or "")
            for scene in self.scenes.values()
            for flow in scene.flows
        }

    @cached_property
    def subflows(self) -> dict[str, tuple[str, str]]:
        """The flow and the path that each name of subflows stands for: `one-wifi`."""
        return {
            f"{label_of(flow)}-{path.name}": (label_of(flow), path.name)
            for scene in self.scenes.values()
            for flow in scene.flows
            for path in flow.subflows
        }

    @cached_property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that fairness compares: the flows that `measure` names, else all flows."""
        for request in self.plan.measure:
            if presentation(full_name(request.label)).has_sides and request.sessions:
                return self._each(request.sessions)
        return self.flows

    def _each(self, sessions: Iterable[str]) -> tuple[str, ...]:
        """Return names of flows, with those of all its indexes for the name of a group."""
        flows = [flow for scene in self.scenes.values() for flow in scene.flows]
        return tuple(
            dict.fromkeys(
                label
                for name in sessions
                for label in ([label_of(f) for f in flows if group_of(f) == name] or [name])
            )
        )

    def queue_of(self, configuration: str, node: str, interface: str) -> Queue | None:
        """Return the queue at an interface of a configuration, or None where there is none."""
        found = interfaces_of(self.scenes[configuration]).get((node, interface))
        return found.queue if found is not None else None


def in_list(values: Iterable[str]) -> tuple[str, list[str]]:
    """Return `IN (?, ?)` and its parameters; an empty list matches nothing."""
    items = list(values)
    return (f"IN ({', '.join('?' * len(items))})" if items else "IN (NULL)"), items


def by_flow(
    columns: dict[str, NDArray[Any]], order: Iterable[str]
) -> dict[str, dict[str, NDArray[np.generic]]]:
    """Split columns with a `flow` column into one set of columns per flow, in the given order."""
    return {
        flow: {name: column[columns["flow"] == flow] for name, column in columns.items()}
        for flow in order
    }
