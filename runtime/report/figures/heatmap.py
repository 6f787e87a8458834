"""The figure `heatmap`: medians of a metric over two names, one map for each facet."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.runtime.report.summary import F, summarise
from fairc.runtime.report.words import decimals_for, number, one_line

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .cases import Case, Cases, load, names_of, stem, with_flow, worded
from .layout import short
from .style import MUTED, WIDTHS, Width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELL = 0.22  # inches
_LEFT, _BOTTOM, _TOP, _BETWEEN = 0.8, 0.52, 0.2, 0.12
# Text in a coloured cell: not the page's ink, because the cell keeps its colour in the dark.
_DARK, _LIGHT = "#101418", "#fdfdfe"
# F has two sides and a middle: Okabe and Ito's blue and vermillion around white, a shade off the
# lines' colours, because those follow light and dark and a scale must not.
_TWO_SIDED = ("#0173b3", "#f4f4f4", "#d65f01")
# One-sided values: light to dark in one hue, readable in grey.
_ONE_SIDED = ("#f1f5f9", "#7fb2d9", "#08407c")


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `x` and `y` (both needed), `facet`."""
    assert request is not None, "not a default figure"
    cases = load(subject, request, ("x", "y", "facet"))
    x, y, facet = (names_of(request, option, cases) for option in ("x", "y", "facet"))
    if len(x) != 1 or len(y) != 1:
        raise NothingToDraw("`heatmap` needs one name for `x` and one for `y`")
    facet = with_flow(facet, (*x, *y), cases)
    maps = [(worded(facet, key), _medians(cases, x[0], y[0], found))
            for key, found in cases.groups(facet)]  # fmt: skip
    sides = subject.run.sessions
    two_sided = cases.metric == F
    reading = (
        f" Blue: {one_line(sides[0])} dominates; orange: {one_line(sides[1])}."
        if two_sided and len(sides) == 2
        else " Darker is more."
    )
    known = [v for _, table in maps for row in table for v in row if not math.isnan(v)]
    mixed = len(cases.cases) > len(known)
    of = "Medians over the cells that count with these values" if mixed else "One cell each"
    digits = decimals_for(known)
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=f"{cases.metric} by {one_line(x[0])} and {one_line(y[0])}",
        caption=(
            f"{of}; {cases.label}.{reading} Empty: no cell that counts."
            f"{cases.pooled((*x, *y, *facet))}"
        ),
        alt=(
            f"Heat map of {cases.metric}, {len(maps)} map(s): from"
            f" {number(min(known), digits)} to {number(max(known), digits)} {cases.scale.unit}."
        ),
        draw=lambda width: _draw(cases, (x[0], y[0]), maps, two_sided, width),
    )


def _medians(cases: Cases, x: str, y: str, found: list[Case]) -> list[list[float]]:
    """Return a row for each value of y, with the median at each value of x; NaN for none."""
    values: dict[tuple[str, str], list[float]] = {}
    for case in found:
        values.setdefault((case.keys[y], case.keys[x]), []).append(case.value / cases.scale.factor)
    medians = {key: summarise(tuple(v)).median for key, v in values.items()}
    return [
        [v if (v := medians.get((row, column))) is not None else math.nan
         for column in cases.orders[x]]
        for row in cases.orders[y]
    ]  # fmt: skip


def _draw(
    cases: Cases,
    names: tuple[str, str],
    maps: list[tuple[str, list[list[float]]]],
    two_sided: bool,
    width: Width,
) -> Figure:
    import numpy as np
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    columns, rows = (cases.orders[name] for name in names)
    full = WIDTHS[width]
    across = 1 if width == "column" or len(maps) == 1 else 2
    down = -(-len(maps) // across)
    map_height = len(rows) * _CELL
    total = down * (_TOP + map_height) + (down - 1) * _BETWEEN + _BOTTOM
    map_width = full / across - _LEFT - 0.1
    figure = Figure(figsize=(full, total))
    known = np.array([v for _, table in maps for row in table for v in row])
    largest = float(np.nanmax(np.abs(known))) or 1.0
    # F is always shown on its whole range, so that maps of different runs compare.
    norm = (
        Normalize(-0.5, 0.5) if two_sided else Normalize(min(0.0, float(np.nanmin(known))), largest)
    )
    paint = LinearSegmentedColormap.from_list("fairc", _TWO_SIDED if two_sided else _ONE_SIDED)
    digits = 2 if two_sided else decimals_for(known.tolist(), 2)
    fits = map_width / len(columns) > 0.06 * (digits + 3)
    for index, (heading, table) in enumerate(maps):
        line, column = divmod(index, across)
        bottom = total - (line + 1) * (_TOP + map_height) - line * _BETWEEN
        axes = figure.add_axes(
            (
                (column * full / across + _LEFT) / full,
                bottom / total,
                map_width / full,
                map_height / total,
            )
        )
        data = np.ma.masked_invalid(np.array(table))
        axes.pcolormesh(data, cmap=paint, norm=norm, edgecolors=MUTED, linewidth=0.3)
        for (row, place), value in np.ndenumerate(data.filled(np.nan)):
            if fits and not math.isnan(value):
                red, green, blue, _ = paint(norm(value))
                bright = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
                axes.text(
                    place + 0.5, row + 0.5, number(value, digits), ha="center", va="center",
                    fontsize=5.8, color=_DARK if bright else _LIGHT,
                )  # fmt: skip
        axes.grid(visible=False)
        axes.set_xticks(np.arange(len(columns)) + 0.5, [short(v) for v in columns])
        axes.set_yticks(np.arange(len(rows)) + 0.5, [short(v) for v in rows])
        axes.tick_params(length=0, labelbottom=index + across >= len(maps))
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(one_line(heading))
        axes.set_ylabel(short(names[1]))
        if index + across >= len(maps):
            axes.set_xlabel(short(names[0]))
    return figure


KIND = FigureKind("heatmap", make)
