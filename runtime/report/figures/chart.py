"""Charts: panels of marks with their axes, names of lines at the right, and a legend above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log
from typing import TYPE_CHECKING, Literal, Protocol

from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)

from .layout import (
    LEFT,
    MAX_HEIGHT,
    Key,
    beside,
    columns_for,
    draw_keys,
    headings,
    key_height,
    label_width,
    short,
)
from .marks import Line, Rule
from .style import MARKERS, WIDTHS, Width, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .marks import Mark

Side = Literal["x", "y"]

WIDE_LEFT = 0.6
"""Inches beside a panel whose vertical axis has a name and numbers such as -0.025."""
_RIGHT = 0.14
_BOTTOM = 0.36
_TOP = 0.18
_BETWEEN = 0.26
"""Inches between rows, for a panel's heading and the tick labels above it."""
_MIN_PANEL = 0.5
NAME_HEIGHT = 8.5 / 72
"""Inches from one name at the end of a line to the next."""
_CHARACTER = 0.06
"""Inches of a character of an axis's name."""
_FLAT = 10
"""How many times the largest value of a panel that of another exceeds where they share no axis."""
OWN_AXES = " Each panel has a vertical axis of its own."
"""Says so in a caption, where `have_own_axes`."""
_ALONE = 1.2
"""The end of an axis with a single value, as a multiple of it."""


def ends_around(low: float, high: float, share: float, *, log: bool) -> tuple[float, float]:
    """Return the ends of an axis on which values from low to high lie; log: both are above 0.

    On each side it is longer than they need by a share of their extent. They may be equal, or a
    single value: it stands in the middle.
    """
    if log:
        factor = (high / low) ** share if high > low else _ALONE
        return low / factor, high * factor
    margin = share * (high - low) or (_ALONE - 1) * abs(high) or 0.5
    return low - margin, high + margin


class Scale(Protocol):
    """The scale and numbers of an axis; name: of the axis, with its unit."""

    @property
    def name(self) -> str: ...

    def apply(self, axes: Axes, side: Side, inches: float) -> None:
        """Set scale, ends and ticks of a panel that is so wide."""
        ...

    def height_below(self, inches: float) -> float:
        """Return the inches that a horizontal one needs below such a panel, beyond a line."""
        ...


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of numbers.

    low, high: its ends; None: where the marks end; equal: around the value. bins: into how many
    parts ticks divide it at most; 0: as many as fit. ticks: where they are. is_count: whether it
    has whole numbers only.
    """

    name: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    bins: int = 0
    ticks: Sequence[float] = ()
    is_count: bool = False

    def apply(self, axes: Axes, side: Side, inches: float = 0.0) -> None:
        """Set scale, ends and ticks."""
        axis = axes.xaxis if side == "x" else axes.yaxis
        if self.log:
            # With plain numbers: `0.1`, not a power in mathematical type.
            axes.set(**{f"{side}scale": "log"})
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=4))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.set_minor_formatter(NullFormatter())
        low, high = self.low, self.high
        if low is not None and low == high:
            low, high = ends_around(low, low, 0, log=self.log)
        if (low, high) != (None, None):
            (axes.set_xlim if side == "x" else axes.set_ylim)(low, high)
        if self.ticks:
            axis.set_major_locator(FixedLocator(list(self.ticks)))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.set_minor_locator(NullLocator())
        elif self.is_count:
            axis.set_major_locator(MaxNLocator(self.bins, integer=True))
        elif self.bins and not self.log:
            axes.locator_params(axis=side, nbins=self.bins)

    def height_below(self, inches: float) -> float:
        """Return the inches that its numbers need below a panel, beyond a line: none."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Panel:
    """Marks that share axes; x, y: where they are not those of the chart."""

    heading: str
    marks: Sequence[Mark]
    x: Axis | None = None
    y: Axis | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """Small multiples in inches: panels of one height, in rows, below a legend.

    heights: of up to `lone` panels, and of more, inches; less where the figure would be higher
    than `MAX_HEIGHT`, and more where the names of lines need it. Panels that would be too low stand
    in more columns.
    across: how many panels stand side by side on a page; 0: as many as fit. left: inches for the
    names and numbers of the vertical axis of each panel. share: whether all panels have the same
    horizontal axis; then only the lowest of each column shows its numbers.
    """

    panels: Sequence[Panel]
    x: Scale
    y: Axis
    heights: tuple[float, float]
    keys: Sequence[Key] = ()
    lone: int = 1
    across: int = 0
    left: float = LEFT
    share: bool = True

    def draw(self, width: Width) -> Figure:
        """Draw it at one of the two widths, inside `paper_style`."""
        ends = [[end for mark in p.marks if (end := mark.end) is not None] for p in self.panels]
        shown = beside(text for of_panel in ends for _, text, _ in of_panel)
        ends = [[(y, shown[text], paint) for y, text, paint in of_panel] for of_panel in ends]
        names = [*shown.values()]
        room = label_width(names) if names else 0.0
        named = max(sum(bool(text) for _, text, _ in of_panel) for of_panel in ends)
        low = named * NAME_HEIGHT
        figure, panels, columns = self._panels(width, room or _RIGHT, low)
        if panels[0].get_position().height * figure.get_figheight() < low - 0.01:
            return self._with_keys.draw(width)
        inches = float(panels[0].get_position().width * figure.get_figwidth())
        titles = headings([panel.heading for panel in self.panels], inches + room)
        at = _named_panels(panels, columns, self.y.name)
        for place, (axes, panel) in enumerate(zip(panels, self.panels, strict=True)):
            for mark in panel.marks:
                mark.draw(axes)
            (panel.y or self.y).apply(axes, "y")
            (panel.x or self.x).apply(axes, "x", inches)  # shared axes do not share turned labels
            name_ends(axes, ends[place])
            axes.set_title(titles[place])
            name = self.y.name if place in at else ""
            axes.set_ylabel((panel.y.name if panel.y else "") or name)
            if place >= len(panels) - columns:
                axes.set_xlabel(self.x.name)
        draw_keys(figure, self.keys, width)
        return figure

    @property
    def _with_keys(self) -> Chart:
        """The chart with the names of lines in the legend, where there is no room beside them."""
        named = {
            mark.label: _key(mark.label, mark)
            for panel in self.panels
            for mark in panel.marks
            if isinstance(mark, Line | Rule) and mark.label
        }
        panels = [
            replace(
                panel,
                marks=[
                    replace(m, label=None) if isinstance(m, Line | Rule) else m for m in panel.marks
                ],
            )
            for panel in self.panels
        ]
        return replace(self, panels=panels, keys=(*self.keys, *named.values()))

    def _panels(self, width: Width, right: float, low: float) -> tuple[Figure, list[Axes], int]:
        """Return a figure, its axes row by row, and how many of them stand side by side.

        right: inches kept free at the right of each; low: their height at least, if it fits.
        """
        count = len(self.panels)
        full = WIDTHS[width]
        headings = count > 1 or bool(self.panels[0].heading)
        top = key_height(self.keys, width) + (_TOP if headings else 0.06)
        gap = (_BETWEEN if headings else 0.12) + (0.0 if self.share else 0.16)
        columns = self.across if self.across and width == "page" else columns_for(width, count)

        def most() -> float:
            """Return how high panels can be, inches."""
            return (MAX_HEIGHT - top - below() + gap) / -(-count // columns) - gap

        def below() -> float:
            """Return the inches below the panels of a row."""
            return _BOTTOM + self.x.height_below(full / columns - self.left - right)

        while most() < _MIN_PANEL and columns < count:
            columns += 1
        height = min(max(self.heights[count > self.lone], low), most())
        rows = -(-count // columns)
        total = top + rows * height + (rows - 1) * gap + below()
        figure = Figure(figsize=(full, total))
        slot = full / columns
        panels: list[Axes] = []
        for index in range(count):
            row, column = divmod(index, columns)
            bottom = total - top - height - row * (height + gap)
            place = (column * slot + self.left, bottom, slot - self.left - right, height)
            axes = add_axes(figure, place, panels[0] if panels and self.share else None)
            if self.share:
                axes.tick_params(labelbottom=index + columns >= count)
            panels.append(axes)
        return figure, panels, min(columns, count)


def have_own_axes(largest: Sequence[float]) -> bool:
    """Return whether each panel has a vertical axis of its own: on a common one, what is in some of
    them would be flat. largest: the largest absolute value of each.
    """
    known = [value for value in largest if value]
    return max(known, default=0.0) > _FLAT * min(known, default=0.0)


def _key(label: str, of: Line | Rule) -> Key:
    """Return the entry of a line in a legend; of points without a line, their marker in place of
    the sign that their label begins with (`marker_of`).
    """
    if of.dash != "none":
        return Key(label, of.colour, of.dash)
    shape, sign = next((s, t) for s, t in reversed(MARKERS) if label.startswith(t))
    return Key(label.removeprefix(sign), of.colour, marker=shape)


def _named_panels(panels: Sequence[Axes], columns: int, name: str) -> range | list[int]:
    """Return the places of the panels beside which the name of the vertical axis stands: the first
    of each row; where rows are lower than the name is long, as many of them as have room for it.
    """
    first = range(0, len(panels), columns)
    if len(first) < 2:
        return first
    figure = panels[0].get_figure(root=True)
    assert figure is not None
    upper, lower = (panels[place].get_position().y0 for place in first[:2])
    step = ceil(len(name) * _CHARACTER / (float(upper - lower) * float(figure.get_figheight())))
    middle = (len(first) - 1) // 2
    return [place for row, place in enumerate(first) if (row - middle) % max(1, step) == 0]


def add_axes(
    figure: Figure, place: tuple[float, float, float, float], sharex: Axes | None = None
) -> Axes:
    """Return new axes of a figure; place: left, bottom, width and height, inches."""
    full, total = float(figure.get_figwidth()), float(figure.get_figheight())
    left, bottom, width, height = place
    return figure.add_axes(
        (left / full, bottom / total, width / full, height / total), sharex=sharex
    )


def name_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write the names of lines at the right edge, each at its height and in its colour.

    ends: (height in data units, text, colour). Names that would overlap are moved apart.
    """
    if not any(text for _, text, _ in ends):
        return
    low, high = axes.get_ylim()
    figure = axes.get_figure(root=True)
    assert figure is not None
    gap = NAME_HEIGHT / (axes.get_position().height * figure.get_figheight())
    heights = [y for y, _, _ in ends]
    if axes.get_yscale() == "log":
        low, high, heights = log(low), log(high), [log(y) for y in heights]
    heights = spread([(y - low) / (high - low) for y in heights], gap)
    over = max(0.0, max(heights) - 1)
    over -= max(0.0, over - min(heights) - gap / 2)  # below the axis, at most by half of one
    for height, (_, text, paint) in zip(heights, ends, strict=True):
        axes.text(
            1.015,
            height - over,
            short(text),
            color=paint,
            transform=axes.transAxes,
            va="center",
            clip_on=False,
        )
