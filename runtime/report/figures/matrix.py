"""The figure `matrix`: a metric of every pair of two swept names, with the values of both as axes.

`pairs(...)` runs each pair once; its cells stand at two places. Where the first name has the value
of the column and the second that of the row, a tile shows the metric; at the mirrored place it
shows the other metric of the same cells, such as the goodput of the other flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import between, one_line
from fairc.runtime.metrics.registry import presentation
from fairc.runtime.repetitions.samples import Sample

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .heatmap import HATCHED, Heat, Map, Place, Tile, belongs, colouring, extent_of
from .query import Names, Query, Summing, load, only
from .wording import by_text, worded


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `x`, `y`, `facet`, `stat`."""
    query, other = load(subject, request, endless=True), None
    if presentation(query.metric).has_sides:
        raise NothingToDraw(
            f"{query.metric} has a sign, which is of the flows and not of the names that are axes"
        )
    if request.second is not None:
        update = {"metric": request.second.metric, "flow": request.second.flow, "second": None}
        other = load(subject, request.model_copy(update=update), endless=True)
    (x,), (y,) = query.names("x"), query.names("y")
    values = list(dict.fromkeys((*query.orders[x], *query.orders[y])))
    query = replace(query, orders={**query.orders, x: values, y: values})
    facet = query.separated(query.names("facet"), x, y)
    maps = [
        Map(worded(facet, key), *_tiles(query, other, (y, x), members, (facet, key)))
        for key, members in query.groups(facet)
    ]
    extent = extent_of(query, (y, x), maps)
    both = [query.name]
    if other is not None and other.name != query.name:
        both.append(other.name)
    same = other is not None and other.metric == query.metric
    unit = query.scale.unit
    label = query.metric if same else " or ".join(both)
    pairs = f"for each pair of {one_line(x)} and {one_line(y)}"
    return query.drawing(
        title=query.title(*(f"and {name}" for name in both[1:]), pairs, by_text(facet)),
        caption=_caption(query, other, maps, (x, y), (x, y, *facet)),
        alt=f"Matrix of {' and '.join(both)}, {extent}",
        picture=Heat(query, (y, x), maps, (), f"{label} ({unit})" if unit else label),
    )


def _tiles(
    query: Query,
    other: Query | None,
    axes: Place,
    members: Sequence[Sample],
    panel: tuple[Names, Names],
) -> tuple[dict[Place, Tile], dict[Place, int]]:
    """Return the tiles of a panel, and its places at which no cell has a value that counts.

    axes: names of the rows and of the columns. panel: the names that tell panels apart, and their
    values.
    """
    facet, key = panel
    there = set(zip(facet, key, strict=True))
    mirrored = [s for s in (other.samples if other else ()) if there <= set(s.keys.items())]
    sums, factor = Summing(query), query.scale.factor
    at = dict(query.groups(axes, members))
    back = dict(query.groups(axes, mirrored)) if other else at
    found = {(column, row): samples for (row, column), samples in back.items() if row != column}
    for (row, column), samples in at.items():
        both = other is not None and row == column
        found[row, column] = [*samples, *(back.get((row, column), ()) if both else ())]
    tiles: dict[Place, Tile] = {}
    for place, samples in found.items():
        estimate = sums(samples)  # of two flows of a cell their mean
        if estimate.value is not None:
            tiles[place] = Tile(estimate.value / factor, estimate.n, of=only(samples))
    left_out: dict[Place, int] = {}
    for gap in query.gaps:
        if belongs(gap, facet, key):
            row, column = (gap.keys[name] for name in axes)
            for place in {(row, column), (column, row)} - set(tiles):
                left_out[place] = left_out.get(place, 0) + 1
    return tiles, left_out


def _caption(
    query: Query, other: Query | None, maps: Sequence[Map], axes: Place, names: Sequence[str]
) -> str:
    sizes = sorted({tile.n for found in maps for tile in found.tiles.values()})
    many = f"the {query.option('stat')} of {between(sizes)} cells" if sizes != [1] else "one cell"
    first, second = map(one_line, axes)
    parts = [f"Each tile is {many}."]
    if other is not None:
        parts.append(
            f"Each pair was run once: {query.name} where {first} is the column and {second} the"
            f" row, {other.name} at the mirrored place; on the diagonal their mean in each cell."
        )
    else:
        parts.append("Each pair was run once: its cells stand at both of its places.")
    parts.append(colouring(query, maps, (), sizes))
    if any(found.left_out for found in maps):
        parts.append(HATCHED)
    return " ".join([*parts, query.basis(names)])


KIND = FigureKind("matrix", requested)
