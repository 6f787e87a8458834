"""A finished run as the report sees it: the plan, the lock, the cells, and queries on its tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fairc.compiler.plan import Cell, LoadWorkload, Queue
from fairc.runtime.statistics.repeated import Repeated, repeated
from fairc.runtime.store.folder import Store, StoreError, read_plan

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

# A cell's line names its configuration before anything that a user can write.
_CONFIGURATION = re.compile(r'"configuration":\s*"([^"]*)"')

# The columns of `cells` that an Outcome is made of, in its order.
_CELL = "cell, configuration, repetition, seed, status, verdict, coalesce(reasons, [])"
_FIELDS = 7


class ReportError(Exception):
    """The run directory cannot be reported on; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell of the run, finished or failed.

    verdict: None when it failed. counts: whether summaries may use it (ok and not invalid).
    """

    cell: str
    configuration: str
    repetition: int
    seed: str
    status: str
    verdict: str | None
    reasons: Sequence[str]

    @property
    def counts(self) -> bool:
        """Whether the cell enters summaries: it finished and its set-up is not invalid."""
        return self.status == "ok" and self.verdict != "invalid"

    @property
    def verdict_word(self) -> str:
        """`valid`, `flagged`, `invalid` or `failed`."""
        return self.verdict if self.status == "ok" and self.verdict else "failed"


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

    path: the directory. Raises ReportError when a part of it is missing or unreadable.
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
        from fairc.runtime.store.columns import TABLES

        missing = [t for t in TABLES if not (path / "tables" / f"{t}.parquet").is_file()]
        if missing:
            raise ReportError(
                f"{path} has no results yet: {', '.join(f'tables/{t}.parquet' for t in missing)}"
                f" missing; run `fairc run {path}` first"
            )

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        from fairc.runtime.store.tables import TableError, connect

        try:
            return connect(self.path / "tables")
        except TableError as error:
            raise ReportError(str(error)) from None

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the tables."""
        return self._execute(sql, parameters).fetchall()

    def columns(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, NDArray[Any]]:
        """Return a query's columns as arrays; a null number is NaN, a null text is None."""
        raw: dict[str, Any] = self._execute(sql, parameters).fetchnumpy()  # no enumerations
        return {name: _unmasked(column) for name, column in raw.items()}

    def register(self, name: str, columns: dict[str, NDArray[Any]]) -> None:
        """Make columns of equal length a table that queries can join; replaces an older one."""
        self._connection.unregister(name)
        self._connection.register(name, columns)

    def _execute(self, sql: str, parameters: Sequence[object]) -> duckdb.DuckDBPyConnection:
        import duckdb

        try:
            return self._connection.execute(sql, list(parameters))
        except duckdb.Error as error:
            raise ReportError(f"the tables of {self.path} are not as documented: {error}") from None

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Swept names in file order."""
        return tuple(axis.name for axis in self.plan.axes)

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """Every configuration with a cell in the tables, in the order of the axes' values."""
        from fairc.runtime.store.tables import axis_columns, quoted

        columns = axis_columns(self.axes)
        axes = "".join(f", {quoted(columns[name])}" for name in self.axes)
        groups: dict[str, tuple[tuple[tuple[str, str], ...], list[Outcome]]] = {}
        for row in self.rows(
            f"SELECT {_CELL}{axes} FROM cells ORDER BY configuration, repetition, cell"
        ):
            fields, values = row[:_FIELDS], row[_FIELDS:]
            outcome = Outcome(*fields)
            bindings = tuple(zip(self.axes, map(str, values), strict=True))
            groups.setdefault(outcome.configuration, (bindings, []))[1].append(outcome)
        places = [{value: i for i, value in enumerate(a.values)} for a in self.plan.axes]

        def place(configuration: Configuration) -> tuple[object, ...]:
            order = (
                (at.get(value, len(at)), value)
                for at, (_, value) in zip(places, configuration.bindings, strict=True)
            )
            return (*order, configuration.id)

        found = (Configuration(c, b, tuple(outcomes)) for c, (b, outcomes) in groups.items())
        return tuple(sorted(found, key=place))

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """Every cell of the tables by its id."""
        return {o.cell: o for c in self.configurations for o in c.outcomes}

    @cached_property
    def scenes(self) -> dict[str, Cell]:
        """One compiled cell of each configuration: its network and flows, by configuration id.

        Raises ReportError when `cells.jsonl` is missing or does not hold cells.
        """
        scenes: dict[str, Cell] = {}
        try:
            with (self.path / "cells.jsonl").open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    found = _CONFIGURATION.search(line)
                    if found is None or found[1] not in scenes:
                        try:
                            cell = Cell.model_validate_json(line)
                        except ValidationError:
                            raise ReportError(
                                f"{self.path / 'cells.jsonl'}:{number} is not a cell of this"
                                " version of fairc"
                            ) from None
                        scenes.setdefault(cell.configuration, cell)
        except FileNotFoundError:
            raise ReportError(f"{self.path} has no cells.jsonl") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ReportError(f"{self.path / 'cells.jsonl'} cannot be read: {error}") from None
        return scenes

    @cached_property
    def repeated(self) -> Repeated:
        """How often the plan repeats its configurations."""
        return repeated(self.plan)

    @cached_property
    def flows(self) -> tuple[str, ...]:
        """Names of the flows in the order in which the experiment declares them."""
        names: dict[str, None] = {}
        for scene in self.scenes.values():
            names.update(dict.fromkeys(flow.name for flow in scene.flows))
        return tuple(names)

    @cached_property
    def origins(self) -> dict[str, tuple[str, str]]:
        """Each flow's declared name and its group of users (or an empty text), by flow."""
        return {
            flow.name: (flow.declared or flow.name, flow.users or "")
            for scene in self.scenes.values()
            for flow in scene.flows
        }

    def protocol_of(self, configuration: str, flow: str, load: int | None) -> str:
        """Return the HTTP version of a page load, as planned; empty where there is no such load."""
        if load is None or (scene := self.scenes.get(configuration)) is None:
            return ""
        found = next((f.workload for f in scene.flows if f.name == flow), None)
        if not isinstance(found, LoadWorkload) or not 1 <= load <= len(found.protocols):
            return ""
        return found.protocols[load - 1]

    @cached_property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that fairness compares: the flows that `measure` names, else all flows."""
        for request in self.plan.measure:
            if request.name == "fairness" and request.sessions:
                return request.sessions
        return self.flows

    def queue_of(self, configuration: str, node: str, interface: str) -> Queue | None:
        """Return the queue at an interface of a configuration, or None where there is none."""
        for n in self.scenes[configuration].nodes:
            for i in n.interfaces:
                if (n.name, i.name) == (node, interface):
                    return i.queue
        return None


def _unmasked(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of DuckDB as a plain array."""
    import numpy as np

    if not np.ma.is_masked(column):
        return np.asarray(column)
    plain = column.astype(object if column.dtype == object else float)
    plain[np.ma.getmaskarray(column)] = None if column.dtype == object else np.nan
    return np.asarray(plain.data)


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
