"""The figure `ranges`: the smallest and largest mean window against the scale, theory and
measurement.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairc.api import SERIES, Axis, Key, Line, Mark, dots

from .panels import MODELS, Look, Panel, figure


def _marks(panel: Panel) -> tuple[Sequence[Mark], Axis, Axis]:
    marks: list[Mark] = [
        Line(curve.x, ends, paint, dash, width=0.9, z=3)
        for model, (_, paint, dash) in MODELS.items()
        for curve in panel.of(f"range.{model}")
        for ends in (curve.low, curve.high)
    ]
    for curve in panel.of("range"):
        for ends, marker in ((curve.low, "v"), (curve.high, "^")):
            marks.append(dots(curve.x, ends, SERIES[0], marker, 3, edge=0, z=4))
        marks.append(Line(curve.x, curve.y, SERIES[0], width=0.6, alpha=0.6))
    ticks = sorted(curve.scale for curve in panel.of("spectrum"))
    return marks, Axis(log=True, ticks=ticks), Axis(low=0)


def _keys(panels: Sequence[Panel]) -> list[Key]:
    return [
        Key("alpha_max, measured", SERIES[0], marker="^"),
        Key("alpha_min, measured", SERIES[0], marker="v"),
        Key("mean, measured", SERIES[0]),
    ]


KIND = figure(
    Look(
        kind="ranges",
        title="Observable range of the mean window against the scale",
        reading=(
            "Smallest and largest mean of n round trips of the flow (markers) and of a chain of"
            " equal length (lines): alpha where floor(N / n) = exp(-n f(alpha))."
        ),
        x="scale n (RTT)",
        y="mean window (packets)",
        wanted="range",
        marks=_marks,
        keys=_keys,
    )
)
