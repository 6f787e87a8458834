"""The tables of a run as Parquet files: written from stored results, and opened, by DuckDB
alone.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from fairc.compiler.files import content
from fairc.compiler.plan import Cell, Plan
from fairc.runtime.host import faults
from fairc.runtime.measurement import ArtefactError
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.measurement.series import Series

from . import swept
from .columns import TABLES
from .folder import Store
from .identity import mismatch
from .occupant import PARTIAL
from .schema import SEPARATOR, Column, Stored, Table
from .swept import Swept

# One thread, and fixed compression and row groups: the same rows give the same bytes.
_CONFIG = {"threads": "1", "autoinstall_known_extensions": "false"}
_COPY = "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
# How much is in memory at once: each INSERT costs milliseconds, however few its rows.
_BATCH_CELLS, _BATCH_BYTES = 400, 64 << 20


class TableError(Exception):
    """The tables cannot be written or read; the message says why."""


def axis_columns(axes: Sequence[str]) -> dict[str, str]:
    """Return the column of `cells` that holds each swept name: the name itself where it is free.

    Columns are compared without regard to case; a name that is taken gets a trailing `_`.
    """
    return {
        found.axis: found.column.name for found in _swept("cells", axes) if found.part == "text"
    }


def _swept(table: str, axes: Sequence[str]) -> tuple[Swept, ...]:
    return swept.columns(axes, (column.name for column in TABLES[table].columns))


def read_stored(cell: Cell, folder: Path) -> Stored:
    """Read a cell's result.json and series.npz.

    Raises TableError, also for the result of another cell.
    """
    try:
        result = CellResult.model_validate_json(content(folder / "result.json"))
        if why := mismatch(cell, folder.name, result):
            raise ArtefactError(why)
        if not (folder / "series.npz").is_file() and result.status == "ok":
            raise FileNotFoundError(errno.ENOENT, "there is no series.npz", str(folder))
        series = Series.open(folder / "series.npz") if result.status == "ok" else None
    except (OSError, ValidationError, ArtefactError) as error:
        if fault := faults.of(error):
            raise fault from error
        raise TableError(f"the result in {folder} cannot be read: {error}") from None
    return Stored(cell, result, series)


class Filling:
    """The tables of a run while they are filled.

    Only some cells at a time are in memory; the rows of the others wait in a temporary database.
    The same cells in the same order give the same bytes.

    folder: for its use alone; what is there is removed. axes: swept names in file order. Raises
    OSError and duckdb.Error, as its methods do.
    """

    def __init__(self, folder: Path, axes: Sequence[str]) -> None:
        self._folder = folder
        self._added = {name: _swept(name, axes) for name in TABLES}
        self._batch: list[Stored] = []
        self._batch_bytes = 0
        self._rows: duckdb.DuckDBPyConnection | None = None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def add(self, stored: Stored) -> None:
        """Add the rows of a cell."""
        self._batch.append(stored)
        self._batch_bytes += stored.series.nbytes if stored.series else 0
        if len(self._batch) == _BATCH_CELLS or self._batch_bytes >= _BATCH_BYTES:
            self._rows = self._rows or self._database(str(self._folder / "rows.duckdb"))
            self._insert(self._rows)

    def write(self, folder: Path) -> None:
        """Write every table into a folder, replacing what is there."""
        rows = self._rows = self._rows or self._database(":memory:")
        self._insert(rows)
        # Each table is written by one thread, so its bytes are always the same.
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as writers:
            for _ in writers.map(partial(self._copy, rows), TABLES):
                pass
        folder.mkdir(parents=True, exist_ok=True)
        # `cells` last: its age tells how old the tables are if this is interrupted.
        for name in sorted(TABLES, key="cells".__eq__):
            (self._folder / f"{name}.parquet").replace(folder / f"{name}.parquet")

    def close(self) -> None:
        """Remove its folder."""
        if self._rows is not None:
            self._rows.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _database(self, place: str) -> duckdb.DuckDBPyConnection:
        """Return a database at a place, with empty tables."""
        rows = duckdb.connect(place, config=dict(_CONFIG))
        for name, table in TABLES.items():
            columns = _in_order(table, self._added[name])
            body = ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)
            rows.execute(f"CREATE TABLE {name} ({body})")
        return rows

    def _insert(self, rows: duckdb.DuckDBPyConnection) -> None:
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if batch:
            for name, table in TABLES.items():
                _insert(rows, table, self._added[name], batch)

    def _copy(self, rows: duckdb.DuckDBPyConnection, name: str) -> None:
        target = str(self._folder / f"{name}.parquet").replace("'", "''")
        with rows.cursor() as own:
            own.execute(f"COPY {name} TO '{target}' {_COPY}")


def renew(store: Store) -> None:
    """Write the tables of a run directory, which is locked, and put them on record.

    Raises TableError, StoreError, ForeignFileError.
    """
    record, names = store.record(), [f"tables/{name}.parquet" for name in TABLES]
    record.begin(names)
    write_of(store, store.path / "tables", store.plan, store.path / PARTIAL / "tables")
    record.end(names)


def write(
    folder: Path, axes: Sequence[str], cells: Iterable[Stored], scratch: Path | None = None
) -> None:
    """Write every table into `folder`, replacing what is there; rows in the order of `cells`.

    axes: swept names in file order. scratch: as `folder` of Filling; None: in `folder`, where
    nobody else keeps files. Raises TableError.
    """
    try:
        with closing(Filling(scratch or folder / PARTIAL, axes)) as filling:
            for stored in cells:
                filling.add(stored)
            filling.write(folder)
    except (duckdb.Error, OSError) as error:
        if fault := faults.of(error):
            raise fault from error
        raise TableError(f"the tables in {folder} cannot be written: {error}") from None


def write_of(store: Store, folder: Path, plan: Plan, scratch: Path | None = None) -> None:
    """Write the tables of a store's finished cells, which belong to a plan. Raises TableError,
    StoreError.

    scratch: as of `write`.
    """
    stored = (read_stored(cell, where) for cell, where in store.finished())
    write(folder, tuple(axis.name for axis in plan.axes), stored, scratch)


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view of each table; swept names are columns of `cells` alone.

    Otherwise a query that joins tables would have to qualify them. Raises TableError.
    """
    connection = duckdb.connect(":memory:", config=dict(_CONFIG))
    for name in TABLES:
        file = str(folder / f"{name}.parquet").replace("'", "''")
        try:
            if not (folder / f"{name}.parquet").is_file():  # reading a pipe might never end
                raise duckdb.IOException("it is not a regular file")
            rows = f"FROM read_parquet('{file}')"
            there = [row[0] for row in connection.execute(f"DESCRIBE SELECT * {rows}").fetchall()]
            known = {column.name for column in TABLES[name].columns}
            shown = [column for column in there if name == "cells" or column in known]
            connection.execute(
                f"CREATE VIEW {name} AS SELECT {', '.join(map(quoted, shown))} {rows}"
            )
        except duckdb.Error as error:
            connection.close()
            message = str(error).splitlines()[0]
            raise TableError(
                f"{folder / name}.parquet cannot be read: {message}; `fairc report {folder.parent}`"
                " rewrites it from the cells"
            ) from None
    return connection


def current(folder: Path) -> bool:
    """Return whether the tables in a folder have every column of this version; False if one cannot
    be read.
    """
    connection = duckdb.connect(":memory:", config=dict(_CONFIG))
    try:
        for name, table in TABLES.items():
            file = str(folder / f"{name}.parquet").replace("'", "''")
            found = connection.execute(f"DESCRIBE SELECT * FROM read_parquet('{file}')").fetchall()
            if not {column.name for column in table.columns} <= {row[0] for row in found}:
                return False
    except duckdb.Error:
        return False
    finally:
        connection.close()
    return True


def same(mine: Path, theirs: Path) -> bool:
    """Return whether two tables have the same columns and rows in the same order: another DuckDB
    writes other bytes.
    """
    if mine.read_bytes() == theirs.read_bytes():
        return True
    config: dict[str, Any] = {**_CONFIG, "memory_limit": "2GB"}
    try:
        with duckdb.connect(":memory:", config=config) as connection:
            read = "SELECT * FROM read_parquet(?)"
            tables = [connection.cursor().execute(read, [str(path)]) for path in (mine, theirs)]
            if str(tables[0].description) != str(tables[1].description):
                return False
            while True:
                rows = [table.fetchmany(10_000) for table in tables]
                if repr(rows[0]) != repr(rows[1]):  # a NaN equals itself
                    return False
                if not rows[0]:
                    return True
    except (duckdb.Error, ValueError, OverflowError):  # ValueError: a text that is not UTF-8
        return False


def _in_order(table: Table, added: Sequence[Swept]) -> list[Column]:
    """Return all columns of a table: swept names come last, in `cells` before the repetition."""
    columns = list(table.columns)
    at = len(columns)
    if table.name == "cells":
        at = [column.name for column in columns].index("repetition")
    columns[at:at] = [found.column for found in added]
    return columns


def _insert(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    added: Sequence[Swept],
    batch: Sequence[Stored],
) -> None:
    """Add the rows of some cells to a table."""
    parts = [(number, rows) for number, s in enumerate(batch, 1) if (rows := table.rows(s))]
    # DuckDB finds arrays by their name in this frame or a registration; column names are the
    # user's, so the arrays are numbered.
    arrays = {
        f"c{number}": np.concatenate([_array(rows[column.name], column) for _, rows in parts])
        for number, column in enumerate(table.columns)
        if parts
    }
    if not parts or not len(arrays["c0"]):
        return
    # A cell's swept values are the same in all of its rows: they are looked up by its number.
    arrays["cell"] = np.concatenate(
        [np.full(len(rows[table.columns[0].name]), number) for number, rows in parts]
    )
    values = {
        column.name: _expression(f"c{number}", column, arrays[f"c{number}"])
        for number, column in enumerate(table.columns)
    }
    lists = []
    for found in added:
        lists.append([found.of(stored.cell.bindings) for stored in batch])
        of_cell = f"list_extract(${len(lists)}::{found.column.type}[], cell)"
        values[found.column.name] = of_cell
    body = ", ".join(values[column.name] for column in _in_order(table, added))
    connection.execute(f"INSERT INTO {table.name} SELECT {body} FROM arrays", lists)


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
