"""Figures: a drawing with words each, from the tables of a run.

In order of use: `base` (what a figure is), `style` and `layout` (how all of them look), `traces`
(what figures of one repetition share), `cases` (what figures of a metric share), then one module
per kind of figure. A new kind is a module with a `KIND`, its line here, and a test.
"""

from __future__ import annotations

from fairc.dsl.registry import Registry

from . import boxplot, cdf, fairness, heatmap, queue, rates, window
from .base import Drawing, FigureKind, NothingToDraw, Subject

# Shown in every report, in this order.
DEFAULT: tuple[FigureKind, ...] = (rates.KIND, window.KIND, queue.KIND, fairness.KIND)

# What `report { ... }` can ask for.
FIGURES: Registry[FigureKind] = Registry("figure", "figure", (boxplot.KIND, cdf.KIND, heatmap.KIND))

__all__ = ["DEFAULT", "FIGURES", "Drawing", "FigureKind", "NothingToDraw", "Subject"]
