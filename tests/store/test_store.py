"""The run directory: whole cells or none, one writer, nothing of a plan lost."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import re
import tarfile
from pathlib import Path
from typing import Literal

import pytest
import zstandard
from specs import compilation_of

from fairc.compiler import Cell, emit, files
from fairc.runtime.host import archive
from fairc.runtime.host.faults import MachineFault
from fairc.runtime.measurement.results import CellResult, MetricValue
from fairc.runtime.ranges.cells import finished
from fairc.runtime.store import tables
from fairc.runtime.store.cell_folder import RAW
from fairc.runtime.store.folder import Store, StoreError, key_of, read_plan

SPEC = """fexp 1
experiment small {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow f { cca = cubic  workload = file(100kB) }
  repeat = 2
  measure = [goodput]
}
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return an unlocked run directory with a plan of two cells."""

    def write(folder: Path) -> None:
        emit(compilation_of(SPEC), folder, ("json",))

    store = Store(tmp_path / "run")
    with store:
        store.adopt(store.stage(write))
        store.write_json("lock.json", {"engine": {"name": "fake", "identity": "i"}})
    return store


def result(cell: Cell, key: str, verdict: Literal["valid", "invalid"] = "valid") -> CellResult:
    return CellResult(
        cell=cell.id,
        key=key,
        status="ok",
        verdict=verdict,
        virtual_s=1.0,
        wall_s=1.0,
        engine="fake",
        image="i",
        series=(),
    )


def put(store: Store, cell: Cell, verdict: Literal["valid", "invalid"] = "valid") -> str:
    key = key_of(cell, "fake", "i")
    folder = store.scratch(key)
    (folder / RAW).write_bytes(b"raw")
    store.commit(key, folder, result(cell, key, verdict))
    return key


def test_the_plan_is_kept(store: Store) -> None:
    assert store.plan.cells == 2
    assert [cell.repetition for cell in store.cells()] == [1, 2]


def test_a_key_depends_on_cell_engine_and_identity(store: Store) -> None:
    one, two = store.cells()
    keys = {key_of(c, e, i) for c in (one, two) for e in ("vm", "fake") for i in ("x", "y")}
    assert len(keys) == 8
    assert all(re.fullmatch("[0-9a-f]{16}", key.partition("-")[2]) for key in keys)
    assert {key.partition("-")[0] for key in keys} == {one.id, two.id}


def test_a_committed_cell_is_there_and_can_be_replaced(store: Store) -> None:
    one, _ = store.cells()
    with store:
        key = put(store, one)
        assert store.result(key) == result(one, key)
        put(store, one)
    assert [cell.id for cell, _ in finished(store)] == [one.id]


def test_what_is_unfinished_is_removed_at_the_next_start(store: Store) -> None:
    one, _ = store.cells()
    key = key_of(one, "fake", "i")
    with store:
        (store.scratch(f"{key}.cell") / RAW).write_bytes(b"half")
    assert store.result(key) is None
    with store:
        assert not (store.path / ".partial" / f"{key}.cell").exists()
    assert list(finished(store)) == []


def test_a_result_of_another_version_is_none(store: Store) -> None:
    one, _ = store.cells()
    with store:
        key = put(store, one)
    path = store.folder(key) / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "unknown": 1}))
    assert store.result(key) is None


def test_two_writers_are_refused(store: Store) -> None:
    with store, pytest.raises(StoreError, match="another fairc"), Store(store.path):
        pass
    with Store(store.path):  # the lock is free again
        pass


def test_a_number_that_no_table_holds_is_told_in_one_line(store: Store, tmp_path: Path) -> None:
    """DuckDB adds its query, of which the user knows nothing."""
    one, _ = store.cells()
    with store:
        key = put(store, one)
    many = MetricValue(metric="goodput", flow="f", value=1.0, unit="bit/s", censored=10**26)
    found = result(one, key).model_copy(update={"metrics": (many,)})
    (store.folder(key) / "result.json").write_text(found.model_dump_json())
    with pytest.raises(tables.TableError, match="cannot be written") as refused:
        tables.write_of([(one, store.folder(key))], tmp_path / "tables", store.plan)
    assert "\n" not in str(refused.value)


def test_a_pipe_is_no_lock(store: Store) -> None:
    """It may come with a stranger's folder."""
    lock = store.path / ".lock"
    lock.unlink(missing_ok=True)
    store.path.mkdir(exist_ok=True)
    os.mkfifo(lock)
    with pytest.raises(StoreError, match=r"\.lock is in the way of a run"), store:
        pass
    lock.unlink()
    with store:
        assert lock.is_file()


def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(file: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(MachineFault, match="no locks available"), Store(tmp_path / "run"):
        pass


def test_raw_artefacts_can_be_removed(store: Store) -> None:
    one, _ = store.cells()
    with store:
        key = put(store, one)
        assert store.remove_raw() == 3
    assert not store.has_raw(key)
    assert store.result(key) is not None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "fairc-plan", "version": 9}'])
def test_a_broken_plan_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(StoreError, match=r"plan\.json"):
        read_plan(tmp_path)


def test_a_broken_cell_is_told_with_its_line(store: Store) -> None:
    with (store.path / "cells.jsonl").open("a") as lines:
        lines.write("{}\n")
    with pytest.raises(StoreError, match=r"cells\.jsonl:3"):
        list(store.cells())


def test_an_archive_depends_on_contents_alone(tmp_path: Path) -> None:
    for name, order in (("one", "ab"), ("two", "ba")):
        (tmp_path / name).mkdir()
        for file in order:
            (tmp_path / name / file).write_text(file * 1000)
        archive.pack(tmp_path / name, tmp_path / f"{name}.tar.zst")
    (tmp_path / "two" / "a").chmod(0o600)
    archive.pack(tmp_path / "two", tmp_path / "again.tar.zst")
    packed = {path.read_bytes() for path in tmp_path.glob("*.tar.zst")}
    assert len(packed) == 1
    (tmp_path / "out").mkdir()
    archive.unpack(tmp_path / "one.tar.zst", tmp_path / "out")
    assert archive.digest(tmp_path / "out") == archive.digest(tmp_path / "one")


def test_a_damaged_archive_is_a_value_error(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"not zstd")
    with pytest.raises(ValueError, match="damaged"):
        archive.unpack(tmp_path / "raw", tmp_path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("../out", tarfile.REGTYPE), ("/out", tarfile.REGTYPE), ("out", tarfile.SYMTYPE)],
)
def test_an_archive_brings_regular_files_into_its_folder_and_no_others(
    tmp_path: Path, name: str, kind: bytes
) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "elsewhere"
        tar.addfile(member)
    (tmp_path / "raw").write_bytes(zstandard.ZstdCompressor().compress(made.getvalue()))
    (tmp_path / "in").mkdir()
    with pytest.raises(ValueError, match="does not belong there"):
        archive.unpack(tmp_path / "raw", tmp_path / "in")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in", "raw"]


@pytest.mark.parametrize("names", [["x" * 300], ["x", "x"], ["x", "x/y"], ["x/y", "x"]])
def test_names_that_no_folder_can_have_are_damage(tmp_path: Path, names: list[str]) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name))
    (tmp_path / "raw").write_bytes(zstandard.ZstdCompressor().compress(made.getvalue()))
    (tmp_path / "in").mkdir()
    with pytest.raises(ValueError, match="damaged"):
        archive.unpack(tmp_path / "raw", tmp_path / "in")


def test_a_document_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_BYTES", 100)
    (tmp_path / "plan.json").write_bytes(b" " * 101)
    with pytest.raises(StoreError, match="cannot be read: it is too large"):
        read_plan(tmp_path)
    (tmp_path / "plan.json").write_bytes(b" " * 100)
    with pytest.raises(StoreError, match="is not a plan"):
        read_plan(tmp_path)


def test_a_forked_process_has_a_database_of_its_own() -> None:
    """The threads of its parent's are not in it, so it would wait for them for ever."""
    ours = tables._database()
    child = os.fork()
    if not child:
        os._exit(tables._database() is ours)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert tables._database() is ours
