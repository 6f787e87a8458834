"""A sweep: what it runs, what it only analyses anew, what it tells."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from specs import compilation_of

from fairc.cli.results import refresh
from fairc.compiler import Cell, emit
from fairc.runtime.engines.base import RawResult
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.ranges.cells import finished
from fairc.runtime.run import analysis_pool, lock
from fairc.runtime.run import sweep as sweeping
from fairc.runtime.run.progress import Lines, Progress
from fairc.runtime.run.sweep import Sweep
from fairc.runtime.store.cell_folder import CONSOLE
from fairc.runtime.store.columns import TABLES
from fairc.runtime.store.folder import EMITTED, Store
from fairc.runtime.store.verdicts import Counts
from fairc_fake.engine import FakeEngine

SPEC = """fexp 1
experiment small {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow f { cca = cubic  workload = file(100kB) }
  repeat = 4
  measure = [MEASURE]
}
"""


class Counting(FakeEngine):
    """Counts the cells that it runs."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.ran: list[int] = []

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Count."""
        self.ran.append(cell.repetition)
        return super().run(cell, workdir)


def sweep(
    path: Path, engine: FakeEngine, measure: str = "goodput", jobs: int = 2, keep_raw: bool = True
) -> Counts:
    with Store(path) as store:
        compilation = compilation_of(SPEC.replace("MEASURE", measure))
        store.adopt(store.stage(lambda folder: emit(compilation, folder, ("json",))))
        store.write_json("lock.json", lock.describe(path, engine))
        return Sweep(store, engine, Progress(), jobs, keep_raw=keep_raw).run()


def results(path: Path) -> list[CellResult]:
    store = Store(path)
    found = [store.result(folder.name) for _, folder in finished(store)]
    return [result for result in found if result is not None]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have processes analyse even a few cells."""
    monkeypatch.setattr(analysis_pool, "MANY", 1)


def contents(path: Path) -> dict[str, bytes]:
    """Return what is stored of each cell but its wall time."""
    found = {file.relative_to(path).as_posix(): file for file in sorted(path.glob("cells/*/*"))}
    return {
        name: re.sub(rb'"wall_s": ?[0-9.e-]+', b"", file.read_bytes())
        for name, file in found.items()
        if file.name != "files.json"
    }


@pytest.mark.usefixtures("processes")
def test_processes_store_what_threads_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = {2: "fail", 3: "garble"}
    assert sweep(tmp_path / "apart", Counting(faults=faults)) == Counts(valid=2, failed=2)
    again = Counting(faults=faults)
    assert sweep(tmp_path / "apart", again, "goodput, throughput").valid == 2
    assert sorted(again.ran) == [2, 3]
    monkeypatch.undo()
    sweep(tmp_path / "here", Counting(faults=faults), "goodput, throughput")
    assert contents(tmp_path / "apart") == contents(tmp_path / "here")


@pytest.mark.full
@pytest.mark.usefixtures("processes")
def test_processes_find_a_damaged_archive(tmp_path: Path) -> None:
    sweep(tmp_path, Counting())
    damaged = next(tmp_path.glob("cells/*/raw.tar.zst"))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    engine = Counting()
    assert sweep(tmp_path, engine, "goodput, throughput") == Counts(valid=4)
    assert len(engine.ran) == 1


@pytest.mark.usefixtures("processes")
def test_a_process_that_dies_ends_the_sweep_and_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(analysis_pool, "PROGRAM", "fairc.runtime.run.no_such_program")
        with pytest.raises(EngineUnavailable) as stopped:
            sweep(tmp_path, Counting())
    assert "a process that analysed cells ended" in str(stopped.value)
    assert results(tmp_path) == []
    assert sweep(tmp_path, Counting()) == Counts(valid=4)


def test_a_new_metric_is_computed_from_stored_data(tmp_path: Path) -> None:
    sweep(tmp_path, Counting())
    engine = Counting()
    counts = sweep(tmp_path, engine, "goodput, throughput")
    assert engine.ran == []
    assert counts == Counts(valid=4)
    for result in results(tmp_path):
        assert {value.metric for value in result.metrics} == {"goodput", "throughput"}


def test_without_raw_data_a_new_metric_runs_the_cell(tmp_path: Path) -> None:
    sweep(tmp_path, Counting())
    with Store(tmp_path) as store:
        store.remove_raw()
    engine = Counting()
    sweep(tmp_path, engine, "goodput, throughput")
    assert sorted(engine.ran) == [1, 2, 3, 4]


def test_only_cells_that_are_not_valid_keep_their_raw_artefacts(tmp_path: Path) -> None:
    engine = Counting(faults={2: "fail"})
    assert sweep(tmp_path, engine, keep_raw=False) == Counts(valid=3, failed=1)
    for result in results(tmp_path):
        kept = Store(tmp_path).has_raw(result.key)
        assert kept is (result.status == "failed")
    again = Counting()
    assert sweep(tmp_path, again, keep_raw=False) == Counts(valid=4)
    assert again.ran == [2]


def test_raw_artefacts_that_were_kept_go_with_the_next_analysis(tmp_path: Path) -> None:
    sweep(tmp_path, Counting())
    engine = Counting()
    assert sweep(tmp_path, engine, "goodput, throughput", keep_raw=False) == Counts(valid=4)
    assert engine.ran == [] and not list(tmp_path.glob("cells/*/raw.tar.zst"))


def test_a_damaged_archive_runs_the_cell(tmp_path: Path) -> None:
    sweep(tmp_path, Counting())
    damaged = next(tmp_path.glob("cells/*/raw.tar.zst"))
    damaged.write_bytes(damaged.read_bytes()[:-100])
    engine = Counting()
    assert sweep(tmp_path, engine, "goodput, throughput") == Counts(valid=4)
    assert len(engine.ran) == 1


@pytest.mark.parametrize("fault", ["fail", "crash", "garble"])
def test_a_failed_cell_keeps_its_words_and_console(tmp_path: Path, fault: str) -> None:
    assert sweep(tmp_path, Counting(faults={2: fault})) == Counts(valid=3, failed=1)
    (failed,) = [result for result in results(tmp_path) if result.status == "failed"]
    assert failed.error
    assert failed.verdict is None
    assert (tmp_path / "cells" / failed.key / CONSOLE).read_text()


def test_a_cell_that_says_it_ended_in_thirty_years_fails_alone(tmp_path: Path) -> None:
    """Arrays for all of that time fit into no memory, which would end the run."""

    class Late(FakeEngine):
        def run(self, cell: Cell, workdir: Path) -> RawResult:
            raw = super().run(cell, workdir)
            place = raw.artefacts / "cell.json"
            if cell.repetition == 1:
                place.write_text(json.dumps(json.loads(place.read_text()) | {"ended_ns": 10**18}))
            return raw

    counts = sweep(tmp_path, Late())
    assert (counts.valid, counts.failed) == (3, 1)
    (error,) = [result.error for result in results(tmp_path) if result.error]
    assert error == "cell.json says that the cell ended long after its deadline"


def test_a_machine_that_lacks_what_a_cell_needs_ends_the_sweep(tmp_path: Path) -> None:
    class Lacking(FakeEngine):
        def run(self, cell: Cell, workdir: Path) -> RawResult:
            raise EngineUnavailable(("no netem",), "--engine vm")

    with pytest.raises(EngineUnavailable):
        sweep(tmp_path, Lacking())
    assert results(tmp_path) == []


def test_an_engine_that_is_not_parallel_gets_one_cell_at_a_time(tmp_path: Path) -> None:
    class Alone(FakeEngine):
        parallel = False
        running = 0

        def run(self, cell: Cell, workdir: Path) -> RawResult:
            assert self.running == 0
            self.running += 1
            raw = super().run(cell, workdir)
            self.running -= 1
            return raw

    assert sweep(tmp_path, Alone(pause_s=0.02), jobs=4) == Counts(valid=4)


def test_an_interruption_waits_for_no_cell_that_has_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second cell waits for the first one's thread, and is cancelled."""
    waited = list[bool]()

    def interrupted(
        futures: Iterable[Future[Any]], timeout: float | None = None, return_when: str = ""
    ) -> object:
        if return_when:
            raise KeyboardInterrupt
        waited.extend(future.cancelled() for future in futures)
        return wait(futures, timeout)

    monkeypatch.setattr(sweeping, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path, FakeEngine(faults={1: "hang"}), jobs=1)
    assert waited and not any(waited)


def test_the_analysis_of_a_long_cell_can_be_stopped() -> None:
    """It is a process; a thread would have to end by itself."""
    requests = compilation_of(SPEC.replace("MEASURE", "goodput")).plan.requests
    for longest_s, processes in ((analysis_pool.LONG_S - 1, 0), (analysis_pool.LONG_S, 1)):
        with closing(analysis_pool.Analysts(1, 1, longest_s, requests)) as analysts:
            assert len(analysts._processes) == processes


def test_a_process_without_a_job_ends_in_silence() -> None:
    """As when a run is stopped before it has a cell to analyse."""
    command = [sys.executable, "-P", "-m", analysis_pool.PROGRAM]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert ended.stdout == ended.stderr == b""


def test_progress_is_a_line_every_ten_seconds_and_one_per_failure() -> None:
    now, lines = [0.0], list[str]()
    progress = Lines(lines.append, clock=lambda: now[0])
    ok = CellResult(
        cell="c",
        key="k",
        status="ok",
        virtual_s=20.0,
        wall_s=4.0,
        engine="fake",
        image="i",
        series=(),
    )
    progress.begin({"k": 1.0, "l": 1.0, "m": 1.0, "long": 3.0}, 2)
    steps: list[tuple[float, Callable[[], CellResult]]] = [
        (4.0, lambda: ok),
        (8.0, lambda: ok.model_copy(update={"key": "l", "status": "failed", "error": "no\nidea"})),
        (12.0, lambda: ok.model_copy(update={"key": "m"})),
        (14.0, lambda: ok.model_copy(update={"key": "long"})),
    ]
    for at, make in steps:
        now[0] = at
        progress.done(make(), Path("out/cells/c-l"))
    assert lines == [
        "4 cells to run; 2 already done",
        "cell c failed: no idea; its console is out/cells/c-l/console.txt",
        "3/4 cells, 1 failed, 5.0 virtual s per s, 12 s left",
        "4/4 cells, 1 failed, 5.7 virtual s per s",
    ]


class FirstEndsLast(Counting):
    """Ends the first cell when all others have been run."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.others = threading.Event()

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Wait in the first one."""
        found = super().run(cell, workdir)
        if cell.repetition == 1:
            assert self.others.wait(60)
        elif len(self.ran) == 4:
            self.others.set()
        return found


def test_whatever_order_cells_end_in_the_tables_are_the_same(tmp_path: Path) -> None:
    written = []
    for engine, jobs in ((FirstEndsLast(faults={2: "fail"}), 2), (Counting(faults={2: "fail"}), 1)):
        path = tmp_path / str(jobs)
        assert sweep(path, engine, jobs=jobs) == Counts(valid=3, failed=1)
        with Store(path) as store:
            refresh(store, checked=True)
        tables = {name: (path / "tables" / f"{name}.parquet").read_bytes() for name in TABLES}
        del tables["cells"]  # it has wall times
        written.append(tables)
        assert not any((path / ".partial").iterdir())
    assert written[0] == written[1]


def test_what_is_emitted_is_on_record_before_a_result_is(tmp_path: Path) -> None:
    there: list[bool] = []

    class Emitting(FakeEngine):
        def emitted(self, cell: Cell) -> str:
            """Return something else for each cell."""
            return f"of {cell.id}"

        def run(self, cell: Cell, workdir: Path) -> RawResult:
            there.append((tmp_path / EMITTED).exists())
            return super().run(cell, workdir)

    assert sweep(tmp_path, Emitting()) == Counts(valid=4)
    assert there == [True] * 4
    store = Store(tmp_path)
    assert store.emitted == {cell.id: f"of {cell.id}" for cell in store.cells()}
    assert len(list(finished(store))) == 4
