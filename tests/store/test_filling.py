"""Tables that are filled while cells run: the same as those that are filled at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from specs import compilation_of

from fairc.cli.results import refresh
from fairc.compiler import Cell, emit
from fairc.runtime.engines.base import RawResult
from fairc.runtime.run import filling, lock
from fairc.runtime.run.progress import Silent
from fairc.runtime.run.sweep import Sweep
from fairc.runtime.store import tables
from fairc.runtime.store.columns import TABLES
from fairc.runtime.store.folder import EMITTED, Store
from fairc.runtime.store.verdicts import Counts
from fairc_fake.engine import FakeEngine

SPEC = """fexp 1
experiment small {
  sweep { rate = [1Mbit/s, 2Mbit/s, 3Mbit/s] }
  topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(2bdp))
  flow f { cca = cubic  workload = file(100kB) }
  repeat = 2
  measure = [goodput]
}
"""
CELLS = 6


class FirstEndsLast(FakeEngine):
    """Runs the first cell to its end when all others have been run; one fails."""

    def __init__(self) -> None:
        super().__init__(faults={2: "fail"})
        self.ran = 0
        self.others = threading.Event()

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Wait in the first one."""
        first, self.ran = self.ran == 0, self.ran + 1
        if first:
            assert self.others.wait(60)
        elif self.ran == CELLS:
            self.others.set()
        return super().run(cell, workdir)


@pytest.fixture(autouse=True)
def batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have even a few cells fill more than one batch, and be worth it."""
    monkeypatch.setattr(tables, "_BATCH_CELLS", 4)
    monkeypatch.setattr(filling, "MANY", 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "run") as locked:
        locked.adopt(locked.stage(lambda folder: emit(compilation_of(SPEC), folder, ("json",))))
        yield locked


def swept(store: Store, engine: FakeEngine, **options: Any) -> Counts:
    store.write_json("lock.json", lock.describe(store.path, engine))
    return Sweep(store, engine, Silent(), 2, **options).run()


def written(store: Store) -> dict[str, bytes]:
    return {name: (store.path / "tables" / f"{name}.parquet").read_bytes() for name in TABLES}


def test_whatever_order_cells_end_in_the_tables_are_the_same(store: Store) -> None:
    with_thread = filling.ahead(store, everything=True)
    assert with_thread is not None
    heard: list[str] = []

    def hear(cell: str, key: str) -> None:
        heard.append(cell)
        with_thread.on_result(cell, key)

    assert swept(store, FirstEndsLast(), on_result=hear) == Counts(valid=3, failed=3)
    in_order = [cell.id for cell in store.cells()]
    assert sorted(heard) == sorted(in_order) and heard != in_order
    with_thread._thread.join()
    begun = with_thread.end()
    assert begun is not None and len(begun.keys) == CELLS
    refresh(store, checked=True, begun=begun)
    early = written(store)
    refresh(store, checked=True)
    assert early == written(store)
    assert not any((store.path / ".partial").iterdir())


def test_what_is_missing_at_the_end_is_added(store: Store) -> None:
    early = filling.ahead(store, everything=True)
    assert early is not None
    known: dict[str, str] = {}
    swept(store, FakeEngine(), on_result=known.__setitem__)
    for cell in list(store.cells())[:5]:
        early.on_result(cell.id, known[cell.id])
    while early._keys:
        time.sleep(0.001)
    begun = early.end()
    assert begun is not None and len(begun.keys) == 5
    refresh(store, checked=True, begun=begun)
    there = written(store)
    refresh(store, checked=True)
    assert there == written(store)


def test_tables_of_other_results_are_not_used(store: Store) -> None:
    early = filling.ahead(store, everything=True)
    assert early is not None
    swept(store, FakeEngine(), on_result=early.on_result)
    early._thread.join()
    begun = early.end()
    assert begun is not None
    begun.keys[3] = "another"
    refresh(store, checked=True, begun=begun)
    there = written(store)
    refresh(store, checked=True)
    assert there == written(store)


def test_where_it_fails_the_tables_are_filled_at_the_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise tables.TableError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(tables, "read_stored", broken)
        early = filling.ahead(store, everything=True)
        assert early is not None
        swept(store, FakeEngine(), on_result=early.on_result)
        early._thread.join()
    assert early.end() is None
    assert not (store.path / ".partial" / "tables").exists()
    refresh(store, checked=True, begun=None)
    assert len(written(store)) == len(TABLES)


def test_an_end_in_the_middle_leaves_nothing(store: Store) -> None:
    early = filling.ahead(store, everything=True)
    assert early is not None
    early.close()
    assert not early._thread.is_alive()
    assert not (store.path / ".partial" / "tables").exists()


def test_a_part_of_a_plan_is_not_filled_ahead(store: Store) -> None:
    assert filling.ahead(store, everything=False) is None


def test_what_is_emitted_is_on_record_before_a_result_is(store: Store) -> None:
    there: list[bool] = []

    class Emitting(FakeEngine):
        def emitted(self, cell: Cell) -> str:
            """Return something else for each cell."""
            return f"of {cell.id}"

        def run(self, cell: Cell, workdir: Path) -> RawResult:
            there.append((store.path / EMITTED).exists())
            return super().run(cell, workdir)

    assert swept(store, Emitting()) == Counts(valid=CELLS)
    assert there == [True] * CELLS
    assert store.emitted == {cell.id: f"of {cell.id}" for cell in store.cells()}
    assert len(list(store.finished())) == CELLS
