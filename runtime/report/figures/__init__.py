"""Figures: drawings with captions, from the tables of a run.

In order of use: `base` (what a figure is), `style`, `colours` and `layout` (the look of all figures),
`traces` (shared by figures of one repetition), `cases`, `axis` and `overtime` (shared by figures of a
metric), `curves` (shared by the figures of `deviations`), then one module per kind of figure. A new kind is a module with a `KIND`,
its line in words/figures.py, and a test.
"""

from __future__ import annotations

from fairc.dsl.core import plugins
from fairc.dsl.core.registry import Registry
from fairc.words import figures as words

from . import (
    buckets,
    course,
    fairness,
    loads,
    loss_window,
    pairs,
    queue,
    ranges,
    rates,
    spectrum,
    window,
)
from .base import Drawing, FigureKind, NothingToDraw, Sheet, Subject

# Shown in every report, in this order.
DEFAULT: tuple[FigureKind, ...] = (rates.KIND, window.KIND, queue.KIND)

# Shown after them where fairness is measured, and in a report of page loads.
FAIRNESS: FigureKind = fairness.KIND
PAGE_LOADS: FigureKind = loads.KIND
loads_pages = loads.loads_pages

# Shown where users are policed.
POLICING: FigureKind = buckets.KIND
polices = buckets.polices
# Shown where `fmp` is measured: K over time, and the table of pairs.
COURSE: FigureKind = course.KIND
PAIRS: FigureKind = pairs.KIND
# Shown where `deviations` is measured.
SPECTRUM: FigureKind = spectrum.KIND
DEVIATIONS: tuple[FigureKind, ...] = (SPECTRUM, ranges.KIND, loss_window.KIND)


# What `report { ... }` can ask for.
FIGURES: Registry[FigureKind] = Registry(
    "figure", "figure", plugins.members(words.FIGURES, words.GROUP, __name__, "KIND")
)

__all__ = [
    "COURSE",
    "DEFAULT",
    "DEVIATIONS",
    "FAIRNESS",
    "FIGURES",
    "PAGE_LOADS",
    "PAIRS",
    "POLICING",
    "Drawing",
    "FigureKind",
    "NothingToDraw",
    "Sheet",
    "Subject",
    "loads_pages",
    "polices",
]
