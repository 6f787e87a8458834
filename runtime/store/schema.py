"""What a table is: a name, columns with units, and the rows that one cell adds to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from fairc.compiler.plan import Cell
from fairc.runtime.measurement.series import Series

from .results import CellResult

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

    rows: column name -> values, all of one length; None or NaN becomes null, for numbers NaN.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    rows: Callable[[Stored], Columns]


CELL = Column("cell", "VARCHAR", "", "id of the cell")
FLOW = Column("flow", "VARCHAR", "", "name of the flow")
TRANSPORT = Column(
    "transport", "VARCHAR", "", "`tcp`, `quic`, `udp`, or `web`: HTTP over TCP and QUIC"
)
CONNECTION = Column("connection", "INTEGER", "", "number of the connection, from 0")
LOAD = Column("load", "INTEGER", "", "number of the load within the cell, from 1")
