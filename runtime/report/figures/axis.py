"""A swept name as an axis: the places of its values, and which of them are labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from fairc.runtime.formatting import one_line
from fairc.runtime.repetitions.samples import LOAD

from .base import NothingToDraw
from .chart import Side, ends_around
from .layout import apart, short
from .query import Query

# From this ratio of largest to smallest on, values can be distinguished on a logarithmic axis only.
LOG_RATIO = 30
_CHARACTER = 0.062  # inches, of a tick's label
_GAP = 0.08
_LEAST = 4  # characters of a word that is cut
_UPRIGHT = 10  # characters of a word that stands upright before it is cut
_LINE = 0.1  # inches, of a line of text


@dataclass(frozen=True, slots=True)
class NamedAxis:
    """A swept name, and the place of each of its values on an axis.

    numeric: whether places are the values themselves (in SI units), else they are 0, 1, 2, ...
    forced: whether it is logarithmic because the experiment asks for it.
    """

    swept: str
    places: Mapping[str, float]
    numeric: bool
    forced: bool = False

    @property
    def name(self) -> str:
        """The label of the axis."""
        return short(self.swept)

    @property
    def log(self) -> bool:
        """Whether the axis is logarithmic."""
        low, high = min(self.places.values()), max(self.places.values())
        return self.numeric and low > 0 and (self.forced or high / low >= LOG_RATIO)

    @property
    def _ends(self) -> tuple[float, float]:
        """The ends of the axis, beyond its first and its last place."""
        low, high = min(self.places.values()), max(self.places.values())
        if not self.numeric:
            return low - 0.4, high + 0.4
        return ends_around(low, high, 0.04, log=self.log)

    def apply(self, axes: Axes, side: Side, inches: float) -> None:
        """Set scale, limits and ticks of a horizontal axis of the given width, in inches.

        The ticks are at the values that were run, in the words of the experiment.
        """
        assert side == "x"
        if self.log:
            axes.set_xscale("log")
        axes.set_xlim(*self._ends)
        texts, upright = self._texts(inches)
        kept = self._fitting([1] * len(texts) if upright else [*map(len, texts)], inches)
        places = list(self.places.values())
        turn = "vertical" if upright else "horizontal"
        axes.set_xticks([places[i] for i in kept], [texts[i] for i in kept], rotation=turn)
        axes.xaxis.set_minor_locator(NullLocator())

    def height_below(self, inches: float) -> float:
        """Return the inches that labels need below a panel of this width, beyond a line."""
        texts, upright = self._texts(inches)
        return max(map(len, texts)) * _CHARACTER - _LINE if upright else 0.0

    def _texts(self, inches: float) -> tuple[list[str], bool]:
        """Return the labels on a panel that is so wide, and whether they stand upright.

        A number between two others can be guessed, so some may be left out. A word cannot: words
        that do not fit become shorter, and stand upright where they are short anyway, would look
        alike or still do not fit.
        """
        whole = [one_line(text) for text in self.places]
        if self.numeric or len(self._fitting([*map(len, whole)], inches)) == len(whole):
            return whole, False
        if max(map(len, whole)) <= _UPRIGHT:
            return whole, True
        most = max(_LEAST, int(inches / len(self.places) / _CHARACTER) - 1)
        cut = apart(list(self.places), most)
        fit = len(self._fitting([*map(len, cut)], inches)) == len(cut)
        if fit and len(set(cut)) == len(set(whole)):
            return cut, False
        return [short(text) for text in self.places], True

    def _fitting(self, characters: Sequence[int], inches: float) -> list[int]:
        """Return the indices of the labels, given their lengths, that fit side by side."""
        left, right = self._ends

        def along(place: float) -> float:
            if self.log:
                return inches * math.log(place / left) / math.log(right / left)
            return inches * (place - left) / (right - left)

        places = map(along, self.places.values())
        return thinned(list(zip(places, characters, strict=True)))


def thinned(labels: Sequence[tuple[float, int]]) -> list[int]:
    """Return which labels fit next to each other: (place in inches, characters) each.

    The first and the last are kept if there is room for both, so that the range can be read.
    """
    order = sorted(range(len(labels)), key=lambda i: labels[i][0])
    kept: list[int] = []

    def fits(i: int, j: int) -> bool:
        reach = (labels[i][1] + labels[j][1]) / 2 * _CHARACTER + _GAP
        return labels[j][0] - labels[i][0] >= reach

    for i in order:
        if not kept or fits(kept[-1], i):
            kept.append(i)
    last = order[-1]
    if kept[-1] != last and len(kept) > 1:
        kept.pop()
        if fits(kept[-1], last):
            kept.append(last)
    return sorted(kept)


def wants_log(query: Query, axis: str, values: Iterable[float]) -> bool:
    """Whether a figure asks for a logarithmic axis (`x` or `y`). values: what it is to show.

    Raises NothingToDraw where they are not all positive.
    """
    if axis not in str(query.request.options.get("log", "")):
        return False
    if (smallest := min(values, default=1.0)) <= 0:
        raise NothingToDraw(
            f"a logarithmic axis takes positive values only, and one is {smallest:g}"
        )
    return True


def named_axis(query: Query, name: str) -> NamedAxis:
    """Return the axis of a name for the values that are shown, in their order.

    Raises NothingToDraw.
    """
    values = query.orders[name]
    numbers: dict[str, float] = {}
    for axis in query.subject.run.plan.axes:
        if axis.name == name and axis.numbers:
            numbers = dict(zip(axis.values, axis.numbers, strict=True))
    if name in ("repetition", LOAD):
        numbers = {value: float(value) for value in values}
    if values and all(value in numbers for value in values):
        places = {v: numbers[v] for v in values}
        return NamedAxis(name, places, True, wants_log(query, "x", places.values()))
    if "x" in str(query.request.options.get("log", "")):
        raise NothingToDraw(
            f"a logarithmic axis takes numbers, and the values of {one_line(name)} are not"
        )
    return NamedAxis(name, {v: float(i) for i, v in enumerate(values)}, numeric=False)
