"""The tables of a run as Parquet files: those of each cell, those of all cells together, and
queries on them; all by DuckDB.
"""

from __future__ import annotations

import errno
import filecmp
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from fairc.compiler.files import content
from fairc.compiler.plan import Cell, Plan
from fairc.runtime.host import faults
from fairc.runtime.measurement import ArtefactError
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.measurement.schema import Column, Columns, Table
from fairc.runtime.measurement.series import SERIES, Series

from . import swept
from .baselines import Baselines
from .columns import RESULTS, TABLES, Stored
from .folder import Store
from .identity import mismatch
from .occupant import PARTIAL
from .swept import SweptColumn

if TYPE_CHECKING:
    import duckdb  # when it is used: see `Command` in fairc/cli/options.py


# One thread, and fixed compression and row groups: the same rows give the same bytes.
_CONFIG = {"threads": "1", "autoinstall_known_extensions": "false"}
_COPY = "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
# Names of folders are no columns, whatever they look like.
_FROM = "read_parquet({}, hive_partitioning = false)"
_NUMBER = "file_index::BIGINT + 1"
"""Number of a row's file in such a call, from 1."""
# How many results are in memory at once: each INSERT costs milliseconds, however few its rows.
_BATCH = 400
# How much the file of a cell may unpack to, as it may be a stranger's: far beyond what an analysis
# writes.
MOST_BYTES, MOST_TIMES, MOST_TEXT_BYTES = 256 << 20, 100, 1 << 30
# The same of a table of a run: beyond that it is written again, from the cells.
MOST_RUN_BYTES, MOST_RUN_TIMES = 1 << 30, 1000


T = TypeVar("T")


class Source(NamedTuple):
    """What the rows in a cell's files need of it: a hundred thousand of these fit into memory."""

    cell: str
    bindings: Mapping[str, str]
    folder: Path


class TableError(Exception):
    """The tables cannot be written or read; the message says why."""


def axis_columns(axes: Sequence[str]) -> dict[str, str]:
    """Return the column of `cells` that holds each swept name: the name itself where it is free.

    Columns are compared without regard to case; a name that is taken gets a trailing `_`.
    """
    return {
        found.axis: found.column.name for found in _swept("cells", axes) if found.part == "text"
    }


def _swept(table: str, axes: Sequence[str]) -> tuple[SweptColumn, ...]:
    return swept.columns(axes, (column.name for column in TABLES[table].columns))


# The tables of a cell


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the database of this process, for connections whose names are temporary.

    To open one takes 15 ms: the cells of a run need hundreds of connections.
    """
    import duckdb

    return duckdb.connect(":memory:", config=dict(_CONFIG))


def _begin_anew() -> None:
    """Let a forked process open a database of its own: the threads of this one are not in it, and
    to close it would wait for them.
    """
    if _database.cache_info().currsize:
        _INHERITED.append(_database())
        _database.cache_clear()


_INHERITED: list[duckdb.DuckDBPyConnection] = []
os.register_at_fork(after_in_child=_begin_anew)


def write_series(folder: Path, series: Series) -> tuple[str, ...]:
    """Write the tables of a cell; return their names. The same tables give the same bytes.

    Raises OSError, duckdb.Error.
    """
    with _database().cursor() as own:
        for name, columns in series.items():
            arrays, values = _values(TABLES[name], [columns])
            body = ", ".join(f"{values[name]} AS {quoted(name)}" for name in values)
            target = _text(folder / f"{name}.parquet")
            own.register("arrays", arrays)
            own.execute(f"COPY (SELECT {body} FROM arrays) TO {target} {_COPY}")
    return tuple(series)


def read_stored(cell: Cell, folder: Path) -> Stored:
    """Read a cell's result, and see that the tables are there that it names.

    Raises TableError, also for the result of another cell.
    """
    try:
        result = CellResult.model_validate_json(content(folder / "result.json"))
        if why := mismatch(cell, folder.name, result):
            raise ArtefactError(why)
        named = result.series or ()
        if named != tuple(name for name in SERIES if name in named):
            raise ArtefactError("it names tables that an analysis does not write")
        for name in named:
            if not (folder / f"{name}.parquet").is_file():  # reading a pipe might never end
                raise FileNotFoundError(errno.ENOENT, f"there is no {name}.parquet", str(folder))
    except (OSError, ValidationError, ArtefactError) as error:
        if fault := faults.of(error):
            raise fault from error
        raise TableError(f"the result in {folder} cannot be read: {error}") from None
    return Stored(cell, result, folder)


# The tables of a run


def renew(store: Store, cells: Iterable[tuple[Cell, Path]]) -> None:
    """Write the tables of a run directory, which is locked, and put them on record.

    cells: those that count, with their folders. Raises TableError, StoreError, ForeignFileError.
    """
    record, names = store.record(), [f"tables/{name}.parquet" for name in TABLES]
    record.begin(names)
    write_of(cells, store.path / "tables", store.plan, store.path / PARTIAL / "tables")
    record.end(names)


def write_of(
    cells: Iterable[tuple[Cell, Path]], folder: Path, plan: Plan, scratch: Path | None = None
) -> None:
    """Write the tables of stored cells, which belong to a plan.

    scratch: as of `write`. Raises TableError, StoreError.
    """
    stored = (read_stored(cell, where) for cell, where in cells)
    write(folder, tuple(axis.name for axis in plan.axes), _compared(stored, plan), scratch)


def _compared(cells: Iterable[Stored], plan: Plan) -> Iterator[Stored]:
    """Yield the cells of configurations, compared with their baselines, which precede them."""
    baselines = Baselines(plan.requests)
    for stored in cells:
        if stored.cell.baseline:
            baselines.add(stored.cell, stored.result)
        else:
            result, alone = baselines.compared(stored.cell, stored.result)
            yield replace(stored, result=result, alone=alone)


def write(
    folder: Path, axes: Sequence[str], cells: Iterable[Stored], scratch: Path | None = None
) -> None:
    """Write every table into `folder`, replacing what is there; rows in the order of `cells`.

    axes: swept names in file order. scratch: a folder for this alone, which is removed; None: in
    `folder`, where nobody else keeps files. Raises TableError.
    """
    import duckdb

    place = scratch or folder / PARTIAL
    try:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _write(place, axes, cells)
        folder.mkdir(parents=True, exist_ok=True)
        # `cells` last: its age tells how old the tables are if this is interrupted.
        for name in sorted(TABLES, key="cells".__eq__):
            (place / f"{name}.parquet").replace(folder / f"{name}.parquet")
    except (duckdb.Error, OSError) as error:
        if fault := faults.of(error):
            raise fault from error
        why = str(error).splitlines()[0]  # DuckDB's further lines show a query of ours
        raise TableError(f"the tables in {folder} cannot be written: {why}") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(folder: Path, axes: Sequence[str], cells: Iterable[Stored]) -> None:
    """Write the tables of cells into an empty folder."""
    import duckdb

    added = {name: _swept(name, axes) for name in TABLES}
    with_rows: dict[str, list[Source]] = {name: [] for name in SERIES}
    config: dict[str, Any] = {**_CONFIG, "temp_directory": str(folder / "memory")}
    with duckdb.connect(":memory:", config=config) as database:
        for name, table in TABLES.items():
            columns = _in_order(table, added[name])
            body = ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)
            database.execute(f"CREATE TABLE {name} ({body})")
        for batch in _batched(cells):
            for name, of_result in RESULTS.items():
                _insert(database, of_result, added[name], batch)
            for stored in batch:
                source = _source(stored)
                for name in stored.result.series or ():
                    with_rows[name].append(source)

        def copy(name: str) -> None:
            target = _text(folder / f"{name}.parquet")
            rows: str = f"FROM {name}"
            parameters: list[object] = []
            with database.cursor() as own:
                if of := with_rows.get(name):
                    rows, parameters = _rows(own, TABLES[name], added[name], of)
                own.execute(f"COPY ({rows}) TO {target} {_COPY}", parameters)

        # Each table is written by one thread, so its bytes are always the same.
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as writers:
            for _ in writers.map(copy, TABLES):
                pass


def _batched(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most `_BATCH`."""
    left = iter(items)
    while batch := list(islice(left, _BATCH)):
        yield batch


def _source(stored: Stored) -> Source:
    return Source(stored.cell.id, stored.cell.bindings, stored.folder)


def _insert(
    database: duckdb.DuckDBPyConnection,
    table: Table[Stored],
    added: Sequence[SweptColumn],
    batch: Sequence[Stored],
) -> None:
    """Add the rows of some results to a table."""
    parts = [table.rows(stored) for stored in batch]
    arrays, values = _values(table, parts)
    counts = [len(next(iter(columns.values()))) for columns in parts]
    if not any(counts):
        return
    arrays["cell"] = np.repeat(np.arange(1, len(batch) + 1), counts)
    of_cells, parameters = _of_cells([*map(_source, batch)], added, "cell")
    body = ", ".join((of_cells | values)[column.name] for column in _in_order(table, added))
    with database.cursor() as own:
        own.register("arrays", arrays)
        own.execute(f"INSERT INTO {table.name} SELECT {body} FROM arrays", parameters)


def _rows(
    database: duckdb.DuckDBPyConnection,
    table: Table[Any],
    added: Sequence[SweptColumn],
    cells: Sequence[Source],
) -> tuple[str, list[object]]:
    """Return a query for the rows of a table in the folders of cells, and its parameters.

    A part of it for every few hundred files: at each file the lists of its part are gone through.
    Raises OSError for a file that no analysis writes.
    """
    queries, parameters = list[str](), list[object]()
    for few in _batched(cells):
        query, own = _rows_of(database, table, added, few, len(parameters) + 1)
        queries.append(query)
        parameters += own
    return " UNION ALL ".join(queries), parameters


def _rows_of(
    database: duckdb.DuckDBPyConnection,
    table: Table[Any],
    added: Sequence[SweptColumn],
    cells: Sequence[Source],
    first: int,
) -> tuple[str, list[object]]:
    """Return the part of such a query for some cells; first: the number of its first parameter."""
    paths = [source.folder / f"{table.name}.parquet" for source in cells]
    files = [_pattern(path) for path in paths]
    of_cells, parameters = _of_cells(cells, added, _NUMBER, first)
    values = {
        column.name: f"CAST({quoted(column.name)} AS {column.type})" for column in table.columns[1:]
    }
    parameters += [_longest_texts(database, table, paths, files), files]
    last = first + len(parameters) - 1
    for column in table.columns[1:]:
        if column.type == "VARCHAR":
            longest = f"list_extract(${last - 1}::BIGINT[], {_NUMBER})"
            text = values[column.name]
            values[column.name] = (
                f"CASE WHEN strlen({text}) > {longest}"
                f" THEN error('a text in a {table.name}.parquet is too long') ELSE {text} END"
            )
    body = ", ".join(
        f"{(of_cells | values)[column.name]} AS {quoted(column.name)}"
        for column in _in_order(table, added)
    )
    return f"SELECT {body} FROM {_FROM.format(f'${last}')}", parameters


def _longest_texts(
    database: duckdb.DuckDBPyConnection,
    table: Table[Any],
    paths: Sequence[Path],
    files: Sequence[str],
) -> list[int]:
    """Return how long a text in each file of a table may be, bytes.

    Raises OSError for a file that has other columns, no rows, or far too many for its size.
    """
    found = {
        name: (rows, columns)
        for name, *(rows, columns) in database.execute(
            "SELECT file_name, CASE WHEN bool_and(row_group_num_rows > 0)"
            " THEN CAST(sum(row_group_num_rows) FILTER (column_id = 0) AS BIGINT) END,"
            " list(DISTINCT path_in_schema) FROM parquet_metadata($1) GROUP BY file_name",
            [files],
        ).fetchall()
    }
    names = {column.name for column in table.columns[1:]}
    longest = []
    for path in paths:
        rows, columns = found.get(str(path.absolute()), (None, []))
        if not rows or set(columns) != names:
            raise OSError(errno.EINVAL, f"it is not a table `{table.name}` of a cell", str(path))
        most = max(MOST_BYTES, MOST_TIMES * path.stat().st_size)
        if rows * len(names) * 8 > most:
            raise OSError(errno.EINVAL, f"it unpacks to more than {most >> 20} MiB", str(path))
        longest.append(MOST_TEXT_BYTES // rows)
    return longest


def _of_cells(
    cells: Sequence[Source], added: Sequence[SweptColumn], number: str, first: int = 1
) -> tuple[dict[str, str], list[object]]:
    """Return expressions for the values that are the same in all rows of a cell, by their column,
    and their parameters.

    number: expression for the number of the cell, from 1. first: the number of the first parameter.
    """
    lists: list[object] = [[source.cell for source in cells]]
    expressions = {"cell": f"list_extract(${first}::VARCHAR[], {number})"}
    for found in added:
        texts = [source.bindings.get(found.axis) for source in cells]
        values = {text: found.of(text) for text in {*texts}}
        lists.append([values[text] for text in texts])
        expression = f"list_extract(${first + len(lists) - 1}::{found.column.type}[], {number})"
        expressions[found.column.name] = expression
    return expressions, lists


def _values(table: Table[Any], parts: Sequence[Columns]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arrays of a table's columns after the first, and an expression for each.

    Their names are the user's, so the arrays are numbered.
    """
    arrays: dict[str, Any] = {}
    values: dict[str, str] = {}
    for number, column in enumerate(table.columns[1:]):
        name = f"c{number}"
        arrays[name] = np.concatenate([_array(part[column.name], column) for part in parts])
        values[column.name] = _expression(name, column, arrays[name])
    return arrays, values


def _in_order(table: Table[Any], added: Sequence[SweptColumn]) -> list[Column]:
    """Return all columns of a table: swept names come last, in `cells` before the repetition."""
    columns = list(table.columns)
    at = len(columns)
    if table.name == "cells":
        at = [column.name for column in columns].index("repetition")
    columns[at:at] = [found.column for found in added]
    return columns


def _array(values: Sequence[Any] | NDArray[Any], column: Column) -> NDArray[Any]:
    if column.type in ("BIGINT", "INTEGER"):
        numbers = np.asarray(values)
        return numbers.astype(np.float64 if numbers.dtype.kind in "fO" else np.int64)
    if column.type.startswith("VARCHAR"):
        return np.fromiter(values, object, len(values))
    return np.asarray(values, {"DOUBLE": np.float64, "BOOLEAN": np.bool_}[column.type])


def _expression(name: str, column: Column, values: NDArray[Any]) -> str:
    if values.dtype.kind == "f":  # NaN stands for null; whole numbers are floats where some are
        name = f"nullif({name}, 'nan'::DOUBLE)"
    return f"CAST({name} AS {column.type})"


# Queries


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view of each table; swept names are columns of `cells` alone.

    Otherwise a query that joins tables would have to qualify them. Raises TableError.
    """
    import duckdb

    connection = _database().cursor()
    for name, table in TABLES.items():
        try:
            if not (folder / f"{name}.parquet").is_file():  # reading a pipe might never end
                raise duckdb.IOException("it is not a regular file")
            known = ", ".join(_text(column.name) for column in table.columns)
            shown = "*" if name == "cells" else f"COLUMNS(lambda name: name IN ({known}))"
            rows = f"FROM {_FROM.format(_text(_pattern(folder / f'{name}.parquet')))}"
            connection.execute(f"CREATE TEMPORARY VIEW {name} AS SELECT {shown} {rows}")
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
    be read, or has far too many rows for its size: its folder may be a stranger's.
    """
    import duckdb

    connection = _database().cursor()
    try:
        for name, table in TABLES.items():
            file = _pattern(folder / f"{name}.parquet")
            describe = f"DESCRIBE SELECT * FROM {_FROM.format(_text(file))}"
            found = connection.execute(describe).fetchall()
            if not {column.name for column in table.columns} <= {row[0] for row in found}:
                return False
            ((rows,),) = connection.execute(
                "SELECT coalesce(sum(row_group_num_rows) FILTER (column_id = 0), 0)"
                " FROM parquet_metadata($1)",
                [file],
            ).fetchall()
            most = MOST_RUN_TIMES * (folder / f"{name}.parquet").stat().st_size
            if rows * len(found) * 8 > max(MOST_RUN_BYTES, most):
                return False
    except (duckdb.Error, OSError):
        return False
    finally:
        connection.close()
    return True


def same(mine: Path, theirs: Path) -> bool:
    """Return whether two tables have the same columns and rows in the same order: another DuckDB
    writes other bytes.
    """
    import duckdb

    if filecmp.cmp(mine, theirs, shallow=False):  # a stranger's may not fit into memory
        return True
    config: dict[str, Any] = {**_CONFIG, "memory_limit": "2GB"}
    try:
        with duckdb.connect(":memory:", config=config) as connection:
            read = f"SELECT * FROM {_FROM.format('?')}"
            tables = [
                connection.cursor().execute(read, [_pattern(path)]) for path in (mine, theirs)
            ]
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


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: object) -> str:
    """Return a text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def _pattern(path: Path) -> str:
    """Return what DuckDB, which takes the name of a file as a pattern, reads this file for."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


class RunTables:
    """The tables in a folder; the first query opens them. Its methods raise TableError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return connect(self._folder)

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._execute(sql, parameters).fetchall()

    def columns(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, NDArray[Any]]:
        """Return a query's columns as arrays; a null number is NaN, a null text None."""
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
            message = f"the tables in {self._folder} are not as documented: {error}"
            raise TableError(message) from None


def _unmasked(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of DuckDB as a plain array."""
    if not np.ma.is_masked(column):
        return np.asarray(column)
    plain = column.astype(object if column.dtype == object else float)
    plain[np.ma.getmaskarray(column)] = None if column.dtype == object else np.nan
    return np.asarray(plain.data)
