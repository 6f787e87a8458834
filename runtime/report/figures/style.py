"""The style of all figures: paper sizes, fonts, colours that colour-blind readers tell apart, and
markers and dashes where grey shows no colours.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib

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
MARKERS = (("o", ""), ("s", "\N{BLACK SQUARE} "), ("^", "\N{BLACK UP-POINTING TRIANGLE} "))

# Colours of a scale, light to dark, so that they keep their order in grey and for every eye. They
# are not the page's colours, because those follow light and dark and a scale must not.
#
# |F| from fair to unfair: green to red as the studies of session fairness draw it, each step darker
# than the one before, so that lightness alone shows it as well.
FAIR_TO_UNFAIR = ("#c2e8b4", "#efc964", "#e58a3a", "#c13f2e", "#6f0f1d")

# Any other metric: matplotlib's viridis, backwards, which is perceptually uniform.
UNIFORM = "viridis_r"

# Values on both sides of zero, such as gains: matplotlib's blue to red, which all eyes tell apart.
DIVERGING = "RdBu_r"

# Text and markers in a coloured cell.
DARK, LIGHT = "#101418", "#fdfdfe"

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
"""The beginning of the id of a mark that stands for one configuration."""


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


def marker_of(index: int) -> tuple[str, str]:
    """Return the marker of the n-th flow, and what begins its name where no line leads there.

    Neighbours have different ones, because their colours look alike in grey; and so have those of
    one colour.
    """
    return MARKERS[(index + index // len(SERIES)) % len(MARKERS)]


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


def luminance(colour: tuple[float, float, float]) -> float:
    """Return the relative luminance of an sRGB colour, 0 to 1 (WCAG 2.1)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(colour: tuple[float, float, float]) -> str:
    """Return dark or light, whichever has more contrast on the colour (WCAG 2.1)."""
    y = luminance(colour)
    return DARK if (y + 0.05) / 0.05 > 1.05 / (y + 0.05) else LIGHT
