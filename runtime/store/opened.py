"""The tables of a run, open for queries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .tables import TableError, connect

if TYPE_CHECKING:
    import duckdb  # when it is used: see `Command` in fairc/cli/options.py


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
