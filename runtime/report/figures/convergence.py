"""The figure `convergence`: how a percentile settles with the number of configurations.

Of the N configurations, k are drawn at random without replacement, and the percentile of their
values is taken; the spread of the draws is shown against k (Corbel et al., Fairness Measurement
Procedure, 2018), for k up to N / 2: larger subsets share most of their members, and with all of
them there is no spread left, however few they are. The outer band is exact (`subsets.drawn_ranks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import counted, listed, ordinal, quantity
from fairc.runtime.statistics.subsets import drawn_ranks, enough

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .chart import WIDE_LEFT, Axis, Chart, Panel
from .layout import Key
from .marks import Band, Line, Rule
from .query import Query, load, of_configurations
from .style import MUTED, SERIES
from .wording import by_text, worded

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_CONFIGURATIONS = 4
SIZES = 12
QUANTILES = (25, 50, 75)
WITHIN = 0.05
"""Subsets are large enough when they come so close, relative to the percentile of all
configurations.
"""
# Numbers that are drawn at once, so that memory does not grow with the number of draws.
_AT_ONCE = 2_000_000


class Settling(NamedTuple):
    """The percentile of a group against the number of configurations.

    sizes: how many of its n configurations are drawn; whole: the percentile of all.
    spread: shape (len(QUANTILES), len(sizes)), quantiles over the draws. low, high: shape
    (len(sizes),), between which it lies in 95 % of all draws. enough: the least size that is large
    enough, or None.
    """

    heading: str
    n: int
    sizes: tuple[int, ...]
    spread: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    whole: float
    enough: int | None


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `by` and `facet` (a panel for each), `percentile`, `draws`."""
    query = load(subject, request)
    names = query.each()
    percentile, draws = query.number("percentile"), round(query.number("draws"))
    groups = query.groups(names)
    query.check(len(groups))
    found = []
    for key, members in groups:
        values = of_configurations(members)
        if len(values) >= MIN_CONFIGURATIONS:
            heading = worded(names, key)
            found.append(_settling(heading, values, percentile, draws, subject.run.plan.seed))
    if not found:
        raise NothingToDraw(f"it needs at least {MIN_CONFIGURATIONS} configurations with a value")
    short_of = len(groups) - len(found)
    fewer = (
        f" Not shown: {counted(short_of, 'group')} with fewer than {MIN_CONFIGURATIONS}."
        if short_of
        else ""
    )
    cells = {s.outcome.cell for s in query.samples}
    repeated = len(cells) > len({s.outcome.configuration for s in query.samples})
    of_cells = " A configuration's value is the median of its cells." if repeated else ""
    last = [f"{p.heading or 'all'}: {quantity(p.whole, query.unit)} of all {p.n}" for p in found]
    return query.drawing(
        title=(
            f"How the {ordinal(percentile)} of {query.title(by_text(names))} settles with the"
            " number of configurations"
        ),
        # That configurations are mixed is what the figure is about.
        caption=(
            f"{_sufficient(found)} Subsets are drawn without replacement. Wide band: 95 % of all"
            f" subsets (exact, hypergeometric); line and narrow band: median and 25 to 75 % of"
            f" {draws} draws; dashed: all configurations.{of_cells}{fewer}"
            f" {query.basis(tuple(query.orders))}"
        ),
        alt=f"Spread of the {ordinal(percentile)} of {query.name}. {listed(last, 6)}.",
        picture=_chart(query, found),
    )


def _chart(query: Query, found: list[Settling]) -> Chart:
    factor, colour, dashed = query.scale.factor, SERIES[0], (0, (4, 1.5))
    panels = []
    for of in found:
        quarter, middle, three = of.spread / factor
        marker = "o" if of.sizes[0] == of.sizes[-1] else ""  # one size is a dot
        marks = (
            Band(of.sizes, of.low / factor, of.high / factor, colour, 0.16),
            Band(of.sizes, quarter, three, colour, 0.26),
            Line(of.sizes, middle, colour, marker=marker),
            Rule(of.whole / factor, MUTED, 0.8, dashed),
        )
        panels.append(Panel(of.heading, marks, x=Axis("", of.sizes[0], of.sizes[-1])))
    low = min(float(of.low.min()) for of in found) / factor
    high = max(float(of.high.max()) for of in found) / factor
    margin = 0.05 * (high - low) or 0.05
    return Chart(
        panels,
        Axis("configurations drawn"),
        Axis(query.label, low - margin, high + margin),
        heights=(1.6, 1.1),
        keys=[Key("all configurations", MUTED, dashed), Key("median of the draws", colour)],
        left=WIDE_LEFT,
        share=False,
    )


def _settling(
    heading: str, values: list[float], percentile: float, draws: int, seed: int
) -> Settling:
    n, q, ordered = len(values), percentile / 100, np.sort(values)
    sizes = sizes_for(n)
    ranks = np.array([drawn_ranks(n, k, q) for k in sizes])
    whole = float(np.percentile(values, percentile))
    return Settling(
        heading,
        n,
        sizes,
        spread_of(values, percentile, sizes, draws, seed),
        ordered[ranks[:, 0] - 1],
        ordered[ranks[:, 1] - 1],
        whole,
        enough(values, q, WITHIN * abs(whole), n // 2) if whole else None,
    )


def _sufficient(found: list[Settling]) -> str:
    """Say how many configurations are enough."""
    close = f"95 % of all subsets come within {100 * WITHIN:g} % of the value of all configurations"
    parts = [
        (f"{p.heading}: " if p.heading else "")
        + (
            f"{p.enough} of {p.n} configurations are enough"
            if p.enough is not None
            else f"not even half of the {p.n} configurations are enough"
        )
        for p in found
    ]
    text = "; ".join(parts)
    # A heading is in the experiment's words, whatever their case.
    return f"{text if found[0].heading else text[:1].upper() + text[1:]} ({close})."


def sizes_for(n: int) -> tuple[int, ...]:
    """Return the sizes of the subsets, evenly spread up to half of all n."""
    first, last = max(2, n // 20), n // 2
    return tuple(sorted({round(first + (last - first) * i / (SIZES - 1)) for i in range(SIZES)}))


def spread_of(
    values: list[float], percentile: float, sizes: tuple[int, ...], draws: int, seed: int
) -> NDArray[Any]:
    """Return `QUANTILES` of the percentile over the draws, shape (len(QUANTILES), len(sizes)).

    A draw is a random order; its first k are a subset without replacement. The same seed gives
    the same draws on every machine.
    """
    n = len(values)
    known = np.asarray(values, dtype=float)
    source = np.random.RandomState(seed % 2**32)  # its stream is frozen, unlike a Generator's
    rows = max(1, min(draws, _AT_ONCE // n))
    found = np.empty((len(sizes), draws))
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        drawn = known[source.random_sample((count, n)).argsort(axis=1, kind="stable")]
        for i, k in enumerate(sizes):
            found[i, start : start + count] = np.percentile(drawn[:, :k], percentile, axis=1)
    return np.percentile(found, QUANTILES, axis=1)


KIND = FigureKind("convergence", requested)
