"""Tables: their columns with units, and the rows that one cell adds to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

Source = TypeVar("Source")
Columns = Mapping[str, Sequence[Any] | NDArray[Any]]
"""Column name -> values, all of one length; None becomes null, and so does NaN in numbers."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: name, DuckDB type, unit (empty for none), meaning in a line."""

    name: str
    type: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table(Generic[Source]):
    """A table: its name, what one row is, its columns, and the rows that one cell adds.

    columns: the first is the cell's id. rows: returns all other columns of a cell.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    rows: Callable[[Source], Columns]


CELL = Column("cell", "VARCHAR", "", "id of the cell")
FLOW = Column("flow", "VARCHAR", "", "name of the flow")
TRANSPORT = Column(
    "transport", "VARCHAR", "", "`tcp`, `quic`, `udp`, or `web`: HTTP over TCP and QUIC"
)
CONNECTION = Column("connection", "INTEGER", "", "number of the connection, from 0")
LOAD = Column("load", "INTEGER", "", "number of the load within the cell, from 1")
PROTOCOL = Column("protocol", "VARCHAR", "", "`h1`, `h2` or `h3`, as used; null: none was")
STATUS = Column("status", "INTEGER", "", "of HTTP; null: nothing was answered")


def time_column(name: str, meaning: str) -> Column:
    """Return a column of times in s."""
    return Column(name, "DOUBLE", "s", meaning)


def transposed(table: Table[Any], rows: Sequence[Sequence[Any]]) -> Columns:
    """Return rows as columns; rows: the values of a table's columns after the first, in order."""
    names = (column.name for column in table.columns[1:])
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
