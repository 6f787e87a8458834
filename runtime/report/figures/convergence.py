"""The figure `convergence`: how a percentile settles with the number of configurations.

Of the N configurations, k are drawn at random without replacement, and the percentile of their
values is taken; the spread of the draws is shown against k (Corbel et al., Fairness Measurement
Procedure, 2018), for k up to N / 2: larger subsets share most of their members, and with all of
them there is no spread left, however few they are. The outer band is exact (`subsets.drawn_ranks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import counted, listed, quantity
from fairc.runtime.repetitions.samples import Sample
from fairc.runtime.statistics import median
from fairc.runtime.statistics.subsets import drawn_ranks, enough

from .base import Drawing, FigureKind, NothingToDraw, Subject, few, limits
from .cases import Cases, by_text, load, names_of, number_of, replicates, separated, stem, worded
from .layout import WIDE_LEFT, Key, fitting, panels_for
from .style import MUTED, SERIES, Width
from .summing import ordinal

if TYPE_CHECKING:
    from matplotlib.figure import Figure
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


@dataclass(frozen=True, slots=True)
class Panel:
    """A group. sizes: how many of its n configurations are drawn; whole: the percentile of all.

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


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `by` and `facet` (a panel for each), `percentile`, `draws`."""
    assert request is not None, "not a default figure"
    cases = load(subject, request)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    names = separated((*facet, *by), (), cases)
    percentile, draws = number_of(request, "percentile"), round(number_of(request, "draws"))
    groups = cases.groups(names)
    few(len(groups), limits("convergence").panels, "panels")
    panels = []
    for key, found in groups:
        values = of_configurations(found)
        if len(values) >= MIN_CONFIGURATIONS:
            heading = worded(names, key)
            panels.append(_panel(heading, values, percentile, draws, subject.run.plan.seed))
    if not panels:
        raise NothingToDraw(f"it needs at least {MIN_CONFIGURATIONS} configurations with a value")
    short_of = len(groups) - len(panels)
    fewer = (
        f" Not shown: {counted(short_of, 'group')} with fewer than {MIN_CONFIGURATIONS}."
        if short_of
        else ""
    )
    repeated = " A configuration's value is the median of its cells." if _repeated(cases) else ""
    last = [f"{p.heading or 'all'}: {quantity(p.whole, cases.unit)} of all {p.n}" for p in panels]
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=(
            f"How the {ordinal(percentile)} of {cases.title(by_text(names))} settles with the"
            " number of configurations"
        ),
        caption=(
            f"{_sufficient(panels)} Subsets are drawn without replacement. Wide band: 95 % of all"
            f" subsets (exact, hypergeometric); line and narrow band: median and 25 to 75 % of"
            f" {draws}"
            f" draws; dashed: all configurations.{repeated}{fewer}"
            f" {cases.basis(cases_names(cases))}"
        ),
        alt=f"Spread of the {ordinal(percentile)} of {cases.metric}. {listed(last, 6)}.",
        draw=lambda width: _draw(cases, panels, width),
    )


def _panel(heading: str, values: list[float], percentile: float, draws: int, seed: int) -> Panel:
    n, q, ordered = len(values), percentile / 100, np.sort(values)
    sizes = sizes_for(n)
    ranks = np.array([drawn_ranks(n, k, q) for k in sizes])
    whole = float(np.percentile(values, percentile))
    return Panel(
        heading,
        n,
        sizes,
        spread_of(values, percentile, sizes, draws, seed),
        ordered[ranks[:, 0] - 1],
        ordered[ranks[:, 1] - 1],
        whole,
        enough(values, q, WITHIN * abs(whole), n // 2) if whole else None,
    )


def _sufficient(panels: list[Panel]) -> str:
    """Say how many configurations are enough."""
    close = f"95 % of all subsets come within {WITHIN:.0%} of the value of all configurations"
    found = [
        (f"{p.heading}: " if p.heading else "")
        + (
            f"{p.enough} of {p.n} configurations are enough"
            if p.enough is not None
            else f"not even half of the {p.n} configurations are enough"
        )
        for p in panels
    ]
    return f"{'; '.join(found)} ({close})."


def cases_names(cases: Cases) -> tuple[str, ...]:
    """Return every name: what a draw mixes is what the figure is about."""
    return tuple(cases.orders)


def of_configurations(found: list[Sample]) -> list[float]:
    """Return one value for each configuration: the median of its cells."""
    members: dict[str, list[Sample]] = {}
    for sample in found:
        members.setdefault(sample.outcome.configuration, []).append(sample)
    medians = (median(replicates(cases)).value for cases in members.values())
    return [value for value in medians if value is not None]


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


def _repeated(cases: Cases) -> bool:
    return len({c.outcome.cell for c in cases.samples}) > len(
        {c.outcome.configuration for c in cases.samples}
    )


def _draw(cases: Cases, panels: list[Panel], width: Width) -> Figure:
    keys = [Key("all configurations", MUTED, (0, (4, 1.5))), Key("median of the draws", SERIES[0])]
    layout = panels_for(
        width, [panel.heading for panel in panels], (1.6, 1.1), keys, left=WIDE_LEFT, share=False
    )
    factor = cases.scale.factor
    low = min(float(p.low.min()) for p in panels) / factor
    high = max(float(p.high.max()) for p in panels) / factor
    margin = 0.05 * (high - low) or 0.05
    for axes, panel in zip(layout.panels, panels, strict=True):
        quarter, middle, three = panel.spread / factor
        outer = (panel.low / factor, panel.high / factor, 0.16)
        for bottom, top, alpha in (outer, (quarter, three, 0.26)):
            axes.fill_between(panel.sizes, bottom, top, alpha=alpha, color=SERIES[0], linewidth=0)
        axes.plot(panel.sizes, middle, color=SERIES[0])
        axes.axhline(panel.whole / factor, color=MUTED, linewidth=0.8, linestyle=(0, (4, 1.5)))
        axes.set_xlim(panel.sizes[0], panel.sizes[-1])
        axes.set_ylim(low - margin, high + margin)
        axes.set_title(fitting(panel.heading, layout.width))
    layout.label("configurations drawn", cases.label)
    return layout.figure


KIND = FigureKind("convergence", make)
