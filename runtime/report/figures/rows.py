"""Charts of rows: a text for each group, and below it what lies along the axis of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from .chart import Axis, add_axes
from .layout import cut, fitted, headings, short
from .style import MUTED, WIDTHS, Width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .marks import Mark

_TEXT, _NOTE = 0.075, 0.07
"""The distance of a text, or a note, from the top of its row, inches."""
_CROWD = 18
"""Rows of a column above which its panels stand in twos."""
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
        across = self.across if width == "page" else 1 + (rows > _CROWD)
        across = min(across, len(self.panels))
        lines = [self.panels[i : i + across] for i in range(0, len(self.panels), across)]
        heights = [max(panel.height for panel in line) for line in lines]
        above = _HEADING if any(panel.heading for panel in self.panels) else 0.08
        above = _ENDS if any(any(panel.ends) for panel in self.panels) else above
        figure = Figure(figsize=(full, sum(heights) + len(lines) * (above + _BELOW)))
        slot = full / across
        titles = iter(headings([panel.heading for panel in self.panels], slot - 2 * _SIDE))
        top = float(figure.get_figheight())
        for line, height in zip(lines, heights, strict=True):
            top -= above
            for column, panel in enumerate(line):
                place = (column * slot + _SIDE, top - panel.height)
                axes = add_axes(figure, (*place, slot - 2 * _SIDE, panel.height))
                _draw(axes, panel, slot - 2 * _SIDE, next(titles))
            top -= height + _BELOW
        return fitted(figure)


def _draw(axes: Axes, panel: Panel, inches: float, title: str) -> None:
    top = 0.0
    texts = iter(headings([row.text for row in panel.rows if not row.is_note], inches))
    for row in panel.rows:
        for mark in row.marks:
            mark.draw(axes)
        axes.text(
            0,
            top + (_NOTE if row.is_note else _TEXT),
            cut(row.text, int(inches / 0.05)) if row.is_note else next(texts),
            va="center",
            fontsize=6.0 if row.is_note else 6.2,
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
