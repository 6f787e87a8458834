"""The figure `line`: a metric against a swept name, the repetition or time, a line for each
group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import between, listed, one_line, quantity, scale_for
from fairc.runtime.report.backdrop import Backdrop, explained

from . import overtime, phases
from .axis import NamedAxis, named_axis, wants_log
from .base import Drawing, FigureKind, NothingToDraw, Subject
from .chart import OWN_AXES, WIDE_LEFT, Axis, Chart, Panel, have_own_axes
from .marks import Band, Bars, Behind, Endless, Mark, Rule
from .marks import Line as Drawn
from .overtime import Point
from .phases import Phase
from .query import Names, Query, Summing, load, only
from .style import colour, dash, marker_of
from .wording import by_text, headed, valued, worded

TIME = "time"


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its panel's heading, its name, its number among all lines, and its points; over time
    also the states of its flows' congestion controllers, and what stands behind them. endless:
    where its value is larger than any that was observed.
    """

    heading: str
    name: str
    index: int
    points: Sequence[Point]
    phases: Sequence[Phase] = ()
    behind: Backdrop | None = None
    endless: Sequence[float] = ()


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `x`, `by`, `facet`, `ci`, `stat`, `log`."""
    timed = request.options["x"] == TIME
    query = load(subject, request, endless=not timed)
    facet, by = query.names("facet"), query.names("by")
    x = () if timed else query.names("x")
    by = query.separated(by, *x, *facet)
    sums = Summing(query)
    axis: NamedAxis | None = None
    states: phases.Phases = {}
    behind: dict[Names, Backdrop] = {}
    endless: dict[Names, list[float]] = {}
    if timed:
        found, what, states, behind = overtime.load(query, (*facet, *by), sums)
        of = f" {what}{explained(behind.values())}"
    else:
        axis = named_axis(query, query.option("x"))
        found = {
            key: [
                Point(axis.places[value], e.value, e.low, e.high, e.n, only(at))
                for (value,), at in query.groups(x, members)
                if (e := sums(at)).value is not None
            ]
            for key, members in query.groups((*facet, *by))
        }
        endless = {
            key: [
                axis.places[value]
                for (value,), at in query.groups(x, members)
                if sums.is_endless(sums(at))
            ]
            for key, members in query.groups((*facet, *by))
        }
        of = sums.remark((*x, *facet, *by))
    lines = _lines(query, facet, by, found, states, behind, endless)
    if not any(line.points for line in lines):
        raise NothingToDraw(f"no cell that counts has a value of {query.name}")
    headings = [line.heading for line in lines]
    query.check(len(set(headings)), lines=max(map(headings.count, headings)))
    ends = [
        f"{headed(line.heading, line.name)}:"
        f" {quantity(line.points[0].value, query.unit)} at the left,"
        f" {quantity(line.points[-1].value, query.unit)} at the right"
        for line in lines
        if line.points
    ]
    if any(line.endless for line in lines):
        of += " \N{INFINITY}: larger than any value that was observed."
    if any(_lanes(lines, line) for line in lines):
        of += phases.CAPTION
    if _have_own_axes(_panels(lines), "y" in str(request.options.get("log", ""))):
        of += OWN_AXES
    mixed = bool(query.mixed((*x, *by, *facet)))
    return query.drawing(
        title=query.title(f"against {one_line(query.option('x'))}", by_text((*by, *facet))),
        caption=f"{_reading(lines, sums, timed, mixed)}{of} {query.basis((*x, *by, *facet))}",
        alt=f"Line chart of {query.name}, {listed(ends, 6)}.",
        picture=_chart(query, lines, axis),
    )


def _lanes(lines: Sequence[Line], line: Line) -> list[Line]:
    """Return the lines of a line's panel that have lanes; none where there are too many."""
    found = [other for other in lines if other.heading == line.heading and other.phases]
    return found if len(found) <= phases.MOST_LANES else []


def _lines(
    query: Query,
    facet: Names,
    by: Names,
    found: dict[Names, list[Point]],
    states: phases.Phases,
    behind: Mapping[Names, Backdrop],
    endless: Mapping[Names, Sequence[float]],
) -> list[Line]:
    """Return the lines panel by panel; one of a name has the same number in every panel."""
    places = [{v: i for i, v in enumerate(query.orders[n])} for n in by]
    names = {key[len(facet) :] for key in found}
    ranked = sorted(names, key=lambda k: tuple(p[v] for p, v in zip(places, k, strict=True)))
    index = {name: i for i, name in enumerate(ranked)}
    panels: dict[Names, list[Line]] = {}
    for key, points in found.items():
        head, name = key[: len(facet)], key[len(facet) :]
        if points or endless.get(key):
            shown = states.get(key, ())
            back = behind.get(key)
            line = Line(
                worded(facet, head),
                valued(name),
                index[name],
                points,
                shown,
                back,
                endless.get(key, ()),
            )
            panels.setdefault(head, []).append(line)
    return [line for own in panels.values() for line in sorted(own, key=lambda line: line.index)]


def _reading(lines: list[Line], sums: Summing, timed: bool, mixed: bool) -> str:
    """Say what a line and its band are. mixed: groups mix configurations, which the figure's basis
    says is why these have no interval.
    """
    points = [p for line in lines for p in line.points]
    without = sum(p.low is None for p in points)
    some = " where there is one" if mixed else " where there are enough cells"
    some = some if without else ""
    if definition := sums.query.definition:
        if without == len(points):
            return f"Line: {definition}; too few repetitions, or all equal, for an interval."
        return f"Line: {definition}; band or bar: its {sums.of_claims}{some}."
    sizes = sorted({p.n for p in points})
    text = f"Line: {sums.what} over the {between(sizes)} cells of "
    text += "a bin" if timed else "each point"
    if sizes == [1]:
        return "Line: the one cell of " + ("each group." if timed else "each point.")
    if not timed and sizes[-1] < sums.query.subject.run.repeated.needed:
        return f"{text}."  # the page says once that they are too few
    if without == len(points):
        return f"{text}." if mixed else f"{text}; too few, or all equal, for a {sums.interval}."
    return f"{text}; band or bar: its {sums.interval}{some}."


def _chart(query: Query, lines: list[Line], axis: NamedAxis | None) -> Chart:
    ends = _ends(lines)
    scale = scale_for(query.unit, ends)
    free = 1 - phases.height_of(max(len(_lanes(lines, line)) for line in lines))
    log = wants_log(query, "y", ends)
    vertical = _vertical(query.labelled(scale), ends, scale.factor, free, log)
    panels = _panels(lines)
    own = _have_own_axes(panels, log)
    time = None
    if axis is None:
        points = [p for line in lines for p in line.points]
        log_time = wants_log(query, "x", (p.x for p in points))
        requests = query.subject.run.plan.requests
        shifted = log_time or requests.window_of(query.metric) is not None
        times = [p.x for p in points]
        time = Axis("time (s)", min(times) if shifted else 0, max(times), log_time)
    paints = phases.Paints.of(line.phases for line in lines if _lanes(lines, line))
    drawn = []
    for heading, beside in panels.items():
        found = _ends(beside)
        y = _vertical("", found, scale.factor, free, log) if own and found else None
        low, high = (end / scale.factor for end in (min(ends), max(found if y else ends)))
        marks: list[Mark] = [Rule(0)] if low < 0 < high and not log else []
        marks += [Behind(back) for back in dict.fromkeys(other.behind for other in beside) if back]
        for place, line in enumerate(beside):
            shift = (place - (len(beside) - 1) / 2) * min(0.12, 0.6 / len(beside))
            marks.extend(_marks(line, scale.factor, axis, shift))
            if line.endless:
                moved = shift if axis and not axis.numeric else 0.0
                label = None if line.points else line.name
                at = [x + moved for x in line.endless]
                marks.append(Endless(at, colour(line.index), high, label))
            lanes = _lanes(lines, line)
            if line in lanes:
                paint, stroke = colour(line.index), dash(line.index)
                row = lanes.index(line)
                marks.append(phases.Lane(line.phases, paints, row, paint, stroke))
        drawn.append(Panel(heading, marks, y=y))
    return Chart(
        drawn,
        axis or time or Axis(),
        vertical,
        heights=(1.7, 1.15),
        keys=paints.keys,
        left=WIDE_LEFT,
    )


def _panels(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Return the lines of each panel, by its heading."""
    panels: dict[str, list[Line]] = {}
    for line in lines:
        panels.setdefault(line.heading, []).append(line)
    return panels


def _ends(lines: Sequence[Line]) -> list[float]:
    """Return the values of lines and the ends of their intervals, in the metric's unit."""
    points = [p for line in lines for p in line.points]
    return [v for p in points for v in (p.value, p.low, p.high) if v is not None]


def _have_own_axes(panels: Mapping[str, Sequence[Line]], log: bool) -> bool:
    """Return whether each panel has a vertical axis of its own."""
    return not log and have_own_axes(
        [max(map(abs, _ends(own)), default=0.0) for own in panels.values()]
    )


def _vertical(name: str, values: Sequence[float], factor: float, free: float, log: bool) -> Axis:
    """Return a vertical axis for values in the metric's unit; free: the share of its height that
    they have.
    """
    low, high = min(values) / factor, max(values) / factor
    if log:
        low, high = low / 1.2, high * 1.2
        return Axis(name, low, low * (high / low) ** (1 / free), log=True)
    low = min(low, 0.0)
    margin = 0.05 * (high - low) or 0.5
    below = low - (margin if low < 0 else 0)
    return Axis(name, below, below + (high + margin - below) / free)


def _marks(line: Line, factor: float, axis: NamedAxis | None, shift: float) -> list[Mark]:
    """Return a line, and its intervals; words stand next to each other, moved by `shift`."""
    if not line.points:
        return []
    paint = colour(line.index)
    moved = shift if axis and not axis.numeric else 0.0
    x = [p.x + moved for p in line.points]
    y = [p.value / factor for p in line.points]
    # A connected line claims that there is something between the values.
    joined = dash(line.index) if axis is None or axis.numeric else "none"
    shape, sign = marker_of(line.index)
    sign = sign if joined == "none" else ""
    marker = "" if axis is None or len(x) > 60 else shape
    of = [p.of for p in line.points] if marker and any(p.of for p in line.points) else []
    own = "" if of else marker
    name = f"{sign}{line.name}"
    marks: list[Mark] = [Drawn(x, y, paint, joined, label=name, marker=own, size=2.4)]
    marks += [
        Drawn([here], [there], paint, marker=marker, size=2.4, of=single)
        for here, there, single in zip(x, y, of, strict=False)
    ]
    known = [
        (at, p.low / factor, p.high / factor)
        for at, p in zip(x, line.points, strict=True)
        if p.low is not None and p.high is not None
    ]
    if not known:
        return marks
    if joined == "none" or len(known) == 1:
        at, low, high = (list(column) for column in zip(*known, strict=True))
        return [*marks, Bars(at, low, high, paint, 0.9)]
    nan = float("nan")
    low = [nan if p.low is None else p.low / factor for p in line.points]
    high = [nan if p.high is None else p.high / factor for p in line.points]
    return [*marks, Band(x, low, high, paint)]


KIND = FigureKind("line", requested)
