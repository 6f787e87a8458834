"""The tables of a run as Parquet files: written from stored results, and opened, by DuckDB alone."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from fairc.compiler.plan import Cell
from fairc.runtime.measurement import ArtefactError
from fairc.runtime.measurement.series import Series

from .columns import TABLES
from .occupant import content
from .results import CellResult
from .schema import SEPARATOR, Column, Columns, Stored

if TYPE_CHECKING:
    import duckdb

# One thread, and fixed compression and row groups: the same rows give the same bytes.
_CONFIG = {"threads": "1", "autoinstall_known_extensions": "false"}
_COPY = "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
_CELLS_PER_BATCH = 50


class TableError(Exception):
    """The tables cannot be written or read; the message says why."""


def axis_columns(axes: Sequence[str]) -> dict[str, str]:
    """Return the column of `cells` that holds each swept name: the name itself where it is free.

    Columns are told apart without regard to case; one that is taken gets a `_` at its end.
    """
    taken = {column.name for column in TABLES["cells"].columns}
    columns: dict[str, str] = {}
    for axis in axes:
        column = axis
        while column.casefold() in taken:
            column += "_"
        taken.add(column.casefold())
        columns[axis] = column
    return columns


def read_stored(cell: Cell, folder: Path) -> Stored:
    """Read a cell's result.json and series.npz. Raises TableError."""
    try:
        result = CellResult.model_validate_json(content(folder / "result.json"))
        if not (folder / "series.npz").is_file() and result.status == "ok":
            raise FileNotFoundError(errno.ENOENT, "there is no series.npz", str(folder))
        series = Series.open(folder / "series.npz") if result.status == "ok" else None
    except (OSError, ValidationError, ArtefactError) as error:
        raise TableError(f"the result in {folder} cannot be read: {error}") from None
    return Stored(cell, result, series)


def write(folder: Path, axes: Sequence[str], cells: Iterable[Stored]) -> None:
    """Write every table into `folder`, replacing what is there; rows in the order of `cells`.

    axes: swept names in file order. A few cells at a time are in memory; the rows wait in a
    temporary database. Raises TableError.
    """
    import duckdb

    partial = folder / ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        with duckdb.connect(str(partial / "rows.duckdb"), config=dict(_CONFIG)) as connection:
            _fill(connection, axes, iter(cells))
            for name in TABLES:
                target = str(partial / f"{name}.parquet").replace("'", "''")
                connection.execute(f"COPY {name} TO '{target}' {_COPY}")
        for name in TABLES:
            (partial / f"{name}.parquet").replace(folder / f"{name}.parquet")
    except (duckdb.Error, OSError) as error:
        raise TableError(f"the tables in {folder} cannot be written: {error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view of each table. Raises TableError."""
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(_CONFIG))
    for name in TABLES:
        file = str(folder / f"{name}.parquet").replace("'", "''")
        try:
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
        except duckdb.Error as error:
            connection.close()
            words = str(error).splitlines()[0]
            raise TableError(
                f"{folder / name}.parquet cannot be read: {words}; `fairc report {folder.parent}` writes it"
                " anew from the cells"
            ) from None
    return connection


def _fill(
    connection: duckdb.DuckDBPyConnection, axes: Sequence[str], cells: Iterator[Stored]
) -> None:
    columns_of_axes = axis_columns(axes)
    declared = {name: list(table.columns) for name, table in TABLES.items()}
    at = [column.name for column in declared["cells"]].index("repetition")
    declared["cells"][at:at] = [
        Column(column, "VARCHAR", "", f"value of `{axis}`")
        for axis, column in columns_of_axes.items()
    ]
    for name, columns in declared.items():
        body = ", ".join(f"{quoted(c.name)} {c.type}" for c in columns)
        connection.execute(f"CREATE TABLE {name} ({body})")
    while batch := list(islice(cells, _CELLS_PER_BATCH)):
        for name, table in TABLES.items():
            parts = []
            for stored in batch:
                rows = dict(table.rows(stored))
                if name == "cells":
                    bindings = stored.cell.bindings
                    rows |= {c: [bindings.get(a)] for a, c in columns_of_axes.items()}
                parts.append(rows)
            _insert(connection, name, declared[name], [rows for rows in parts if rows])


def _insert(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[Column],
    parts: Sequence[Columns],
) -> None:
    if not parts:
        return
    # DuckDB reads arrays by their name in this frame or a registration; names of columns are the
    # user's, so the arrays are numbered.
    arrays = {
        f"c{number}": np.concatenate([_array(rows[column.name], column) for rows in parts])
        for number, column in enumerate(columns)
    }
    if not len(arrays["c0"]):
        return
    values = ", ".join(
        _expression(f"c{number}", c, arrays[f"c{number}"]) for number, c in enumerate(columns)
    )
    connection.execute(f"INSERT INTO {table} SELECT {values} FROM arrays")


def _array(values: Sequence[Any] | NDArray[Any], column: Column) -> NDArray[Any]:
    kinds: dict[str, Any] = {"DOUBLE": np.float64, "BOOLEAN": np.bool_}
    if column.type in ("BIGINT", "INTEGER"):
        numbers = np.asarray(values)
        return numbers if numbers.dtype.kind == "f" else numbers.astype(np.int64)
    return np.asarray(values, kinds.get(column.type, object))


def _expression(name: str, column: Column, values: NDArray[Any]) -> str:
    if values.dtype.kind == "f" and column.type != "DOUBLE":  # whole numbers, some of them unknown
        return f"CAST(nullif({name}, 'nan'::DOUBLE) AS {column.type})"
    if column.type == "DOUBLE":
        return f"nullif({name}, 'nan'::DOUBLE)"
    if column.type == "VARCHAR[]":
        separated = f"string_split({name}, chr({ord(SEPARATOR)}))"
        return f"CASE WHEN {name} = '' THEN [] ELSE {separated} END"
    return f"CAST({name} AS {column.type})"


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
