"""Small multiples in inches: panels of fixed height with room for labels at the right edge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairc.runtime.report.words import one_line

from .style import WIDTHS, Width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches.
_LEFT = 0.46
_BOTTOM = 0.36
_TOP = 0.18
_ABOVE = 0.26  # between rows, for a panel's heading and the tick labels above it
MAX_LABEL = 16


@dataclass(frozen=True, slots=True)
class Grid:
    """Axes in rows, each row a list from left to right, and the figure that holds them."""

    figure: Figure
    rows: list[list[Axes]]

    @property
    def panels(self) -> list[Axes]:
        """The axes row by row."""
        return [axes for row in self.rows for axes in row]


def short(label: str) -> str:
    """Return a label cut to what fits beside a panel."""
    line = one_line(label)
    return line if len(line) <= MAX_LABEL else line[: MAX_LABEL - 1] + "…"


def label_room(labels: Iterable[str]) -> float:
    """Return the width in inches that labels at the right edge need, inside `paper_style`."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family=rcParams["font.family"], size=rcParams["font.size"])
    measure = TextToPath().get_text_width_height_descent
    points = [measure(short(label), font, ismath=False)[0] for label in labels]
    return 0.1 + max(points, default=0.0) / 72


def grid(
    width: Width, columns: int, count: int, height: float, right: float, *, headings: bool
) -> Grid:
    """Return `count` panels in `columns` columns, each `height` inches high.

    right: inches kept free at the right of each panel. headings: whether panels have a title.
    The horizontal axis is shared; only the lowest panel of each column shows its numbers.
    """
    from matplotlib.figure import Figure

    full = WIDTHS[width]
    rows = -(-count // columns)
    gap = _ABOVE if headings else 0.12
    top = _TOP if headings else 0.06
    total = top + rows * height + (rows - 1) * gap + _BOTTOM
    figure = Figure(figsize=(full, total))
    slot = full / columns
    panel = slot - _LEFT - right
    made: list[list[Axes]] = []
    first: Axes | None = None
    for index in range(count):
        row, column = divmod(index, columns)
        bottom = total - top - height - row * (height + gap)
        axes = figure.add_axes(
            (
                (column * slot + _LEFT) / full,
                bottom / total,
                panel / full,
                height / total,
            ),
            sharex=first,
        )
        first = first or axes
        axes.tick_params(labelbottom=index + columns >= count)
        if column == 0:
            made.append([])
        made[-1].append(axes)
    return Grid(figure, made)


def columns_for(width: Width, count: int) -> int:
    """Return how many panels stand side by side."""
    if width == "column" or count == 1:
        return 1
    return 2 if count <= 4 else 3
