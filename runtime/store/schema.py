"""What a table is: a name, columns with units, and the rows that one cell adds to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Cell
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.measurement.series import Series

# Between the entries of a list on its way into DuckDB; no human-readable text contains it.
SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Stored:
    """One cell of the plan with its result; series: None when it failed."""

    cell: Cell
    result: CellResult
    series: Series | None


Columns = Mapping[str, Sequence[Any] | NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: name, DuckDB type, unit (empty for none), meaning in a line."""

    name: str
    type: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name, what one row is, its columns, and the rows that one cell adds.

    fill: returns the rows of a cell, given the cell and the table itself.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    fill: Callable[[Stored, Table], Columns]

    def rows(self, stored: Stored) -> Columns:
        """Return column name -> values, all of one length; None becomes null, and so does NaN in
        numbers.
        """
        return self.fill(stored, self)


CELL = Column("cell", "VARCHAR", "", "id of the cell")
FLOW = Column("flow", "VARCHAR", "", "name of the flow")
TRANSPORT = Column(
    "transport", "VARCHAR", "", "`tcp`, `quic`, `udp`, or `web`: HTTP over TCP and QUIC"
)
CONNECTION = Column("connection", "INTEGER", "", "number of the connection, from 0")
LOAD = Column("load", "INTEGER", "", "number of the load within the cell, from 1")

NULLABLE = frozenset({"protocol", "flow"})
"""Texts that are null where they are empty; in the others, empty means something."""


def of_result(stored: Stored, table: Table, **names: str) -> Columns:
    """Return a row for each entry that a result has under the table's name.

    A column is the attribute of the same name; names: column -> attribute, where they differ.
    """
    entries = getattr(stored.result, table.name)
    return {
        "cell": [stored.cell.id] * len(entries),
        **{
            column.name: [getattr(entry, names.get(column.name, column.name)) for entry in entries]
            for column in table.columns[1:]
        },
    }


def of_series(stored: Stored, table: Table, **names: str) -> Columns:
    """Return rows from the arrays of a series: for the column `t_s` of `samples` that is
    `sample_t_s`.

    names: as for `of_result`.
    """
    series = stored.series
    if series is None:
        return {}
    kind = table.name.removesuffix("s")
    arrays = {
        column.name: getattr(series, f"{kind}_{names.get(column.name, column.name)}")
        for column in table.columns[1:]
    }
    return {
        "cell": np.full(len(arrays["flow"]), stored.cell.id, object),
        **arrays,
        "flow": series.flows.astype(object)[arrays["flow"]],
    }


def of_records(stored: Stored, table: Table) -> Columns:
    """Return the records that a series has under the table's name: their fields are the columns."""
    series = stored.series
    if series is None or not len(records := getattr(series, table.name)):
        return {}
    columns: dict[str, NDArray[Any]] = {"cell": np.full(len(records), stored.cell.id, object)}
    for column in table.columns[1:]:
        values = records[column.name]
        if column is FLOW:
            values = series.flows.astype(object)[values]
        elif column.type == "VARCHAR":
            values = values.astype(object)
            if column.name in NULLABLE:
                values[values == ""] = None
        columns[column.name] = values
    return columns
