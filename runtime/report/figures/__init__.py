"""Figures: a drawing with words each, from the tables of a run.

In order of use: `base` (what a figure is), `style`, `colours` and `layout` (how all of them look),
`traces` (what figures of one repetition share), `cases`, `axis` and `overtime` (what figures of a
metric share), `curves` (what those of `deviations` share), then one module per kind of figure. A new kind is a module with a `KIND`, its line here, and a test.
"""

from __future__ import annotations

from fairc.dsl.core.registry import Registry

from . import (
    autocorrelation,
    boxplot,
    buckets,
    cdf,
    convergence,
    fairness,
    heatmap,
    histogram,
    line,
    loads,
    loss_window,
    queue,
    ranges,
    rates,
    sequence,
    spectrum,
    table,
    window,
)
from .base import Drawing, FigureKind, NothingToDraw, Number, Sheet, Subject

# Shown in every report, in this order.
DEFAULT: tuple[FigureKind, ...] = (rates.KIND, window.KIND, queue.KIND)

# Shown after them where fairness is measured, and in a report of page loads.
FAIRNESS: FigureKind = fairness.KIND
PAGE_LOADS: FigureKind = loads.KIND
loads_pages = loads.loads_pages

# Shown where users are policed.
POLICING: FigureKind = buckets.KIND
polices = buckets.polices
# Shown where `deviations` is measured.
DEVIATIONS: tuple[FigureKind, ...] = (spectrum.KIND, ranges.KIND, loss_window.KIND)

# What `report { ... }` can ask for.
FIGURES: Registry[FigureKind] = Registry(
    "figure",
    "figure",
    (
        table.KIND,
        line.KIND,
        heatmap.KIND,
        boxplot.KIND,
        cdf.KIND,
        histogram.KIND,
        convergence.KIND,
        sequence.KIND,
        autocorrelation.KIND,
        spectrum.KIND,
        ranges.KIND,
        loss_window.KIND,
    ),
)

__all__ = [
    "DEFAULT",
    "DEVIATIONS",
    "FAIRNESS",
    "FIGURES",
    "PAGE_LOADS",
    "POLICING",
    "Drawing",
    "FigureKind",
    "NothingToDraw",
    "Number",
    "Sheet",
    "Subject",
    "loads_pages",
    "polices",
]
