"""The phase check: repeat a part of a run with hosts that take up to the time of one full frame per
packet.

Where packets arrive at regular times, small constants decide who gets the last place in a full
queue, always in the same way. Floyd and Jacobson (On traffic phase effects in packet-switched
gateways, Internetworking: Research and Experience 3, 1992, section 3) show that a random processing
time, uniform from zero to the bottleneck's transmission time of one packet, removes these effects.
A result that changes with it is due to phase effects.

A result changes when the values of its repetitions shift (Mann-Whitney), or when their spread was
larger before: which flow is shut out may differ between repetitions, which the median does not
show. For this the distances from the median of both samples together are compared by the same test:
if both samples have one distribution, each distance is as likely in either sample (Ansari and
Bradley, Rank-sum tests for dispersions, Annals of Mathematical Statistics 31, 1960, have its
ranks). A larger spread under more randomness is expected and does not count.

At most `CONFIGURATIONS` configurations are repeated, drawn with the experiment's seed if there are
more, with the first `REPETITIONS` repetitions of each and the same seeds. It is a separate run in a
folder of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fairc.cell.model import MAX_PROCESSING_NS
from fairc.cell.seeds import stream_seed
from fairc.compiler.plan import Cell, Plan, cell_json, interfaces_of
from fairc.compiler.plan.identity import identity_of
from fairc.runtime.compare.comparison import By, Side, sides
from fairc.runtime.engines.base import Engine
from fairc.runtime.metrics import value_named
from fairc.runtime.ranges.cells import finished
from fairc.runtime.repetitions.reading import Measurements, measured
from fairc.runtime.repetitions.samples import FLOW, REPETITION, samples
from fairc.runtime.repetitions.sides import decided
from fairc.runtime.statistics.estimates import Estimate, median
from fairc.runtime.statistics.verdicts import Comparison, compare
from fairc.runtime.store.baselines import with_baselines
from fairc.runtime.store.folder import CELLS, LOCK, PLAN, Store, read_cells, read_plan
from fairc.runtime.store.occupant import PHASE_CHECK

from . import lock

FOLDER = PHASE_CHECK
CONFIGURATIONS, REPETITIONS = 12, 10
OF = "phase_check_of"

Verdict = Literal["phase-sensitive", "no change found", "cannot tell"]
SENSITIVE = "phase-sensitive"
_VERDICTS: Mapping[str, Verdict] = {
    "identical": "no change found",
    "same": "no change found",
    "different": "phase-sensitive",
    "undecided": "cannot tell",
}

# In addition to the first value of each metric that the experiment names: more than two sessions
# have no F.
_ALSO = {"fairness": ("fairness.jain_session",)}
DOMINANCE = "fairness.F"


def frame_ns(cell: Cell) -> int:
    """Return the longest time of one full frame at the bottlenecks of a cell's flows, ns."""
    shapers = {place: each.shaper for place, each in interfaces_of(cell).items() if each.shaper}
    times = [8 * f.frame_bytes * 10**9 // shapers[f.bottleneck].rate_bps for f in cell.flows]
    return min(max(2, *times), MAX_PROCESSING_NS)


def checked(cell: Cell) -> Cell:
    """Return the same cell with hosts that take up to the time of one full frame per packet."""
    changed = replace(cell, processing_ns=frame_ns(cell))
    return replace(changed, id=identity_of(changed))


def chosen(cells: Iterable[Cell], seed: int) -> frozenset[str]:
    """Return the configurations that are repeated; seed: the experiment's."""
    drawn = {c.configuration: 0 for c in cells}
    for configuration in drawn:
        drawn[configuration] = stream_seed(seed, "phase-check", configuration)
    return frozenset(sorted(drawn, key=lambda name: (drawn[name], name))[:CONFIGURATIONS])


def repeated(run: Store, wanted: Callable[[Cell], bool]) -> Iterator[Cell]:
    """Yield the cells of the phase check of a run, in the order of the plan. Raises StoreError.

    wanted: which of the plan's cells are examined.
    """
    examined = (cell for cell in run.cells() if not cell.baseline and wanted(cell))
    configurations = chosen(examined, run.plan.seed)
    counts = dict.fromkeys(configurations, 0)
    those: set[str] = set()
    for cell in filter(wanted, run.cells()):
        if counts.get(cell.configuration, REPETITIONS) < REPETITIONS:
            counts[cell.configuration] += 1
            those.add(cell.id)
    yield from map(checked, with_baselines(run.cells, lambda cell: cell.id in those))


def adopt(run: Store, store: Store, engine: Engine, wanted: Callable[[Cell], bool]) -> int:
    """Make the phase check of a run the plan of a store; return how many configurations it has.

    Raises StoreError, EngineUnavailable.
    """
    store.adopt(store.stage(lambda folder: write_plan(run, wanted, folder)))
    store.write_json(
        LOCK, lock.describe(store.path, engine) | {OF: lock.digest([run.path / CELLS])}
    )
    return store.plan.configurations


def write_plan(run: Store, wanted: Callable[[Cell], bool], folder: Path) -> None:
    """Write the plan of the phase check of a run into a folder; arguments as of `repeated`.

    Raises StoreError.
    """
    configurations: set[str] = set()
    number = baselines = 0
    with (folder / CELLS).open("w", encoding="utf-8") as lines:
        for cell in repeated(run, wanted):
            lines.write(cell_json(cell) + "\n")
            number += 1
            baselines += cell.baseline
            configurations |= set() if cell.baseline else {cell.configuration}
    header = run.plan.model_copy(
        update={
            "cells": number,
            "baselines": baselines,
            "configurations": len(configurations),
            "figures": (),
            "precision": None,
        }
    )
    (folder / PLAN).write_text(header.model_dump_json(indent=2) + "\n", encoding="utf-8")


def used(run: Store, wanted: Callable[[Cell], bool]) -> Callable[[Cell], bool]:
    """Return which of the wanted cells a phase check examines: of a range, only those that it
    used.
    """
    if not run.plan.precision:
        return wanted
    took = {cell.id for cell, _ in finished(run)}
    return lambda cell: cell.id in took and wanted(cell)


@dataclass(frozen=True, slots=True)
class Result:
    """One value of a metric, ordinary and in the phase check.

    by: its swept values and its flow. before, after: medians with their intervals, in
    SI base units. text: the result of the tests.
    """

    metric: str
    unit: str
    by: By
    verdict: Verdict
    before: Estimate
    after: Estimate
    text: str

    @property
    def what(self) -> str:
        """Name it: `goodput (cca = bbr, flow = a)`."""
        of = ", ".join(f"{name} = {value}" for name, value in self.by.items() if value is not None)
        return f"{self.metric} ({of})" if of else self.metric


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a phase check.

    longest_ns: the shortest and the longest limit of the processing time. verdicts: cells by
    verdict, `failed` included.
    """

    configurations: int
    of_configurations: int
    repetitions: int
    longest_ns: tuple[int, int]
    verdicts: Mapping[str, int]
    results: tuple[Result, ...]

    @property
    def cells(self) -> int:
        """The number of repeated cells."""
        return sum(self.verdicts.values())

    def having(self, verdict: Verdict) -> tuple[Result, ...]:
        """Return the results with a verdict."""
        return tuple(result for result in self.results if result.verdict == verdict)


def findings(run: Path) -> Findings | None:
    """Compare a run with its phase check; None if there is none, or only one of another plan or
    machine.

    Both have tables. Raises StoreError, TableError.
    """
    folder = run / FOLDER
    if not (folder / "tables" / "cells.parquet").is_file():
        return None
    of, mine = Store(folder).lock, Store(run).lock
    if of.get(OF) != lock.digest([run / CELLS]) or not _same_engine(of, mine):
        return None
    plan = read_plan(run)
    cells = list(read_cells(folder))
    if not cells:
        return None
    bounds = [cell.processing_ns or 0 for cell in cells]
    check = measured(folder / "tables", read_plan(folder))
    return Findings(
        configurations=len({cell.configuration for cell in cells if not cell.baseline}),
        of_configurations=plan.configurations,
        repetitions=max(cell.repetition for cell in cells),
        longest_ns=(min(bounds), max(bounds)),
        verdicts=Counter(sorted(outcome.verdict_word for outcome in check.outcomes)),
        results=tuple(_results(measured(run / "tables", plan), check, cells)),
    )


def _same_engine(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    engines = [lock.get("engine") for lock in (one, other)]
    names = [(e.get("name"), e.get("identity")) for e in engines if isinstance(e, dict)]
    return len(names) == 2 and names[0] == names[1]


def asked(plan: Plan) -> frozenset[str]:
    """Return the full names of the values that are compared."""
    names: set[str] = set()
    own = {formula.name for formula in plan.formulas}
    for request in plan.measure:
        if request.name in own:
            names.add(request.name)
            continue
        try:
            names.update(value_named(name).name for name in request.shown)
        except KeyError:
            continue  # it has no number of its own
        names.update(_ALSO.get(request.name, ()))
    return frozenset(names)


def _results(run: Measurements, check: Measurements, cells: list[Cell]) -> Iterator[Result]:
    """Yield every value that both have, tested together, in the order of the run."""
    wanted = asked(run.plan)
    both = [
        (metric, unit, side)
        for metric, unit, side in sides(run, check)
        if metric in wanted and side.first and side.second and side.first.values
    ]
    pairs = {
        place: side.values
        for place, (_, _, side) in enumerate(both)
        if side.second and side.second.values
    }
    # One family of tests: p-values are adjusted over all of them together.
    compared = compare([*pairs.values(), *(_distances(a, b) for a, b in pairs.values())])
    locations = dict(zip(pairs, compared, strict=False))
    spreads = dict(zip(pairs, compared[len(pairs) :], strict=True))
    who = _Dominance(run, check, cells)
    for place, (metric, unit, side) in enumerate(both):
        first, second = side.values
        verdict, text = _judged(locations.get(place), spreads.get(place))
        if metric == DOMINANCE and verdict != SENSITIVE:
            verdict, text = who.judged(side, verdict, text)
        before, after = run.repeated.median(first), check.repeated.median(second)
        yield Result(metric, unit, side.present.by, verdict, before, after, text)


def _distances(first: Sequence[float], second: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the distance of each value from the median of all."""
    middle = median([*first, *second]).value
    assert middle is not None
    return [abs(v - middle) for v in first], [abs(v - middle) for v in second]


def _judged(location: Comparison | None, spread: Comparison | None) -> tuple[Verdict, str]:
    """Return the verdict on a value from the tests of its location and of its spread."""
    if location is None or spread is None:
        return "cannot tell", "no valid value in the phase check"
    if location.kind != "different" and spread.kind == "different" and (spread.delta or 0.0) > 0:
        p = "< 0.0001" if (spread.p_holm or 0.0) < 0.0001 else f"= {spread.p_holm:.2g}"
        how = f"p {p} after Holm, Cliff's delta {spread.delta:+.2f}"
        return "phase-sensitive", f"the repetitions were more spread out before ({how})"
    return _VERDICTS[location.kind], location.text


class _Dominance:
    """The dominant session by the interval of F, over the same repetitions of both."""

    def __init__(self, run: Measurements, check: Measurements, cells: list[Cell]) -> None:
        repetitions = {str(cell.repetition) for cell in cells}
        self._found: list[dict[frozenset[tuple[str, str | None]], Estimate]] = []
        if DOMINANCE not in asked(run.plan):
            return
        for of in (run, check):
            by = (*of.axes, FLOW)
            sample = samples(of, DOMINANCE, by, lambda names: names[REPETITION] in repetitions)
            self._found.append({frozenset(g.by.items()): median(g.values) for g in sample.groups})

    def judged(self, side: Side, verdict: Verdict, text: str) -> tuple[Verdict, str]:
        """Return the verdict on F, with the reason, if another session dominates than before."""
        key = frozenset(side.present.by.items())
        before, after = (_side(found.get(key)) for found in self._found)
        if before and after and before != after:
            return "phase-sensitive", f"the other session dominates; {text}"
        if before and not after:
            return "cannot tell", f"by the interval of F, no session dominates any more; {text}"
        return verdict, text


def _side(found: Estimate | None) -> str:
    """Return which session dominates by an interval of F; empty: neither."""
    names = {-1: "first", 1: "second"}
    return "" if found is None else names.get(decided(found) or 0, "")
