"""The answer of a run: what was asked for, per configuration, as a table and in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .run import Configuration, Run
from .summary import GOODPUT, MIN_REPETITIONS, PLT, TTR, F, Measure, Results, Summary
from .words import MINUS, Scale, counted, decimals_for, listed, number, one_line, scale_for

# Up to here each configuration is told in full; beyond, one line each.
MAX_TOLD = 3
# A line has at most so many numbers; what it leaves out is in the table of all metrics.
MAX_COLUMNS = 8

FLOOR = "fairness.floor"
NAMES = {
    F: "Session fairness F",
    "fairness.jain_session": "Jain's index, session",
    "fairness.jain_slots": "Jain's index, mean of slots",
    PLT: "Page load time",
    TTR: "Time to response",
}


@dataclass(frozen=True, slots=True)
class Value:
    """A number as it is printed, and exactly (SI base unit) as it stands in the tables."""

    text: str
    exact: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A summary as it is printed.

    measure, what: of what. n: how many values. note: why there is no interval, with the values;
    or empty. remark: how to read it; for F, who dominates.
    """

    measure: Measure
    what: str
    unit: str
    median: Value | None
    low: Value | None
    high: Value | None
    n: int
    note: str = ""
    remark: str = ""

    @property
    def interval(self) -> str:
        """The interval without markup: `[0.50, 0.55]`, or empty."""
        return f"[{self.low.text}, {self.high.text}]" if self.low and self.high else ""


@dataclass(frozen=True, slots=True)
class Group:
    """The entries of one configuration; left_out: its cells that do not count."""

    configuration: Configuration
    entries: tuple[Entry, ...]
    left_out: int

    def entry(self, measure: Measure) -> Entry | None:
        """Return the entry of a measure, or None where the configuration has none."""
        return next((e for e in self.entries if e.measure == measure), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page begins with."""

    sentences: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    def told_in_full(self) -> bool:
        """Whether there are few enough configurations for a table with a row per entry."""
        return len(self.groups) <= MAX_TOLD

    @property
    def columns(self) -> tuple[Entry, ...]:
        """One entry of each measure that occurs, for the heads of a table."""
        return tuple({e.measure: e for g in self.groups for e in g.entries}.values())


def answer(run: Run, results: Results) -> Answer:
    """Return the answer of a run."""
    few = len(run.configurations) <= MAX_TOLD
    leading, others = _shown(run, results)
    if not few:
        others = others[: max(0, MAX_COLUMNS - len(leading))]
    measures = leading + others
    groups = tuple(
        Group(c, entries(run, results, measures, c), len(c.outcomes) - len(c.counted))
        for c in run.configurations
    )
    sentences = _told(run, groups) if few else _surveyed(results, groups, measures)
    return Answer(tuple(sentences), groups)


def _shown(run: Run, results: Results) -> tuple[list[Measure], list[Measure]]:
    """Return the measures that are told first, in words of their own, and the others asked for.

    Goodput is told where it was asked for, beside fairness, and where nothing else was asked for: of a
    flow that sends what it is told to (requests, a video) it says what was offered.
    """
    asked = {request.name for request in run.plan.measure}
    own = [m for m in results.measures if m.metric in (F, PLT, TTR)]
    own += [m for m in results.measures if m.metric.startswith("fairness.jain")]
    others = [m for m in results.asked if m not in own and m.metric != GOODPUT]
    if asked & {GOODPUT, "fairness"} or not (own or others):
        own = [*results.select(GOODPUT), *own]
    return [m for m in results.measures if m in own], others


def entries(
    run: Run, results: Results, measures: Sequence[Measure], configuration: Configuration
) -> tuple[Entry, ...]:
    """Return the printed summaries of one configuration; a measure it lacks is left out."""
    made = []
    for measure in measures:
        summary = results.summary(measure, configuration)
        undefined = results.undefined(measure, configuration)
        if not (summary.n or undefined or results.points(measure, configuration)):
            continue
        scale, decimals = format_of(results, measure.metric)
        remarks = [_remark(run, results, measure, configuration)]
        if undefined:
            remarks.append(
                f"not defined in {counted(len(undefined), 'repetition')}: "
                + "; ".join(sorted(set(undefined)))
            )
        remark = "; ".join(filter(None, remarks))
        made.append(entry(measure, summary, scale, decimals, remark))
    return tuple(made)


def format_of(results: Results, metric: str) -> tuple[Scale, int]:
    """Return the one scale and number of decimals for a metric on the whole page."""
    if metric not in results.formats:  # every row of every table asks for it
        results.formats[metric] = _findformat_of(results, metric)
    return results.formats[metric]


def _findformat_of(results: Results, metric: str) -> tuple[Scale, int]:
    medians = [
        m
        for measure in results.select(metric)
        for c in results.run.configurations
        if (m := results.summary(measure, c).median) is not None
    ]
    units = {m.unit for m in results.select(metric)}
    scale = scale_for(units.pop() if len(units) == 1 else "", medians)
    decimals = 3 if scale.unit == "" else decimals_for(m / scale.factor for m in medians)
    return scale, decimals


def entry(measure: Measure, summary: Summary, scale: Scale, decimals: int, remark: str) -> Entry:
    """Return a summary as it is printed in the given scale."""

    def value(x: float | None) -> Value | None:
        return None if x is None else Value(number(x / scale.factor, decimals), repr(x))

    name = NAMES.get(measure.metric, measure.metric)
    what = f"{name} of {one_line(measure.flow)}" if measure.flow is not None else name
    what += f", load {measure.load}" if measure.load is not None else ""
    note = ""
    if summary.n and summary.low is None:
        if summary.n == 1:
            note = "one value, no interval"
        elif summary.constant:
            note = f"no interval: all {summary.n} values are equal"
        else:
            values = ", ".join(number(v / scale.factor, decimals) for v in summary.values)
            note = f"no interval below {MIN_REPETITIONS} repetitions; values: {values}"
    elif not summary.n:
        note = "no value"
    return Entry(
        measure, what, scale.unit, value(summary.median), value(summary.low), value(summary.high),
        summary.n, note, remark,
    )  # fmt: skip


def _remark(run: Run, results: Results, measure: Measure, configuration: Configuration) -> str:
    """Say how to read a value: who dominates, or what chance alone would give."""
    if measure.metric == F:
        return dominance(results.summary(measure, configuration), run.sessions)
    if measure.metric == "fairness.jain_slots":
        for floor in results.select(FLOOR):
            chance = results.summary(floor, configuration).median
            if chance is not None:
                return f"by chance alone: {number(1 - chance, 3)}"
    return ""


def dominance(summary: Summary, sessions: tuple[str, ...]) -> str:
    """Say who dominates by F: below 0 the first session, above 0 the second.

    Decided by the interval where there is one, else by the signs of the values.
    """
    if len(sessions) != 2 or summary.median is None:
        return ""
    first, second = map(one_line, sessions)
    if summary.low is not None and summary.high is not None:
        if summary.high < 0:
            return f"dominant: {first}"
        if summary.low > 0:
            return f"dominant: {second}"
        return "dominant: neither, the interval contains 0"
    sides = (
        (first, sum(v < 0 for v in summary.values)),
        (second, sum(v > 0 for v in summary.values)),
    )
    parts = [f"{name} in {count}" for name, count in sides if count]
    if summary.n == 1 and parts:
        return f"dominant: {next(name for name, count in sides if count)}"
    if not parts:
        return "dominant: neither"
    return f"dominant: {listed(parts)} of {counted(summary.n, 'repetition')}"


def _told(run: Run, groups: Sequence[Group]) -> list[str]:
    """Tell each configuration in full."""
    sentences = []
    for group in groups:
        lead = f"With {group.configuration.label}: " if run.axes else ""
        by_metric = {e.measure.metric: e for e in group.entries}
        goodputs = [e for e in group.entries if e.measure.metric == GOODPUT]
        parts = [
            f"{one_line(e.measure.flow or 'the cell')} got {_said(e)}" for e in goodputs if e.median
        ]
        pages = [e for e in group.entries if e.measure.metric in (PLT, TTR) and e.median]
        own = (GOODPUT, F, PLT, TTR)
        others = [
            e
            for e in group.entries
            if e.measure.metric not in own and "jain" not in e.measure.metric and e.median
        ]
        f = by_metric.get(F)
        jain = by_metric.get("fairness.jain_session")
        if not (parts or pages or others or (f and f.median) or (jain and jain.median)):
            sentences.append(f"{lead}no repetition counts, so there is no result.")
            continue
        if parts:
            sentences.append(f"{lead}{listed(parts)} of goodput (median{_basis(goodputs)}).")
        if pages:
            told = listed([f"{e.what.lower()}: {_said(e)}" for e in pages], limit=6)
            sentences.append(f"{lead}{told} (median{_basis(pages)}).")
        if f and f.median:
            sentences.append(
                f"Session fairness F, from {MINUS}0.5 to 0.5, is {_said(f)}; {f.remark}."
            )
        if jain and jain.median:
            scene = run.scenes.get(group.configuration.id)
            places = {flow.bottleneck for flow in scene.flows} if scene else set()
            of = " of the rates, each over its max-min fair share," if len(places) > 1 else ""
            sentences.append(f"Jain's index{of} over the session is {_said(jain)}; 1 is fair.")
        if others:
            told = listed([f"{e.what}: {_said(e)}" for e in others], limit=6)
            sentences.append(f"{lead}{told} (median{_basis(others)}).")
    return sentences


def _said(e: Entry) -> str:
    assert e.median is not None
    unit = f" {e.unit}" if e.unit else ""
    return f"{e.median.text}{unit} {e.interval}".rstrip()


def _basis(found: Sequence[Entry]) -> str:
    n = max(e.n for e in found)
    text = f" of {counted(n, 'repetition')}"
    if any(e.interval for e in found):
        return f"{text}, in brackets its 95 % confidence interval"
    if n < MIN_REPETITIONS:
        return f"{text}: too few for a 95 % interval, which needs {MIN_REPETITIONS}"
    return f"{text}; all are equal, so there is no interval"


def _surveyed(results: Results, groups: Sequence[Group], measures: Sequence[Measure]) -> list[str]:
    """Tell the extremes over many configurations."""
    run, sentences = results.run, list[str]()
    for metric, name in ((F, "Session fairness F"), ("fairness.jain_session", "Jain's index")):
        for measure in results.select(metric):
            found = [(c, results.summary(measure, c)) for c in run.configurations]
            known = [(c, s.median) for c, s in found if s.median is not None]
            if known:
                sentences.append(_extremes(name, known, lambda v: number(v, 3)))
            if metric == F and len(run.sessions) == 2:
                sentences.append(_sides(run, [s for _, s in found if s.median is not None]))
    names = {GOODPUT: "Goodput", PLT: NAMES[PLT], TTR: NAMES[TTR]}
    for metric in dict.fromkeys(m.metric for m in measures if not m.metric.startswith("fairness.")):
        sentences += _ranged(results, metric, names.get(metric, metric))
    empty = sum(not g.configuration.counted for g in groups)
    if empty:
        sentences.append(f"{counted(empty, 'configuration')} without a repetition that counts.")
    return sentences


def _ranged(results: Results, metric: str, name: str) -> list[str]:
    """Tell between what the medians of each measure of a metric are."""
    sentences = []
    for measure in results.select(metric):
        scale, decimals = format_of(results, metric)

        def show(v: float, scale: Scale = scale, decimals: int = decimals) -> str:
            return f"{number(v / scale.factor, decimals)} {scale.unit}".rstrip()

        known = [
            (c, m)
            for c in results.run.configurations
            if (m := results.summary(measure, c).median) is not None
        ]
        if known:
            what = f"{name} of {one_line(measure.flow)}" if measure.flow else name
            what += f", load {measure.load}" if measure.load is not None else ""
            sentences.append(_extremes(what, known, show))
    return sentences


def _extremes(
    name: str, known: list[tuple[Configuration, float]], show: Callable[[float], str]
) -> str:
    low, high = min(known, key=lambda k: k[1]), max(known, key=lambda k: k[1])
    return (
        f"{name}: medians from {show(low[1])} ({low[0].label}) to {show(high[1])}"
        f" ({high[0].label}) over {counted(len(known), 'configuration')}."
    )


def _sides(run: Run, summaries: Sequence[Summary]) -> str:
    first, second = map(one_line, run.sessions)
    if all(s.low is None for s in summaries):
        below = sum(s.median is not None and s.median < 0 for s in summaries)
        return (
            f"By the sign of F, {first} dominates in {below} and {second} in"
            f" {sum(s.median is not None and s.median > 0 for s in summaries)}; with fewer than"
            f" {MIN_REPETITIONS} repetitions each that is too few for a confidence interval."
        )
    below = sum(s.high is not None and s.high < 0 for s in summaries)
    above = sum(s.low is not None and s.low > 0 for s in summaries)
    open_ = len(summaries) - below - above
    return (
        f"By the 95 % interval of F, {first} dominates in {below}, {second} in {above}, and"
        f" {open_} are"
        " undecided."
    )
