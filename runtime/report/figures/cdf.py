"""The figure `cdf`: the empirical distribution of a metric for each group.

Of a metric with many values in a cell (requests, packets, samples, page loads) it is the
distribution there. Values of one cell share its network, so only cells are independent: each has
its own empirical distribution function, and the line at each value is the median of these over the
cells, with its order-statistics interval. Requests of several cells are never pooled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairc.compiler.plan import FigureRequest
from fairc.dsl.model.metric_names import unmarked
from fairc.runtime.formatting import between, listed, quantity, scale_for
from fairc.runtime.metrics import METRICS
from fairc.runtime.metrics.base import Distribution
from fairc.runtime.repetitions.samples import LOAD, PROTOCOL, REPETITION, Sample
from fairc.runtime.statistics import Estimate
from fairc.runtime.statistics.repeated import FIXED, Repeated
from fairc.words import metrics as words

from .axis import LOG_RATIO, wants_log
from .base import Drawing, FigureKind, NothingToDraw, Subject
from .chart import Axis, Chart, Panel
from .marks import Band
from .marks import Line as Drawn
from .query import Query, load
from .style import colour, dash
from .time_range import bounds, mark_of, of_members, when
from .wording import by_text, headed, valued, worded

if TYPE_CHECKING:
    from fairc.runtime.arrays import Floats

POINTS = 200
"""Times at which a distribution is drawn."""
MOST_TICKS = 8
# A step for each value up to here; of more, as many of them, evenly spread over the ranks.
MAX_STEPS = 400

LOADS = Distribution(things="page loads that count", word="loads")
"""Of metrics with a value for each page load: the samples already hold these values."""


@dataclass(frozen=True, slots=True)
class Line:
    """A group and its number of cells: at each place the median share and its interval (the median
    itself without one).
    """

    heading: str
    index: int
    cells: int
    share: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class OfCell:
    """The values of a group in a cell: the finite ones in order, how many there are in all, and how
    many things they stand for.
    """

    values: Floats
    count: int
    things: int


Own = dict[tuple[int, int], OfCell]
"""(group, cell) -> its values."""


def _within(subject: Subject, request: FigureRequest) -> Drawing | None:
    """Make the figure; None where the metric is one value a cell. Raises NothingToDraw."""
    name = request.metric or ""
    if unmarked(name) not in METRICS:
        return None
    metric = METRICS[unmarked(name)]
    source = LOADS if words.METRICS[metric.name].per_load else metric.distribution
    if source is None:
        return None
    if source is LOADS:
        query = load(subject, request)
        facet, by = query.names("facet"), query.names("by")
        if LOAD in (*facet, *by) or len(query.orders[LOAD]) < 2:
            return None  # then each cell has one value
        if len(query.orders[PROTOCOL]) > 1 and PROTOCOL not in (*facet, *by):
            by = (*by, PROTOCOL)
        by = query.separated(by, *facet, LOAD)
    else:
        there = f"{source.there}{name.removeprefix(metric.name)}"
        query = load(subject, request.model_copy(update={"metric": there}))
        query = replace(query, request=request, metric=name, unit=metric.values[0].unit)
        facet = query.names("facet")
        by = query.separated(query.names("by"), *facet)
    members = query.groups((*facet, *by))
    groups = [found for _, found in members]
    window = subject.run.plan.requests.window_of(name)
    own = _of_loads(groups) if source is LOADS else _values(query, source, groups)
    source = replace(source, things=source.things.replace("{when}", when(window)))
    if not own:
        return None
    places = _places(own, source)
    if log := wants_log(query, "x", places[:1]):
        places = _places(own, source, log=True)
    query = replace(query, scale=scale_for(query.unit, list(places)))
    ranked = [key for key, _ in query.groups(by)]
    lines: list[Line] = []
    for number, (key, group) in enumerate(members):
        shares = [_shares(of, places) for (n, _), of in own.items() if n == number]
        if shares:
            repeats = FIXED if (mixed := bool(query.mixture(group))) else subject.run.repeated
            heading, rank = worded(facet, key[: len(facet)]), ranked.index(key[len(facet) :])
            lines.append(_line(heading, rank, shares, mixed, repeats))
    headings = [line.heading for line in lines]
    query.check(len(set(headings)), lines=max(map(headings.count, headings)))
    return query.drawing(
        title=f"Distribution of {query.title(by_text((*by, *facet)))}",
        caption=_caption(source, lines, query.basis((*by, *facet)), own, subject.run.repeated),
        alt=_alt(query, lines, ranked, places),
        picture=_chart(query, lines, places, source.word, by, log),
    )


def _in_order(groups: Sequence[Sequence[Sample]]) -> list[str]:
    """Return the cells in order of repetition, in which intervals of ranges take them."""
    cells = {
        (int(sample.keys[REPETITION]), sample.outcome.cell) for found in groups for sample in found
    }
    return [cell for _, cell in sorted(cells)]


def _of_loads(groups: Sequence[Sequence[Sample]]) -> Own:
    """Return the values of the page loads of each cell."""
    ids = _in_order(groups)
    own: Own = {}
    for number, found in enumerate(groups):
        of: dict[str, list[float]] = {}
        for sample in found:
            of.setdefault(sample.outcome.cell, []).append(sample.value)
        for cell, values in sorted(of.items(), key=lambda item: ids.index(item[0])):
            own[number, ids.index(cell)] = OfCell(np.sort(values), len(values), len(values))
    return own


def _values(query: Query, source: Distribution, groups: Sequence[Sequence[Sample]]) -> Own:
    run = query.subject.run
    window = run.plan.requests.window_of(query.metric)
    ids = _in_order(groups)
    number_of = {cell: number for number, cell in enumerate(ids)}
    rows = [(number, sample) for number, found in enumerate(groups) for sample in found]
    run.register(
        "figure_members",
        {
            "cell": np.array([sample.outcome.cell for _, sample in rows], object),
            "flow": np.array([sample.flow for _, sample in rows], object),
            "number": np.array([number for number, _ in rows], np.int64),
            "replicate": np.array([number_of[sample.outcome.cell] for _, sample in rows], np.int64),
            **bounds(run, window, [sample for _, sample in rows]),
        },
    )
    found = run.columns(
        f"SELECT number, replicate, {source.column} AS value, {source.counted} AS things"
        f" FROM {of_members(source.table)}"
        f" WHERE {source.where.replace('{mark}', mark_of(query.metric))}"
        " ORDER BY number, replicate, value"
    )
    pairs = found["number"].astype(np.int64) * len(ids) + found["replicate"].astype(np.int64)
    kept, first = np.unique(pairs, return_index=True)
    values = np.split(found["value"].astype(np.float64), first[1:])
    own: Own = {}
    for pair, at, mine in zip(kept.tolist(), first, values if len(kept) else [], strict=True):
        things = int(found["things"][at]) or len(mine)
        own[divmod(pair, len(ids))] = OfCell(np.sort(mine[~np.isnan(mine)]), len(mine), things)
    return own


def _places(own: Own, source: Distribution, *, log: bool = False) -> tuple[float, ...]:
    """Return the times to look at: from the shortest to the longest that ended."""
    ends = [(of.values[0], of.values[-1]) for of in own.values() if len(of.values)]
    if not ends:
        raise NothingToDraw(f"no {source.word} with a value in any cell that counts")
    low, high = min(first for first, _ in ends), max(last for _, last in ends)
    spaced = np.geomspace if log or _log(low, high) else np.linspace
    places = spaced(low, high, POINTS)
    places[0], places[-1] = low, high
    return tuple(places.tolist())


def _log(low: float, high: float) -> bool:
    """Whether times are far enough apart for a logarithmic axis."""
    return low > 0 and high / low >= LOG_RATIO


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two: 1, 2 and 5 times powers of ten, or these powers alone."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [part * 10.0**n for n in decades for part in (1, 2, 5)]
    inside = [tick for tick in fine if low <= tick <= high]
    return inside if len(inside) <= MOST_TICKS else [10.0**n for n in decades]


def _shares(of: OfCell, places: tuple[float, ...]) -> list[float]:
    shares: list[float] = (np.searchsorted(of.values, places, side="right") / of.count).tolist()
    return shares


def _line(
    heading: str, index: int, shares: Sequence[Sequence[float]], mixed: bool, repeats: Repeated
) -> Line:
    """Return a line; mixed: its cells are of several configurations, so it has no interval."""
    median = repeats.median
    estimates = [median(at) for at in zip(*shares, strict=True)]
    if mixed:
        estimates = [Estimate(e.n, e.value) for e in estimates]
    middle = tuple(e.value or 0.0 for e in estimates)
    return Line(
        heading,
        index,
        len(shares),
        middle,
        tuple(m if e.low is None else e.low for e, m in zip(estimates, middle, strict=True)),
        tuple(m if e.high is None else e.high for e, m in zip(estimates, middle, strict=True)),
    )


def _caption(
    source: Distribution, lines: Sequence[Line], basis: str, own: Own, repeats: Repeated
) -> str:
    n = between(sorted({line.cells for line in lines}))
    sizes = sorted(of.things for of in own.values())
    interval = (
        f"band: its 95 % interval ({repeats.interval})"
        if any(line.low != line.high for line in lines)
        else f"no interval (it takes {repeats.needed} cells of one configuration)"
    )
    return (
        f"Share of the {source.things} that {source.took}{source.infinite}. Line: median over"
        f" {n} cells, each with {sizes[0]} to {sizes[-1]} {source.word} a line; {interval}. {basis}"
    )


def _alt(
    query: Query,
    lines: Sequence[Line],
    groups: Sequence[tuple[str, ...]],
    places: tuple[float, ...],
) -> str:
    parts = []
    for line in lines:
        half = next((x for x, share in zip(places, line.share, strict=True) if share >= 0.5), None)
        text = "less than half ended" if half is None else f"half by {quantity(half, query.unit)}"
        parts.append(f"{headed(line.heading, valued(groups[line.index]))}: {text}")
    return f"Cumulative distribution of {query.name} within cells. {listed(parts, 6)}."


def _chart(
    query: Query,
    lines: Sequence[Line],
    places: tuple[float, ...],
    things: str,
    by: tuple[str, ...],
    log: bool,
) -> Chart:
    x = [place / query.scale.factor for place in places]
    panels: dict[str, list[Band | Drawn]] = {}
    for line in lines:
        tint = colour(line.index)
        panels.setdefault(line.heading, []).extend(
            (
                Band(x, line.low, line.high, tint, 0.2),
                Drawn(x, line.share, tint, dash(line.index)),
            )
        )
    log = log or _log(places[0], places[-1])
    return Chart(
        [Panel(heading, marks) for heading, marks in panels.items()],
        Axis(query.label, log=log, ticks=_ticks(x[0], x[-1]) if log else ()),
        Axis(f"share of {things}", 0, 1.02),
        heights=(1.6, 1.15),
        keys=query.keys(by),
    )


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `by`, `facet`. Raises NothingToDraw for too many groups.

    Of a metric with many values in a cell, their distribution there.
    """
    if (within := _within(subject, request)) is not None:
        return within
    query = load(subject, request, endless=True)
    facet = query.names("facet")
    by = query.separated(query.names("by"), *facet)
    groups = [key for key, _ in query.groups(by)]
    panels = query.groups(facet)
    query.check(len(panels), lines=len(groups))
    values = {
        (worded(facet, head), key): tuple(sorted(sample.value for sample in found))
        for head, members in panels
        for key, found in query.groups(by, members)
    }
    sizes = sorted({len(of) for of in values.values()})
    spans = [
        f"{headed(heading, valued(key))}: {_span(of, query.unit)}"
        for (heading, key), of in values.items()
    ]
    log = wants_log(query, "x", (v for of in values.values() for v in of if math.isfinite(v)))
    ends = (
        " A line that ends below 1 has values larger than any that was observed."
        if any(not math.isfinite(of[-1]) for of in values.values())
        else ""
    )
    cut = f", {MAX_STEPS} of them drawn" if sizes[-1] > MAX_STEPS else ""
    lines: dict[str, list[Drawn]] = {}
    for (heading, key), of in values.items():
        x, y = steps([v / query.scale.factor for v in of])
        i = groups.index(key)
        panel = lines.setdefault(heading, [])
        if x:
            panel.append(Drawn(x, y, colour(i), dash(i), steps="steps-post"))
    return query.drawing(
        title=f"Distribution of {query.title(by_text((*by, *facet)))}",
        caption=(
            f"Share of the values that are at most this; {between(sizes)} values per line{cut}."
            f" {query.basis((*by, *facet))}{ends}"
        ),
        alt=f"Cumulative distribution of {query.name}. {listed(spans, 6)}.",
        picture=Chart(
            [Panel(heading, of) for heading, of in lines.items()],
            Axis(query.label, log=log, bins=5),
            Axis("share of values", 0, 1.02),
            heights=(1.6, 1.15),
            keys=query.keys(by),
        ),
    )


def steps(values: list[float]) -> tuple[list[float], list[float]]:
    """Return the corners of the distribution function of ordered values: (value, share).

    Infinite values count, and have no corner: the function ends below 1, or is empty.
    """
    n, known = len(values), sum(map(math.isfinite, values))
    if not known:
        return [], []
    ranks = list(range(1, known + 1))
    if known > MAX_STEPS:
        ranks = sorted({round(1 + (known - 1) * i / (MAX_STEPS - 1)) for i in range(MAX_STEPS)})
    return [values[0], *(values[r - 1] for r in ranks)], [0.0, *(r / n for r in ranks)]


def _span(values: Sequence[float], unit: str) -> str:
    """Return the smallest and the largest of ordered values as text."""
    finite = [value for value in values if math.isfinite(value)]
    more = f", {len(values) - len(finite)} larger than any" if len(finite) < len(values) else ""
    if not finite:
        return more.removeprefix(", ")
    return f"{quantity(finite[0], unit)} to {quantity(finite[-1], unit)}{more}"


KIND = FigureKind("cdf", requested)
