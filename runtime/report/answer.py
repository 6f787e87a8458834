"""The answer of a run: the requested values per configuration, as a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from string import ascii_lowercase
from typing import NamedTuple

from fairc.dsl.model.metric_names import request_label, unmarked
from fairc.runtime.formatting import (
    INFINITE,
    MINUS,
    Interval,
    Number,
    counted,
    listed,
    number,
    one_line,
)
from fairc.runtime.metrics.registry import full_name, presentation, title
from fairc.runtime.repetitions.reading import Measure
from fairc.runtime.repetitions.remarks import merged, without_numbers
from fairc.runtime.repetitions.samples import Group
from fairc.runtime.repetitions.sides import LEAST, decided, side
from fairc.runtime.repetitions.stationarity import EVERY
from fairc.runtime.repetitions.times import Time, between_times
from fairc.runtime.statistics import Estimate

from .protocols import WHY, other_protocol
from .run import Configuration, Run
from .summary import EVERYWHERE, Results

# Up to here configurations have their numbers in large type; beyond, a picture of all.
MAX_TILES = 3
# Numbers in a line at most; the table of all metrics has the rest.
MAX_COLUMNS = 8

NO_VALUE = "no value"


@dataclass(frozen=True, slots=True)
class Entry:
    """A summary as it is printed.

    measure, what: the measure and its name. n: the number of values. note: the values, if
    they are too few for an interval (`lead.basis` says so once), or that all are equal; why there
    is no value; or empty. aside: of a value with sides, who dominates; of several flows, how many,
    and their smallest and largest value; or empty. time: over which it is a rate, where those of
    other flows are over others, unless `aside` has it. remarks: how to read it.
    """

    measure: Measure
    what: str
    unit: str
    median: Number | None
    low: Number | None
    high: Number | None
    n: int
    note: str = ""
    aside: str = ""
    time: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """Its name with its unit: `goodput of a (Mbit/s)`."""
        return f"{self.what} ({self.unit})" if self.unit else self.what

    @property
    def remark(self) -> str:
        """The aside, the time and all remarks."""
        return "; ".join(filter(None, (self.aside, self.time, *self.remarks)))

    @property
    def ends(self) -> Interval | None:
        """The ends of the interval; None without one."""
        return (self.low, self.high) if self.low and self.high else None

    @property
    def why(self) -> str:
        """The reason why there is no median."""
        return "; ".join(filter(None, (self.remark, self.note))) or NO_VALUE

    @property
    def interval(self) -> str:
        """The interval without markup: `[0.50, 0.55]`, or empty."""
        return f"[{self.low.text}, {self.high.text}]" if self.low and self.high else ""


@dataclass(frozen=True, slots=True)
class Row:
    """The entries of one configuration; left_out: its cells that do not count."""

    configuration: Configuration
    entries: tuple[Entry, ...]
    left_out: int

    def entry(self, measure: Measure) -> Entry | None:
        """Return the entry of a measure, or None where the configuration has none."""
        return next((e for e in self.entries if e.measure == measure), None)

    def remarks(self, measure: Measure) -> tuple[str, ...]:
        """Return the remarks on a value, or why there is none."""
        found = self.entry(measure)
        return found.remarks if found is not None and found.median else (self.why(measure),)

    def why(self, measure: Measure) -> str:
        """Return why the configuration has no value of a measure."""
        if not self.configuration.counted:
            return "no repetition counts"
        if (found := self.entry(measure)) is not None:
            return found.why
        return "no such flow" if measure.flow is not None else NO_VALUE


def _own(text: str) -> str:
    """Return a remark on how flows move without saying that they are not the value's own."""
    return text.removeprefix(EVERY)


class Footnote(NamedTuple):
    """A remark below a table; numbers in which its places differ are ranges."""

    mark: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The requested values.

    sentences: what no row of the table says. scale: what a value with sides means, or empty.
    elsewhere: the requested values for which the table has no room, as text, or empty.
    """

    sentences: tuple[str, ...]
    groups: tuple[Row, ...]
    scale: str = ""
    elsewhere: str = ""

    @property
    def alone(self) -> bool:
        """Whether there is one configuration, whose table has a row for each entry."""
        return len(self.groups) == 1

    @property
    def columns(self) -> tuple[Entry, ...]:
        """One entry of each measure that occurs, for the heads of a table."""
        return tuple({e.measure: e for g in self.groups for e in g.entries}.values())

    @cached_property
    def footnotes(self) -> dict[str, Footnote]:
        """The remarks that stand in several places of the table, apart from their numbers: text ->
        its footnote.
        """
        found: dict[str, list[str]] = {}
        for group in self.groups:
            for column in self.columns:
                for text in group.remarks(column.measure):
                    found.setdefault(without_numbers(_own(text)), []).append(text)
        several = [texts for texts in found.values() if len(texts) > 1]
        return {
            text: Footnote(
                ascii_lowercase[place % 26] * (1 + place // 26), merged(map(_own, texts))[0]
            )
            for place, texts in enumerate(several)
            for text in texts
        }


def answer(run: Run, results: Results) -> Answer:
    """Return the answer of a run."""
    absent = _without_values(run, results)
    measures, others = _shown(run, results, absent)
    groups = tuple(
        Row(c, entries(run, results, measures, c), len(c.outcomes) - len(c.counted))
        for c in run.configurations
    )
    common = _common_times(groups) if len(groups) > MAX_TILES else {}
    groups = tuple(
        replace(g, entries=tuple(_with_time(e, e.measure not in common) for e in g.entries))
        for g in groups
    )
    sentences = tuple(_sentences(run, results, groups, absent, common))
    elsewhere = "; ".join(map(_name, others))  # names have commas
    return Answer(sentences, groups, _scale(run, measures), elsewhere)


def _common_times(groups: Sequence[Row]) -> dict[Measure, str]:
    """Return the times of rates that are the same in all configurations, for a sentence: `from 0 to
    100 s`; each of them in every row would hide the values.
    """
    found: dict[Measure, set[str]] = {}
    for e in (e for group in groups for e in group.entries if e.median):
        found.setdefault(e.measure, set()).add(e.time)
    return {m: time for m, times in found.items() if len(times) == 1 and (time := min(times))}


def _with_time(of: Entry, beside: bool) -> Entry:
    """Return an entry with its time in its aside, if that is where it stands."""
    if not (beside and of.time):
        return of
    return replace(of, aside="; ".join(filter(None, (of.aside, of.time))), time="")


def _scale(run: Run, measures: Sequence[Measure]) -> str:
    """Say what the ends of a value with sides mean; empty where there is none."""
    of = [title(m.metric) for m in measures if presentation(m.metric).has_sides]
    if not of or len(run.sessions) != 2:
        return ""
    first, second = map(one_line, run.sessions)
    ends = f"{MINUS}0.5 where {first} gets all, 0.5 where {second} does"
    return f"{of[0]}: 0 where both get the same, {ends}."


def _shown(
    run: Run, results: Results, absent: Collection[Measure]
) -> tuple[list[Measure], list[Measure]]:
    """Return the measures of the table, in the order in which `measure` names their metrics, and
    those that would be in it, too, if it were wider.

    A value that every run has (goodput) is among them if it was requested, next to a metric that
    wants it beside it, and if nothing else was requested: for a flow with its own offered load
    (requests, a video) it merely shows this load. One that is always shown is not where nobody
    asked for it and it has no value (page loads, of which `harm` asks everything). A sweep has a
    column for each, so there the last ones are left out, if there are too many; and so is one that
    is `absent`. A metric without a value may name one that is shown too (F of four flows: Jain's
    index).
    """
    order: dict[str, int] = {}
    for request in run.plan.measure:
        order.setdefault(request.label, len(order))
    requested = [full_name(request.label) for request in run.plan.measure]
    beside = {presentation(name).beside: request_label(name) for name in requested[::-1]}
    asked = [m for m in results.requested if m.metric not in EVERYWHERE]
    for measure in [*asked]:
        if not any(results.group(measure, each).values for each in run.configurations):
            others = results.select(presentation(measure.metric).stand_in)
            asked += [m for m in others if m not in asked]
    for measure in absent:
        asked.remove(measure)
    asked += [
        m
        for m in results.measures
        if presentation(m.metric).always
        and m not in asked
        and any(results.group(m, each).values for each in run.configurations)
    ]
    alone = not asked
    for name in EVERYWHERE:
        order.setdefault(name, order.get(beside.get(name, ""), len(order)))
        if alone or name in requested or name in beside:
            asked += results.select(name)

    def place(measure: Measure) -> int:
        return order.get(request_label(measure.metric), len(order))

    asked.sort(key=place)
    if len(run.configurations) == 1:
        return asked, []
    most = max(MAX_COLUMNS, sum(place(measure) == 0 for measure in asked))
    return asked[:most], asked[most:]


def _without_values(run: Run, results: Results) -> dict[Measure, str]:
    """Return the measures that no configuration of a sweep has, all for one reason, with it."""
    found = {}
    for measure in results.requested:
        several = len(run.configurations) > 1 and measure.metric not in EVERYWHERE
        groups = [results.group(measure, c) for c in run.configurations]
        if several and not any(group.values for group in groups):
            reasons = {reason for group in groups for reason in group.omitted.reasons}
            if len(reasons) == 1:
                found[measure] = reasons.pop()
    return found


def entries(
    run: Run, results: Results, measures: Sequence[Measure], configuration: Configuration
) -> tuple[Entry, ...]:
    """Return the printed summaries of one configuration; a measure it lacks is left out."""
    found = []
    own = {formula.name for formula in run.plan.formulas}
    for measure in measures:
        group = results.group(measure, configuration)
        if not (group.values or group.omitted.reasons or group.numbers):
            continue
        shown = of_flows(results, measure, group)
        if not group.values:
            found.append(replace(shown, note="; ".join(group.omitted.reasons)))
            continue
        remarks = (
            _protocol(run, group),
            _chance(results, measure, configuration),
            group.omitted.text(measure.metric),
            group.moving,
            group.times if measure.metric in own else "",
        )
        if presentation(measure.metric).has_sides:
            shown = replace(shown, aside=dominance(group.median, group.used, run.sessions))
        shown = replace(shown, time=_time(run, results, measure, configuration))
        found.append(replace(shown, remarks=tuple(filter(None, remarks))))
    return tuple(found)


def of_flows(results: Results, measure: Measure, group: Group) -> Entry:
    """Return the number of a group; of several flows as one with how many, and between what."""
    found = entry(results, measure, group)
    each = [values for values in group.crowd.values() if values]
    if not each:
        return found
    scale, decimals = results.formats[measure.metric]
    ends = min(map(min, each)), max(map(max, each))
    low, high = (number(x / scale.factor, decimals) if math.isfinite(x) else INFINITE for x in ends)
    flows = counted(len(each), "flow")
    return replace(found, what=f"{found.what} (mean)", aside=f"{flows}: {low} to {high}")


def entry(results: Results, measure: Measure, group: Group) -> Entry:
    """Return the median of a group as the page prints its metric."""
    shown_as = presentation(measure.metric)
    scale, decimals = results.formats[measure.metric]

    def shown(x: float) -> str:
        if not math.isfinite(x):
            return INFINITE
        if shown_as.is_yes_or_no and x in (0, 1):
            return "yes" if x else "no"
        return number(x / scale.factor, decimals)

    def value(x: float | None) -> Number | None:
        return None if x is None else Number(shown(x), repr(x))

    median, note = group.median, ""
    if median.n > 1 and median.low is None:
        if min(group.used) == max(group.used):
            note = f"all {median.n} values are equal"
        else:
            note = f"values: {', '.join(map(shown, group.used))}"
    return Entry(
        measure,
        _name(measure),
        scale.unit,
        value(math.inf if median.is_endless else median.value),
        value(median.low),
        value(median.high),
        median.n,
        note,
    )


def _name(measure: Measure) -> str:
    """Return what a measure is called: `goodput of a`."""
    name, bracket, scope = title(measure.metric).partition(" (")
    what = f"{name} of {one_line(measure.flow)}" if measure.flow is not None else name
    what += bracket + scope
    return what + (f", load {measure.load}" if measure.load is not None else "")


def _time(run: Run, results: Results, measure: Measure, configuration: Configuration) -> str:
    """Return over which time a rate is, where those of other flows are over others."""
    found = _unequal(run, results, measure.metric, configuration)
    if measure.flow is None or measure.flow not in found:
        return ""
    longest = max(end for _, end in found.values())
    return f"from {between_times(found[measure.flow], longest)}"


def _unequal(
    run: Run, results: Results, metric: str, configuration: Configuration
) -> Mapping[str, Time]:
    """Return the times of the flows of a configuration that have a value of a metric, where they
    are not the same; none for a metric of the file's own, which has a remark (`Group.times`).
    """
    if any(formula.name == metric for formula in run.plan.formulas):
        return {}
    flows = {m.flow for m in results.select(metric) if results.group(m, configuration).numbers}
    return run.measured.unequal_times(metric, configuration.id, {f for f in flows if f})


def _protocol(run: Run, group: Group) -> str:
    """Return which other version of HTTP a load ran over."""
    values = (value for value in group.members if value.outcome.counts)
    over = dict.fromkeys(other for v in values if (other := other_protocol(run, v)))
    return f"over {listed([*over])}: {WHY}" if over else ""


def _chance(results: Results, measure: Measure, configuration: Configuration) -> str:
    """Return what chance alone would give."""
    for floor in results.select(presentation(measure.metric).chance):
        chance = results.group(floor, configuration).median.value
        if chance is not None:
            return (
                f"{number(1 - chance, 3)} by chance alone: Jain's index of a slot if a coin toss"
                " decided to which flow each packet belongs"
            )
    return ""


def dominance(median: Estimate, values: Sequence[float], sessions: tuple[str, ...]) -> str:
    """Return who dominates according to a value with sides, by the interval of the median where
    there is one, else by the values (`repetitions/sides.py`).
    """
    if len(sessions) != 2 or median.value is None:
        return ""
    first, second = map(one_line, sessions)
    names, near = {-1: first, 1: second}, f"within ±{LEAST:g}"
    if median.low is not None and median.high is not None:
        found = decided(median)
        if found is None and median.low <= 0 <= median.high:
            return "dominant: undecided, the interval contains 0"
        if found is None:
            return f"dominant: undecided, the median is {near}"
        return f"dominant: {names[found]}" if found else f"dominant: neither, {near}"
    counts = {name: sum(side(v) == of for v in values) for of, name in names.items()}
    parts = [f"{name} in {count}" for name, count in counts.items() if count]
    if not parts:
        return f"dominant: neither, {near}"
    if median.n == 1:
        return f"dominant: {next(name for name, count in counts.items() if count)}"
    return f"dominant: {listed(parts)} of {counted(median.n, 'repetition')}"


def _sentences(
    run: Run,
    results: Results,
    groups: Sequence[Row],
    absent: Mapping[Measure, str],
    common: Mapping[Measure, str],
) -> list[str]:
    """Summarise all configurations in sentences: who dominates how often, how many have no
    result, over which times rates are, and what has no value anywhere.
    """
    sentences = []
    if len(groups) > MAX_TILES and len(run.sessions) == 2:
        for measure in (m for m in results.measures if presentation(m.metric).has_sides):
            found = [results.group(measure, c).median for c in run.configurations]
            if known := [s for s in found if s.value is not None]:
                sentences.append(_sides(run, measure, known))
    empty = sum(not g.configuration.counted for g in groups)
    if empty == len(groups):
        sentences.append("No repetition counts, so there is no result.")
    elif empty:
        sentences.append(
            f"{counted(empty, 'configuration')} {'has' if empty == 1 else 'have'} no"
            f" repetition that counts."
        )
    shown = dict.fromkeys(e.measure.metric for g in groups for e in g.entries if e.median)
    for metric in shown:
        apart = sum(bool(_unequal(run, results, metric, g.configuration)) for g in groups)
        if apart:
            where = f" in {apart} of {len(groups)} configurations" if len(groups) > 1 else ""
            times = [
                f"{one_line(m.flow or '')} {time}"
                for m, time in common.items()
                if m.metric == metric
            ]
            each = f" ({listed(times)})" if times else ""
            sentences.append(
                f"The {title(metric)} of each flow is over the flow's own time{each}. These times"
                f" differ{where}, so the values of a configuration do not add up to a rate of the"
                " link."
            )
    names: dict[str, list[str]] = {}
    for measure, reason in absent.items():
        names.setdefault(reason, []).append(_name(measure))
    for reason, those in names.items():
        sentences.append(f"No value: {listed(those)} ({reason}).")
    return sentences


def _sides(run: Run, measure: Measure, summaries: Sequence[Estimate]) -> str:
    symbol = unmarked(measure.metric).rpartition(".")[2]
    first, second = map(one_line, run.sessions)
    known = any(s.low is not None for s in summaries)
    found: list[int | None]
    if known:
        found = [decided(s) for s in summaries]
    else:
        found = [side(s.value) for s in summaries if s.value is not None]
    same, open_ = found.count(0), found.count(None)
    of = counted(len(summaries), "configuration")
    if not known:
        return (
            f"Of {of}, the median of {symbol} is on the side of {first} in {found.count(-1)}, on"
            f" that of {second} in {found.count(1)} and closer than {LEAST:g} to 0 in {same}"
            f" (steady shares of 55 % and 45 % give {LEAST:g}). Fewer than {run.repeated.needed}"
            " repetitions each are too few for an interval, so none is shown to dominate."
        )
    parts = [
        f"{first} dominates in {found.count(-1)}",
        f"{second} in {found.count(1)}",
        f"{same} {'shows' if same == 1 else 'show'} no difference",
        *([f"{open_} {'is' if open_ == 1 else 'are'} undecided"] if open_ else []),
    ]
    return (
        f"Of {of}, {listed(parts)}. One dominates where the 95 % interval of {symbol} excludes 0"
        f" and the median is at least {LEAST:g} from 0, what steady shares of 55 % and 45 % give;"
        " there is no difference where the whole interval is closer to 0."
    )
