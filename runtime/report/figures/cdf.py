"""The figure `cdf`: the empirical distribution of a metric for each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.runtime.report.words import one_line, quantity

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .cases import Cases, load, names_of, stem, with_flow, worded
from .layout import grid
from .style import SERIES, Width, colour, dash

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# More lines than colours cannot be told apart.
MAX_LINES = len(SERIES) * 2


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; option: `by`. Raises NothingToDraw for more groups than can be told apart."""
    assert request is not None, "not a default figure"
    cases = load(subject, request, ("by",))
    names = with_flow(names_of(request, "by", cases), (), cases)
    groups = [(worded(names, k), sorted(c.value for c in v)) for k, v in cases.groups(names)]
    if len(groups) > MAX_LINES:
        raise NothingToDraw(f"{len(groups)} groups are more than {MAX_LINES} lines can show")
    spans = "; ".join(
        f"{label or 'all'}: {quantity(v[0], _unit(cases))} to {quantity(v[-1], _unit(cases))}"
        for label, v in groups[:6]
    )
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=f"Distribution of {cases.metric}",
        caption=f"Share of the cells that count with at most this value.{cases.pooled(names)}",
        alt=f"Cumulative distribution of {cases.metric}. {spans}.",
        draw=lambda width: _draw(cases, groups, width),
    )


def _unit(cases: Cases) -> str:
    """Return the SI base unit of the values."""
    from fairc.runtime.metrics.registry import value_named

    return value_named(cases.metric).unit


def _draw(cases: Cases, groups: list[tuple[str, list[float]]], width: Width) -> Figure:
    made = grid(width, 1, 1, 1.6, 0.14, headings=False)
    (axes,) = made.panels
    for index, (label, values) in enumerate(groups):
        axes.ecdf(
            [v / cases.scale.factor for v in values],
            color=colour(index),
            linestyle=dash(index),
            label=f"{one_line(label)}  n = {len(values)}".strip(),
        )
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("share of cells")
    axes.set_xlabel(cases.label)
    # The lines all end at 1, so their ends cannot carry their names.
    axes.legend(frameon=False, fontsize=6.2, loc="best", labelcolor="linecolor", handlelength=1.6)
    return made.figure


KIND = FigureKind("cdf", make)
