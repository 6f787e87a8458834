"""The figure `histogram`: the distribution of a metric in bins, a panel for each group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import listed, one_line, quantity

from .base import Drawing, FigureKind, Subject, few, limits
from .cases import Cases, by_text, load, names_of, number_of, separated, stem, worded
from .layout import fitting, panels_for
from .pairs import pair_of, sessions_of
from .style import MUTED, SERIES, Width

K = "fmp.K"


@dataclass(frozen=True, slots=True)
class Panel:
    """A group: its heading, and how many of its n values are in each bin."""

    heading: str
    counts: tuple[int, ...]
    n: int


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `by` and `facet` (a panel for each), `bins`."""
    assert request is not None, "not a default figure"
    cases = load(subject, request)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    names = separated((*facet, *by), (), cases)
    groups = cases.groups(names)
    few(len(groups), limits("histogram").panels, "panels")
    edges = bin_edges(
        [c.value / cases.scale.factor for c in cases.samples], round(number_of(request, "bins"))
    )
    panels = [
        Panel(
            worded(names, key),
            counts([c.value / cases.scale.factor for c in found], edges),
            len(found),
        )
        for key, found in groups
    ]
    width = quantity((edges[1] - edges[0]) * cases.scale.factor, cases.unit)
    peaks = [
        (
            f"{p.heading or 'all'}: most often"
            f" {quantity(_peak(p, edges) * cases.scale.factor, cases.unit)}"
        )
        for p in panels
    ]
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=f"Histogram of {cases.title(by_text(names))}",
        caption=(
            f"Number of values in each of {len(edges) - 1} bins of {width}, the same in every"
            f" panel. {cases.basis(names)}"
        ),
        alt=f"Histogram of {cases.metric}. {listed(peaks, 6)}.",
        draw=lambda width: _draw(cases, panels, edges, width),
    )


def bin_edges(values: list[float], bins: int) -> list[float]:
    """Return the edges of equal bins from the smallest to the largest value.

    Where values lie on both sides of 0, the bins are symmetrical about it; a single value gets a
    bin around it.
    """
    low, high = min(values), max(values)
    if low < 0 < high:
        low, high = -max(-low, high), max(-low, high)
    if low == high:
        reach = abs(low) * 0.05 or 0.5
        low, high = low - reach, high + reach
    return [low + (high - low) * i / bins for i in range(bins)] + [high]


def counts(values: list[float], edges: list[float]) -> tuple[int, ...]:
    """Return how many values are in each bin: [low, high), the last one with its upper edge."""
    return tuple(int(n) for n in np.histogram(values, bins=edges)[0])


def _peak(panel: Panel, edges: list[float]) -> float:
    place = panel.counts.index(max(panel.counts))
    return (edges[place] + edges[place + 1]) / 2


def _draw(cases: Cases, panels: list[Panel], edges: list[float], width: Width) -> Figure:
    layout = panels_for(width, [panel.heading for panel in panels], (1.4, 0.95))
    top = max(max(p.counts) for p in panels)
    for axes, panel in zip(layout.panels, panels, strict=True):
        axes.stairs(panel.counts, edges, fill=True, color=SERIES[0], alpha=0.55, linewidth=0)
        axes.stairs(panel.counts, edges, color=SERIES[0], linewidth=0.8)
        if edges[0] < 0 < edges[-1]:
            axes.axvline(0, color=MUTED, linewidth=0.6)
        axes.set_ylim(0, top * 1.08)
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.set_title(fitting(panel.heading, layout.width))
        axes.text(
            0.99,
            0.97,
            f"n = {panel.n}",
            ha="right",
            va="top",
            fontsize=6.2,
            color=MUTED,
            transform=axes.transAxes,
        )
    layout.panels[0].locator_params(axis="x", nbins=5)
    layout.label(cases.label, "values")
    return layout.figure


def of_k(subject: Subject) -> list[FigureKind]:
    """Return histograms of K by each swept name that is of the network, not of the pair of
    sessions.
    """
    if not (subject.measures("fmp") and len(subject.run.configurations) > 1):
        return []
    return [
        FigureKind(f"histogram of {K} by {one_line(name)}", partial(_of_k, name), lambda _: True)
        for name in _of_network(subject)
    ]


def _of_k(name: str, subject: Subject, request: FigureRequest | None) -> Drawing:
    del request  # a default figure
    asked = FigureRequest(kind="histogram", metric=K, options={"by": (name,), "bins": 20.0})
    return replace(make(subject, asked), name=f"k-by-{name}", section="repetitions")


def _of_network(subject: Subject) -> list[str]:
    """Return the swept names with several values that do not decide which pair a configuration has.

    A name decides it where two of its values have no pair in common. Left out is what the
    experiment asks for.
    """
    run = subject.run
    asked = [
        r.options.get("by") for r in run.plan.figures if r.kind == "histogram" and r.metric == K
    ]
    there = {name for by in asked for name in (by if isinstance(by, tuple) else (by,))}
    sessions = sessions_of(run, K)
    pairs = {c.id: pair_of(run, c.id, sessions) for c in run.configurations}
    found = []
    for axis in run.plan.axes:
        of: dict[str, set[str]] = {}
        for configuration in run.configurations:
            of.setdefault(dict(configuration.bindings)[axis.name], set()).add(
                pairs[configuration.id]
            )
        decides = any(a.isdisjoint(b) for a, b in combinations(of.values(), 2))
        if 1 < len(of) <= limits("histogram").panels and not decides and axis.name not in there:
            found.append(axis.name)
    return found


KIND = FigureKind("histogram", make)
