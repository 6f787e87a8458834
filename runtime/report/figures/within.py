"""The distribution that a metric has inside a cell, for `cdf(fct)`: over requests, with its interval over cells.

Requests of one cell share its network, so only cells are independent: each has an empirical
distribution function of its own, and what is drawn at each time is the median of these over the
cells, with its order-statistics interval. Requests of several cells are never taken together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.runtime.report.words import listed, one_line, quantity, scale_for
from fairc.runtime.statistics import Estimate, median
from fairc.words.report import LIMITS, MAX_LINES

from .axis import LOG_RATIO
from .base import Drawing, NothingToDraw, Subject
from .cases import Case, Cases, by_words, load, mixture, names_of, stem, told_apart, valued, worded
from .layout import Key, columns_for, draw_keys, grid, key_height
from .style import Width, colour, dash

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

POINTS = 200
"""Times at which a distribution is drawn."""
MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class Source:
    """Where a metric has its values within cells.

    table: with `cell`, `flow`, `start_s`. column: the value, null where it is infinite. there: a
    value of the metric that every cell has. things: what has a value, and what one without is.
    """

    table: str
    column: str
    unit: str
    there: str
    things: str
    infinite: str


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "fct": Source(
            "requests", "fct_s", "s", "fct.count", "requests begun after the warm-up",
            "those that never ended count as infinite, so a line may end below 1",
        )
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One group: at each place the median share and its interval (the median itself without one)."""

    index: int
    cells: int
    share: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """The groups that share axes."""

    heading: str
    lines: tuple[Line, ...]


def make(subject: Subject, request: FigureRequest) -> Drawing | None:
    """Make the figure; None where the metric is one value a cell. Raises NothingToDraw."""
    source = SOURCES.get(request.metric or "")
    if source is None:
        return None
    cases = load(subject, request.model_copy(update={"metric": source.there}))
    cases = replace(cases, metric=request.metric or "", unit=source.unit)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    by = told_apart(by, facet, cases)
    members = cases.groups((*facet, *by))
    own = _values(subject, source, cases, [found for _, found in members])
    if not own:
        return None
    places = _places(own)
    cases = replace(cases, scale=scale_for(source.unit, list(places)))
    ranked = [key for key, _ in cases.groups(by)]
    panels: dict[tuple[str, ...], list[Line]] = {}
    for number, (key, group_members) in enumerate(members):
        shares = [_shares(*values, places) for (group, _), values in own.items() if group == number]
        if shares:
            mixed = mixture(group_members, cases.swept, cases.sampled)
            line = _line(ranked.index(key[len(facet) :]), shares, bool(mixed))
            panels.setdefault(key[: len(facet)], []).append(line)
    made = [Panel(worded(facet, head), tuple(lines)) for head, lines in panels.items()]
    most = max(len(panel.lines) for panel in made)
    if len(made) > LIMITS["cdf"].panels or most > MAX_LINES:
        raise NothingToDraw(f"{len(made)} panels with {most} lines are more than can be shown")
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=f"Distribution of {cases.title(by_words((*by, *facet)))}",
        caption=_caption(source, made, cases.basis((*by, *facet)), own),
        alt=_alt(cases, made, ranked, places),
        draw=lambda width: _draw(cases, made, [worded(by, g) for g in ranked], places, width),
    )


Own = dict[tuple[int, int], tuple["Floats", int]]
"""(group, cell) -> finite values in order, and how many there are in all."""


def _values(
    subject: Subject, source: Source, cases: Cases, groups: Sequence[Sequence[Case]]
) -> Own:
    import numpy as np

    run = subject.run
    ids = sorted({case.cell for found in groups for case in found})
    number_of = {cell: number for number, cell in enumerate(ids)}
    rows = [(number, case) for number, found in enumerate(groups) for case in found]
    warmup_s = {c.id: run.scenes[c.id].warmup_ns * 1e-9 for c in run.configurations}
    run.register(
        "figure_members",
        {
            "cell": np.array([case.cell for _, case in rows], object),
            "flow": np.array([case.flow for _, case in rows], object),
            "number": np.array([number for number, _ in rows], np.int64),
            "replicate": np.array([number_of[case.cell] for _, case in rows], np.int64),
            "after_s": np.array([warmup_s[case.configuration] for _, case in rows], np.float64),
        },
    )
    found = run.columns(
        f"SELECT number, replicate, {source.column} AS value"
        f" FROM {source.table} JOIN figure_members USING (cell, flow) WHERE start_s >= after_s"
        " ORDER BY number, replicate, value"
    )
    pairs = found["number"].astype(np.int64) * len(ids) + found["replicate"].astype(np.int64)
    kept, first = np.unique(pairs, return_index=True)
    values = np.split(found["value"].astype(np.float64), first[1:])
    own: Own = {}
    for pair, mine in zip(kept.tolist(), values if len(kept) else [], strict=True):
        own[divmod(pair, len(ids))] = np.sort(mine[~np.isnan(mine)]), len(mine)
    return own


def _places(own: Own) -> tuple[float, ...]:
    """Return the times to look at: from the shortest to the longest that ended."""
    import numpy as np

    ends = [(values[0], values[-1]) for values, _ in own.values() if len(values)]
    if not ends:
        raise NothingToDraw("no request ended in any cell that counts")
    low, high = min(first for first, _ in ends), max(last for _, last in ends)
    spaced = np.geomspace if _log(low, high) else np.linspace
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


def _shares(values: Floats, count: int, places: tuple[float, ...]) -> list[float]:
    import numpy as np

    shares: list[float] = (np.searchsorted(values, places, side="right") / count).tolist()
    return shares


def _line(index: int, shares: Sequence[Sequence[float]], mixed: bool) -> Line:
    """Return a line; mixed: its cells are of several configurations, so it has no interval."""
    estimates = [median(at) for at in zip(*shares, strict=True)]
    if mixed:
        estimates = [Estimate(e.n, e.value) for e in estimates]
    middle = tuple(e.value or 0.0 for e in estimates)
    return Line(
        index,
        len(shares),
        middle,
        tuple(m if e.low is None else e.low for e, m in zip(estimates, middle, strict=True)),
        tuple(m if e.high is None else e.high for e, m in zip(estimates, middle, strict=True)),
    )


def _caption(source: Source, panels: Sequence[Panel], basis: str, own: Own) -> str:
    cells = sorted({line.cells for panel in panels for line in panel.lines})
    n = str(cells[0]) if len(cells) == 1 else f"{cells[0]} to {cells[-1]}"
    band = any(line.low != line.high for panel in panels for line in panel.lines)
    sizes = sorted(count for _, count in own.values())
    interval = (
        "band: its 95 % interval (order statistics)"
        if band
        else "no interval (6 cells of one configuration give one)"
    )
    return (
        f"Share of the {source.things} that took at most this long; {source.infinite}. Line: median over"
        f" {n} cells, each with {sizes[0]} to {sizes[-1]} requests a line; {interval}. {basis}"
    )


def _alt(cases: Cases, panels: Sequence[Panel], groups: Sequence[tuple[str, ...]],
         places: tuple[float, ...]) -> str:  # fmt: skip
    said = []
    for panel in panels:
        for line in panel.lines:
            half = next(
                (x for x, share in zip(places, line.share, strict=True) if share >= 0.5), None
            )
            name = ", ".join(filter(None, (panel.heading, valued(groups[line.index])))) or "all"
            words = (
                "less than half ended" if half is None else f"half by {quantity(half, cases.unit)}"
            )
            said.append(f"{name}: {words}")
    return f"Cumulative distribution of {cases.metric} within cells. {listed(said, 6)}."


def _draw(
    cases: Cases,
    panels: Sequence[Panel],
    groups: list[str],
    places: tuple[float, ...],
    width: Width,
) -> Figure:
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    columns = columns_for(width, len(panels))
    keys = [Key(one_line(g), colour(i), dash(i)) for i, g in enumerate(groups) if g]
    single = len(panels) == 1
    made = grid(
        width, columns, len(panels), 1.6 if single else 1.15, 0.14,
        headings=not single or bool(panels[0].heading), above=key_height(keys, width),
    )  # fmt: skip
    draw_keys(made.figure, keys, width)
    x = [place / cases.scale.factor for place in places]
    for axes, panel in zip(made.panels, panels, strict=True):
        for line in panel.lines:
            tint = colour(line.index)
            axes.fill_between(x, line.low, line.high, color=tint, alpha=0.2, linewidth=0)
            axes.plot(x, line.share, color=tint, linestyle=dash(line.index))
        if _log(places[0], places[-1]):
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator(_ticks(x[0], x[-1])))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(0, 1.02)
        axes.set_title(one_line(panel.heading))
    for row in made.rows:
        row[0].set_ylabel("share of requests")
    for axes in made.panels[-columns:]:
        axes.set_xlabel(cases.label)
    return made.figure
