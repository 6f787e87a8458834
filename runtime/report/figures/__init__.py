"""Figures: drawings with captions, from the tables of a run.

A figure is a query, marks and a caption. `base`: what a figure is. `query` (what a requested figure
asks for), `traces` (one repetition over time), `overtime` (bins of time of all cells): the data.
`marks` (plain data that is drawn), `chart` (panels with axes, names and a legend), `rows`, `axis`,
`layout` and `style`: the drawing, once for all. Then one module per kind of figure.
To add a kind: a module that defines `KIND`, a line in words/figures.py, and a test.
"""

from __future__ import annotations

import os
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

# matplotlib obeys a `matplotlibrc` of the folder in which it is imported. That may be a stranger's,
# and a pipe of this name would be waited for, so it is imported elsewhere. Its other places are the
# user's.
if os.path.lexists("matplotlibrc") and (_found := find_spec("matplotlib")) and _found.origin:
    with chdir(Path(_found.origin).parent):
        import matplotlib as matplotlib

from fairc import mechanisms
from fairc.dsl.core import plugins
from fairc.dsl.core.registry import Registry
from fairc.words import figures as words

from . import (
    course,
    fairness,
    histogram,
    loads,
    pairs,
    queue,
    rates,
    window,
)
from .base import Drawing as Drawing
from .base import FigureKind as FigureKind
from .base import NothingToDraw as NothingToDraw
from .base import Subject as Subject


def defaults(subject: Subject) -> list[FigureKind]:
    """Return the figures that a report shows without being asked, in their order."""
    asked = {request.kind for request in subject.run.plan.figures}
    known = (
        *(rates.KIND, window.KIND, queue.KIND, fairness.KIND, loads.KIND),
        *(each.KIND for each in mechanisms.load("devices", "figure")),
        *(course.KIND, pairs.KIND, *histogram.of_k(subject)),
        *FIGURES,
    )
    due = (kind for kind in dict.fromkeys(known) if kind.by_default and kind.is_due(subject))
    return [kind for kind in due if kind.name not in asked]


# What `report { ... }` can ask for.
FIGURES: Registry[FigureKind] = Registry(
    "figure", "figure", plugins.members(words.FIGURES, words.GROUP, __name__, "KIND")
)
