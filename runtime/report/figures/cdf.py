"""The figure `cdf`: the empirical distribution of a metric for each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import between, listed, one_line, quantity

from . import within
from .axis import wants_log
from .base import Drawing, FigureKind, Subject, few, limits
from .cases import Cases, by_text, grouped, headed, load, names_of, separated, stem, valued, worded
from .layout import Key, fitting, panels_for
from .style import Width, colour, dash, logarithmic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A step for each value up to here; of more, as many of them, evenly spread over the ranks.
MAX_STEPS = 400


@dataclass(frozen=True, slots=True)
class Panel:
    """The distributions that share axes: (number of the group, values in order) each."""

    heading: str
    lines: tuple[tuple[int, tuple[float, ...]], ...]


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `by`, `facet`. Raises NothingToDraw for too many groups.

    Of a metric that is a distribution in each cell, that distribution (`within`).
    """
    assert request is not None, "not a default figure"
    if (own := within.make(subject, request)) is not None:
        return own
    cases = load(subject, request)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    by = separated(by, facet, cases)
    groups = [key for key, _ in cases.groups(by)]
    few(len(groups), limits("cdf").lines, "groups", " lines can show")
    panels = [
        Panel(
            worded(facet, key),
            tuple(
                (groups.index(own), tuple(sorted(c.value for c in found)))
                for own, found in grouped(members, by, cases.orders)
            ),
        )
        for key, members in cases.groups(facet)
    ]
    few(len(panels), limits("cdf").panels, "panels")
    sizes = sorted({len(values) for panel in panels for _, values in panel.lines})
    n = between(sizes)
    spans = [
        f"{headed(p.heading, valued(groups[i]))}:"
        f" {quantity(v[0], cases.unit)} to {quantity(v[-1], cases.unit)}"
        for p in panels
        for i, v in p.lines
    ]
    log = wants_log(request, "x", (v for panel in panels for _, own in panel.lines for v in own))
    cut = f", {MAX_STEPS} of them drawn" if sizes[-1] > MAX_STEPS else ""
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=f"Distribution of {cases.title(by_text((*by, *facet)))}",
        caption=(
            f"Share of the values that are at most this; {n} values per line{cut}."
            f" {cases.basis((*by, *facet))}"
        ),
        alt=f"Cumulative distribution of {cases.metric}. {listed(spans, 6)}.",
        draw=lambda width: _draw(cases, panels, [worded(by, g) for g in groups], width, log),
    )


def steps(values: tuple[float, ...]) -> tuple[list[float], list[float]]:
    """Return the corners of the distribution function of ordered values: (value, share)."""
    n = len(values)
    ranks = range(1, n + 1)
    if n > MAX_STEPS:
        ranks_ = {round(1 + (n - 1) * i / (MAX_STEPS - 1)) for i in range(MAX_STEPS)}
        kept = sorted(ranks_)
    else:
        kept = list(ranks)
    return [values[0], *(values[r - 1] for r in kept)], [0.0, *(r / n for r in kept)]


def _draw(cases: Cases, panels: list[Panel], groups: list[str], width: Width, log: bool) -> Figure:
    keys = [Key(one_line(g), colour(i), dash(i)) for i, g in enumerate(groups) if g]
    layout = panels_for(width, [panel.heading for panel in panels], (1.6, 1.15), keys)
    for axes, panel in zip(layout.panels, panels, strict=True):
        for index, values in panel.lines:
            x, y = steps(values)
            axes.plot(
                [v / cases.scale.factor for v in x],
                y,
                drawstyle="steps-post",
                color=colour(index),
                linestyle=dash(index),
            )
        axes.set_ylim(0, 1.02)
        axes.set_title(fitting(panel.heading, layout.width))
    if log:
        logarithmic(layout.panels[0], "x")
    else:
        layout.panels[0].locator_params(axis="x", nbins=5)
    layout.label(cases.label, "share of values")
    return layout.figure


KIND = FigureKind("cdf", make)
