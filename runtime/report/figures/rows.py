"""Charts of rows: a text for each group, and below it what lies along the axis of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from .chart import Axis, add_axes
from .layout import MAX_HEIGHT, cut, fitted, headings, short
from .style import MUTED, WIDTHS, Width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .marks import Mark

_TEXT, _NOTE = 0.075, 0.07
"""The distance of a text, or a note, from the top of its row, inches."""
_CROWD = 18
"""Rows of a column above which its panels stand in twos."""
_LEAST = 0.3
"""The least share of their heights to which rows are squeezed for a page; beyond it all shrinks."""
_HEADING, _ENDS, _BELOW, _SIDE = 0.26, 0.4, 0.42, 0.14


@dataclass(frozen=True, slots=True)
class Row:
    """A text, and its marks; their heights are in inches from the top of the panel.

    is_note: whether the text is about the rows above, which have the marks.
    """

    text: str
    height: float
    marks: Sequence[Mark] = ()
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows from above; ends: what the left and the right end of the axis mean, or empty."""

    heading: str
    rows: Sequence[Row]
    x: Axis
    ends: tuple[str, str] = ("", "")

    @property
    def height(self) -> float:
        """The height, inches."""
        return sum(row.height for row in self.rows)


@dataclass(frozen=True, slots=True)
class Rows:
    """Panels of rows, each with its own axis; across: how many stand side by side on a page."""

    panels: Sequence[Panel]
    across: int

    def draw(self, width: Width) -> Figure:
        """Draw it at one of the two widths, inside `paper_style`."""
        full = WIDTHS[width]
        rows = sum(bool(row.marks) for panel in self.panels for row in panel.rows)
        across = _across(width, len(self.panels), rows, self.across)
        lines = [self.panels[i : i + across] for i in range(0, len(self.panels), across)]
        heights = [max(panel.height for panel in line) for line in lines]
        above = _HEADING if any(panel.heading for panel in self.panels) else 0.08
        above = _ENDS if any(any(panel.ends) for panel in self.panels) else above
        around = len(lines) * (above + _BELOW)
        share = min(1.0, max(_LEAST, (MAX_HEIGHT - around) / sum(heights)))
        figure = Figure(figsize=(full, share * sum(heights) + around))
        slot = full / across
        titles = iter(headings([panel.heading for panel in self.panels], slot - 2 * _SIDE))
        top = float(figure.get_figheight())
        for line, height in zip(lines, heights, strict=True):
            top -= above
            for column, panel in enumerate(line):
                wide, high = slot - 2 * _SIDE, share * panel.height
                axes = add_axes(figure, (column * slot + _SIDE, top - high, wide, high))
                _draw(axes, panel, wide, share, next(titles))
            top -= share * height + _BELOW
        return fitted(figure)


def _across(width: Width, panels: int, rows: int, most: int) -> int:
    """Return how many panels stand side by side; most: on a page."""
    return min(most if width == "page" else 1 + (rows > _CROWD), panels)


def note_length(panels: int, rows: int, across: int) -> int:
    """Return how many characters of a note fit into a panel at either width. rows: with marks, of
    all panels.
    """
    slots = [full / _across(width, panels, rows, across) for width, full in WIDTHS.items()]
    return _characters(min(slots) - 2 * _SIDE)


def _characters(inches: float) -> int:
    return int(inches / 0.05)


def _draw(axes: Axes, panel: Panel, inches: float, share: float, title: str) -> None:
    """Draw a panel. inches: its width; share: of the height that its rows ask for."""
    top = 0.0
    texts = iter(headings([row.text for row in panel.rows if not row.is_note], inches))
    for row in panel.rows:
        for mark in row.marks:
            mark.draw(axes)
        axes.text(
            0,
            top + (_NOTE if row.is_note else _TEXT),
            cut(row.text, _characters(inches)) if row.is_note else next(texts),
            va="center",
            # A text fills half of its row, so it need not shrink as much as the row does.
            fontsize=(6.0 if row.is_note else 6.2) * sqrt(share),
            color=MUTED,
            style="italic" if row.is_note else "normal",
            transform=axes.get_yaxis_transform(),
        )
        top += row.height
    panel.x.apply(axes, "x")
    axes.set_yticks([])
    axes.set_ylim(top, 0)
    axes.grid(visible=True, axis="x")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(panel.x.name)
    axes.set_title(title, pad=14 if any(panel.ends) else None)
    for x, align, text in zip((0, 1), ("left", "right"), panel.ends, strict=True):
        axes.text(x, 1.0, short(text), ha=align, va="bottom", color=MUTED, transform=axes.transAxes)
