"""Small multiples in inches: panels of fixed height with room for labels at the right edge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.textpath import TextToPath

from fairc.runtime.formatting import one_line

from .style import WIDTHS, Dash, Width

# Inches.
_LEFT = 0.46
_BOTTOM = 0.36
_TOP = 0.18
WIDE_LEFT = 0.6  # where the vertical axis has a name and numbers such as -0.025
_ABOVE = 0.26  # between rows, for a panel's heading and the tick labels above it
MAX_LABEL = 16
MAX_HEIGHT = 9.0
"""Height of the text on a page of a paper, inches: no figure is higher."""
_MIN_PANEL = 0.5
_MIN_TEXT = 3.5  # points
_NAME = re.compile(r"(^|, )[A-Za-z_]\w* = ")


@dataclass(frozen=True, slots=True)
class Grid:
    """Axes in rows, each row a list from left to right, and the figure that holds them."""

    figure: Figure
    rows: list[list[Axes]]

    @property
    def lowest(self) -> list[Axes]:
        """The axes with no others below them in their columns, or next to those: they name the
        horizontal axis.
        """
        return self.panels[-len(self.rows[0]) :]

    @property
    def panels(self) -> list[Axes]:
        """The axes row by row."""
        return [axes for row in self.rows for axes in row]

    def label(self, x: str, y: str = "") -> None:
        """Name the horizontal axis below the columns, and the vertical one at the left of the
        rows.
        """
        for row in self.rows if y else ():
            row[0].set_ylabel(y)
        for axes in self.lowest:
            axes.set_xlabel(x)

    @property
    def width(self) -> float:
        """Width of a panel, inches."""
        return float(self.rows[0][0].get_position().width * self.figure.get_figwidth())


def fitted(figure: Figure) -> Figure:
    """Return a figure squeezed to `MAX_HEIGHT`, its text made smaller, where it is higher."""
    share = MAX_HEIGHT / float(figure.get_figheight())
    if share < 1:
        figure.set_figheight(MAX_HEIGHT)
        for text in figure.findobj(Text):
            assert isinstance(text, Text)
            text.set_fontsize(max(_MIN_TEXT, float(text.get_fontsize()) * share))
    return figure


def short(label: str) -> str:
    """Return a label cut to what fits next to a panel."""
    return cut(label, MAX_LABEL)


def apart(labels: Sequence[str], most: int) -> list[str]:
    """Return labels of at most `most` characters: cut in the middle, or at the start where they
    would look alike.

    >>> apart(["policer(rate: 15pkt/s)", "policer(rate: 5pkt/s)", "none"], 12)
    ['…e: 15pkt/s)', '…te: 5pkt/s)', 'none']
    """
    shown = [cut(label, most) for label in labels]
    if len(set(shown)) == len(set(labels)):
        return shown
    lines = [one_line(label) for label in labels]
    return [line if len(line) <= most else f"…{line[1 - most :]}" for line in lines]


def fitting(heading: str, inches: float) -> str:
    """Return a heading that fits the width of its panel.

    Where it is too long, it has its values only (`cubic, 5ms` for `cca = cubic, rtt = 5ms`), and is
    then cut.

    >>> fitting("cca = cubic, rtt = 5ms: window", 1.2)
    'cubic, 5ms: window'
    """
    most = max(8, int(inches / 0.055))
    line = one_line(heading)
    return cut(line if len(line) <= most else _NAME.sub(r"\1", line), most)


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters, cut in the middle: labels differ at their
    ends.
    """
    line = one_line(text)
    if len(line) <= most:
        return line
    end = most // 2
    return f"{line[: most - 1 - end]}…{line[-end:]}"


def label_room(labels: Iterable[str]) -> float:
    """Return the width in inches that labels at the right edge need, inside `paper_style`."""
    font = FontProperties(family=rcParams["font.family"], size=rcParams["font.size"])
    measure = TextToPath().get_text_width_height_descent
    points = [measure(short(label), font, ismath=False)[0] for label in labels]
    return 0.1 + max(points, default=0.0) / 72


def grid(
    width: Width,
    columns: int,
    count: int,
    height: float,
    right: float,
    *,
    headings: bool,
    above: float = 0.0,
    left: float = _LEFT,
    share: bool = True,
) -> Grid:
    """Return `count` panels in `columns` columns, each `height` inches high, or less: see
    `MAX_HEIGHT`.

    Panels that would be too low for it stand in more columns.
    right: inches kept free at the right of each panel. headings: whether panels have a title.
    above: inches kept free above all panels. left: for the names and numbers of the vertical axis
    of each panel. share: whether the horizontal axis is shared; then
    only the lowest panel of each column shows its numbers.
    """
    full = WIDTHS[width]
    gap = _ABOVE if headings else 0.12
    top = above + (_TOP if headings else 0.06)
    gap += 0.0 if share else 0.16
    rows = -(-count // columns)
    while (MAX_HEIGHT - top - _BOTTOM + gap) / rows - gap < _MIN_PANEL and columns < count:
        columns += 1
        rows = -(-count // columns)
    height = min(height, (MAX_HEIGHT - top - _BOTTOM + gap) / rows - gap)
    total = top + rows * height + (rows - 1) * gap + _BOTTOM
    figure = Figure(figsize=(full, total))
    slot = full / columns
    panel = slot - left - right
    axes_rows: list[list[Axes]] = []
    first: Axes | None = None
    for index in range(count):
        row, column = divmod(index, columns)
        bottom = total - top - height - row * (height + gap)
        axes = figure.add_axes(
            (
                (column * slot + left) / full,
                bottom / total,
                panel / full,
                height / total,
            ),
            sharex=first if share else None,
        )
        first = first or axes
        if share:
            axes.tick_params(labelbottom=index + columns >= count)
        if column == 0:
            axes_rows.append([])
        axes_rows[-1].append(axes)
    return Grid(figure, axes_rows)


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: its text, and how the line or marker next to it looks."""

    text: str
    colour: str
    dash: Dash = "-"
    marker: str = ""
    filled: bool = True


_KEY_LINE, _KEY_MARK, _KEY_CHARACTER = 0.16, 0.3, 0.062


def _key_rows(keys: Sequence[Key], full: float) -> list[list[tuple[float, Key]]]:
    """Return keys in lines, each with its distance from the left edge in inches."""
    rows: list[list[tuple[float, Key]]] = [[]]
    x = _LEFT
    for key in keys:
        room = _KEY_MARK + len(key.text) * _KEY_CHARACTER + 0.12
        if rows[-1] and x + room > full:
            rows.append([])
            x = _LEFT
        rows[-1].append((x, key))
        x += room
    return rows


def key_height(keys: Sequence[Key], width: Width) -> float:
    """Return how many inches a legend above the panels needs."""
    return len(_key_rows(keys, WIDTHS[width])) * _KEY_LINE + 0.04 if keys else 0.0


def draw_keys(figure: Figure, keys: Sequence[Key], width: Width) -> None:
    """Write a legend into the room of `key_height` at the top of a figure."""
    full, total = WIDTHS[width], float(figure.get_figheight())
    for index, row in enumerate(_key_rows(keys, full) if keys else []):
        y = 1 - (0.04 + (index + 0.5) * _KEY_LINE) / total
        for x, key in row:
            ends = [x / full, (x + 0.2) / full]
            line = Line2D(
                ends if not key.marker else [sum(ends) / 2],
                [y, y] if not key.marker else [y],
                color=key.colour,
                linestyle="none" if key.marker else key.dash,
                marker=key.marker or "none",
                markersize=4,
                markerfacecolor=key.colour if key.filled else "none",
                markeredgewidth=0.8,
                transform=figure.transFigure,
            )
            figure.add_artist(line)
            figure.text((x + 0.25) / full, y, key.text, va="center", fontsize=6.5)


def columns_for(width: Width, count: int) -> int:
    """Return how many panels stand side by side."""
    if width == "column" or count == 1:
        return 1
    return 2 if count in (2, 4) else 3


def panels_for(
    width: Width,
    headings: Sequence[str],
    heights: tuple[float, float],
    keys: Sequence[Key] = (),
    *,
    right: float = 0.14,
    left: float = _LEFT,
    share: bool = True,
) -> Grid:
    """Return a panel for each heading below a legend; only a panel that stands alone may have no
    heading.

    heights: of a panel that stands alone, and of one of several, inches. The rest: as in `grid`.
    """
    count = len(headings)
    layout = grid(
        width,
        columns_for(width, count),
        count,
        heights[min(count, 2) - 1],
        right,
        headings=count > 1 or bool(headings[0]),
        above=key_height(keys, width),
        left=left,
        share=share,
    )
    draw_keys(layout.figure, keys, width)
    return layout


def thin(dots: object) -> None:
    """Leave out dots that lie on others, so that a figure of many cells stays small."""
    assert isinstance(dots, Line2D)
    x, y = (np.asarray(v, dtype=float) for v in dots.get_data())
    if len(x) > 50:
        places = np.round((x - x.min()) / (np.ptp(x) or 1) * 200)
        _, kept = np.unique(places, return_index=True)
        dots.set_data(x[kept], y[kept])
