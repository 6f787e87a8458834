"""Advice on plans that are too small or too short, before they run: comparisons and bulk flows that
need time to settle.

Repetitions: the report compares configurations, and Holm's method multiplies the smallest of m
p-values by m, so few repetitions decide few of many comparisons (statistics/paired.py).

Time: flows that share a bottleneck settle over congestion epochs, the time between two losses of a
flow. With W = (rate x base RTT + buffer) / flows, packets, R = base RTT + buffer / rate, and b the
factor of a reduction:

    epoch, Reno   = (1 - b) W R                         b = 0.5; also of CCAs that are not below
    epoch, CUBIC  = min(((1 - b) W / 0.4)^(1/3) s, (1 - b) W R / 0.53)
                                                        b = 0.7; RFC 9438, equations 2 and 4
    epoch, BBR    = 10 s                                between two measurements of the minimum RTT
    warm-up       = last start + slow start + n epochs, slow start = log2(flows W / initial window)
                  R
    duration      = warm-up + 10 epochs

of the slowest flow. n: every reduction multiplies the difference between flows by b (Chiu and Jain
1989), so that after n = log(0.05) / log(b) of them 5 % are left: 5 for Reno, 9 for CUBIC; 3 for
BBR, whose flows meet within some 30 s (Cardwell et al. 2016); 1 for a flow that is alone. A mean
over fewer than 10 epochs depends on where they begin. An AQM with a target keeps the queue at rate
x target, one with thresholds at the upper one. These are rules of thumb: the test of each run
(statistics.md) says whether flows did settle.

Source: Chiu and Jain, Analysis of the increase and decrease algorithms for congestion avoidance,
Computer Networks and ISDN Systems 17, 1989; RFC 5681; RFC 9438; Cardwell et al., BBR:
congestion-based congestion control, ACM Queue 14, 2016.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from fairc.compiler.estimate import length, rates_bps
from fairc.compiler.plan import Cell, Flow, interfaces_of
from fairc.dsl.model.metric_names import unmarked
from fairc.dsl.model.names import called, group_of, label_of, users_of
from fairc.dsl.model.requests import Requests
from fairc.mechanisms.queues.registry import QUEUES
from fairc.runtime.formatting import counted, quantity
from fairc.runtime.statistics.paired import comparisons_decided, pairs_needed
from fairc.words.ccas import CCAS
from fairc.words.metric_entry import MetricEntry
from fairc.words.metrics import METRICS

from .comparisons import MAX_CONFIGURATIONS, MAX_ROWS, tested_names

if TYPE_CHECKING:
    from fairc.dsl.experiment import Experiment
    from fairc.dsl.model import Flow as Declared

LEFT = 0.05
"""The difference between flows that a warm-up leaves, of the one at its beginning."""
MEASURED_EPOCHS = 10
BBR_EPOCH_S, BBR_EPOCHS = 10.0, 3
_CUBIC_B, _CUBIC_C, _CUBIC_ALPHA = 0.7, 0.4, 3 * 0.3 / 1.7
_RENO_B = 0.5

Measure = tuple[str, str, int]
"""A value by name, flow and page load, as the report compares it; empty, and 0, for none."""


@dataclass(frozen=True, slots=True)
class ComparisonCounts:
    """The report's comparisons: how many, how many of them the repetitions can decide, and how many
    would decide all.
    """

    tests: int
    repetitions: int
    decided: int
    needed: int

    @property
    def sentence(self) -> str:
        """The advice; empty where all can be decided."""
        if self.decided >= self.tests:
            return ""
        can = f"at most {self.decided}" if self.decided else "none"
        return (
            f"{counted(self.repetitions, 'repetition')} can decide {can} of the"
            f" {counted(self.tests, 'comparison')} that the report makes; `repeat ="
            f" {self.needed}` can decide all"
        )


def comparing(experiment: Experiment, cells: Sequence[Cell]) -> ComparisonCounts | None:
    """Return what the report will compare, or None if nothing. cells: one of each configuration."""
    flows = [configuration.scenario.flows for configuration in experiment.some(len(cells))]
    points = [
        (cell.bindings, frozenset(_measures(experiment.requests, cell, declared)))
        for cell, declared in zip(cells, flows, strict=True)
    ]
    by = (
        ()
        if len(points) <= MAX_CONFIGURATIONS
        else tested_names(experiment.figures, experiment.axes)
    )
    tests = 0
    for (a, of_a), (b, of_b) in combinations(points, 2):
        differing = [name for name in a if a[name] != b.get(name)]
        if len(points) <= MAX_CONFIGURATIONS or (len(differing) == 1 and differing[0] in by):
            tests += len(of_a & of_b)
    if not tests or tests > MAX_ROWS:
        return None
    n = experiment.repeat
    if experiment.common or experiment.paired:
        return ComparisonCounts(tests, n, min(tests, comparisons_decided(n)), pairs_needed(tests))
    needed = next(n for n in range(2, 100) if _independent(n) >= tests)
    return ComparisonCounts(tests, n, min(tests, _independent(n)), needed)


def _independent(n: int) -> int:
    """Return how many comparisons of n and n independent values can all be significant after Holm's
    correction.
    """
    return math.ceil(round(LEFT * math.comb(2 * n, n) / 2, 9)) - 1


def _measures(requests: Requests, cell: Cell, declared: Sequence[Declared]) -> Iterable[Measure]:
    """Yield the values that the report compares: the first of each metric, or those that `measure`
    names.
    """
    users = dict.fromkeys(name for f in cell.flows if (name := users_of(f) or group_of(f)))
    able = {flow.name: flow for flow in declared}
    own = {formula.name: formula for formula in requests.formulas}
    for request in requests.measure:
        formula = own.get(request.name)
        entry = None if formula is not None else METRICS[request.name]
        of_cell = entry.of_cell if entry is not None else formula and formula.flows is None
        sessions = set(request.sessions)
        flows = [
            flow
            for flow in cell.flows
            if not sessions or sessions & called(flow)
            if entry is None or _applies(entry, flow, able)
        ]
        for name in request.shown:
            if of_cell:
                yield name, "", 0
            elif unmarked(name).partition(".")[2].partition("_")[0] in ("user", "group"):
                yield from ((name, group, 0) for group in users)
            else:
                for flow in flows:
                    loads = len(flow.workload.http_versions)
                    numbers = range(1, loads + 1) if entry and entry.per_load else (0,)
                    yield from ((name, label_of(flow), number) for number in numbers)


def _applies(entry: MetricEntry, flow: Flow, declared: dict[str, Declared]) -> bool:
    own = declared.get(flow.name)
    return entry.need is None or own is None or entry.of_cell or entry.need.met([own])


@dataclass(frozen=True, slots=True)
class Settling:
    """How long the bulk flows of a cell need, s: warm-up, and whole duration. flow, cca: the
    slowest one.

    has_warmup_s, lasts_s: what the file gives; lasts_s is an estimate where flows have a size.
    """

    warmup_s: float
    duration_s: float
    flow: str
    cca: str
    has_warmup_s: float
    lasts_s: float

    @property
    def is_short(self) -> bool:
        """Whether the cell gives its flows less."""
        return self.has_warmup_s < self.warmup_s or self.lasts_s < self.duration_s

    @property
    def sentence(self) -> str:
        """The settings to add; empty where the file gives enough."""
        if not self.is_short:
            return ""
        return (
            f"flows may not have settled: `{self.flow}` ({self.cca}) needs about"
            f" `warmup = {_whole(self.warmup_s)}` and {_whole(self.duration_s)} in all;"
            f" the file gives"
            f" {quantity(self.has_warmup_s, 's') if self.has_warmup_s else 'no warm-up'} and"
            f" {quantity(self.lasts_s, 's')}"
        )


def settling(cells: Iterable[Cell], requests: Requests) -> Settling | None:
    """Return the cell whose bulk flows lack most time; None if no value depends on it, or no flow
    is bulk.
    """
    if not any(METRICS[request.name].is_level for request in requests.metrics):
        return None
    found = [s for cell in cells if (s := _settling(cell)) is not None]
    return max(found, key=lambda s: (s.is_short, s.duration_s - s.lasts_s), default=None)


def _settling(cell: Cell) -> Settling | None:
    bulk = [f for f in cell.flows if f.workload.offered_bps(f.connections, f.rate_bps) is None]
    bulk = [f for f in bulk if f.cca and not f.workload.pauses]
    slowest: tuple[float, float, Flow] | None = None
    rates, sharing = rates_bps(cell), Counter[tuple[str, str]]()
    for flow in bulk:
        sharing[flow.bottleneck] += flow.connections
    for flow in bulk:
        place = flow.bottleneck
        epoch_s, epochs, rise_s = _epochs(cell, flow, rates[place], sharing[place])
        if slowest is None or epochs * epoch_s + rise_s > slowest[0]:
            slowest = epochs * epoch_s + rise_s, epoch_s, flow
    if slowest is None:
        return None
    settled_s, epoch_s, flow = slowest
    warmup_s = max(max(f.starts_ns) for f in bulk) / 1e9 + settled_s
    duration_s = warmup_s + MEASURED_EPOCHS * epoch_s
    lasts_s = length(cell)
    return Settling(
        warmup_s,
        duration_s,
        label_of(flow),
        flow.cca or "",
        cell.warmup_ns / 1e9,
        lasts_s,
    )


def _epochs(cell: Cell, flow: Flow, rate: int, sharing: int) -> tuple[float, int, float]:
    """Return a flow's epoch, s; how many it needs; and how long it rises first, s.

    rate: of its bottleneck, bit/s. sharing: bulk connections there.
    """
    held = _buffer_bytes(cell, flow, rate)
    base_s = flow.base_rtt_ns / 1e9
    pipe = (rate * base_s / 8 + held) / flow.frame_bytes
    window, rtt_s = max(1.0, pipe / sharing), base_s + 8 * held / rate
    rise_s = max(0.0, math.log2(max(1.0, pipe / flow.options.initial_window_packets))) * rtt_s
    cca = flow.cca or ""
    growth = CCAS[cca].growth if cca in CCAS else ""
    if growth == "model":
        return BBR_EPOCH_S, BBR_EPOCHS if sharing > 1 else 1, rise_s
    b = _CUBIC_B if growth == "time" else _RENO_B
    epoch_s = (1 - b) * window * rtt_s
    if growth == "time":
        cubic_s = ((1 - b) * window / _CUBIC_C) ** (1 / 3)
        epoch_s = min(cubic_s, epoch_s / _CUBIC_ALPHA)
    return epoch_s, math.ceil(math.log(LEFT) / math.log(b)) if sharing > 1 else 1, rise_s


def _buffer_bytes(cell: Cell, flow: Flow, rate: int) -> float:
    """Return what the bottleneck's queue holds of bulk flows, bytes."""
    queue = interfaces_of(cell)[flow.bottleneck].queue
    if queue is None:
        return 0.0
    packets, limit = queue.limit_packets, queue.limit_bytes
    whole = float(limit) if limit is not None else float((packets or 0) * flow.frame_bytes)
    target_ns = QUEUES[queue.kind].target_ns(queue) if queue.kind in QUEUES else None
    if target_ns:
        return min(whole, rate * target_ns / 8e9)
    return min(whole, getattr(queue, "max_bytes", whole))


def _whole(seconds: float) -> str:
    """Write seconds, rounded up to two digits.

    >>> _whole(0.311), _whole(34.2), _whole(1234)
    ('0.32s', '35s', '1300s')
    """
    if seconds <= 0:
        return "0s"
    step = 10 ** (math.floor(math.log10(seconds)) - 1)
    return f"{math.ceil(round(seconds / step, 9)) * step:.6g}s"
