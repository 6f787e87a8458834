"""Run the missing cells, several at a time, and store each as soon as it is complete.

Two pools of threads: one has the engine run cells, the other analyses what they left and stores it,
so that no cell waits for an analysis. The calling thread hands a cell from the first to the second,
counts, shows progress, and handles Ctrl-C.
"""

from __future__ import annotations

import shutil
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairc.compiler.engines import profile
from fairc.compiler.estimate import wall_s
from fairc.compiler.plan import Cell
from fairc.compiler.record import RunRecord
from fairc.runtime.engines.base import Engine, RawResult
from fairc.runtime.host import faults
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.store import damage
from fairc.runtime.store.cell_folder import RAW
from fairc.runtime.store.folder import EMITTED, Store, key_of
from fairc.runtime.store.verdicts import Counts

from . import lock
from .progress import Progress

if TYPE_CHECKING:
    # When there are cells to analyse: with nothing to do, this is a tenth of what is imported.
    from .analysis_pool import Analysts
    from .analyst import Job

# An analysis takes a seventh of the CPU time of a cell over QUIC, three quarters of that over TCP
# at 100 Mbit/s, and as much with twelve flows both ways (compiler/engines.py).
RUNNERS_PER_ANALYST = 2
# How long a sweep that stops waits for analyses, which are stored if they end by then, and for the
# cells that ran, whose machines have been stopped.
PATIENCE_ANALYSIS_S, PATIENCE_S = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class Task:
    """A cell on its way to a result: run, analysed, stored.

    work: the folder of its raw artefacts. raw: what the engine left; None: they are stored, and
    only to be analysed.
    """

    cell: Cell
    key: str
    work: Path
    raw: RawResult | None = None


class Sweep:
    """A sweep of the store's plan on a prepared engine.

    wanted: which of the plan's cells. jobs: how many at once, >= 1. fresh: run all of them, even
    those with results. emitted: `emitted` of an earlier sweep of the same plan, so that nothing is
    written twice. keep_raw: False: raw artefacts of valid cells are not stored. overlapping: cells
    run while others are analysed; False: one after the other, in the memory and on the disk of a
    single cell. The caller holds the store's lock.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        progress: Progress,
        jobs: int,
        wanted: Callable[[Cell], bool] = lambda _: True,
        fresh: bool = False,
        emitted: dict[str, str] | None = None,
        keep_raw: bool = True,
        overlapping: bool = True,
    ) -> None:
        self.store = store
        self.engine = engine
        self.progress = progress
        self.jobs = jobs
        self.wanted = wanted
        self.fresh = fresh
        self.keep_raw = keep_raw
        self.overlapping = overlapping
        self.emitted: dict[str, str] = emitted or {}
        self._requests = store.plan.requests
        self._analysis = lock.analysis_identity(self._requests)
        self._todo: dict[str, bool] = {}
        self._costs: dict[str, float] = {}
        self._stopped = False

    def run(self) -> Counts:
        """Run the missing cells; return the outcomes of all wanted cells, old and new.

        Raises KeyboardInterrupt after everything has been stopped; stored results stay.
        """
        self._emit()
        counts = self._survey()
        if self._todo:
            self.progress.begin(self._costs, counts.total, sum(self._todo.values()))
            try:
                self._complete(counts)
            finally:
                self.progress.end()
        return counts

    def _emit(self) -> None:
        """Write down what the engine emits for each cell: by it a result's key is found."""
        if self.emitted:
            return
        self.emitted = {cell.id: self.engine.emitted(cell) for cell in self.store.cells()}
        if any(self.emitted.values()):
            self.store.write_json(EMITTED, self.emitted)

    def _survey(self) -> Counts:
        """Find the missing cells: key -> whether only the analysis is missing; count the rest."""
        counts = Counts()
        nothing = self.fresh or not any((self.store.path / "cells").iterdir())
        costs, planned = profile(self.engine.name).costs, dict[str, float]()
        for cell in filter(self.wanted, self.store.cells()):
            key = self.key(cell)
            missing = True if nothing else self._is_missing(cell, key, counts)
            if missing is None:
                continue
            self._todo[key] = not missing
            if cell.configuration not in planned:  # repetitions cost the same
                planned[cell.configuration] = wall_s(costs, cell)
            self._costs[key] = planned[cell.configuration]
        return counts

    def _is_missing(self, cell: Cell, key: str, counts: Counts) -> bool | None:
        """Return whether a cell is to be run; False if only its analysis is missing, None if
        nothing is, and then it is counted.
        """
        result = self.store.result(key)
        damaged = damage.of_cell(cell, self.store.folder(key))
        if RAW in damaged:
            return True
        if damaged:  # what is derived is derived again
            return not self.store.has_raw(key)
        if result is None or result.status == "failed":
            return True
        if result.analysis == self._analysis:
            counts.add(result)
            return None
        return not self.store.has_raw(key)

    def key(self, cell: Cell) -> str:
        """Return where a cell's result is stored."""
        identity = self.engine.identity_for(cell)
        return key_of(cell, self.engine.name, identity, self.emitted[cell.id])

    def _tasks(self) -> Iterator[Task]:
        """Yield what is to be done, in the order of the plan."""
        for cell in filter(self.wanted, self.store.cells()):
            if (key := self.key(cell)) in self._todo:
                yield Task(cell, key, self.store.scratch(f"{key}.work"))

    def _complete(self, counts: Counts) -> None:
        """Run and analyse all that is to be done, and count the results.

        Raises what a cell's thread raised.
        """
        from .analysis_pool import Analysts

        number = len(self._todo)
        runners = min(self.jobs if self.engine.parallel else 1, number)
        analysing = any(self._todo.values())
        readers = min(self.jobs, number) if analysing else max(1, runners // RUNNERS_PER_ANALYST)
        running: set[Future[Task]] = set()
        reading: set[Future[CellResult | Task]] = set()
        tasks = self._tasks()
        longest_s = max(self._costs.values())
        with closing(Analysts(readers, number, longest_s, self._requests)) as analysts:
            run, read = ThreadPoolExecutor(runners), ThreadPoolExecutor(readers)
            try:
                while True:
                    # Bounds what has been run and not yet analysed: such a cell occupies disk.
                    room = runners + readers if self.overlapping else 1
                    room -= len(running) + len(reading)
                    for task in islice(tasks, room):
                        if self._todo[task.key]:
                            reading.add(read.submit(self._analyse, analysts, task))
                        else:
                            running.add(run.submit(self._run, task))
                    if not running and not reading:
                        break
                    pending: list[Future[Any]] = [*running, *reading]
                    done, _ = wait(pending, return_when=FIRST_COMPLETED)
                    for ended in running & done:
                        running.remove(ended)
                        reading.add(read.submit(self._analyse, analysts, ended.result()))
                    for analysed in reading & done:
                        reading.remove(analysed)
                        result = analysed.result()
                        if isinstance(result, Task):
                            running.add(run.submit(self._run, result))
                            continue
                        counts.add(result)
                        self.progress.done(result, self.store.folder(result.key))
            except BaseException:
                for pool in (run, read):
                    pool.shutdown(wait=False, cancel_futures=True)
                self.engine.close()
                _wait_for_begun(reading, PATIENCE_ANALYSIS_S)
                self._stopped = True
                analysts.stop()
                _wait_for_begun(reading, PATIENCE_S)
                _wait_for_begun(running, PATIENCE_S)
                raise
            run.shutdown()
            read.shutdown()

    # In the pools' threads

    def _run(self, task: Task) -> Task:
        """Have the engine run a cell; return it with what it left."""
        folder = task.work / "run"
        folder.mkdir()
        return Task(task.cell, task.key, task.work, self._raw(task.cell, folder))

    def _raw(self, cell: Cell, folder: Path) -> RawResult:
        """Return what the engine left of a cell. Raises EngineUnavailable, MachineFault."""
        started = time.monotonic()
        try:
            raw = self.engine.run(cell, folder)
        except EngineUnavailable:
            raise
        except Exception as error:
            if fault := faults.of(error):
                raise fault from error
            # An engine must not raise; if it does anyway, only this cell is lost.
            return RawResult(
                error=f"the engine `{self.engine.name}` crashed: {type(error).__name__}: {error}",
                artefacts=folder,
                sha256="",
                console=traceback.format_exc(),
                virtual_s=0.0,
                wall_s=time.monotonic() - started,
            )
        if raw.error and (fault := faults.full([self.store.path])):
            raise fault  # what it says is not the cell's doing
        return raw

    def _analyse(self, analysts: Analysts, task: Task) -> CellResult | Task:
        """Analyse and store a cell; return its result, or the task if it must be run: what is
        stored is damaged.
        """
        job = self._job(task)
        result = analysts.derive(job) if job else None
        if job is None or result is None:
            shutil.rmtree(task.work)
            return Task(task.cell, task.key, self.store.scratch(task.work.name))
        if not self._stopped:
            self.store.commit(task.key, job.folder, result)
            shutil.rmtree(task.work)
        return result

    def _job(self, task: Task) -> Job | None:
        """Return the analysis of a cell; None where what is stored of it does not say what was
        run.
        """
        from .analyst import Job

        raw, stored = task.raw, None
        if raw is None:
            stored = self.store.folder(task.key)
            ran = damage.ran(stored)
            if ran is None:
                return None
        else:
            ran = RunRecord(result_sha256=raw.sha256, virtual_s=raw.virtual_s, wall_s=raw.wall_s)
        known = CellResult(
            cell=task.cell.id,
            key=task.key,
            status="failed",
            error=raw.error if raw else "",
            virtual_s=ran.virtual_s,
            wall_s=ran.wall_s,
            engine=self.engine.name,
            image=self.engine.identity_for(task.cell),
            emitted=self.emitted[task.cell.id],
            result_sha256=ran.result_sha256,
            analysis=self._analysis,
        )
        return Job(
            cell=task.cell,
            result=known,
            artefacts=raw.artefacts if raw else task.work,
            stored=stored / RAW if stored else None,
            console=raw.console if raw else "",
            folder=self.store.scratch(f"{task.key}.cell"),
            keep_raw=self.keep_raw,
        )


def _wait_for_begun(futures: Iterable[Future[Any]], most_s: float) -> None:
    """Wait for what a thread has begun: `wait` takes what was cancelled before for unfinished."""
    wait([future for future in futures if not future.cancelled()], most_s)
