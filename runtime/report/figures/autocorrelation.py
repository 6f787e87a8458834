"""The figure `autocorrelation`: whether repetitions depend on those before them, with its 95 %
band.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import between, listed, number
from fairc.runtime.repetitions.samples import REPETITION, Sample
from fairc.runtime.statistics.series import autocorrelation

from .base import Drawing, FigureKind, NothingToDraw, Subject, few, limits
from .cases import by_text, load, names_of, replicates, separated, stem, worded
from .layout import columns_for, fitting, grid
from .style import LIMIT, MUTED, SERIES, Width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairc.runtime.statistics.series import Autocorrelation


@dataclass(frozen=True, slots=True)
class Panel:
    """One group: its heading, how many values it has, and their autocorrelation."""

    heading: str
    n: int
    found: Autocorrelation


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `by`, `facet`: a panel for each of their groups.

    Every swept name separates groups: a series that mixes configurations has no order. Raises
    NothingToDraw for too many groups, or where no series is long enough and varies.
    """
    assert request is not None, "not a default figure"
    cases = load(subject, request)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    names = tuple(name for name in (*facet, *by) if name != REPETITION)
    rest = tuple(n for n in subject.run.axes if n not in names and len(cases.orders[n]) > 1)
    names = separated((*names, *rest), (), cases)
    panels, without = [], 0
    for key, members in cases.groups(names):
        found = autocorrelation(_in_order(members))
        if isinstance(found, str):
            without += 1
        else:
            panels.append(Panel(worded(names, key), len({c.outcome.cell for c in members}), found))
    if not panels:
        raise NothingToDraw("no group has 6 repetitions or more with values that vary")
    few(len(panels), limits("autocorrelation").panels, "panels")
    outside = [
        f"{panel.heading or 'all'} at lag {lag} ({number(r, 2)})"
        for panel in panels
        for lag, r in enumerate(panel.found.r, 1)
        if abs(r) > panel.found.band
    ]
    lags = sum(len(panel.found.r) for panel in panels)
    sizes = sorted({panel.n for panel in panels})
    values = between(sizes)
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=f"Autocorrelation of {cases.title(by_text(names))}",
        caption=(
            f"Autocorrelation of the {values} values in the order of repetitions, at each lag in"
            " repetitions. Dashed: 1.96 / sqrt(n), the 95 % band of an independent series;"
            f" {len(outside)} of {lags} are beyond it, {0.05 * lags:.1f} would be expected by"
            f" chance."
            + (f" {without} groups are too short or do not vary." if without else "")
            + f" {cases.basis(names)}"
        ),
        alt=f"Autocorrelation of {cases.metric}. Beyond the 95 % band:"
        f" {listed(outside, 8) or 'none'}.",
        draw=lambda width: _draw(panels, width),
    )


def _in_order(members: list[Sample]) -> list[float]:
    ordered = sorted(members, key=lambda sample: int(sample.keys[REPETITION]))
    return replicates(ordered)


def _draw(panels: list[Panel], width: Width) -> Figure:
    columns = min(2, columns_for(width, len(panels)))  # headings name every swept value
    layout = grid(
        width,
        columns,
        len(panels),
        0.75,
        0.14,
        headings=len(panels) > 1 or bool(panels[0].heading),
    )
    reach = max(abs(r) for panel in panels for r in (*panel.found.r, panel.found.band))
    most = max(len(panel.found.r) for panel in panels)
    for axes, panel in zip(layout.panels, panels, strict=True):
        lags = range(1, len(panel.found.r) + 1)
        axes.vlines(lags, 0, panel.found.r, color=SERIES[0], linewidth=2.2)
        axes.axhline(0, color=MUTED, linewidth=0.6)
        for edge in (panel.found.band, -panel.found.band):
            axes.axhline(edge, color=LIMIT, linewidth=0.8, linestyle=(0, (5, 2)))
        axes.set_ylim(-1.1 * reach, 1.1 * reach)
        axes.set_xlim(0.4, most + 0.6)
        axes.set_xticks(range(1, most + 1))
        axes.set_title(fitting(panel.heading, layout.width))
    layout.label("lag (repetitions)", "r")
    return layout.figure


KIND = FigureKind("autocorrelation", make)
