"""The top of the page: the numbers that answer, in large type, or their figure.

A few configurations have their numbers in tiles. A sweep has a figure over the swept names by
default: a line over one number, a heat map over two, and the distribution for a sample that fills
no grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.dsl.model.metric_names import metric_of
from fairc.dsl.model.names import statement_of
from fairc.runtime.formatting import counted, listed
from fairc.runtime.metrics import METRICS
from fairc.runtime.metrics.registry import figure_of, full_name, presentation
from fairc.runtime.repetitions.reading import Measure
from fairc.runtime.repetitions.samples import FLOW, LOAD
from fairc.words import figures as words

from .answer import MAX_TILES, Answer, Entry, of_flows
from .figures import FIGURES, Drawing, NothingToDraw, Subject
from .figures.line import TIME
from .sheet import Sheet
from .summary import Results

if TYPE_CHECKING:
    from .run import Configuration, Run

Options = dict[str, str | float | tuple[str, ...]]

SECTION = "lead"
# Numbers in large type: more are a table.
MAX_NUMBERS = 3
MANY = 6
"""Values from which on a distribution is drawn: of fewer each is told."""
# What can be taken in at a glance.
MAX_LINES, MAX_PANELS, MAX_MAPS = 8, 6, 12
# A map with more holes than this shows holes.
MIN_FILLED = 0.6


@dataclass(frozen=True, slots=True)
class Tile:
    """The numbers of one configuration; heading: its swept values, empty where it is the only
    one. others: the numbers that only the first table has, as text, or empty.
    """

    heading: str
    numbers: tuple[Entry, ...]
    others: str = ""


def leading(results: Results) -> Measure | None:
    """Return the measure that comes first: of the metric that `measure` names first and that has
    values.
    """
    every = results.run.configurations
    asked = [m for m in results.requested if any(results.group(m, c).numbers for c in every)]
    for request in results.run.plan.measure[:1]:
        name = full_name(request.label)
        if not any(m.metric == name for m in asked):
            asked = [*results.select(presentation(name).stand_in), *asked]
    return next(iter((*asked, *results.measures)), None)


def tiles(results: Results, found: Answer) -> tuple[Tile, ...]:
    """Return a tile for each of a few configurations, also for those without a value, with the
    reason; none for a sweep.
    """
    first = leading(results)
    if first is None or len(found.groups) > MAX_TILES:
        return ()
    shown = []
    for group in found.groups:
        numbers = [e for e in group.entries if e.measure.metric == first.metric]
        if len(found.groups) == 1:
            known = [e for e in group.entries if e.median]
            numbers = _of_one(known, [e for e in numbers if e.median], results)
        if len(numbers) > MAX_NUMBERS:
            numbers = _as_declared(results, group.configuration, numbers)
        if numbers:
            label = group.configuration.label if group.configuration.bindings else ""
            # The fourth of four would be missed, and there is room for it.
            most = MAX_NUMBERS + (len(numbers) == MAX_NUMBERS + 1)
            shown.append(
                Tile(label, tuple(numbers[:most]), listed([e.what for e in numbers[most:]]))
            )
    return tuple(shown)


def _of_one(known: list[Entry], first: list[Entry], results: Results) -> list[Entry]:
    """Return the numbers of a single configuration: the first metric's, and others for which there
    is room.

    A value that has another beside it, as fairness has goodput, comes with that of each of two
    sessions.
    """
    for name in (full_name(request.label) for request in results.run.plan.measure):
        beside = presentation(name).beside
        flows = [e for e in known if e.measure.metric == beside]
        if len(flows) == 2 and first[:1] and first[0].measure.metric in (beside, name):
            first = [e for e in known if e.measure.metric in (beside, name)]
    order = list(dict.fromkeys(m.metric for m in results.requested))
    for metric in order:
        others = [e for e in known if e.measure.metric == metric and e not in first]
        if len(first) + len(others) <= MAX_NUMBERS:
            first = [*first, *others]
    return first


def _as_declared(
    results: Results, configuration: Configuration, numbers: list[Entry]
) -> list[Entry]:
    """Return one number for all flows that one statement declares, in place of each."""
    declared = results.groups(numbers[0].measure.metric, above=1)
    groups: dict[Measure, list[Entry]] = {}
    for e in numbers:
        flow = e.measure.flow and statement_of(e.measure.flow)
        groups.setdefault(e.measure._replace(flow=flow), []).append(e)
    return [
        members[0]
        if len(members) == 1
        else of_flows(results, measure, declared[measure, configuration.id])
        for measure, members in groups.items()
    ]


def basis(results: Results) -> str:
    """Return the basis of the page's numbers as text: how many repetitions, and whether there are
    intervals.
    """
    run = results.run
    sizes = sorted({len(c.counted) for c in run.configurations if c.counted})
    if not sizes:
        return ""
    n = counted(sizes[0], "repetition")
    if len(sizes) > 1:
        n = f"{sizes[0]} to {n if sizes[-1] == 1 else counted(sizes[-1], 'repetition')}"
    if sizes == [1]:
        return "One repetition: single values, no intervals."
    needed = run.repeated.needed
    if sizes[-1] < needed:
        return f"Medians of {n}: too few for a 95 % confidence interval, which needs {needed}."
    how = run.repeated.interval
    return f"Medians of {n}; in brackets their 95 % confidence intervals ({how})."


def with_picture(
    subject: Subject, figures: Sequence[tuple[FigureRequest | None, Drawing | Sheet]]
) -> list[Drawing | Sheet]:
    """Return the figures of a report with one of them, or one more, in the section of the picture.

    figures: in the order of the page, each with the entry of `report` that asks for it.
    """
    drawings = [drawn for _, drawn in figures]
    first = leading(subject.results)
    if first is None:
        return drawings
    place = _place(subject, first, figures)
    if place is None:
        picture = _picture(subject, first)
        if picture is None:
            place = _over_time(drawings, "rates")
        else:
            drawings = [picture, *drawings]
            place = 0
    if place is not None:
        drawings[place] = replace(drawings[place], section=SECTION)
    return drawings


def _place(
    subject: Subject,
    first: Measure,
    figures: Sequence[tuple[FigureRequest | None, Drawing | Sheet]],
) -> int | None:
    """Return which of the report's other figures shows the answer; None if none does.

    Of a few configurations, whose numbers are in tiles, the first that the experiment asks for; of
    one, the figure that shows its metric over time.
    """
    asked = [(i, r) for i, (r, d) in enumerate(figures) if r is not None and isinstance(d, Drawing)]
    if len(subject.run.configurations) <= MAX_TILES:
        if asked:
            return asked[0][0]
        if (answer := _answer(subject, figures)) is not None:
            return answer
        if len(subject.run.configurations) > 1:
            return None
        return _over_time([drawn for _, drawn in figures], figure_of(first.metric))
    axes = {axis.name for axis in _axes(subject.run)}
    for place, request in asked:
        whole = request.where is None and not request.flow
        whole = whole and full_name(request.metric or "") == first.metric
        if whole and (_is_over_sweep(subject.run, request) or axes <= _told_apart(request)):
            return place
    return _answer(subject, figures)


def _is_over_sweep(run: Run, request: FigureRequest) -> bool:
    """Return whether a figure has a swept name on its x axis."""
    known = words.FIGURES
    over = request.kind in known and known[request.kind].over_sweep
    return over and request.options["x"] in set(run.axes)


def _told_apart(request: FigureRequest) -> set[str]:
    """Return the names by whose values a figure has lines, groups or panels."""
    told = (request.options.get(key, ()) for key in ("by", "facet"))
    return {name for names in told if isinstance(names, tuple) for name in names}


def _answer(
    subject: Subject, figures: Sequence[tuple[FigureRequest | None, Drawing | Sheet]]
) -> int | None:
    """Return the place of the first figure that answers by itself, if it shows all configurations,
    else None.
    """
    if len(subject.shown) < len(subject.run.configurations):
        return None
    for place, (request, drawn) in enumerate(figures):
        whole = request is None or (request.where is None and not request.flow)
        kind = request.kind if request else drawn.name
        if whole and kind in FIGURES and FIGURES[kind].is_answer:
            return place
    return None


def _over_time(drawings: Sequence[Drawing | Sheet], name: str) -> int | None:
    return next((i for i, drawn in enumerate(drawings) if drawn.name == name), None)


def _picture(subject: Subject, first: Measure) -> Drawing | None:
    """Draw the first of the candidates that can be drawn. Where a line for each flow would be too
    many, one for all flows of a statement is better than a distribution over the sweep.
    """
    known = {kind.name: kind for kind in FIGURES}
    together = replace(subject, together=True)
    candidates = [
        *((subject, request) for request in _candidates(subject, first)),
        *((together, request) for request in _candidates(together, first)),
        *((subject, request) for request in _distributions(subject.run, first)),
    ]
    for of, request in candidates:
        try:
            drawn = known[request.kind].make(of, request)
        except NothingToDraw:
            continue
        if isinstance(drawn, Drawing):
            return replace(drawn, name=f"answer-{request.kind}")
    return None


@dataclass(frozen=True, slots=True)
class _Axis:
    """A swept name that distinguishes configurations: how many values, whether they are numbers."""

    name: str
    size: int
    numeric: bool
    place: int


def _axes(run: Run) -> list[_Axis]:
    """Return the swept names, without those that another one determines
    (`(rate, queue) = [...]`).
    """
    points = [dict(c.bindings) for c in run.configurations if c.counted]
    kept: list[_Axis] = []
    for place, axis in enumerate(run.plan.axes):
        size = len({point[axis.name] for point in points})
        decided = any(
            len({(p[other.name], p[axis.name]) for p in points}) == other.size for other in kept
        )
        if size > 1 and not decided:
            kept.append(_Axis(axis.name, size, bool(axis.numbers), place))
    return kept


def _candidates(subject: Subject, first: Measure) -> Iterator[FigureRequest]:
    """Yield the candidates for the figure of a sweep, the best first."""
    run, axes = subject.run, _axes(subject.run)
    measures = subject.results.select(first.metric)
    named = {m.flow or "" for m in measures}
    crowds = subject.crowds(named)
    flows = len({crowds.get(f, run.origins.get(f, (f, ""))[0]) for f in named})
    loads = len({m.load for m in measures})
    if axes and len(run.configurations) <= MAX_TILES:
        options: Options = {
            "by": tuple(a.name for a in axes),
            "notch": "off",
            "test": "none",
            "ci": 0.95,
        }
        yield FigureRequest(kind="boxplot", metric=first.metric, options=options)
    elif axes:
        x = max(axes, key=lambda a: (a.numeric, a.size, -a.place))
        # What is compared is usually swept last.
        rest = sorted((a for a in axes if a is not x), key=lambda a: (a.size, -a.place))
        apart = (LOAD,) * (loads > 1)
        if not rest:
            yield _line(first.metric, x.name, (), apart)
        yield from _maps(run, first.metric, x, rest, flows * loads)
        lines = flows * (rest[0].size if rest else 1)
        panels = loads
        for axis in rest[1:]:
            panels *= axis.size
        facet = (*(a.name for a in rest[1:]), *apart)
        by = tuple(a.name for a in rest[:1])
        if lines <= MAX_LINES and panels <= MAX_PANELS:
            yield _line(first.metric, x.name, by, facet)
        if rest[:1] and flows > 1 and rest[0].size <= MAX_LINES and panels * flows <= MAX_PANELS:
            yield _line(first.metric, x.name, by, (*facet, FLOW))
    else:
        yield from _courses(first)


def _distributions(run: Run, first: Measure) -> Iterator[FigureRequest]:
    """Yield distributions, over the sweep or of the only configuration, the best first.

    Values that are words (CCAs, queues) are compared: a line for each of the first name, a panel
    for each of the second.
    """
    axes = _axes(run)
    words_of = [a.name for a in axes if not a.numeric and a.size <= MAX_PANELS]
    if words_of and len(run.configurations) > MAX_TILES:
        parts: Options = {"by": tuple(words_of[:1]), "facet": tuple(words_of[1:2])}
        yield FigureRequest(kind="cdf", metric=first.metric, options=parts)
    if axes:
        yield FigureRequest(kind="cdf", metric=first.metric, options={})
        return
    name = metric_of(first.metric)
    if name not in METRICS or METRICS[name].course or METRICS[name].courses:
        return
    if (source := METRICS[name].distribution) is not None:
        ((most,),) = run.rows(
            f"SELECT max(n) FROM (SELECT count(*) AS n FROM {source.table} GROUP BY cell, flow)"
        )
        if (most or 0) >= MANY:
            yield FigureRequest(kind="cdf", metric=name, options={})


def _courses(first: Measure) -> Iterator[FigureRequest]:
    """Yield the metric of the only configuration over time."""
    name = metric_of(first.metric)
    if name in METRICS and (METRICS[name].course or METRICS[name].courses):
        yield _line(first.metric, TIME, (), ())


def _line(metric: str, x: str, by: tuple[str, ...], facet: tuple[str, ...]) -> FigureRequest:
    """Return a line chart with the defaults of its other options."""
    options: Options = {"x": x, "by": by, "facet": facet, "ci": 0.95, "stat": "median"}
    return FigureRequest(kind="line", metric=metric, options=options)


def _maps(
    run: Run, metric: str, x: _Axis, rest: list[_Axis], parts: int
) -> Iterator[FigureRequest]:
    """Yield heat maps where two names have several values, or where there are more than two names.

    Where the sweep leaves out combinations, as one that pairs some names, another name on the y
    axis may leave fewer
    holes: there are only as many maps as combinations of the other names occur.
    """
    points = [dict(c.bindings) for c in run.configurations]
    for y in sorted(rest, key=lambda a: (a.numeric, a.size), reverse=True):
        two = x.numeric and y.numeric and y.size >= 3 and parts == 1
        others = tuple(a.name for a in rest if a is not y)
        maps = parts * len({tuple(point[name] for name in others) for point in points})
        filled = len(points) * parts / (maps * x.size * y.size)
        if (two if not others else x.numeric) and maps <= MAX_MAPS and filled >= MIN_FILLED:
            options: Options = {"x": x.name, "y": y.name, "facet": others, "stat": "median"}
            yield FigureRequest(kind="heatmap", metric=metric, options=options)
