"""Run the cells that are missing, on several threads, and store each as soon as it is whole.

Runners have the engine run cells; analysts turn what is left behind into results, so that no
runner waits for an analysis; the calling thread counts, shows progress, and hears Ctrl-C.
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

from fairc.compiler.plan import Cell
from fairc.runtime.analysis.cells import ArtefactError, analyse, write_files, write_series
from fairc.runtime.engines.base import Engine, EngineUnavailable
from fairc.runtime.host import faults
from fairc.runtime.store import archive, damage
from fairc.runtime.store.folder import CONSOLE, EMITTED, RAW, SERIES, Store, key_of
from fairc.runtime.store.results import CellResult, RawResult

from . import lock
from .progress import Progress

# How long an interrupted sweep waits for its runners, whose machines have been stopped by then, and for
# its analysts, whose work is only lost.
PATIENCE_S, PATIENCE_ANALYSIS_S = 10.0, 1.0


@dataclass(slots=True)
class Counts:
    """How many of a run's cells came out how."""

    valid: int = 0
    flagged: int = 0
    invalid: int = 0
    failed: int = 0

    def add(self, result: CellResult) -> None:
        """Count a cell."""
        word = result.verdict if result.status == "ok" and result.verdict else "failed"
        setattr(self, word, getattr(self, word) + 1)

    def include(self, other: Counts) -> None:
        """Count the cells of another sweep, too."""
        for word in ("valid", "flagged", "invalid", "failed"):
            setattr(self, word, getattr(self, word) + getattr(other, word))

    @property
    def total(self) -> int:
        """All of them."""
        return self.valid + self.flagged + self.invalid + self.failed

    @property
    def all_well(self) -> bool:
        """Whether no cell failed and every one is valid."""
        return self.total == self.valid


@dataclass(frozen=True, slots=True)
class Ran:
    """A cell that an engine has run, or whose raw artefacts have been unpacked; work is its folder."""

    cell: Cell
    key: str
    work: Path
    raw: RawResult


class Sweep:
    """A sweep of the store's plan on a prepared engine.

    wanted: which of the plan's cells. jobs: how many at once, >= 1. fresh: run all of them, also
    those that are there. emitted: what `emitted` of an earlier sweep of the same plan had, so that nothing is
    written down twice. The store's lock is held by the caller.
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
        self._stop = threading.Event()
        self._ran: queue.SimpleQueue[Ran | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[CellResult | BaseException | None] = queue.SimpleQueue()
        # Bounds what has been run and not yet analysed: such a cell occupies disk.
        self._room = threading.Semaphore(0)

    def run(self) -> Counts:
        """Run what is missing; return how all wanted cells came out, old and new.

        Raises KeyboardInterrupt after everything has been stopped; what is stored stays.
        """
        self._emit()
        counts = self._survey()
        if not self._todo:
            return counts
        jobs = min(self.jobs if self.engine.parallel else 1, len(self._todo))
        analysts = max(1, jobs // 2)
        self._room.release(jobs + analysts)
        cells = Shared(self._missing())
        runners = [self._thread(self._run_cells, cells) for _ in range(jobs)]
        readers = [self._thread(self._analyse_cells) for _ in range(analysts)]
        self.progress.begin(len(self._todo), counts.total)
        try:
            self._collect(counts, runners, readers)
        except BaseException:
            self._stop.set()
            self._room.release(jobs)
            self._dismiss(analysts)
            self.engine.close()
            for threads, patience_s in ((runners, PATIENCE_S), (readers, PATIENCE_ANALYSIS_S)):
                limit = time.monotonic() + patience_s
                for thread in threads:
                    thread.join(max(0.0, limit - time.monotonic()))
            raise
        finally:
            self.progress.end()
        return counts

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

    def _collect(
        self, counts: Counts, runners: list[threading.Thread], readers: list[threading.Thread]
    ) -> None:
        """Count results until every thread has ended. Raises what a thread raised."""
        ended = 0
        while ended < len(runners) + len(readers):
            outcome = self._outcomes.get()
            if isinstance(outcome, BaseException):
                raise outcome
            if outcome is None:
                ended += 1
                if ended == len(runners):  # readers end only after this signal
                    self._dismiss(len(readers))
            else:
                counts.add(outcome)
                self.progress.done(outcome)

    def _dismiss(self, readers: int) -> None:
        """Signal to each reader that nothing more comes."""
        for _ in range(readers):
            self._ran.put(None)

    def _emit(self) -> None:
        """Write down what the engine emits for each cell."""
        if self.emitted:
            return
        self.emitted = {cell.id: self.engine.emitted(cell) for cell in self.store.cells()}
        if any(self.emitted.values()):
            self.store.write_json(EMITTED, self.emitted)

    def _survey(self) -> Counts:
        """Find out what is missing: key -> whether only the analysis is; count the rest."""
        counts = Counts()
        for cell in filter(self.wanted, self.store.cells()):
            key = self.key(cell)
            result = None if self.fresh else self.store.result(key)
            damaged = {} if self.fresh else damage.of_cell(cell, self.store.folder(key))
            if self.fresh or RAW in damaged:
                self._todo[key] = False
            elif damaged:  # what is derived is derived again
                self._todo[key] = self.store.has_raw(key)
            elif result is None or result.status == "failed":
                self._todo[key] = False
            elif result.analysis == self._analysis:
                counts.add(result)
            else:
                self._todo[key] = self.store.has_raw(key)
        return counts

    def key(self, cell: Cell) -> str:
        """Return where a cell's result is stored, once the sweep has run."""
        identity = self.engine.identity_for(cell)
        return key_of(cell, self.engine.name, identity, self.emitted[cell.id])

    def _missing(self) -> Iterator[tuple[Cell, str]]:
        for cell in filter(self.wanted, self.store.cells()):
            key = self.key(cell)
            if key in self._todo:
                yield cell, key

    # Threads

    def _run_cells(self, cells: Shared) -> None:
        while self._room.acquire() and not self._stop.is_set():
            task = cells.next()
            if task is None:
                return
            cell, key = task
            work = self.store.scratch(f"{key}.work")
            raw = self._unpack(key, work) if self._todo[key] else None
            self._ran.put(Ran(cell, key, work, raw or self._run(cell, work)))

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
            # An engine may not raise; if it does all the same, only this cell is lost.
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

    def _unpack(self, key: str, work: Path) -> RawResult | None:
        """Return a stored cell as if it had just been run; None when it cannot be read."""
        old = damage.ran(self.store.folder(key))
        folder = work / "stored"
        folder.mkdir()
        try:
            self.store.unpack(key, folder)
        except (OSError, ValueError) as error:
            if fault := faults.of(error):
                raise fault from error
            old = None
        if old is None or archive.digest(folder) != old.result_sha256:
            return None
        return RawResult("", folder, old.result_sha256, "", old.virtual_s, old.wall_s)

    def _analyse_cells(self) -> None:
        while not self._stop.is_set() and (ran := self._ran.get()) is not None:
            folder = self.store.scratch(f"{ran.key}.cell")
            result, console = self._analyse(ran, folder)
            if self._stop.is_set() and result.status == "failed":
                return  # it did not fail: it was stopped
            archive.pack(ran.raw.artefacts, folder / RAW)
            if result.status == "failed":
                (folder / CONSOLE).write_text(console, encoding="utf-8", errors="replace")
            self.store.commit(ran.key, folder, result)
            shutil.rmtree(ran.work)
            self._room.release()
            self._outcomes.put(result)

    def _analyse(self, ran: Ran, folder: Path) -> tuple[CellResult, str]:
        """Return a cell's result, and its console; the series go to the folder."""
        raw = ran.raw
        result = CellResult(
            cell=ran.cell.id,
            key=ran.key,
            status="failed",
            error=raw.error,
            virtual_s=raw.virtual_s,
            wall_s=raw.wall_s,
            engine=self.engine.name,
            image=self.engine.identity_for(ran.cell),
            emitted=self.emitted[ran.cell.id],
            result_sha256=raw.sha256,
            analysis=self._analysis,
        )
        if raw.error:
            return result, raw.console
        try:
            analysed = analyse(ran.cell, raw.artefacts, self._requests)
            write_series(folder / SERIES, analysed.series)
            write_files(folder, analysed)
        except ArtefactError as error:
            return result.model_copy(update={"error": str(error)}), raw.console
        except Exception as error:
            if fault := faults.of(error):
                raise fault from error
            words = f"fairc could not analyse it: {type(error).__name__}: {error}"
            console = f"{raw.console}\n{traceback.format_exc()}"
            return result.model_copy(update={"error": words}), console
        update = {
            "status": "ok",
            "verdict": analysed.verdict,
            "reasons": analysed.reasons,
            "ended_by": analysed.ended_by,
            "flows": analysed.flows,
            "metrics": analysed.metrics,
            "conditions": analysed.conditions,
            "limits": analysed.limits,
        }
        return result.model_copy(update=update), raw.console


class Shared:
    """An iterator that several threads may ask."""

    def __init__(self, items: Iterator[tuple[Cell, str]]) -> None:
        self._items = items
        self._lock = threading.Lock()

    def next(self) -> tuple[Cell, str] | None:
        """Return the next item, or None after the last one."""
        with self._lock:
            return next(self._items, None)
