"""Shared by the figures of `report { ... }`: a metric's values, each with its values of the
names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isfinite

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import Scale, counted, listed, one_line, scale_for
from fairc.runtime.metrics.registry import value_named
from fairc.runtime.repetitions.mixtures import names_to_add, pools_cells, ticked
from fairc.runtime.repetitions.moving import sentence
from fairc.runtime.repetitions.reading import Measure, Omissions, Outcome
from fairc.runtime.repetitions.samples import FLOW, LOAD, PROTOCOL, REPETITION, Sample, group
from fairc.runtime.report.endings import cells_waiting
from fairc.runtime.report.run import Configuration
from fairc.runtime.statistics import Estimate
from fairc.runtime.statistics.repeated import FIXED, Repeated

from .base import NothingToDraw, Subject

USERS = "users"
ALWAYS = (REPETITION, LOAD, PROTOCOL, FLOW, USERS)

# Why a cell has no value, in the order in which captions list it.
ENDLESS = "larger than any value"
GAPS = ("invalid", "failed", "without a value", ENDLESS)


@dataclass(frozen=True, slots=True)
class Gap:
    """A cell, or a page load of it, that ran and has no value that counts; why: one of `GAPS`."""

    keys: Mapping[str, str]
    why: str


@dataclass(frozen=True, slots=True)
class Cases:
    """All values of a metric that a figure may show.

    metric: its full name. scale: that the values are to be shown in. samples: that count and have a
    value, with `flow` as declared and `users` among their keys; unscaled, in `unit`, an SI base
    unit. gaps: cells left out. orders: name -> its values in the order in which they are shown.
    where: the condition on the cells, or empty. waiting: cells of the plan that have not run.
    sampled: whether the configurations are a random sample, so that one cell of each makes a
    sample, too. repeats: how often the run repeats its configurations. omitted: what the values
    leave out.
    moving: in how many configurations flows still move, where the values depend on it.
    """

    metric: str
    unit: str
    scale: Scale
    samples: tuple[Sample, ...]
    gaps: tuple[Gap, ...]
    orders: Mapping[str, Sequence[str]]
    where: str
    waiting: int
    sampled: bool = False
    repeats: Repeated = FIXED
    omitted: Omissions = field(default_factory=Omissions)
    moving: int = 0

    @property
    def swept(self) -> tuple[str, ...]:
        """The swept names, in the order of the file."""
        return tuple(name for name in self.orders if name not in ALWAYS)

    def mixed(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return what separates the configurations within groups by these names; empty: no group
        mixes any.
        """
        found: dict[str, None] = {}
        for _, members in self.groups(names):
            found |= dict.fromkeys(mixture(members, self.swept, self.sampled))
        return tuple(found)

    def median_of(
        self, members: Sequence[Sample], level: float
    ) -> tuple[tuple[float, ...], Estimate]:
        """Return the values of a group, in order of repetition, and their median with its interval.

        Values of several configurations or flows have an interval that nobody shows: none is left
        out for it.
        """
        mixed = pools_cells([s.outcome for s in members]) or mixture(
            members, self.swept, self.sampled
        )
        repeats = FIXED if mixed else self.repeats
        in_order = sorted(members, key=lambda sample: int(sample.keys[REPETITION]))
        values = tuple(repeats.counted([sample.value for sample in in_order]))
        return values, repeats.median(values, level)

    @property
    def label(self) -> str:
        """What an axis of the metric is called, with its unit."""
        return f"{self.metric} ({self.scale.unit})" if self.scale.unit else self.metric

    def title(self, *parts: str) -> str:
        """Return a heading: the metric, what it is shown by, and the condition."""
        shown = " ".join(filter(None, parts))
        where = f", where {one_line(self.where)}" if self.where else ""
        return f"{self.metric}{' ' if shown else ''}{shown}{where}"

    def basis(self, names: Sequence[str]) -> str:
        """Say what the figure is made of, in sentences: how many cells, mixed, left out, missing.

        names: what separates the figure's groups.
        """
        cells = len({sample.outcome.cell for sample in self.samples})
        text = f"n = {counted(cells, 'cell')}"
        loads = [load for load in self.orders[LOAD] if load]
        if loads:
            text += f", {counted(len(self.samples), 'load')}"
        why = Counter(gap.why for gap in self.gaps)
        left_out = listed([f"{why[w]} {w}" for w in GAPS if why[w]])
        if loads and left_out:
            left_out += " (loads)"
        text += f"; left out: {left_out}." if left_out else "."
        if endless := sum(not isfinite(sample.value) for sample in self.samples):
            text += (
                f" {endless} of the values are larger than any that was observed, and count as"
                f" such."
            )
        if self.moving:
            text += f" Flows still move in {counted(self.moving, 'configuration')}."
        if unfinished := self.omitted.unfinished(self.metric):
            text += f" {unfinished}."
        if self.waiting:
            text += f" {counted(self.waiting, 'cell')} of the plan not run yet."
        if add := self.mixed(names):
            marked = ticked([*map(one_line, add)])
            return (
                f"{text} Groups mix configurations, so they have no interval and no test: add"
                f" {marked} to"
                " `by` or `facet`, or fix it with `where`."
            )
        mixed = [
            one_line(name)
            for name, values in self.orders.items()
            if name not in {*names, *ALWAYS} and len(values) > 1
        ]
        return f"{text} Groups mix all values of {listed(mixed)}." if mixed else text

    def groups(self, names: Sequence[str]) -> list[tuple[tuple[str, ...], list[Sample]]]:
        """Return the samples by their values of the names, in order; groups without a sample are
        out.
        """
        return grouped(self.samples, names, self.orders)


def grouped(
    samples: Iterable[Sample], names: Sequence[str], orders: Mapping[str, Sequence[str]]
) -> list[tuple[tuple[str, ...], list[Sample]]]:
    """Return samples by their values of the names, in the order of these values."""
    found = group(samples, names)
    places = [{value: i for i, value in enumerate(orders[n])} for n in names]

    def place(key: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(at[value] for at, value in zip(places, key, strict=True))

    return [(key, found[key]) for key in sorted(found, key=place)]


def mixture(samples: Iterable[Sample], swept: Sequence[str], sampled: bool) -> tuple[str, ...]:
    """Return the swept names that separate the configurations of a group; empty: it is no
    mixture.
    """
    return names_to_add((sample.outcome for sample in samples), swept, sampled=sampled)


def only(samples: Iterable[Sample]) -> str:
    """Return the configuration that all samples are of; empty: they are of several."""
    found = {sample.outcome.configuration for sample in samples}
    return found.pop() if len(found) == 1 else ""


def load(subject: Subject, request: FigureRequest, *, endless: bool = False) -> Cases:
    """Return the values that a figure asks for. Raises NothingToDraw where there is none.

    endless: with those that are larger than any that was observed, as infinite; else they are gaps.
    """
    if request.metric is None:
        raise NothingToDraw(f"`{request.kind}` names no metric")
    try:
        metric = value_named(request.metric).name
    except KeyError:
        raise NothingToDraw(f"there is no computable metric {request.metric}") from None
    run, results = subject.run, subject.results
    measures = results.select(metric)
    rows = set(request.where.rows) if request.where else set()
    fixed = request.where.names if request.where else ()
    # A load without any value, in any cell, is that of a cell that reported none: it is no place.
    loads = sorted({_load_of(m) for m in measures}, key=lambda text: int(text or 0))
    loads = [load for load in loads if load] or [""]
    samples: list[Sample] = []
    gaps: list[Gap] = []
    omitted = Omissions()
    for configuration in run.configurations:
        chosen = {
            (o.cell, load): keys
            for o in configuration.outcomes
            for load in loads
            if (keys := _keys(configuration, o, load)) is not None
            and (not fixed or tuple(keys.get(n, "") for n in fixed) in rows)
        }
        found: set[tuple[str, str]] = set()
        for measure in measures:
            name, load = measure.flow or "", _load_of(measure)
            declared, users = run.origins.get(name, (name, ""))
            for outcome in configuration.counted:
                place, value = (outcome.cell, load), results.value(measure, outcome)
                if value is None or place not in chosen:
                    continue
                omitted.add(value)
                if value.number is not None or (endless and value.size is not None):
                    over = {PROTOCOL: value.protocol or "", FLOW: declared, USERS: users}
                    samples.append(Sample({**chosen[place], **over}, value))
                    found.add(place)
                elif value.size is not None:
                    gaps.append(Gap(chosen[place], ENDLESS))
                    found.add(place)
        for outcome in configuration.outcomes:
            for load in loads:
                place = outcome.cell, load
                if place in chosen and place not in found:
                    word = outcome.verdict_word
                    why = word if word in GAPS else "without a value"
                    gaps.append(Gap(chosen[place], why))
    where = request.where.text if request.where else ""
    if not any(isfinite(sample.value) for sample in samples):
        about = f" where {where}" if where else ""
        raise NothingToDraw(f"no cell that counts has a value of {metric}{about}")
    present = {
        name: {c.keys[name] for c in samples} | {g.keys.get(name, "") for g in gaps}
        for name in (REPETITION, *run.axes)
    }
    origins = [run.origins.get(m.flow or "", (m.flow or "", "")) for m in measures]
    shown = {sample.keys[LOAD] for sample in samples} | {gap.keys[LOAD] for gap in gaps}
    orders: dict[str, Sequence[str]] = {
        REPETITION: sorted(present[REPETITION], key=int),
        LOAD: [load for load in loads if load in shown],
        PROTOCOL: sorted({sample.keys[PROTOCOL] for sample in samples}),
        FLOW: list(dict.fromkeys(declared for declared, _ in origins)),
        USERS: list(dict.fromkeys(users for _, users in origins)),
        **{a.name: [v for v in a.values if v in present[a.name]] for a in run.plan.axes},
    }
    unit = measures[0].unit
    waiting = cells_waiting(run)
    scale = scale_for(unit, [c.value for c in samples])
    configurations = {sample.outcome.configuration for sample in samples}
    return Cases(
        metric,
        unit,
        scale,
        tuple(samples),
        tuple(gaps),
        orders,
        where,
        waiting,
        run.measured.sampled,
        run.repeated,
        omitted,
        sum(bool(sentence(metric, (), [name], run.measured.moving)) for name in configurations),
    )


def _keys(configuration: Configuration, outcome: Outcome, load: str) -> dict[str, str]:
    return {REPETITION: str(outcome.repetition), LOAD: load, **dict(configuration.bindings)}


def _load_of(measure: Measure) -> str:
    return "" if measure.load is None else str(measure.load)


def names_of(request: FigureRequest, option: str, cases: Cases) -> tuple[str, ...]:
    """Return the names that an option gives. Raises NothingToDraw for one without values here."""
    given = request.options.get(option, ())
    names = (given,) if isinstance(given, str) else given if isinstance(given, tuple) else ()
    for name in names:
        if name not in cases.orders:
            raise NothingToDraw(f"`{option}: {name}` is not a swept name, `repetition` or `flow`")
    return names


def separated(names: tuple[str, ...], elsewhere: Iterable[str], cases: Cases) -> tuple[str, ...]:
    """Return the names, and `load` and `flow` where values of several would otherwise be mixed.

    Loads of a cell share its network and its client's state, flows its network: within a cell they
    are no independent draws.
    """
    given = {*names, *elsewhere}
    if len(cases.orders[LOAD]) > 1 and LOAD not in given:
        names = (*names, LOAD)
    if len(cases.orders[FLOW]) > 1 and not {FLOW, USERS} & given:
        names = (*names, FLOW)
    return names


def number_of(request: FigureRequest, option: str) -> float:
    """Return an option that is a number; the plan has the defaults of all of them."""
    value = request.options[option]
    assert isinstance(value, float), option
    return value


def replicates(samples: Iterable[Sample]) -> list[float]:
    """Return one value for each cell: the mean over its flows, or loads, which are not independent.

    In order of repetition.
    """
    values: dict[str, list[float]] = {}
    for sample in sorted(samples, key=lambda sample: int(sample.keys[REPETITION])):
        values.setdefault(sample.outcome.cell, []).append(sample.value)
    return [fsum(found) / len(found) for found in values.values()]


def worded(names: Sequence[str], key: Sequence[str]) -> str:
    """Return `loss = 1%, flow = bbr`."""
    return ", ".join(
        f"{one_line(n)} = {one_line(v) or 'none'}" for n, v in zip(names, key, strict=True)
    )


def headed(*parts: str) -> str:
    """Return what a group is called in a text: its panel's heading and its own name, `all` without
    either.
    """
    return ", ".join(filter(None, parts)) or "all"


def valued(key: Sequence[str]) -> str:
    """Return `1%, bbr`: for labels whose names are in the heading."""
    return ", ".join(one_line(v) or "none" for v in key)


def by_text(names: Sequence[str]) -> str:
    """Return `by loss and flow`, or nothing."""
    return f"by {listed([one_line(n) for n in names])}" if names else ""


def stem(subject: Subject, request: FigureRequest) -> str:
    """Return a file name for a requested figure: its kind, metric and place in `report` (none:
    0).
    """
    place = next((i for i, r in enumerate(subject.run.plan.figures, 1) if r is request), 0)
    metric = "".join(c if c.isalnum() else "-" for c in request.metric or "")
    return f"{place:02}-{request.kind}-{metric}"
