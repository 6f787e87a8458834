"""Run the suite on an engine, and read it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from fairc import compiler, dsl
from fairc.compiler.plan import Cell
from fairc.runtime import engines, statistics
from fairc.runtime.engines.base import Engine
from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.measurement import ArtefactError, Measurement, load
from fairc.runtime.metrics import goodput
from fairc.runtime.run import lock
from fairc.runtime.run.progress import Progress
from fairc.runtime.run.sweep import Sweep
from fairc.runtime.store.folder import LOCK, Store, key_of

from .cases import FOLDER, Case
from .reading import Reading

SPEED = "speed"
"""The case that runs the same cells at half the guest's speed, too."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of the suite on one engine.

    identity, versions: the engine's. failures: cells that could not be read, and why.
    """

    engine: str
    identity: str
    versions: dict[str, str]
    readings: tuple[Reading, ...]
    failures: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every reading lies in its range, and every cell could be read."""
        return not self.failures and all(reading.holds for reading in self.readings)


class Bench:
    """Runs experiments on prepared engines, each in its own run directory below `folder`.

    progress: makes the display of one sweep. jobs: how many cells run at once.
    """

    def __init__(self, folder: Path, progress: Callable[[], Progress], jobs: int) -> None:
        self.folder = folder
        self.failures: list[str] = []
        self._progress = progress
        self._jobs = jobs

    def run(self, file: Path, engine: Engine, name: str) -> Iterator[tuple[str, list[Measurement]]]:
        """Run an experiment; yield each configuration as text, with its measured repetitions.

        Failed cells go to `failures`. Raises StoreError if the run directory holds another engine's
        results.
        """
        compilation = compiled(file, engine)
        with Store(self.folder / name) as store:
            store.keep_engine(engine.name)
            store.adopt(store.stage(lambda to: compiler.emit(compilation, to, ("json",))))
            store.write_json(LOCK, lock.describe(store.path, engine))
            Sweep(store, engine, self._progress(), self._jobs).run()
            cells = sorted(store.cells(), key=lambda cell: cell.repetition)
            order = {cell.configuration: number for number, cell in enumerate(reversed(cells))}
            cells.sort(key=lambda cell: -order[cell.configuration])
            for _, group in groupby(cells, key=lambda cell: cell.configuration):
                repetitions = list(group)
                yield label(repetitions[0]), list(self._measured(store, engine, name, repetitions))

    def _measured(
        self, store: Store, engine: Engine, name: str, cells: Sequence[Cell]
    ) -> Iterator[Measurement]:
        for cell in cells:
            key = key_of(cell, engine.name, engine.identity_for(cell), engine.emitted(cell))
            result = store.result(key)
            where = f"{name}: {label(cell)}, repetition {cell.repetition}"
            if result is None or result.status == "failed":
                self.failures.append(f"{where}: {result.error if result else 'it did not run'}")
                continue
            with tempfile.TemporaryDirectory(prefix=temporary_prefix("calibrate")) as folder:
                try:
                    store.unpack(key, Path(folder))
                    yield load(cell, Path(folder))
                except (ArtefactError, OSError, ValueError) as error:
                    self.failures.append(f"{where}: {error}")


def compiled(file: Path, engine: Engine) -> compiler.Compilation:
    """Compile an experiment of the suite for an engine, with seeds of its own.

    Engines that shared their draws would confirm each other less than it seems.
    """
    seed = int.from_bytes(hashlib.sha256(engine.name.encode()).digest()[:4])
    experiment, found = dsl.load(dsl.read(file), {"seed": str(seed)})
    dsl.runnable(found).raise_if_errors()
    assert experiment is not None, "the suite's experiments are sound"
    return compiler.compile(experiment, engine.name)


def obstacle(case: Case, engine: Engine) -> str:
    """Return why an engine cannot run a case of the suite; empty if it can."""
    if case.fast and not computing_is_free(engine):
        return "its link is too fast for an engine on which computation takes time"
    try:
        _ = compiled(case.file, engine).choice
    except dsl.CompileError as error:
        return "; ".join(note for found in error.diagnostics for note in found.notes)
    return ""


def computing_is_free(engine: Engine) -> bool:
    """Return whether computation takes no time on an engine."""
    return any(kind.computing_is_free for kind in engines.ENGINES if kind.name == engine.name)


def label(cell: Cell) -> str:
    """Return a cell's swept values as text."""
    return ", ".join(f"{name} {value}" for name, value in cell.bindings.items())


def calibrate(
    engine: Engine,
    slower: Engine | None,
    bench: Bench,
    cases: Iterable[Case],
    say: Callable[[str], None],
) -> Calibration:
    """Run the suite on a prepared engine and return the result.

    slower: the same engine at half the guest's speed, also prepared; None if there is none.
    say: called with what is running.
    """
    readings: list[Reading] = []
    free = computing_is_free(engine)
    for case in cases:
        if why := obstacle(case, engine):
            say(f"calibration: {case.name} is skipped: {why}")
            continue
        read = case.exact if free and case.exact else case.read
        say(f"calibration: {case.name}")
        for setting, measured in bench.run(case.file, engine, case.name):
            if measured:
                readings.extend(read(setting, measured))
    if slower is not None:
        say("calibration: speed, and the same at half the guest's speed")
        readings.extend(_half_speed(bench, engine, slower))
    return Calibration(
        engine.name, engine.identity, dict(engine.versions), tuple(readings), tuple(bench.failures)
    )


def _half_speed(bench: Bench, engine: Engine, slower: Engine) -> Iterator[Reading]:
    """Compare the goodputs of the same cells at both speeds (measurement.md, rule 21).

    Accepted if the 95 % intervals of the two medians overlap.
    """
    full, half = (
        _goodputs(bench.run(FOLDER / f"{SPEED}.fexp", which, name))
        for which, name in ((engine, SPEED), (slower, f"{SPEED}_half"))
    )
    for flow, values in full.items():
        wanted, found = statistics.median(values), statistics.median(half.get(flow, []))
        if None in (wanted.low, wanted.high, wanted.value, found.low, found.high, found.value):
            bench.failures.append(f"speed: {wanted.reason or found.reason}")
            continue
        assert wanted.value is not None and found.value is not None
        assert wanted.low is not None and wanted.high is not None
        assert found.low is not None and found.high is not None
        yield Reading(
            "median goodput at half the guest's speed",
            f"flow {flow}",
            found.value,
            wanted.value,
            wanted.low - (found.high - found.value),
            wanted.high + (found.value - found.low),
            "bit/s",
            "the same cells at full speed: intervals overlap",
            found.n,
        )


def _goodputs(run: Iterable[tuple[str, list[Measurement]]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for _, measured in run:
        for cell in measured:
            for flow in cell.flows:
                value = goodput.of_flow(cell, flow).value
                if value is not None:
                    found.setdefault(flow.name, []).append(value)
    return found


def slower_than(name: str, report: Callable[[str], None]) -> Engine | None:
    """Return the variant of a named engine at half the guest's speed, if there is one."""
    kinds = {kind.name: kind for kind in engines.ENGINES}
    slower = kinds[name].slower
    return kinds[slower].make(report) if slower else None
