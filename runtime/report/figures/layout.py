"""Texts that fit their places, and legends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib import rcParams
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.textpath import TextToPath

from fairc.runtime.formatting import one_line

from .style import WIDTHS, Dash, Width

LEFT = 0.46
"""Inches beside a panel, for the names and numbers of its vertical axis."""
MAX_LABEL = 16
MAX_HEIGHT = 9.0
"""Height of the text on a page of a paper, inches: no figure is higher."""
_MIN_TEXT = 3.5  # points
_NAME = re.compile(r"(^|, )[A-Za-z_]\w* = ")
_BINDING = re.compile(r", (?=[A-Za-z_]\w* = )")
_INSIDE = re.compile(r"\([^()]*\)")


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


def beside(labels: Iterable[str]) -> dict[str, str]:
    """Return how each of the labels next to a panel is written there.

    One that is too long loses what stands in parentheses, where no other is the same without that;
    else its middle.

    >>> [*beside(["dualpi2(target: 5ms), a", "dualpi2(target: 5ms), b", "fifo(2bdp)"]).values()]
    ['dualpi2, a', 'dualpi2, b', 'fifo(2bdp)']
    """
    bare = {label: _INSIDE.sub("", label) for label in labels}
    seen = Counter(bare.values())
    return {
        label: short(label if len(one_line(label)) <= MAX_LABEL or seen[own] > 1 else own)
        for label, own in bare.items()
    }


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


def headings(texts: Sequence[str], inches: float) -> list[str]:
    """Return headings of the panels of one figure, all in the same form, that fit their width.

    Where one is too long, all have their values only; where that is too long, too, without what all
    have in common. What is still too long is cut.

    >>> headings(["cca = cubic, rtt = 5ms: a -> b", "cca = bbr, rtt = 5ms: a -> b"], 0.9)
    ['cubic', 'bbr']
    """
    most = max(8, int(inches / 0.055))
    whole = [one_line(text) for text in texts]
    short_forms = [_NAME.sub(r"\1", text) for text in whole]
    for form in (whole, short_forms):
        if all(len(text) <= most for text in form):
            return form
    return [cut(text, most) for text in _differing(whole) or short_forms]


def _differing(texts: Sequence[str]) -> list[str]:
    """Return the values in which headings (`cca = cubic, rtt = 5ms: a -> b`) differ; empty where
    they do not have the same names.
    """
    split = [text.partition(": ") for text in texts]
    rows = [[*_BINDING.split(bindings), end] for bindings, _, end in split]
    if len({len(row) for row in rows}) != 1:
        return []
    columns = [column for column in zip(*rows, strict=True) if len(set(column)) > 1]
    ends = {end for _, _, end in split}
    found = []
    for row in zip(*columns, strict=True):
        *values, last = row
        bindings, end = (values, last) if len(ends) > 1 else (row, "")
        text = ", ".join(_NAME.sub(r"\1", value) for value in bindings)
        found.append(": ".join(filter(None, (text, end))))
    return found


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters, cut in the middle: labels differ at their
    ends.
    """
    line = one_line(text)
    if len(line) <= most:
        return line
    end = most // 2
    return f"{line[: most - 1 - end]}…{line[-end:]}"


def label_width(labels: Iterable[str]) -> float:
    """Return the width in inches that labels at the right edge need, inside `paper_style`."""
    font = FontProperties(family=rcParams["font.family"], size=rcParams["font.size"])
    measure = TextToPath().get_text_width_height_descent
    points = [measure(short(label), font, ismath=False)[0] for label in labels]
    return 0.1 + max(points, default=0.0) / 72


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: its text, and how the line or marker next to it looks."""

    text: str
    colour: str
    dash: Dash = "-"
    marker: str = ""
    filled: bool = True
    alpha: float = 1.0


_KEY_LINE, _KEY_MARK, _KEY_CHARACTER = 0.16, 0.3, 0.062


def _key_rows(keys: Sequence[Key], full: float) -> list[list[tuple[float, Key]]]:
    """Return keys in lines, each with its distance from the left edge in inches: in columns of one
    width, where they need several lines.
    """
    rooms = [_KEY_MARK + len(key.text) * _KEY_CHARACTER + 0.12 for key in keys]
    if LEFT + sum(rooms) <= full:
        return [[(LEFT + sum(rooms[:place]), key) for place, key in enumerate(keys)]]
    columns = max(1, int((full - LEFT) / max(rooms)))
    rows = [keys[first : first + columns] for first in range(0, len(keys), columns)]
    return [[(LEFT + place * max(rooms), key) for place, key in enumerate(row)] for row in rows]


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
                markeredgewidth=0.8 if key.alpha == 1 else 0,
                alpha=key.alpha,
                transform=figure.transFigure,
            )
            figure.add_artist(line)
            figure.text((x + 0.25) / full, y, key.text, va="center", fontsize=6.5)


def columns_for(width: Width, count: int) -> int:
    """Return how many panels stand side by side."""
    if width == "column" or count == 1:
        return 1
    return 2 if count in (2, 4) else 3
