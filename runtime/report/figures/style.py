"""The style of all figures: paper sizes, fonts, colours that work in grey and for colour-blind
readers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import log
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

Width = Literal["column", "page"]
Dash = Literal["-"] | tuple[int, tuple[float, ...]]
# Inches: one column and the full width of a two-column paper.
WIDTHS: dict[Width, float] = {"column": 3.4, "page": 7.0}

INK = "#1b2026"
MUTED = "#5b6672"
GRID = "#dde1e6"
LIMIT = "#b3261e"

# From Okabe and Ito's and Tol's colour-blind-safe sets, darkened where needed so that each has a
# contrast of at least 3 to 1 on white. The page gives each a lighter twin on dark (style.css).
SERIES = ("#0072b2", "#d55e00", "#00855f", "#a0468f", "#8a6d00", "#4b4ba8")
DASHES: tuple[Dash, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)))

# Names of the page's CSS variables that take the place of these colours.
VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    LIMIT: "limit",
    **{colour: f"series-{i}" for i, colour in enumerate(SERIES, 1)},
}

_RC: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 4,
    "axes.titlesize": 7,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "font.family": ["DejaVu Sans"],  # ships with matplotlib: the same bytes on every machine
    "font.size": 7,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "lines.solid_capstyle": "round",
    "path.simplify": True,
    "pdf.compression": 6,
    "pdf.fonttype": 42,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "fairc",
    "text.color": INK,
    "text.parse_math": False,  # names from a file are text, not formulas
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 6.5,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 6.5,
    "ytick.major.size": 0,
}


@contextmanager
def paper_style() -> Iterator[None]:
    """Apply the style to everything that is drawn and saved inside the block."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        # A name in a script that DejaVu lacks is still right in the SVG, whose text is text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


PICK = "pick-"
"""What the id of a mark begins with that stands for one configuration."""


def pick(configuration: str) -> str | None:
    """Return the id of a mark that stands for a configuration: the page makes it a button
    (`svg.tidy`).
    """
    return f"{PICK}{configuration}" if configuration else None


def colour(index: int) -> str:
    """Return the colour of the n-th flow."""
    return SERIES[index % len(SERIES)]


def dash(index: int) -> Dash:
    """Return the dash pattern of the n-th flow: it changes when the colours begin anew."""
    return DASHES[index // len(SERIES) % len(DASHES)]


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Return the positions moved as little as needed to be `gap` apart, in the same order."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    groups: list[tuple[float, list[int]]] = []
    for i in order:
        groups.append((positions[i], [i]))
        while len(groups) > 1 and _overlap(groups[-2], groups[-1], gap):
            (_, below), (_, above) = groups[-2:]
            members = below + above
            groups[-2:] = [(sum(positions[m] for m in members) / len(members), members)]
    moved = list(positions)
    for centre, members in groups:
        for rank, i in enumerate(members):
            moved[i] = centre + (rank - (len(members) - 1) / 2) * gap
    return moved


def _overlap(a: tuple[float, list[int]], b: tuple[float, list[int]], gap: float) -> bool:
    reach = (len(a[1]) + len(b[1])) / 2 * gap
    return b[0] - a[0] < reach - 1e-12


def logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers: `0.1`, not a power in mathematical type."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=4))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def label_ends(axes: Axes, labels: Sequence[tuple[float, str, str]]) -> None:
    """Write the names of lines at the right edge, each at its height and in its colour.

    labels: (height in data units, text, colour). Labels that would overlap are moved apart.
    """
    low, high = axes.get_ylim()
    box = axes.get_position()
    figure = axes.get_figure(root=True)
    assert figure is not None
    points = box.height * figure.get_figheight() * 72
    gap = 8.5 / points
    if axes.get_yscale() == "log":
        low, high, labels = log(low), log(high), [(log(y), t, c) for y, t, c in labels]
    heights = spread([(y - low) / (high - low) for y, _, _ in labels], gap)
    over = max((b for b in heights), default=0) - 1
    heights = [h - max(0.0, over) for h in heights]
    for height, (_, text, paint) in zip(heights, labels, strict=True):
        axes.text(
            1.015, height, text, color=paint, transform=axes.transAxes, va="center", clip_on=False
        )
