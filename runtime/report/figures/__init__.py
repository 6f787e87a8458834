"""Figures: a drawing with words each, from the tables of a run.

In order of use: `base` (what a figure is), `style`, `colours` and `layout` (how all of them look),
`traces` (what figures of one repetition share), `cases`, `axis` and `overtime` (what figures of a
metric share), `curves` (what those of `deviations` share), then one module per kind of figure. A new kind is a module with a `KIND`, its line in words/figures.py, and a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module

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
# Shown where `fmp` is measured: K over time, and the table of pairs.
COURSE: FigureKind = course.KIND
PAIRS: FigureKind = pairs.KIND
# Shown where `deviations` is measured.
SPECTRUM: FigureKind = spectrum.KIND
DEVIATIONS: tuple[FigureKind, ...] = (SPECTRUM, ranges.KIND, loss_window.KIND)


def _kind(entry: words.FigureEntry) -> FigureKind:
    """Return the figure of an entry: the KIND of the module of its name, or of the one that it names."""
    found: FigureKind = import_module(entry.module or f"{__name__}.{entry.name}").KIND
    return found


def _kinds() -> Iterator[FigureKind]:
    for entry in words.FIGURES:
        if not entry.module:
            yield _kind(entry)
        elif kind := plugins.attempt(words.GROUP, entry.name, partial(_kind, entry)):
            yield kind


# What `report { ... }` can ask for.
FIGURES: Registry[FigureKind] = Registry("figure", "figure", _kinds())

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
    "Number",
    "Sheet",
    "Subject",
    "loads_pages",
    "polices",
]
