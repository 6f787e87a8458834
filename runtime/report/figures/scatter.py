"""The figure `scatter`: one metric against another, a point for each repetition, and an ellipse for
each group.

The ellipse is that of the throughput-delay plane of TCP ex Machina: a contour of the normal
distribution that is fitted to the points by maximum likelihood. At k standard deviations it holds
1 - exp(-k^2 / 2) of that distribution: 39 % at 1.

Source: Winstein and Balakrishnan, TCP ex Machina: Computer-Generated Congestion Control, SIGCOMM
2013, section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairc.compiler.plan import FigureRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.formatting import between, listed, quantity
from fairc.runtime.repetitions.samples import FLOW, LOAD, Sample
from fairc.words.figures import FIGURES

from .axis import wants_log
from .base import Drawing, FigureKind, NothingToDraw, Subject
from .chart import WIDE_LEFT, Axis, Chart, Panel, ends_around
from .layout import Key
from .marks import Line, Mark, dots
from .query import Names, Query, load, only
from .style import colour, marker_of
from .wording import by_text, headed, valued, worded

NAME = "scatter"
LEAST = 3
"""Fewer points have no ellipse."""
_WORDED = 24
"""Longer names of groups (`n = 1, loss = 0%`) have their values only: the title has the others."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A point: both metrics of a repetition (SI units), and where its group finds them."""

    sample: Sample
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Cloud:
    """The points of a group in a panel; index: of the group among all. x, y: as they are drawn."""

    heading: str
    name: str
    index: int
    x: Floats
    y: Floats
    of: str


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `by`, `facet`, `ellipse`, `reverse`, `log`."""
    query, across = (load(subject, each) for each in _requests(request))
    pairs = _pairs(query, across)
    if not pairs:
        raise NothingToDraw(f"no repetition has both {query.name} and {across.name}")
    base = across if len(across.orders[FLOW]) > len(query.orders[FLOW]) else query
    facet = base.names("facet")
    given = base.names("by")
    by = base.separated(given, *facet)
    at = {id(pair.sample): pair for pair in pairs}
    members = [pair.sample for pair in pairs]
    if FLOW in by and FLOW not in given and len(base.groups(by, members)) > FIGURES[NAME].lines:
        facet, by = (*facet, FLOW), tuple(name for name in by if name != FLOW)
    groups = [key for key, _ in base.groups(by, members)]
    factors = query.scale.factor, across.scale.factor
    clouds = [
        Cloud(worded(facet, head), valued(key), groups.index(key), *_columns(found, at, factors))
        for head, panel in base.groups(facet, members)
        for key, found in base.groups(by, panel)
    ]
    headings = list(dict.fromkeys(cloud.heading for cloud in clouds))
    query.check(len(headings), lines=len(groups))
    log = (
        wants_log(query, "x", (pair.x for pair in pairs)),
        wants_log(query, "y", (pair.y for pair in pairs)),
    )
    ends = [
        f"{headed(c.heading, c.name)}: {quantity(float(c.y.mean()) * factors[0], query.unit)} at"
        f" {quantity(float(c.x.mean()) * factors[1], across.unit)}"
        for c in clouds
    ]
    return query.drawing(
        title=query.title(f"against {across.name}", by_text((*by, *facet))),
        caption=f"{_reading(query, clouds, log)} {base.basis((*by, *facet))}",
        alt=f"Scatter plot of {query.name} against {across.name}. Means: {listed(ends, 6)}.",
        picture=_chart(query, across, clouds, headings, groups, by, log),
    )


def _requests(request: FigureRequest) -> tuple[FigureRequest, FigureRequest]:
    """Return the requests of the values of the vertical and of the horizontal axis.

    Where one of them names a flow, `where` chooses flows of the other alone.
    """
    second, where = request.second, request.where
    assert second is not None
    across = request.model_copy(
        update={"metric": second.metric, "flow": second.flow, "second": None}
    )
    if where and bool(request.flow) != bool(second.flow):
        every = {"where": where.without(FLOW)}
        if second.flow:
            across = across.model_copy(update=every)
        else:
            request = request.model_copy(update=every)
    return request, across


def _pairs(query: Query, across: Query) -> list[Pair]:
    """Return both values of each repetition: of one flow where both are of several, else of the
    cell; with the sample of the metric that is of more flows.
    """

    def place(sample: Sample, names: Names) -> Names:
        own = {"cell": sample.outcome.cell, FLOW: sample.flow, LOAD: sample.keys[LOAD]}
        return tuple(own[name] for name in names)

    several = [n for n in (FLOW, LOAD) if min(len(q.orders[n]) for q in (query, across)) > 1]
    names = ("cell", *several)
    found: dict[Names, list[Sample]] = {}
    for sample in across.samples:
        found.setdefault(place(sample, names), []).append(sample)
    by_x = len(across.orders[FLOW]) > len(query.orders[FLOW])
    return [
        Pair(x if by_x else sample, x.value, sample.value)
        for sample in query.samples
        for x in found.get(place(sample, names), ())
    ]


def _columns(
    found: Sequence[Sample], at: Mapping[int, Pair], factors: tuple[float, float]
) -> tuple[Floats, Floats, str]:
    pairs = [at[id(sample)] for sample in found]
    x = np.array([pair.x for pair in pairs]) / factors[1]
    y = np.array([pair.y for pair in pairs]) / factors[0]
    return x, y, only(found)


def ellipse(x: Floats, y: Floats, sigmas: float) -> tuple[Floats, Floats]:
    """Return an ellipse around points: a contour of the normal distribution fitted to them.

    x, y: at least two points. Its covariance is that of maximum likelihood (divided by n).
    """
    covariance = np.cov(x, y, bias=True)
    values, axes = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * math.pi, 73)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    ring = axes @ (np.sqrt(np.maximum(values, 0))[:, None] * circle) * sigmas
    return x.mean() + ring[0], y.mean() + ring[1]


def _reading(query: Query, clouds: Sequence[Cloud], log: tuple[bool, bool]) -> str:
    sizes = sorted({len(cloud.x) for cloud in clouds})
    text = f"Each small point is a repetition, {between(sizes)} in a group; large: their mean."
    sigmas = query.request.options.get("ellipse")
    if isinstance(sigmas, float):
        held = 100 * (1 - math.exp(-(sigmas**2) / 2))
        logarithms = " the logarithms of" if all(log) else ""
        text += (
            f" Ellipse: {sigmas:g} standard {'deviation' if sigmas == 1 else 'deviations'} of the"
            f" normal distribution fitted to{logarithms} a group's points (maximum likelihood),"
            f" which holds {held:.0f} % of it; no interval of the mean."
        )
        if sizes[0] < LEAST:
            text += f" Groups of fewer than {LEAST} points have none."
    reverse = str(query.request.options.get("reverse", ""))
    if reverse:
        ends = [end for side, end in (("x", "the left"), ("y", "the bottom")) if side in reverse]
        text += f" Reversed: larger values are at {listed(ends)}."
    return text


def _chart(
    query: Query,
    across: Query,
    clouds: Sequence[Cloud],
    headings: Sequence[str],
    groups: Sequence[Names],
    by: Names,
    log: tuple[bool, bool],
) -> Chart:
    sigmas = query.request.options.get("ellipse")
    panels: dict[str, list[Mark]] = {heading: [] for heading in headings}
    every: tuple[list[float], list[float]] = ([], [])
    for cloud in clouds:
        paint, (marker, _) = colour(cloud.index), marker_of(cloud.index)
        marks = panels[cloud.heading]
        marks.append(dots(cloud.x, cloud.y, paint, marker, 2.2, edge=0, alpha=0.55))
        both = zip((cloud.x, cloud.y), log, strict=True)
        planes = [np.log10(values) if is_log else values for values, is_log in both]
        rings = []
        if isinstance(sigmas, float) and len(cloud.x) >= LEAST:
            rings.append(ellipse(planes[0], planes[1], sigmas))
        centre = tuple(np.array([plane.mean()]) for plane in planes)
        for number, plane in enumerate((centre, *rings)):
            x, y = (10**v if is_log else v for v, is_log in zip(plane, log, strict=True))
            every[0].extend(x.tolist())
            every[1].extend(y.tolist())
            if number:
                marks.append(Line(x, y, paint, width=0.9))
            else:
                marks.append(dots(x, y, paint, marker, 4.2, z=3))
        every[0].extend(cloud.x.tolist())
        every[1].extend(cloud.y.tolist())
    reverse = str(query.request.options.get("reverse", ""))
    axes = [
        _axis(q.label, values, is_log, side in reverse)
        for q, values, is_log, side in zip((across, query), every, log, "xy", strict=True)
    ]
    texts = [worded(by, key) for key in groups]
    if max(map(len, texts)) > _WORDED:
        texts = [valued(key) for key in groups]
    keys = [Key(text, colour(i), marker=marker_of(i)[0]) for i, text in enumerate(texts) if text]
    return Chart(
        [Panel(heading, marks) for heading, marks in panels.items()],
        axes[0],
        axes[1],
        heights=(2.2, 1.5),
        keys=keys,
        left=WIDE_LEFT,
    )


def _axis(name: str, values: Sequence[float], log: bool, reverse: bool) -> Axis:
    low, high = ends_around(min(values), max(values), 0.06, log=log)
    return Axis(name, high, low, log) if reverse else Axis(name, low, high, log)


KIND = FigureKind(NAME, requested)
