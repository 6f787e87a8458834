"""Figures: a drawing with words each, from the tables of a run.

In order of use: `base` (what a figure is), `style` and `layout` (how all of them look), `traces`
(what figures of one repetition share), then one module per kind of figure. A new kind is a module
with a `KIND`, its line in `KINDS`, and a test.
"""

from __future__ import annotations

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .fairness import KIND as FAIRNESS
from .queue import KIND as QUEUE
from .rates import KIND as RATES
from .window import KIND as WINDOW

# Shown in every report, in this order.
DEFAULT: tuple[FigureKind, ...] = (RATES, WINDOW, QUEUE, FAIRNESS)

__all__ = ["DEFAULT", "Drawing", "FigureKind", "NothingToDraw", "Subject"]
