"""Marks: what a panel shows, as plain data in the units of its axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.lines import Line2D

from fairc.runtime.report.backdrop import Backdrop

from .style import GRID, LIMIT, MUTED, Dash, pick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


class Mark(ABC):
    """A mark; those that are drawn later cover the earlier ones of their kind."""

    @property
    def end(self) -> tuple[float, str, str] | None:
        """The text at the right edge of the panel: its height, its words and its colour."""
        return None

    @abstractmethod
    def draw(self, axes: Axes) -> None:
        """Draw it."""
        ...


@dataclass(frozen=True, slots=True)
class Line(Mark):
    """A line through points, or (dash `none`) the points alone.

    label: its name at the right edge; None: without one, and no room is kept for it.
    width, size: of the line and of its markers, points; None: the style's.
    steps: where it steps between two points; empty: it joins them.
    filled: whether markers are; edge: width of their edges, points.
    clip: whether the panel cuts it off. z: above marks of a smaller one; None: the style's.
    of: the configuration that it is of alone, or empty.
    """

    x: ArrayLike
    y: ArrayLike
    colour: str
    dash: Dash | Literal["none"] = "-"
    label: str | None = None
    width: float | None = None
    steps: Literal["", "steps-post", "steps-mid"] = ""
    marker: str = ""
    size: float | None = None
    filled: bool = True
    edge: float | None = None
    alpha: float | None = None
    clip: bool = True
    z: float | None = None
    of: str = ""

    @property
    def end(self) -> tuple[float, str, str] | None:
        """Its last value, and its name."""
        if self.label is None:
            return None
        return float(np.asarray(self.y)[-1]), self.label, self.colour

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        axes.plot(
            self.x,
            self.y,
            color=self.colour,
            linestyle=self.dash,
            linewidth=self.width,
            drawstyle=self.steps or "default",
            marker=self.marker,
            markersize=self.size,
            markerfacecolor=None if self.filled else "none",
            markeredgewidth=self.edge,
            alpha=self.alpha,
            clip_on=self.clip,
            zorder=self.z,
            gid=pick(self.of),
        )


def dots(
    x: ArrayLike,
    y: ArrayLike,
    colour: str,
    marker: str,
    size: float,
    *,
    filled: bool = True,
    edge: float | None = None,
    alpha: float | None = None,
    clip: bool = True,
    z: float | None = None,
) -> Line:
    """Return points that nothing joins; the arguments are those of `Line`."""
    return Line(
        x,
        y,
        colour,
        "none",
        marker=marker,
        size=size,
        filled=filled,
        edge=edge,
        alpha=alpha,
        clip=clip,
        z=z,
    )


@dataclass(frozen=True, slots=True)
class Band(Mark):
    """An area between two lines."""

    x: ArrayLike
    low: ArrayLike
    high: ArrayLike
    colour: str
    alpha: float = 0.18

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        axes.fill_between(
            self.x, self.low, self.high, color=self.colour, alpha=self.alpha, linewidth=0
        )


@dataclass(frozen=True, slots=True)
class Bars(Mark):
    """Vertical lines from one height to another; width: points."""

    x: ArrayLike
    low: ArrayLike
    high: ArrayLike
    colour: str
    width: float

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        axes.vlines(self.x, self.low, self.high, color=self.colour, linewidth=self.width)


@dataclass(frozen=True, slots=True)
class ErrorBars(Mark):
    """Points with their intervals."""

    x: ArrayLike
    y: ArrayLike
    low: ArrayLike
    high: ArrayLike
    colour: str

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        y = np.asarray(self.y)
        axes.errorbar(
            self.x,
            y,
            np.abs(np.stack([y - self.low, self.high - y])),
            color=self.colour,
            linestyle="none",
            marker="o",
            markersize=2,
            elinewidth=0.5,
            zorder=4,
        )


@dataclass(frozen=True, slots=True)
class Histogram(Mark):
    """Numbers in bins; edges: one more than there are numbers."""

    counts: Sequence[int]
    edges: Sequence[float]
    colour: str

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        axes.stairs(self.counts, self.edges, fill=True, color=self.colour, alpha=0.55, linewidth=0)
        axes.stairs(self.counts, self.edges, color=self.colour, linewidth=0.8)


@dataclass(frozen=True, slots=True)
class Rule(Mark):
    """A straight line across the panel at a height, or (upright) at a place.

    label: its name at the right edge.
    """

    at: float
    colour: str = MUTED
    width: float = 0.6
    dash: Dash = "-"
    label: str | None = None
    upright: bool = False

    @property
    def end(self) -> tuple[float, str, str] | None:
        """Its height and its name."""
        return None if self.label is None else (self.at, self.label, self.colour)

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        line = axes.axvline if self.upright else axes.axhline
        line(self.at, color=self.colour, linewidth=self.width, linestyle=self.dash)


def limit(at: float, label: str | None = None) -> Rule:
    """Return the dashed line of a limit."""
    return Rule(at, LIMIT, 0.8, (0, (5, 2)), label)


@dataclass(frozen=True, slots=True)
class Behind(Mark):
    """The warm-up, outages and changes as declared, behind everything."""

    of: Backdrop

    def draw(self, axes: Axes) -> None:
        """Draw them; an outage is at least as wide as a line."""
        if self.of.warmup_s:
            axes.axvspan(0, self.of.warmup_s, color=GRID, alpha=0.55, linewidth=0, zorder=0)
        for begin, end in self.of.outages:
            axes.axvspan(begin, end, facecolor=MUTED, edgecolor=MUTED, alpha=0.45, lw=0.8, zorder=0)
        for at in self.of.steps:
            axes.axvline(at, color=MUTED, linewidth=0.7, linestyle=(0, (1, 1.5)), zorder=0)


@dataclass(frozen=True, slots=True)
class Endless(Mark):
    """Values larger than any that was observed: infinity signs at the top.

    label: the name of a line that has no other value.
    """

    x: Sequence[float]
    colour: str
    top: float
    label: str | None = None

    @property
    def end(self) -> tuple[float, str, str] | None:
        """The top of the panel, and the name."""
        return None if self.label is None else (self.top, self.label, self.colour)

    def draw(self, axes: Axes) -> None:
        """Draw them."""
        at = axes.get_xaxis_transform()
        for x in self.x:
            axes.text(
                x, 0.99, "\N{INFINITY}", color=self.colour, ha="center", va="top", transform=at
            )


@dataclass(frozen=True, slots=True)
class Note(Mark):
    """A text in the upper right corner."""

    text: str

    def draw(self, axes: Axes) -> None:
        """Write it."""
        axes.text(
            0.99,
            0.97,
            self.text,
            ha="right",
            va="top",
            fontsize=6.2,
            color=MUTED,
            transform=axes.transAxes,
        )


@dataclass(frozen=True, slots=True)
class Box(Mark):
    """Quartiles, median and whiskers of values, at a height; lies on its side.

    notch: the interval of the median; drawn below the box where it is wider than the box.
    """

    values: Sequence[float]
    at: float
    colours: tuple[str, str, str]
    """Of lines, of the box, and of values beyond the whiskers."""
    notch: tuple[float, float] | None = None
    height: float = 0.18

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        ink, colour, beyond = self.colours
        line = {"color": ink, "linewidth": 0.8}
        interval = None
        if self.notch is not None:
            quarter, three = np.percentile(self.values, (25, 75))
            if quarter <= self.notch[0] and self.notch[1] <= three:
                interval = np.array([self.notch])
            else:  # a notch that is wider than its box would fold over the whiskers
                under = self.at + self.height / 2 + 0.035
                axes.plot(self.notch, [under, under], color=colour, linewidth=1.4)
        drawn = axes.boxplot(
            [self.values],
            positions=[self.at],
            orientation="horizontal",
            widths=self.height,
            notch=interval is not None,
            conf_intervals=interval,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": "none", "edgecolor": colour, "linewidth": 0.9},
            medianprops={"color": ink, "linewidth": 1.6},
            whiskerprops=line,
            capprops=line,
            flierprops={
                "marker": "o",
                "markersize": 2.4,
                "markerfacecolor": beyond,
                "markeredgewidth": 0,
            },
        )
        for fliers in drawn["fliers"]:
            _thin(fliers)


def _thin(fliers: object) -> None:
    """Leave out dots that lie on others, so that a figure of many cells stays small."""
    assert isinstance(fliers, Line2D)
    x, y = (np.asarray(v, dtype=float) for v in fliers.get_data())
    if len(x) > 50:
        places = np.round((x - x.min()) / (np.ptp(x) or 1) * 200)
        _, kept = np.unique(places, return_index=True)
        fliers.set_data(x[kept], y[kept])
