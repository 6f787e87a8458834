"""The figure `heatmap`: a metric over two names, one map for each facet.

`fairness.F` is shown as the studies of session fairness show it: colour is |F|, a marker the side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fairc.compiler.plan import FigureRequest
from fairc.dsl.model.metric_names import unmarked
from fairc.runtime.formatting import between, counted, decimals_for, listed, number, one_line
from fairc.runtime.metrics.registry import presentation
from fairc.runtime.repetitions.sides import LEAST, decided, side

from .axis import thinned
from .base import Drawing, FigureKind, NothingToDraw, Subject
from .chart import add_axes
from .layout import Key, columns_for, draw_keys, fitted, headings, key_height, short
from .marks import dots
from .query import Gap, Names, Query, Summing, load, only
from .style import DIVERGING, FAIR_TO_UNFAIR, INK, MUTED, UNIFORM, WIDTHS, Width, ink_on, pick
from .wording import by_text, worded

_CELL = 0.22  # inches
_BOTTOM, _TOP, _BETWEEN, _BAR = 0.36, 0.2, 0.14, 0.42
_FIRST, _SECOND = "s", "o"  # the dominant side: first declared session, second
_HATCH = "////"
HATCHED = "Hatched: cells ran, but none has a value that counts."


@dataclass(frozen=True, slots=True)
class Tile:
    """One place of a map: its value (in the shown unit), and how many cells it is made of.

    side: -1 or 1 where that session gets more, and 0 for neither; sure: whether it dominates, by
    one value or by an interval (`repetitions/sides.py`). of: the configuration that it is of alone,
    or empty.
    """

    value: float
    n: int
    side: int = 0
    sure: bool = True
    of: str = ""


Place = tuple[str, str]
"""The value of y and the value of x."""


@dataclass(frozen=True, slots=True)
class Map:
    """One map: its tiles, and the places at which cells ran and none has a value that counts."""

    heading: str
    tiles: Mapping[Place, Tile]
    left_out: Mapping[Place, int]


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `x`, `y`, `facet`, `stat`."""
    query = load(subject, request, endless=True)
    (x,), (y,) = query.names("x"), query.names("y")
    facet = query.separated(query.names("facet"), x, y)
    has_sides = query.expression is None and presentation(query.metric).has_sides
    sides = subject.run.sessions if has_sides else ()
    sides = sides if len(sides) == 2 else ()
    maps = _maps(query, (y, x), facet, bool(sides))
    extent = extent_of(query, (y, x), maps)
    return query.drawing(
        title=query.title(f"over {one_line(x)} and {one_line(y)}", by_text(facet)),
        caption=_caption(query, maps, (x, y, *facet), sides),
        alt=f"Heat map of {query.name}, {extent}{_sides_text(maps, sides)}",
        picture=Heat(query, (y, x), maps, sides),
    )


def extent_of(query: Query, names: Place, maps: Sequence[Map]) -> str:
    """Return how many maps there are, and from what to what their values are.

    names: of the axes, y and x. Raises NothingToDraw where maps cannot be shown.
    """
    rows, columns = (len(query.orders[name]) for name in names)
    query.check(len(maps), len(maps) * rows * columns, "tiles")
    known = _finite(maps)
    if not known:
        raise NothingToDraw(f"every value of {query.name} is larger than any that was observed")
    digits = decimals_for(known)
    ends = f"{number(min(known), digits)} to {number(max(known), digits)} {query.scale.unit}"
    return f"{counted(len(maps), 'map')}: from {ends.rstrip()}."


def _maps(query: Query, axes: Place, facet: Names, signed: bool) -> list[Map]:
    """Return a map for each facet; gaps without a flow are in the maps of every flow."""
    sums = Summing(query)
    maps = []
    for key, found in query.groups(facet):
        tiles: dict[Place, Tile] = {}
        for place, members in query.groups(axes, found):
            e = sums(members)
            if sums.is_endless(e):
                tiles[place[0], place[1]] = Tile(inf, e.n, of=only(members))
            elif e.value is not None:
                sign = (e.value > 0) - (e.value < 0) if signed else 0
                sure = bool(side(e.value) if e.n == 1 else decided(e))
                value = e.value / query.scale.factor
                tiles[place[0], place[1]] = Tile(value, e.n, sign, sure, only(members))
        left_out: dict[Place, int] = {}
        for gap in query.gaps:
            if belongs(gap, facet, key):
                for place in _places_of(gap, axes, query):
                    if place not in tiles:
                        left_out[place] = left_out.get(place, 0) + 1
        maps.append(Map(worded(facet, key), tiles, left_out))
    return maps


def belongs(gap: Gap, facet: Names, key: Names) -> bool:
    return all(gap.keys.get(n, v) == v for n, v in zip(facet, key, strict=True))


def _places_of(gap: Gap, axes: Place, query: Query) -> list[Place]:
    """Return where a gap lies: along a whole line where an axis is `flow` or `users`."""
    values = [[gap.keys[n]] if n in gap.keys else list(query.orders[n]) for n in axes]
    return [(y, x) for y in values[0] for x in values[1]]


def _caption(query: Query, maps: list[Map], names: Names, sides: tuple[str, ...]) -> str:
    sizes = sorted({t.n for m in maps for t in m.tiles.values()})
    if query.definition:
        of = f"Each tile is {query.definition}"
    elif sizes == [1]:
        of = "Each tile is one cell"
    else:
        n = between(sizes)
        of = f"Each tile is the {query.option('stat')} of {n} cells"
    shown = "" if query.definition and not query.scale.unit else f"; {query.label}"
    parts = [f"{of}{shown}.{Summing(query).remark(names)}", colouring(query, maps, sides, sizes)]
    if any(t.value == inf for m in maps for t in m.tiles.values()):
        parts.append("\N{INFINITY}: larger than any value that was observed.")
    if any(m.left_out for m in maps):
        parts.append(HATCHED)
    rows, columns = (len(query.orders[n]) for n in (names[1], names[0]))
    if any(len(m.tiles) + len(m.left_out) < rows * columns for m in maps):
        parts.append("Empty: no cell there.")
    return " ".join([*parts, query.basis(names, sides=False)])


def colouring(
    query: Query, maps: Sequence[Map], sides: tuple[str, ...], sizes: Sequence[int]
) -> str:
    """Say what colours and markers mean; sizes: the numbers of cells of a tile."""
    parts = []
    if sides:
        symbol = unmarked(query.metric).rpartition(".")[2]
        first, second = map(one_line, sides)
        parts.append(
            f"Colour: |{symbol}|, from green (0, fair) to red (0.5). Square: {first} dominates"
            f" ({symbol} < 0); circle: {second} ({symbol} > 0). Open: |{symbol}| < {LEAST:g}"
            + (
                "."
                if sizes == [1]
                else ", the 95 % interval contains 0, or there are too few cells for one."
            )
        )
    elif _is_diverging(query, maps):
        parts.append("Red is above 0, blue below; the darker, the further from it.")
    else:
        parts.append("Darker is more.")
    return " ".join(parts)


def _sides_text(maps: Sequence[Map], sides: tuple[str, ...]) -> str:
    tiles = [tile for found in maps for tile in found.tiles.values()]
    parts = [
        f"{one_line(name)} dominates in {sum(t.sure and t.side == sign for t in tiles)}"
        for name, sign in zip(sides, (-1, 1), strict=False)
    ]
    return f" {listed(parts)} of {counted(len(tiles), 'tile')}." if parts else ""


@dataclass(frozen=True, slots=True)
class Heat:
    """Maps with a scale below them and a legend above.

    names: of the axes, y and x. label: of the scale; empty: the metric's.
    """

    query: Query
    names: Place
    maps: list[Map]
    sides: tuple[str, ...]
    label: str = ""

    def draw(self, width: Width) -> Figure:
        """Draw it at one of the two widths, inside `paper_style`."""
        query, maps, signed = self.query, self.maps, bool(self.sides)
        rows, columns = (query.orders[name] for name in self.names)
        full = WIDTHS[width]
        across = _across(width, len(maps), len(columns))
        down = -(-len(maps) // across)
        left = 0.24 + min(1.1, 0.062 * max(len(short(v)) for v in rows))
        slot = (full - left - 0.06) / across
        wide, high = slot - 0.12, len(rows) * _CELL
        keys = _keys(maps, self.sides)
        head = key_height(keys, width)
        total = head + down * (_TOP + high) + (down - 1) * _BETWEEN + _BOTTOM + _BAR
        figure = Figure(figsize=(full, total))
        paint, norm = _colours(maps, signed, _is_diverging(query, maps))
        titles = headings([found.heading for found in maps], wide)
        for index, found in enumerate(maps):
            line, column = divmod(index, across)
            bottom = total - head - (line + 1) * (_TOP + high) - line * _BETWEEN
            axes = add_axes(figure, (left + column * slot, bottom, wide, high))
            _tiles(axes, found, (rows, columns), paint, norm, wide, signed)
            lowest = index + across >= len(maps)
            _ticks(axes, rows, columns, wide, lowest, column == 0)
            axes.set_title(titles[index])
            if column == 0:
                axes.set_ylabel(short(self.names[0]))
            if lowest:
                axes.set_xlabel(short(self.names[1]))
        symbol = f"|{query.metric.rpartition('.')[2]}|"
        _bar(figure, paint, norm, symbol if signed else self.label or query.label)
        draw_keys(figure, keys, width)
        return fitted(figure)


def _across(width: Width, maps: int, columns: int) -> int:
    """Return how many maps stand side by side, so that a tile is wide enough for a marker."""
    most = 1 if width == "column" else columns_for(width, maps)
    widest = WIDTHS[width] - 0.8
    while most > 1 and widest / most / columns < 0.16:
        most -= 1
    if width == "column" and maps > 1 and widest / 2 / columns >= 0.12:
        most = 2
    return min(most, maps)


def _is_diverging(query: Query, maps: Sequence[Map]) -> bool:
    """Return whether an expression, such as a gain, has values on both sides of zero."""
    known = _finite(maps)
    return query.expression is not None and min(known) < 0 < max(known)


def _finite(maps: Sequence[Map]) -> list[float]:
    """Return the values of all tiles that are finite."""
    return [t.value for m in maps for t in m.tiles.values() if t.value < inf]


def _colours(maps: list[Map], signed: bool, diverging: bool) -> tuple[Colormap, Normalize]:
    if signed:
        # Always the whole range, so that maps of different runs compare.
        return LinearSegmentedColormap.from_list("fair", FAIR_TO_UNFAIR), Normalize(0, 0.5)
    known = _finite(maps)
    if diverging:
        furthest = max(map(abs, known))
        return colormaps[DIVERGING], Normalize(-furthest, furthest)
    low, high = min(0.0, *known), max(0.0, *known)
    if min(known) > 0.5 * high:
        low = min(known)
    return colormaps[UNIFORM], Normalize(low, high if high > low else low + 1)


def _tiles(
    axes: Axes,
    found: Map,
    orders: tuple[Sequence[str], Sequence[str]],
    paint: Colormap,
    norm: Normalize,
    map_width: float,
    signed: bool,
) -> None:
    rows, columns = orders
    tile = map_width / len(columns)
    texts = _texts([t.value for t in found.tiles.values()], signed)
    longest = max(map(len, texts.values()), default=0)
    writes = tile > 0.052 * longest + (0.16 if signed else 0.04)
    markers: dict[tuple[str, str, bool], tuple[list[float], list[float]]] = {}
    for down, y in enumerate(rows):
        for along, x in enumerate(columns):
            here = found.tiles.get((y, x))
            if here is None:
                if (y, x) in found.left_out:
                    axes.add_patch(_tile(along, down, fill=False, hatch=_HATCH))
                continue
            endless = here.value == inf
            shade = paint(1.0 if endless else norm(abs(here.value) if signed else here.value))[:3]
            ink = ink_on(shade)
            axes.add_patch(_tile(along, down, facecolor=shade, gid=pick(here.of)))
            centre = along + 0.5
            if writes:
                axes.text(
                    along + (0.62 if signed else 0.5),
                    down + 0.5,
                    texts[here.value],
                    ha="center",
                    va="center",
                    fontsize=5.8,
                    color=ink,
                )
                centre = along + min(0.26, 0.11 / tile)
            if here.side:
                marker = _FIRST if here.side < 0 else _SECOND
                xs, ys = markers.setdefault((marker, ink, here.sure), ([], []))
                xs.append(centre)
                ys.append(down + 0.5)
    size = min(4.2, 0.45 * 72 * min(tile, _CELL))
    for (marker, ink, sure), (xs, ys) in sorted(markers.items()):
        dots(xs, ys, ink, marker, size, filled=sure, edge=0.8).draw(axes)
    axes.set_xlim(0, len(columns))
    axes.set_ylim(0, len(rows))


def _texts(values: Iterable[float], signed: bool) -> dict[float, str]:
    """Return what the tile of each value says: two significant digits, of whole numbers all; of a
    value with sides, whose colours end at 0.5, two decimals without its sign.
    """
    texts = dict.fromkeys(values, "∞")
    known = [value for value in texts if value < inf]
    whole = all(value.is_integer() for value in known)
    for value in known:
        decimals = 0 if whole else decimals_for([value], 2)
        texts[value] = f"{abs(value):.2f}" if signed else number(value, decimals)
    return texts


def _tile(along: int, down: int, **look: Any) -> Rectangle:
    return Rectangle((along, down), 1, 1, edgecolor=MUTED, linewidth=0.3, **look)


def _ticks(
    axes: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    map_width: float,
    below: bool,
    beside: bool,
) -> None:
    axes.grid(visible=False)
    tile = map_width / len(columns)
    kept = thinned([((i + 0.5) * tile, len(short(v))) for i, v in enumerate(columns)])
    axes.set_xticks([i + 0.5 for i in kept], [short(columns[i]) for i in kept])
    axes.set_yticks([i + 0.5 for i in range(len(rows))], [short(v) for v in rows])
    axes.tick_params(length=0, labelbottom=below, labelleft=beside)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _bar(figure: Figure, paint: Colormap, norm: Normalize, label: str) -> None:
    """Draw the scale at the bottom: steps of rectangles, so that a file holds no picture."""
    full, total = float(figure.get_figwidth()), float(figure.get_figheight())
    wide = min(1.8, full * 0.4)
    axes = add_axes(figure, (full - wide - 0.18, 0.2, wide, 0.08))
    steps = 50
    low, high = float(norm.vmin or 0), float(norm.vmax or 1)
    edges = [low + (high - low) * i / steps for i in range(steps + 1)]
    for start, end in pairwise(edges):
        shade = paint(norm((start + end) / 2))
        axes.axvspan(start, end, facecolor=shade, edgecolor=shade, linewidth=0.2)
    axes.set_xlim(low, high)
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.locator_params(axis="x", nbins=5)
    axes.spines["left"].set_visible(False)
    figure.text(
        (full - wide - 0.26) / full,
        0.24 / total,
        label,
        ha="right",
        va="center",
        fontsize=6.5,
        color=INK,
    )


def _keys(maps: list[Map], sides: tuple[str, ...]) -> list[Key]:
    tiles = [t for m in maps for t in m.tiles.values()]
    keys = [
        Key(f"{short(name)} dominates", INK, marker=marker)
        for name, marker in zip(sides, (_FIRST, _SECOND), strict=False)
    ]
    if any(t.side and not t.sure for t in tiles):
        keys.append(Key("open: neither or undecided", INK, marker=_SECOND, filled=False))
    return keys


KIND = FigureKind("heatmap", requested)
