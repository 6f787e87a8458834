"""The figure `sequence`: bytes that page loads received over time, with responseStart and
loadEventEnd.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import listed, quantity, scale_for
from fairc.runtime.repetitions.samples import LOAD, REPETITION, Sample
from fairc.runtime.report.run import Run, in_list

from .base import Drawing, FigureKind, Subject
from .chart import WIDE_LEFT, Axis, Chart
from .chart import Panel as Drawn
from .layout import Key
from .marks import Line as Steps
from .marks import Mark, dots
from .query import Names, Query, load
from .style import INK, colour, dash
from .wording import by_text, headed, valued, worded

# Points of a line: more cannot be distinguished at a page's width.
MOST_POINTS = 150
_RESPONSE, _LOADED = "v", "^"


@dataclass(frozen=True, slots=True)
class Line:
    """The data that one connection of a load received. group: which colour.

    t_s: since connectStart. bytes: over QUIC scaled. ends: whether it is the load's largest
    connection, which carries the markers; marks: (responseStart, loadEventEnd), s.
    """

    group: int
    t_s: tuple[float, ...]
    bytes: tuple[float, ...]
    ends: bool
    marks: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines of one test unit; scaled: what its QUIC curves were multiplied by, None: they were
    not.
    """

    heading: str
    repetition: str
    lines: tuple[Line, ...]
    scaled: float | None


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `by`, `facet`. Every configuration has a panel of its own.

    Raises NothingToDraw where no load has a curve, or there are too many panels or groups.
    """
    query = load(subject, request)
    by = query.names("by")
    # Curves of different networks in one panel would say nothing.
    facet = query.swept_by(query.names("facet"), *by)
    by = query.separated(by, *facet)
    groups = [key for key, _ in query.groups(by)]
    found = query.groups(facet)
    query.check(len(found), lines=len(groups))
    panels = [_panel(query, worded(facet, key), members, by, groups) for key, members in found]
    return query.drawing(
        title=f"Bytes received {query.title(by_text((*by, *facet))).removeprefix('sequence ')}",
        caption=" ".join((_READING, _units(panels), _scaling(panels), query.basis((*by, *facet)))),
        alt=f"Bytes received over the time since connectStart. {_described(panels, groups)}.",
        picture=_chart(panels, query.keys(by)),
    )


_READING = (
    "Cumulative bytes per connection at the client against the time since connectStart."
    " Down triangle: responseStart; up triangle: loadEventEnd, both on the load's largest"
    " connection."
)


def _units(panels: Sequence[Panel]) -> str:
    which = dict.fromkeys(panel.repetition for panel in panels)
    shown = "; ".join(f"{p.heading or 'all'}: {p.repetition}" for p in panels)
    shown_units = (
        f"repetition {panels[0].repetition}" if len(which) == 1 else f"repetitions ({shown})"
    )
    return (
        f"One test unit per panel, not a summary: {shown_units}, whose PLTs are nearest to their"
        f" medians."
    )


def _scaling(panels: Sequence[Panel]) -> str:
    factors = [panel.scaled for panel in panels if panel.scaled is not None]
    text = ""
    if factors:
        span = f"{min(factors):.3f}"
        span += f" to {max(factors):.3f}" if max(factors) - min(factors) >= 0.001 else ""
        text = (
            "QUIC: IP bytes, scaled so that the largest QUIC connection of a test unit ends where"
            f" its largest TCP connection does (by {span})."
        )
    missing = sum(p.scaled is None and any(line for line in p.lines) for p in panels)
    if missing and not factors:
        return "No test unit has both TCP and QUIC: nothing is scaled, QUIC counts IP bytes."
    return f"{text} {missing} panels have no TCP connection to scale by." if missing else text


def _described(panels: Sequence[Panel], groups: Sequence[tuple[str, ...]]) -> str:
    parts = [
        f"{headed(p.heading, valued(groups[line.group]))}:"
        f" {quantity(line.bytes[-1], 'B')} until {quantity(line.marks[1], 's')}"
        for p in panels
        for line in p.lines
        if line.ends
    ]
    return listed(parts, 8)


def _panel(
    query: Query, heading: str, members: Sequence[Sample], by: Names, groups: Sequence[Names]
) -> Panel:
    """Return the curves of the repetition that is nearest to what is usual in all groups."""
    chosen, run = _usual(query, members, by), query.subject.run
    unit = [sample for sample in members if sample.keys[REPETITION] == chosen]
    # All of the unit scales it, also loads that the figure does not show.
    configurations = {sample.outcome.configuration for sample in members}
    cells = {
        outcome.cell
        for configuration in run.configurations
        if configuration.id in configurations
        for outcome in configuration.counted
        if str(outcome.repetition) == chosen
    }
    curves = _curves(run, cells)
    scale = _scale(curves)
    marks = _marks(run, cells)
    lines = []
    for sample in unit:
        place = sample.outcome.cell, sample.flow, int(sample.keys[LOAD])
        ours = curves.get(place, [])
        largest = max((c.total for c in ours), default=0.0)
        for curve in ours:
            factor = (scale or 1.0) if curve.transport == "quic" else 1.0
            lines.append(
                Line(
                    groups.index(tuple(sample.keys[n] for n in by)),
                    curve.t_s,
                    tuple(b * factor for b in curve.bytes),
                    curve.total == largest,
                    marks[place],
                )
            )
    return Panel(heading, chosen, tuple(lines), scale)


def _usual(query: Query, members: Sequence[Sample], by: Names) -> str:
    """Return the repetition with a load in every group whose PLTs are nearest to their medians.

    Nearest: the sum over groups of |PLT - median| / median is least; the earlier one wins a tie. A
    repetition without a load in some group is taken only where none is whole.
    """
    rows = query.subject.run.rows("SELECT cell, flow, load, plt_s FROM loads WHERE error = ''")
    plts = {(cell, flow, str(number)): plt for cell, flow, number, plt in rows if plt is not None}
    distances: dict[str, list[float]] = {}
    for _, found in query.groups(by, members):
        known = {
            c.keys[REPETITION]: plts[k]
            for c in found
            if (k := (c.outcome.cell, c.flow, c.keys[LOAD])) in plts
        }
        ordered = sorted(known.values())
        middle = ordered[len(ordered) // 2] if ordered else 1.0
        for repetition, plt in known.items():
            distances.setdefault(repetition, []).append(abs(plt - middle) / (middle or 1.0))
    if not distances:
        return min((c.keys[REPETITION] for c in members), key=int)
    return min(distances, key=lambda r: (-len(distances[r]), sum(distances[r]), int(r)))


@dataclass(frozen=True, slots=True)
class _Curve:
    transport: str
    t_s: tuple[float, ...]
    bytes: tuple[float, ...]

    @property
    def total(self) -> float:
        return self.bytes[-1]


Place = tuple[str, str, int]  # cell, flow, load


def _curves(run: Run, cells: set[str]) -> dict[Place, list[_Curve]]:
    """Return the curves of every load of some cells, by connection."""
    within, names = in_list(sorted(cells))
    rows = run.rows(
        "SELECT cell, flow, load, connection, transport, t_s, bytes FROM sequences"
        f" WHERE cell {within} ORDER BY cell, flow, load, connection, t_s, bytes",
        names,
    )
    points: dict[tuple[Place, int, str], list[tuple[float, float]]] = {}
    for cell, flow, number, connection, transport, t_s, received in rows:
        points.setdefault(((cell, flow, number), connection, transport), []).append((t_s, received))
    found: dict[Place, list[_Curve]] = {}
    for (place, _, transport), pairs in points.items():
        step = max(1, -(-len(pairs) // MOST_POINTS))
        kept = [(0.0, 0.0), *pairs[::step], pairs[-1]]
        times, received_ = zip(*kept, strict=True)
        found.setdefault(place, []).append(_Curve(transport, times, received_))
    return found


def _scale(curves: Mapping[Place, Sequence[_Curve]]) -> float | None:
    """Return the factor of a test unit's QUIC curves (metric `sequence`), None where it has
    none.
    """
    largest = {
        transport: max(
            (
                curve.total
                for ours in curves.values()
                for curve in ours
                if curve.transport == transport
            ),
            default=0.0,
        )
        for transport in ("tcp", "quic")
    }
    return largest["tcp"] / largest["quic"] if all(largest.values()) else None


def _marks(run: Run, cells: set[str]) -> dict[Place, tuple[float, float]]:
    within, names = in_list(sorted(cells))
    rows = run.rows(
        f"SELECT cell, flow, load, ttr_s, plt_s FROM loads WHERE error = '' AND cell {within}",
        names,
    )
    return {(cell, flow, number): (ttr, plt) for cell, flow, number, ttr, plt in rows}


def _chart(panels: Sequence[Panel], groups: list[Key]) -> Chart:
    scale = scale_for("B", [max(line.bytes[-1] for panel in panels for line in panel.lines)])
    drawn = []
    for panel in panels:
        marks: list[Mark] = []
        for line in panel.lines:
            paint, y = colour(line.group), [b / scale.factor for b in line.bytes]
            marks.append(Steps(line.t_s, y, paint, dash(line.group), steps="steps-post"))
            for at_s, marker in zip(line.marks, (_RESPONSE, _LOADED), strict=True):
                if line.ends:
                    place = max(0, int(np.searchsorted(line.t_s, at_s, side="right")) - 1)
                    filled = marker == _LOADED
                    marks.append(
                        dots([at_s], [y[place]], paint, marker, 5, filled=filled, clip=False, z=4)
                    )
        last = max(line.marks[1] for line in panel.lines)
        drawn.append(Drawn(panel.heading, marks, x=Axis("", 0, last * 1.04, bins=6)))
    return Chart(
        drawn,
        Axis("time since connectStart (s)"),
        Axis(f"bytes received ({scale.unit})", 0),
        heights=(1.6, 1.25),
        keys=[
            *groups,
            Key("responseStart", INK, marker=_RESPONSE, filled=False),
            Key("loadEventEnd", INK, marker=_LOADED),
        ],
        left=WIDE_LEFT,
        share=False,
    )


KIND = FigureKind("sequence", requested)
