"""Run the missing cells on several threads, and store each as soon as it is complete.

Runners have the engine run cells; analysts turn their artefacts into results, so that no
runner waits for an analysis; the calling thread counts, shows progress, and handles Ctrl-C.
"""

from __future__ import annotations

import queue
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairc.compiler.plan import Cell
from fairc.compiler.record import Ran as RanBefore
from fairc.runtime.engines.base import Engine
from fairc.runtime.host import faults
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.store import damage
from fairc.runtime.store.cell_folder import RAW
from fairc.runtime.store.folder import EMITTED, Store, key_of
from fairc.runtime.store.results import CellResult, RawResult
from fairc.runtime.store.verdicts import Counts

from . import analysts, lock
from .analyst import Job
from .progress import Progress
from .wanted import every

Task = tuple[Any, ...]
"""The task of a thread: a function, and its arguments."""
# One that analyses keeps up with four that run: an analysis takes a tenth to a fourth of its cell's time.
RUNNERS_PER_ANALYST = 4
# How long an interrupted sweep waits for its runners, whose machines have been stopped by then, and for
# its analysts, whose work would merely be lost.
PATIENCE_S, PATIENCE_ANALYSIS_S = 10.0, 1.0


@dataclass(frozen=True, slots=True)
class Ran:
    """A cell that an engine has run, or whose raw artefacts have been unpacked; work is its folder."""

    cell: Cell
    key: str
    work: Path
    raw: RawResult


class Sweep:
    """A sweep of the store's plan on a prepared engine.

    wanted: which of the plan's cells. jobs: how many at once, >= 1. fresh: run all of them, even
    those with results. emitted: `emitted` of an earlier sweep of the same plan, so that nothing is
    written twice. heard: called with the cell and the key of each stored result, from the calling
    thread. The caller holds the store's lock.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        progress: Progress,
        jobs: int,
        wanted: Callable[[Cell], bool] = every,
        fresh: bool = False,
        emitted: dict[str, str] | None = None,
        heard: Callable[[str, str], None] = lambda *_: None,
    ) -> None:
        self.store = store
        self.engine = engine
        self.progress = progress
        self.jobs = jobs
        self.wanted = wanted
        self.fresh = fresh
        self._requests = store.plan.measure
        self._analysis = lock.analysis_identity(self._requests)
        self._todo: dict[str, bool] = {}
        self.emitted: dict[str, str] = emitted or {}
        self._heard = heard
        # With nothing there every wanted cell is to be run: no key is needed before the first one starts.
        self._all_missing = fresh or not any((store.path / "cells").iterdir())
        self._stop = threading.Event()
        self._all_emitted = bool(emitted)  # and written down
        self._may_store = threading.Event()  # set then, and when the sweep is stopped
        if emitted:
            self._may_store.set()
        self._ran: queue.SimpleQueue[Ran | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[CellResult | BaseException | None] = queue.SimpleQueue()
        # Bounds what has been run and not yet analysed: such a cell occupies disk.
        self._room = threading.Semaphore(0)

    def run(self) -> Counts:
        """Run the missing cells; return the outcomes of all wanted cells, old and new.

        Raises KeyboardInterrupt after everything has been stopped; stored results stay.
        """
        counts = Counts()
        if self._all_missing:
            number = self._number_wanted()
        else:
            self._emit()
            counts = self._survey()
            number = len(self._todo)
        if not number:
            self._emit()
            return counts
        self.progress.begin(number, counts.total)
        try:
            self._analyse_anew(counts)
            self._run_missing(counts, number)
        finally:
            self.progress.end()
        return counts

    def _number_wanted(self) -> int:
        """Count the cells that are wanted; reads none of them where all are."""
        if self.wanted is every:
            return self.store.plan.cells
        return sum(map(self.wanted, self.store.cells()))

    def _analyse_anew(self, counts: Counts) -> None:
        """Reanalyse cells with stored raw artefacts; those with damaged artefacts become missing."""
        number = sum(self._todo.values())
        if number == 0:
            return
        hands = analysts.several(min(self.jobs, number), number, self._requests)
        cells = Shared(self._cells(stored=True))
        self._collect(counts, [], hands, [(self._analyse_stored, hand, cells) for hand in hands])

    def _run_missing(self, counts: Counts, number: int) -> None:
        """Run the cells that have no usable artefacts; number: of all that is to be done."""
        if not self._all_missing:
            number = len(self._todo) - sum(self._todo.values())
        if number == 0:
            return
        jobs = min(self.jobs if self.engine.parallel else 1, number)
        hands = analysts.several(max(1, jobs // RUNNERS_PER_ANALYST), number, self._requests)
        self._room.release(jobs + len(hands))
        cells = Shared(self._cells(stored=False))
        run: list[Task] = [(self._run_cells, cells)] * jobs
        if not self._all_emitted:
            run.append((self._emit,))
        self._collect(counts, run, hands, [(self._analyse_cells, hand) for hand in hands])

    def _collect(
        self, counts: Counts, run: list[Task], hands: list[analysts.Analyst], read: list[Task]
    ) -> None:
        """Run the tasks, each in a thread, and count results until all have ended; raise what a thread raised.

        run: the tasks that run cells. hands, read: the analysts, and the tasks that use them.
        """
        runners, readers = ([self._thread(*task) for task in tasks] for tasks in (run, read))
        try:
            self._count(counts, len(runners), len(readers))
        except BaseException:
            self._stop.set()
            self._may_store.set()
            self._room.release(len(runners))
            self._dismiss(len(readers))
            for hand in hands:
                hand.stop()
            self.engine.close()
            for threads, patience_s in ((runners, PATIENCE_S), (readers, PATIENCE_ANALYSIS_S)):
                limit = time.monotonic() + patience_s
                for thread in threads:
                    thread.join(max(0.0, limit - time.monotonic()))
            raise
        finally:
            for hand in hands:
                hand.close()

    def _thread(self, work: Callable[..., None], *arguments: object) -> threading.Thread:
        """Start a thread whose failure, or end, reaches the calling thread."""

        def watched() -> None:
            try:
                work(*arguments)
            except BaseException as error:  # noqa: BLE001  it is raised again
                self._outcomes.put(error)
            else:
                self._outcomes.put(None)

        thread = threading.Thread(target=watched, daemon=True)
        thread.start()
        return thread

    def _count(self, counts: Counts, runners: int, readers: int) -> None:
        """Count results until every thread has ended. Raises what a thread raised."""
        ended = 0
        while ended < runners + readers:
            outcome = self._outcomes.get()
            if isinstance(outcome, BaseException):
                raise outcome
            if outcome is None:
                ended += 1
                if ended == runners:  # readers end only after this signal
                    self._dismiss(readers)
            else:
                counts.add(outcome)
                self._heard(outcome.cell, outcome.key)
                self.progress.done(outcome)

    def _dismiss(self, readers: int) -> None:
        """Signal the end to each reader."""
        for _ in range(readers):
            self._ran.put(None)

    def _emit(self) -> None:
        """Write down what the engine emits for each cell; no result is stored before, for its key is found by it."""
        if self._all_emitted:
            return
        for cell in self.store.cells():
            if self._stop.is_set():
                return
            self._emitted_for(cell)
            time.sleep(0)  # lets go of the interpreter's lock, so that runners start at once
        if any(self.emitted.values()):
            self.store.write_json(EMITTED, self.emitted)
        self._all_emitted = True
        self._may_store.set()

    def _emitted_for(self, cell: Cell) -> str:
        """Return what the engine emits for a cell, as a hash; two threads that ask for one compute the same."""
        if cell.id not in self.emitted:
            self.emitted[cell.id] = self.engine.emitted(cell)
        return self.emitted[cell.id]

    def _survey(self) -> Counts:
        """Find the missing cells: key -> whether only the analysis is missing; count the rest."""
        counts = Counts()
        for cell in filter(self.wanted, self.store.cells()):
            key = self.key(cell)
            result = self.store.result(key)
            damaged = damage.of_cell(cell, self.store.folder(key))
            if RAW in damaged:
                self._todo[key] = False
            elif damaged:  # what is derived is derived again
                self._todo[key] = self.store.has_raw(key)
            elif result is None or result.status == "failed":
                self._todo[key] = False
            elif result.analysis == self._analysis:
                counts.add(result)
                self._heard(cell.id, key)
            else:
                self._todo[key] = self.store.has_raw(key)
        return counts

    def key(self, cell: Cell) -> str:
        """Return where a cell's result is stored."""
        identity = self.engine.identity_for(cell)
        return key_of(cell, self.engine.name, identity, self._emitted_for(cell))

    def _cells(self, stored: bool) -> Iterator[tuple[Cell, str]]:
        """Yield the cells that need only analysis, or those that must be run."""
        for cell in filter(self.wanted, self.store.cells()):
            key = self.key(cell)
            if self._all_missing or self._todo.get(key) is stored:
                yield cell, key

    # Threads

    def _run_cells(self, cells: Shared) -> None:
        while self._room.acquire() and not self._stop.is_set():
            task = cells.next()
            if task is None:
                return
            cell, key = task
            work = self.store.scratch(f"{key}.work")
            self._ran.put(Ran(cell, key, work, self._run(cell, work)))

    def _run(self, cell: Cell, work: Path) -> RawResult:
        started = time.monotonic()
        folder = work / "run"
        folder.mkdir()
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

    def _analyse_cells(self, analyst: analysts.Analyst) -> None:
        """Analyse and store what the runners have run."""
        while not self._stop.is_set() and (ran := self._ran.get()) is not None:
            raw = ran.raw
            known = RanBefore(result_sha256=raw.sha256, virtual_s=raw.virtual_s, wall_s=raw.wall_s)
            job = Job(
                cell=ran.cell,
                result=self._unfinished(ran.cell, ran.key, known, raw.error),
                artefacts=raw.artefacts,
                console=raw.console,
                folder=self.store.scratch(f"{ran.key}.cell"),
            )
            result = self._derived(analyst, job)
            if result is None:
                return
            self._commit(job, result, ran.work)
            self._room.release()

    def _analyse_stored(self, analyst: analysts.Analyst, cells: Shared) -> None:
        """Analyse cells that ran before; those with damaged raw artefacts must be run."""
        while not self._stop.is_set() and (task := cells.next()) is not None:
            cell, key = task
            ran = damage.ran(self.store.folder(key))
            if ran is None:
                self._todo[key] = False
                continue
            work = self.store.scratch(f"{key}.work")
            job = Job(
                cell=cell,
                result=self._unfinished(cell, key, ran),
                artefacts=work,
                stored=self.store.folder(key) / RAW,
                folder=self.store.scratch(f"{key}.cell"),
            )
            result = self._derived(analyst, job)
            if result is not None:
                self._commit(job, result, work)
            elif not self._stop.is_set():
                self._todo[key] = False

    def _derived(self, analyst: analysts.Analyst, job: Job) -> CellResult | None:
        """Return a cell's result; None where its stored artefacts are damaged, and when the sweep is over."""
        try:
            result = analyst.derive(job)
        except Exception:
            if self._stop.is_set():
                return None
            raise
        if self._stop.is_set() and result is not None and result.status == "failed":
            return None  # it did not fail: it was stopped
        return result

    def _unfinished(self, cell: Cell, key: str, ran: RanBefore, error: str = "") -> CellResult:
        """Return what is known of a cell before its analysis."""
        return CellResult(
            cell=cell.id,
            key=key,
            status="failed",
            error=error,
            virtual_s=ran.virtual_s,
            wall_s=ran.wall_s,
            engine=self.engine.name,
            image=self.engine.identity_for(cell),
            emitted=self._emitted_for(cell),
            result_sha256=ran.result_sha256,
            analysis=self._analysis,
        )

    def _commit(self, job: Job, result: CellResult, work: Path) -> None:
        """Store a cell; work: its folder, no longer needed afterwards."""
        self._may_store.wait()
        if not self._all_emitted:
            return
        self.store.commit(result.key, job.folder, result)
        shutil.rmtree(work)
        self._outcomes.put(result)


class Shared:
    """An iterator that several threads may use."""

    def __init__(self, items: Iterator[tuple[Cell, str]]) -> None:
        self._items = items
        self._lock = threading.Lock()

    def next(self) -> tuple[Cell, str] | None:
        """Return the next item, or None after the last one."""
        with self._lock:
            return next(self._items, None)
