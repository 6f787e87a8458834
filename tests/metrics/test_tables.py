"""Tables: what is written is what was stored, deterministically; summaries over them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from storedcells import AXES, SERIES, failed, invalid, of, stored

from fairc.cell.seeds import canonical, identity
from fairc.compiler.plan import Cell
from fairc.compiler.plan.identity import identity_of
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.store import swept as swept_values
from fairc.runtime.store import tables
from fairc.runtime.store.columns import RESULTS, TABLES, Stored
from fairc.runtime.store.folder import key_of
from fairc.runtime.store.tables import TableError

ROOT = Path(__file__).parents[2]


def genuine(cell: Cell) -> Cell:
    """A cell under the names that are hashes of its content."""
    named = replace(cell, configuration=identity(canonical(cell.bindings)))
    return replace(named, id=identity_of(named))


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with tables.connect(folder) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def written(tmp_path: Path) -> Path:
    tables.write(tmp_path, AXES, [stored(1, "0%"), invalid(2, "0%"), failed(3, "1%")])
    return tmp_path


def test_cells(written: Path) -> None:
    assert rows(written, "SELECT cell, repetition, seed, verdict, reasons, status FROM cells") == [
        (f"{1:016x}", 1, "1", "valid", [], "ok"),
        (f"{2:016x}", 2, "1", "invalid", ["too slow", "too late"], "ok"),
        (f"{3:016x}", 3, "1", None, ["it hung"], "failed"),
    ]


def test_swept_names_are_columns_and_a_taken_name_gives_way(written: Path) -> None:
    assert tables.axis_columns(AXES) == {"loss": "loss", "Cell": "Cell_"}
    assert rows(written, "SELECT loss, Cell_ FROM cells") == [
        ("0%", "x"),
        ("0%", "x"),
        ("1%", "x"),
    ]


def test_names_that_differ_in_case_only_and_odd_ones() -> None:
    assert tables.axis_columns(["n", "N", "seed", 'a"b']) == {
        "n": "n",
        "N": "N_",
        "seed": "seed_",
        'a"b': 'a"b',
    }


def test_flows_and_metrics(written: Path) -> None:
    found = rows(written, "SELECT flow, first_byte_s, end_s, completed, bytes FROM flows")
    assert found == [("a", None, 2.5, True, 2**40), ("b", None, 2.5, True, 2**40)] * 2
    found = rows(written, "SELECT metric, flow, value, unit, reason FROM metrics LIMIT 3")
    assert found == [
        ("goodput", "a", 1.0, "bit/s", ""),
        ("goodput", "b", 10.0, "bit/s", ""),
        ("fairness.F", None, None, "1", "too short"),
    ]


def test_slots_samples_and_queues(written: Path) -> None:
    cell = f"cell = '{1:016x}'"
    found = rows(written, f"SELECT flow, slot, t_s, ip_bytes, active FROM slots WHERE {cell}")
    assert found == [
        ("a", 0, 0.0, 1.0, False),
        ("a", 1, 0.1, 2.0, False),
        ("a", 2, 0.2, 3.0, True),
        ("b", 0, 0.0, 4.0, True),
        ("b", 1, 0.1, 5.0, True),
        ("b", 2, 0.2, 6.0, True),
    ]
    found = rows(written, f"SELECT flow, connection, rtt_s, pacing_bps FROM samples WHERE {cell}")
    assert found == [("a", 0, 0.05, None), ("b", 3, None, 1e6)]
    found = rows(written, f"SELECT flow, in_flight_packets FROM samples WHERE {cell}")
    assert found == [("a", 9.0), ("b", None)]
    found = rows(written, f"SELECT queue, t_s, bytes, packets FROM queues WHERE {cell}")
    assert [row[1] for row in found] == pytest.approx([0.1, 0.2, 0.3])
    assert [row[2:] for row in found] == [(100.0, 1.0), (200.0, 2.0), (300.0, 3.0)]


def test_videos_and_requests(written: Path) -> None:
    cell = f"{1:016x}"
    found = rows(written, f"SELECT * FROM videos WHERE cell = '{cell}'")
    assert found == [
        (cell, "b", 0, 0.5, 2, 3.5, 2.9, True),
        (cell, "b", 1, None, 0, 0.0, None, False),
    ]
    found = rows(written, f"SELECT * FROM requests WHERE cell = '{cell}'")
    assert found == [(cell, "a", 0, 7, 1.5, 0.25, 2**33)]


def test_traces(written: Path) -> None:
    found = rows(written, f"SELECT * FROM traces WHERE cell = '{1:016x}'")
    assert [row[1:] for row in found] == [
        ("fmp.K", None, 0.1, 0.0),
        ("fmp.K", None, 0.2, -0.25),
        ("cwnd", "b", 0.1, 10.0),
    ]


def test_every_declared_column_is_there_with_its_type(written: Path) -> None:
    types = {"": "VARCHAR", "_value": "DOUBLE", "_unit": "VARCHAR"}
    swept = {f"{n}{end}": kind for n in ("loss", "Cell") for end, kind in types.items()}
    swept["Cell_"] = swept.pop("Cell")
    for table in TABLES.values():
        file = written / f"{table.name}.parquet"
        found = {row[0]: row[1] for row in rows(written, f"DESCRIBE SELECT * FROM '{file}'")}
        declared = {column.name: column.type for column in table.columns}
        assert found == declared | swept
        seen = {row[0] for row in rows(written, f"DESCRIBE {table.name}")}
        assert seen == declared.keys() | (swept.keys() if table.name == "cells" else set())


def test_swept_values_are_numbers_in_every_table(tmp_path: Path) -> None:
    """Each row has the values of its own cell, also in later batches."""
    losses = {n: ("0.5%", "cubic", "2.5bdp", "1500B")[n % 4] for n in range(1, 121)}
    cells = [stored(n, loss) for n, loss in losses.items()]
    tables.write(tmp_path, AXES, [*cells, failed(121, "3%")])
    numbers = {
        "0.5%": (0.005, "1"),
        "cubic": (None, None),
        "2.5bdp": (2.5, "bdp"),
        "1500B": (1500.0, "B"),
    }
    for name, table in TABLES.items():
        query = (
            f"SELECT DISTINCT cell, loss, loss_value, loss_unit, Cell_ FROM"
            f" '{tmp_path}/{name}.parquet'"
        )
        found = {row[0]: row[1:] for row in rows(tmp_path, query)}
        expected = {f"{n:016x}": (loss, *numbers[loss], "x") for n, loss in losses.items()}
        if name == "cells":
            expected[f"{121:016x}"] = ("3%", 0.03, "1", "x")
        there = name in RESULTS and len(table.rows(cells[0]).get("flow", [0]))
        assert found == (expected if there or name in SERIES else {}), name
    assert sum(bool(rows(tmp_path, f"SELECT 1 FROM {name} LIMIT 1")) for name in TABLES) > 6


def test_a_swept_name_that_is_another_one_s_number() -> None:
    columns = [found.column.name for found in swept_values.columns(["n", "n_value", "N"], ["cell"])]
    assert columns == [
        *("n", "n_value_", "n_unit"),
        *("n_value", "n_value_value", "n_value_unit"),
        *("N_", "N_value__", "N_unit_"),
    ]


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    """Also over many cells, in several batches, and over tables that already done."""
    for folder in ("one", "two", "two"):
        cells = (stored(n, f"{n % 7}%", float(n)) for n in range(1, 130))
        tables.write(tmp_path / folder, AXES, cells)
    for table in TABLES:
        name = f"{table}.parquet"
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert sorted(p.name for p in (tmp_path / "two").iterdir()) == sorted(
        f"{table}.parquet" for table in TABLES
    )
    numbers = [row[0] for row in rows(tmp_path / "one", "SELECT repetition FROM cells")]
    assert numbers == list(range(1, 130)), "rows are in the order of the cells"


def test_a_run_without_results_has_empty_tables(tmp_path: Path) -> None:
    tables.write(tmp_path, AXES, [])
    assert rows(tmp_path, "SELECT count(*) FROM slots") == [(0,)]
    assert summarise(of(tmp_path, AXES), "goodput") == []


def test_a_failure_on_the_way_leaves_the_old_tables(written: Path) -> None:
    def cells() -> Iterator[Stored]:
        yield stored(9, "9%")
        raise TableError("broken")

    with pytest.raises(TableError):
        tables.write(written, AXES, cells())
    assert rows(written, "SELECT count(*) FROM cells") == [(3,)]
    assert not (written / ".partial").exists()


def test_missing_or_broken_tables(tmp_path: Path, written: Path) -> None:
    with pytest.raises(TableError, match=r"cells\.parquet cannot be read"):
        tables.connect(tmp_path / "nowhere")
    (written / "slots.parquet").write_bytes(b"PAR1 rubbish")
    with pytest.raises(TableError, match=r"slots\.parquet cannot be read"):
        tables.connect(written)


@pytest.fixture
def folder(tmp_path: Path) -> tuple[Cell, Path]:
    """The folder of a stored cell."""
    made = stored(1, "0%")
    cell = genuine(made.cell)
    key = key_of(cell, "fake", "none")
    folder = shutil.copytree(made.folder, tmp_path / key)
    result = made.result.model_copy(update={"cell": cell.id, "key": key})
    (folder / "result.json").write_text(result.model_dump_json())
    return cell, folder


def change(folder: Path, **changes: object) -> None:
    """Change fields of a stored result."""
    path = folder / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_stored_results_are_read_back(folder: tuple[Cell, Path]) -> None:
    cell, place = folder
    assert tables.read_stored(cell, place).result.series == tuple(SERIES)
    (place / "samples.parquet").unlink()
    with pytest.raises(TableError, match=r"there is no samples\.parquet"):
        tables.read_stored(cell, place)
    for odd in (("queues", "slots"), ("slots", "slots"), ("slots", "cells"), ("../slots",)):
        change(place, series=odd)
        with pytest.raises(TableError, match="tables that an analysis does not write"):
            tables.read_stored(cell, place)
    change(place, series=None)
    with pytest.raises(TableError, match="`series` is missing"):
        tables.read_stored(cell, place)
    change(place, status="failed", verdict=None, series=None)
    assert tables.read_stored(cell, place).result.status == "failed"


def test_series_are_kept_to_the_byte(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert tables.write_series(tmp_path / name, SERIES) == tuple(SERIES)
    for name in SERIES:
        file = f"{name}.parquet"
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


HOSTILE: dict[str, tuple[str, str]] = {
    "a column less": ("SELECT * EXCLUDE (flow) FROM slots", "not a table `slots`"),
    "a column more": ("SELECT *, 1 AS file_index FROM slots", "not a table `slots`"),
    "no rows": ("FROM slots LIMIT 0", "not a table `slots`"),
    "words for numbers": ("SELECT * REPLACE ('x' AS t_s) FROM slots", "Could not convert"),
    "far too many rows": ("FROM slots, range(1000000) AS t(n) SELECT slots.*", "unpacks to more"),
    "long texts": ("SELECT * REPLACE (repeat('x', 10000) AS flow) FROM slots", "too long"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_stranger_s_file(
    folder: tuple[Cell, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It decides neither how much memory is taken, nor whose rows it has."""
    monkeypatch.setattr(tables, "MOST_TEXT_BYTES", 50_000)
    cell, place = folder
    query, words = HOSTILE[what]
    file = place / "slots.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE slots AS FROM '{file}'")
        connection.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
    with pytest.raises(TableError, match=words):
        tables.write(tmp_path / "tables", AXES, [tables.read_stored(cell, place)])
    assert not any((tmp_path / "tables").iterdir())


@pytest.mark.parametrize("content", [b"", b"rubbish", b"PAR1 rubbish PAR1", b"PAR1"])
def test_a_file_that_is_no_table(folder: tuple[Cell, Path], tmp_path: Path, content: bytes) -> None:
    cell, place = folder
    (place / "slots.parquet").write_bytes(content)
    with pytest.raises(TableError, match=r"slots\.parquet"):
        tables.write(tmp_path / "tables", AXES, [tables.read_stored(cell, place)])


@pytest.mark.parametrize("name", ["flow=x", "a[1]", "a*", "it's", "~"])
def test_folders_whose_names_mean_something_to_a_library(
    folder: tuple[Cell, Path], tmp_path: Path, name: str
) -> None:
    cell, place = folder
    other = shutil.copytree(place, tmp_path / "a1" / place.name)
    (other / "slots.parquet").write_bytes(b"of another run")
    (tmp_path / name).mkdir()
    moved = place.rename(tmp_path / name / place.name)
    tables.write(tmp_path / name / "tables", AXES, [tables.read_stored(cell, moved)])
    (tmp_path / "a1" / "tables").mkdir()
    (tmp_path / "a1" / "tables" / "slots.parquet").write_bytes(b"of another run")
    there = rows(tmp_path / name / "tables", "SELECT DISTINCT cell, flow FROM slots ORDER BY ALL")
    assert there == [(cell.id, "a"), (cell.id, "b")]
    assert tables.current(tmp_path / name / "tables")


def test_no_column_is_declared_twice() -> None:
    for table in TABLES.values():
        names = sorted(column.name for column in table.columns)
        assert all(a != b for a, b in pairwise(names))


def test_tables_that_lack_a_column_are_not_current(tmp_path: Path) -> None:
    """As those of an earlier version: they are written again before anything is read from them."""
    tables.write(tmp_path, AXES, [stored(1, "0%")])
    assert tables.current(tmp_path)
    file = tmp_path / "metrics.parquet"
    old = tmp_path / "old.parquet"
    connection = duckdb.connect(":memory:")
    connection.execute(
        f"COPY (SELECT * EXCLUDE (censored) FROM read_parquet('{file}')) TO '{old}' (FORMAT"
        f" parquet)"
    )
    connection.close()
    old.replace(file)
    assert not tables.current(tmp_path)
    file.unlink()
    assert not tables.current(tmp_path)
