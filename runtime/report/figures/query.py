"""The data of a requested figure: the samples of its metric, grouped by names; and what is said of
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, isfinite

from fairc.compiler.plan import ClaimUnit, FigureRequest, ShownQuantity
from fairc.dsl.model.claims import distinct_flows
from fairc.dsl.model.expressions import Selection
from fairc.dsl.model.names import base
from fairc.runtime.claims.intervals import quantity_of
from fairc.runtime.claims.values import Values
from fairc.runtime.formatting import (
    Cell,
    Scale,
    counted,
    listed,
    one_line,
    ordinal,
    scale_for,
)
from fairc.runtime.repetitions.mixtures import names_to_add, pools_cells, ticked
from fairc.runtime.repetitions.reading import Measure, Omissions, Outcome, UnknownName, Value
from fairc.runtime.repetitions.samples import (
    FLOW,
    LOAD,
    PROTOCOL,
    REPETITION,
    Sample,
    Where,
    each_sample,
    group,
    load_text,
)
from fairc.runtime.repetitions.stationarity import moved
from fairc.runtime.report.endings import cells_waiting
from fairc.runtime.report.protocols import sentences
from fairc.runtime.report.run import Run
from fairc.runtime.report.sheet import Sheet
from fairc.runtime.statistics import Estimate, median
from fairc.runtime.statistics.estimates import CONFIDENCE
from fairc.runtime.statistics.repeated import FIXED
from fairc.words.figures import FIGURES

from .base import Drawing, NothingToDraw, Picture, Subject
from .layout import Key
from .style import colour, dash
from .wording import absent_flows, sides_of, worded

USERS = "users"
SUBFLOW = "subflow"
ALWAYS = (REPETITION, LOAD, PROTOCOL, FLOW, SUBFLOW, USERS)

# Why a cell has no value, in the order in which captions list it.
ENDLESS = "larger than any value"
GAPS = ("invalid", "failed", "without a value", ENDLESS)
Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """A cell, or a page load of it, that ran and has no value that counts; why: one of `GAPS`."""

    keys: Mapping[str, str]
    why: str


Estimated = Callable[[Sequence[Sample], float], Estimate]
"""Returns the estimate of a group of samples, with its interval at a level."""


@dataclass(frozen=True, slots=True)
class Query:
    """All values of a metric that a figure may show.

    metric: its full name. scale: that the values are to be shown in. samples: that count and have a
    value, with `flow` as declared and `users` among their keys; unscaled, in `unit`, an SI base
    unit. gaps: cells left out. orders: name -> its values in the order in which they are shown.
    omitted: what the values leave out. estimated: of an expression of statistics, whose samples are
    the cells that it is made of, all with its value; None: of a metric.
    """

    subject: Subject
    request: FigureRequest
    metric: str
    unit: str
    scale: Scale
    samples: tuple[Sample, ...]
    gaps: tuple[Gap, ...]
    orders: Mapping[str, Sequence[str]]
    omitted: Omissions = field(default_factory=Omissions)
    estimated: Estimated | None = None

    def option(self, name: str) -> str:
        """Return an option that is a word; the plan has the defaults of all of them."""
        return str(self.request.options[name])

    def number(self, name: str) -> float:
        """Return an option that is a number."""
        value = self.request.options[name]
        assert isinstance(value, float), name
        return value

    def names(self, option: str) -> Names:
        """Return the names that an option gives. Raises NothingToDraw for one without values
        here.
        """
        given = self.request.options.get(option, ())
        names = (given,) if isinstance(given, str) else given if isinstance(given, tuple) else ()
        for name in names:
            if name not in self.orders:
                raise NothingToDraw(
                    f"`{option}: {name}` is not a swept name, `repetition` or `flow`"
                )
        return names

    def separated(self, names: Names, *elsewhere: str) -> Names:
        """Return the names, and `load` and `flow` where values of several would otherwise be mixed.

        Loads of a cell share its network and its client's state, flows its network: within a cell
        they are no independent draws.
        """
        given = {*names, *elsewhere}
        if len(self.orders[LOAD]) > 1 and LOAD not in given:
            names = (*names, LOAD)
        if len(self.orders[FLOW]) > 1 and not {FLOW, USERS} & given:
            names = (*names, FLOW)
        if len(self.orders[SUBFLOW]) > 1 and SUBFLOW not in given:
            names = (*names, SUBFLOW)
        return names

    def each(self) -> Names:
        """Return what separates the panels of a figure that has one for each group."""
        return self.separated((*self.names("facet"), *self.names("by")))

    def swept_by(self, names: Names, *elsewhere: str) -> Names:
        """Return the names, and the swept names that would otherwise mix configurations."""
        given = {*names, *elsewhere}
        rest = (n for n in self.subject.run.axes if n not in given and len(self.orders[n]) > 1)
        return (*names, *rest)

    def groups(
        self, names: Sequence[str], of: Iterable[Sample] | None = None
    ) -> list[tuple[Names, list[Sample]]]:
        """Return samples by their values of the names, in order; groups without a sample are out.

        of: which samples; None: all.
        """
        found = group(self.samples if of is None else of, names)
        places = [{value: i for i, value in enumerate(self.orders[n])} for n in names]

        def place(key: Names) -> tuple[int, ...]:
            return tuple(at[value] for at, value in zip(places, key, strict=True))

        return [(key, found[key]) for key in sorted(found, key=place)]

    def keys(self, names: Names) -> list[Key]:
        """Return the legend of a line for each group."""
        texts = [one_line(worded(names, key)) for key, _ in self.groups(names)]
        return [Key(text, colour(i), dash(i)) for i, text in enumerate(texts) if text]

    def check(self, panels: int, groups: int = 0, what: str = "", lines: int = 0) -> None:
        """Raise NothingToDraw where a figure has more than a reader can tell apart.

        groups: in all panels, which are called `what`; lines: of the panel with most.
        """
        most = FIGURES[self.request.kind]
        if groups > most.groups:
            raise NothingToDraw(f"{groups} {what} are more than {most.groups}")
        if panels > most.panels:
            raise NothingToDraw(f"{panels} panels are more than {most.panels}")
        if lines > most.lines > 0:
            raise NothingToDraw(f"{lines} groups are more than {most.lines} lines can show")

    def mixture(self, samples: Iterable[Sample]) -> Names:
        """Return the swept names that separate the configurations of a group; empty: it is no
        mixture.
        """
        if self.estimated is not None:
            return ()  # it compares configurations
        swept = tuple(name for name in self.orders if name not in ALWAYS)
        sampled = self.subject.run.measured.sampled
        return names_to_add((s.outcome for s in samples), swept, sampled=sampled)

    def mixed(self, names: Sequence[str]) -> Names:
        """Return what separates the configurations within groups by these names; empty: no group
        mixes any.
        """
        found: dict[str, None] = {}
        for _, members in self.groups(names):
            found |= dict.fromkeys(self.mixture(members))
        return tuple(found)

    def median_of(
        self, members: Sequence[Sample], level: float
    ) -> tuple[tuple[float, ...], Estimate]:
        """Return the values of a group, in order of repetition, and their median with its interval.

        Values of several configurations or flows have an interval that nobody shows: none is left
        out for it.
        """
        mixed = pools_cells([s.outcome for s in members]) or self.mixture(members)
        repeats = FIXED if mixed else self.subject.run.repeated
        values = tuple(repeats.counted([sample.value for sample in in_order(members)]))
        return values, repeats.median(values, level)

    @property
    def expression(self) -> ShownQuantity | None:
        """The expression that it shows instead of a metric."""
        return self.request.expression

    @property
    def definition(self) -> str:
        """The expression as written, with its name where it has one; empty without one."""
        shown = self.expression
        if shown is None:
            return ""
        text = f"`{one_line(shown.text)}`"
        return f"{shown.name} = {text}" if shown.name else text

    @property
    def name(self) -> str:
        """The name of the metric, with its flow where it is that of one."""
        return f"{self.metric} of {self.request.flow}" if self.request.flow else self.metric

    @property
    def label(self) -> str:
        """The label of an axis of the metric, with its unit."""
        return self.labelled(self.scale)

    def labelled(self, scale: Scale) -> str:
        """Return the same in another unit; an expression without a name is `value`."""
        name = self.name if self.expression is None else self.expression.name or "value"
        return f"{name} ({scale.unit})" if scale.unit else name

    def title(self, *parts: str) -> str:
        """Return a heading: the metric, what it is shown by, and the condition."""
        where = self.request.where
        shown = " ".join(filter(None, (self.name, *parts)))
        return f"{shown}, where {one_line(where.text)}" if where else shown

    def basis(self, names: Sequence[str], *, sides: bool = True) -> str:
        """Say what the figure is made of, in sentences: which side is whose, how many cells, mixed,
        left out, missing.

        names: what separates the figure's groups. sides: False: the figure says itself what a value
        with sides means.
        """
        run = self.subject.run
        cells = len({sample.outcome.cell for sample in self.samples})
        whose = sides_of(run, self.metric) if sides and self.expression is None else ""
        text = f"{whose} n = {counted(cells, 'cell')}".lstrip()
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
        configurations = {sample.outcome.configuration for sample in self.samples}
        text += "".join(self._moving(configurations))
        if unfinished := self.omitted.unfinished(self.metric):
            text += f" {unfinished}."
        flows = self.orders[FLOW] if self.expression is None else ()
        if absent := absent_flows(run, flows, configurations):
            text += f" {absent}."
        if PROTOCOL not in names and (over := sentences(run, (s.of for s in self.samples))):
            text += f" {over}."
        if waiting := cells_waiting(run):
            text += f" {counted(waiting, 'cell')} of the plan not run yet."
        if add := self.mixed(names):
            marked = ticked([*map(one_line, add)])
            return (
                f"{text} Groups mix configurations, so they have no interval and no test: add"
                f" {marked} to"
                " `by` or `facet`, or fix it with `where`."
            )
        groups = [members for _, members in self.groups(names)]
        mixed = [
            one_line(name)
            for name in self.orders
            if name not in {*names, *ALWAYS}
            and any(len({sample.keys.get(name) for sample in of}) > 1 for of in groups)
        ]
        return f"{text} Groups mix all values of {listed(mixed)}." if mixed else text

    def _moving(self, configurations: Collection[str]) -> Iterator[str]:
        """Yield sentences on configurations whose flows move, or are not measured at one time."""
        measured = self.subject.run.measured
        terms = self.expression.units[0].terms if self.expression else ()
        about = {term.metric for term in terms} or {self.metric}
        own = {sample.flow for sample in self.samples if sample.flow}
        moves, formulas = measured.moving, measured.plan.formulas
        found = [
            {change for name in about for change in moved(name, own, [of], moves, formulas)}
            for of in configurations
        ]
        if still := sum("" in changes for changes in found):
            yield f" Flows still move in {counted(still, 'configuration')}."
        if driven := sum(bool(changes - {""}) for changes in found):
            yield (
                f" In {counted(driven, 'configuration')} flows move while the network or the set"
                " of flows changes as declared."
            )
        if apart := len(self._apart(configurations, own)):
            yield (
                f" In {counted(apart, 'configuration')} flows are measured over different times:"
                " their rates do not add up."
            )

    def _apart(self, configurations: Iterable[str], flows: Collection[str]) -> set[str]:
        """Return the configurations of which it shows rates of flows over different times, or
        their sum.
        """
        measured = self.subject.run.measured
        if self.expression is None:
            return {c for c in configurations if measured.unequal_times(self.metric, c, flows)}
        sums = (measured.times_of_sums(unit.expression) for unit in self.expression.units)
        return {configuration for of in sums for configuration in of}

    @property
    def stem(self) -> str:
        """The name of the figure's files: kind, metric and place in `report` (none: 0)."""
        figures = enumerate(self.subject.run.plan.figures, 1)
        place = next((i for i, r in figures if r is self.request), 0)
        of = self.expression.name or "expression" if self.expression else self.request.metric
        shown = "-".join(filter(None, (of, self.request.flow)))
        metric = "".join(c if c.isalnum() else "-" for c in shown)
        return f"{place:02}-{self.request.kind}-{metric}"

    def drawing(self, title: str, caption: str, alt: str, picture: Picture) -> Drawing:
        """Return the figure that was asked for."""
        return Drawing(self.stem, "requested", title, caption, alt, picture)

    def sheet(
        self,
        title: str,
        caption: str,
        head: Iterable[tuple[str, bool]],
        rows: Iterable[tuple[Cell, ...]],
    ) -> Sheet:
        """Return the table that was asked for."""
        return Sheet(self.stem, "requested", title, caption, tuple(head), tuple(rows))


def load(subject: Subject, request: FigureRequest, *, endless: bool = False) -> Query:
    """Return the values that a figure asks for. Raises NothingToDraw where there is none.

    endless: with those that are larger than any that was observed, as infinite; else they are gaps.
    """
    if request.expression is not None:
        return _of_expression(subject, request, request.expression)
    run, results = subject.run, subject.results
    metric = _metric(run, request)
    measures = [m for m in results.each(metric) if _is_of(request.flow, run, m.flow or "")]
    # A load without any value, in any cell, is that of a cell that reported none: it is no place.
    loads = sorted({load_text(m) for m in measures}, key=lambda text: int(text or 0))
    loads = [load for load in loads if load] or [""]
    omitted, samples, gaps = Omissions(), [], []
    found: set[tuple[str, str]] = set()
    outcomes = [o for c in run.configurations for o in c.counted]
    cells, chosen = _condition(request.where and request.where.without(FLOW)), request.where
    flows = chosen.values_of(FLOW) if chosen else {}
    rows = _condition(chosen)

    def is_shown(sample: Sample) -> bool:
        if not _is_of(request.flow, run, sample.flow):
            return False
        return not flows or rows({**sample.keys, FLOW: _origin(run, sample.flow)[0]})

    every = each_sample(outcomes, results.values(metric), where=cells)
    asked = [sample for sample in every if is_shown(sample)]
    of = {sample.flow for sample in asked}
    crowds = subject.crowds({_whole(run, flow)[0] for flow in of})
    for sample in asked:
        whole, path = _whole(run, sample.flow)
        declared, users = _origin(run, sample.flow)
        shown = crowds.get(whole, declared)
        load = sample.keys[LOAD]
        if load not in loads:
            continue
        omitted.add(sample.of)
        if sample.of.number is not None or (endless and sample.of.size is not None):
            keys = {SUBFLOW: path, **sample.keys, FLOW: shown, USERS: users}
            samples.append(sample._replace(keys=keys))
        elif sample.of.size is not None:
            gaps.append(Gap(_place(sample.outcome, load), ENDLESS))
        if sample.of.size is not None:
            found.add((sample.outcome.cell, load))
    gaps += _without(run, loads, found, cells)
    if not any(isfinite(sample.value) for sample in samples):
        about = f" of {request.flow}" if request.flow else ""
        about += f" where {request.where.text}" if request.where else ""
        raise NothingToDraw(f"no cell that counts has a value of {metric}{about}")
    unit = measures[0].unit
    own = [m for m in measures if (m.flow or "") in of]
    return Query(
        subject,
        request,
        metric,
        unit,
        scale_for(unit, [sample.value for sample in samples]),
        tuple(samples),
        tuple(gaps),
        _orders(run, own, crowds, [*(s.keys for s in samples), *(g.keys for g in gaps)]),
        omitted,
    )


def _metric(run: Run, request: FigureRequest) -> str:
    """Return the full name of what a figure shows. Raises NothingToDraw."""
    if request.metric is None:
        raise NothingToDraw(f"`{request.kind}` names no metric")
    try:
        return run.measured.named(request.metric)[0]
    except UnknownName:
        raise NothingToDraw(f"there is no computable metric {request.metric}") from None


def _without(
    run: Run,
    loads: Sequence[str],
    found: Collection[tuple[str, str]],
    condition: Where,
) -> Iterator[Gap]:
    """Yield what has no value at all, of the places that meet a condition.

    found: cells and loads that have one.
    """
    for outcome in (o for c in run.configurations for o in c.outcomes):
        for load in loads:
            keys = _place(outcome, load)
            if (outcome.cell, load) not in found and condition(keys):
                word = outcome.verdict_word
                yield Gap(keys, word if word in GAPS else "without a value")


def _of_expression(subject: Subject, request: FigureRequest, shown: ShownQuantity) -> Query:
    """Return the values of an expression of statistics, by the intervals that decide claims."""
    run = subject.run
    axes, values = [axis.name for axis in run.plan.axes], Values(run.measured, shown.terms)
    cells: dict[Names, list[Outcome]] = {}
    for outcome in run.measured.outcomes:
        cells.setdefault(tuple(dict(outcome.bindings)[name] for name in axes), []).append(outcome)
    places = [axes.index(name) for name in shown.shared]
    flows = distinct_flows(shown.units)
    names = (*shown.shared, FLOW)
    units: dict[tuple[str, ...], ClaimUnit] = {
        (*(unit.terms[0].cells[place] for place in places), flow): unit
        for unit, flow in zip(shown.units, flows, strict=True)
    }

    def estimate(unit: ClaimUnit, level: float) -> Estimate:
        common, repeats = bool(run.plan.common), run.repeated
        return quantity_of(unit, values, level, common=common, repeated=repeats).estimate

    def estimated(samples: Sequence[Sample], level: float) -> Estimate:
        (key,) = {tuple(sample.keys[name] for name in names) for sample in samples}
        return estimate(units[key], level)

    samples, gaps = [], []
    for key, unit in units.items():
        found = estimate(unit, CONFIDENCE).value
        for row in dict.fromkeys(term.cells for term in unit.terms):
            for outcome in cells.get(row, ()):
                keys = dict(zip(names, key, strict=True))
                keys |= {REPETITION: str(outcome.repetition), LOAD: "", PROTOCOL: ""}
                if found is not None and outcome.counts:
                    measure = Measure(shown.name or shown.text, None, shown.unit)
                    every = {SUBFLOW: "", **keys, USERS: ""}
                    samples.append(Sample(every, Value(measure, outcome, found)))
                else:
                    word = outcome.verdict_word
                    gaps.append(Gap(keys, word if word in GAPS else "without a value"))
    if not samples:
        raise NothingToDraw(f"no configuration has a value of {shown.name or shown.text}")
    every_key = [*(s.keys for s in samples), *(g.keys for g in gaps)]
    return Query(
        subject,
        request,
        shown.name or shown.text,
        shown.unit,
        scale_for(shown.unit, [sample.value for sample in samples]),
        tuple(samples),
        tuple(gaps),
        _orders(run, (), {}, every_key)
        | {FLOW: [*dict.fromkeys(flows)], SUBFLOW: [""], USERS: [""]},
        estimated=estimated,
    )


def _is_of(wanted: str, run: Run, flow: str) -> bool:
    """Whether a flow, by its own name, belongs to the one that is asked for, or to those of all its
    indexes; empty: to any.
    """
    return not wanted or wanted in (flow, base(flow), *run.origins.get(flow, ()))


def _whole(run: Run, flow: str) -> tuple[str, str]:
    """Return the flow of a subflow, and its path; of any other flow itself, and no path."""
    return run.subflows.get(flow, (flow, ""))


def _origin(run: Run, flow: str) -> tuple[str, str]:
    """Return the name of a flow, or of a subflow's flow, without its user, and its group of
    users.
    """
    whole, _ = _whole(run, flow)
    return run.origins.get(whole, (whole, ""))


def _condition(chosen: Selection | None) -> Where:
    """Return what `where` asks of the names of a sample."""
    if chosen is None:
        return lambda _: True
    names, rows = chosen.names, set(chosen.rows)
    return lambda keys: tuple(keys.get(name, "") for name in names) in rows


def _place(outcome: Outcome, load: str) -> dict[str, str]:
    return {REPETITION: str(outcome.repetition), LOAD: load, **dict(outcome.bindings)}


def _orders(
    run: Run,
    measures: Sequence[Measure],
    crowds: Mapping[str, str],
    keys: Sequence[Mapping[str, str]],
) -> dict[str, Sequence[str]]:
    """Return name -> the values that occur among the keys, in the order in which they are shown."""
    there = {name: {k[name] for k in keys if name in k} for name in (*ALWAYS, *run.axes)}
    paths = [_whole(run, m.flow or "") for m in measures]
    origins = [_origin(run, whole) for whole, _ in paths]
    shown = [crowds.get(whole, o[0]) for (whole, _), o in zip(paths, origins, strict=True)]
    return {
        REPETITION: sorted(there[REPETITION], key=int),
        LOAD: sorted(there[LOAD], key=lambda load: int(load or 0)),
        PROTOCOL: sorted(there[PROTOCOL]),
        FLOW: list(dict.fromkeys(shown)),
        SUBFLOW: list(dict.fromkeys(path for _, path in paths)),
        USERS: list(dict.fromkeys(users for _, users in origins)),
        **{a.name: [v for v in a.values if v in there[a.name]] for a in run.plan.axes},
    }


@dataclass(frozen=True, slots=True)
class Summing:
    """The summary of a group's cells, by the options of a figure."""

    query: Query

    @property
    def level(self) -> float:
        """The level of intervals."""
        return self.query.number("ci") if "ci" in self.query.request.options else CONFIDENCE

    @property
    def percentile(self) -> float | None:
        """Which percentile; None: the statistic `stat`."""
        found = self.query.request.options.get("percentile")
        assert found is None or isinstance(found, float)
        return found

    def __call__(self, samples: Sequence[Sample]) -> Estimate:
        """Return the estimate over the cells, each the mean over its flows; of a mixture no
        interval.
        """
        if self.query.estimated is not None:
            return self.query.estimated(samples, self.level)
        add = self.query.mixture(samples)
        found = self.of(replicates(samples), mixed=bool(add))
        if add:
            reason = f"mixes {listed([*map(one_line, add)])}"
            return replace(found, low=None, high=None, reason=reason)
        return found

    def is_endless(self, estimate: Estimate) -> bool:
        """Whether it is a median over cells that is larger than any value that was observed."""
        return self.query.estimated is None and self.what == "median" and estimate.is_endless

    def of(self, values: Sequence[float], *, mixed: bool = False) -> Estimate:
        """Return the estimate over independent values; mixed: they are of several
        configurations.
        """
        repeats = FIXED if mixed else self.query.subject.run.repeated
        if self.percentile is not None:
            return repeats.percentile(values, self.percentile, self.level)
        return (repeats.mean if self.what == "mean" else repeats.median)(values, self.level)

    def remark(self, names: Sequence[str]) -> str:
        """Say whether cells have means of several flows, and in how many groups by these names
        means are biased, or their intervals; empty if neither.
        """
        members = [found for _, found in self.query.groups(names)]
        groups = [self(found) for found in members]
        biased = [found.remark for found in groups if found.remark]
        pooled = any(pools_cells([s.outcome for s in found]) for found in members)
        several = self.query.estimated is None and pooled
        mean = " A cell has the mean over its flows." if several else ""
        if not biased:
            return mean
        return (
            f"{mean} In {len(biased)} of {counted(len(groups), 'group')}:"
            f" {listed([*dict.fromkeys(biased)], 2)}."
        )

    @property
    def what(self) -> str:
        """Name it: `median`, `10th percentile`."""
        return self.query.option("stat") if self.percentile is None else ordinal(self.percentile)

    @property
    def of_claims(self) -> str:
        """Name the interval of an expression."""
        return f"{100 * self.level:g} % interval, computed as that of a claim"

    @property
    def interval(self) -> str:
        """Name the interval and how it is made."""
        repeats = self.query.subject.run.repeated
        ranks = repeats.interval if self.percentile is None else repeats.interval_of_percentiles
        how = "Student's t" if self.what == "mean" else ranks
        return f"{100 * self.level:g} % interval ({how})"


def in_order(samples: Iterable[Sample]) -> list[Sample]:
    """Return samples in order of repetition."""
    return sorted(samples, key=lambda sample: int(sample.keys[REPETITION]))


def replicates(samples: Iterable[Sample]) -> list[float]:
    """Return one value for each cell: the mean over its flows, or loads, which are not independent.

    In order of repetition.
    """
    values: dict[str, list[float]] = {}
    for sample in in_order(samples):
        values.setdefault(sample.outcome.cell, []).append(sample.value)
    return [fsum(found) / len(found) for found in values.values()]


def of_configurations(samples: Iterable[Sample]) -> list[float]:
    """Return one value for each configuration: the median of its cells."""
    members: dict[str, list[Sample]] = {}
    for sample in samples:
        members.setdefault(sample.outcome.configuration, []).append(sample)
    medians = (median(replicates(cells)).value for cells in members.values())
    return [value for value in medians if value is not None]


def only(samples: Iterable[Sample]) -> str:
    """Return the configuration that all samples are of; empty: they are of several."""
    found = {sample.outcome.configuration for sample in samples}
    return found.pop() if len(found) == 1 else ""
