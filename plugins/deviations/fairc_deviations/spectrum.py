"""The figure `spectrum`: measured large-deviations spectra at several scales on the theoretical
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairc.api import Axis, Band, Key, Mark, colour, dots

from .panels import MODELS, Look, Panel, figure, of_models

MARKERS = "osD^vPX*<>hp"


def _marks(panel: Panel) -> tuple[Sequence[Mark], Axis, Axis]:
    measured = sorted(panel.of("spectrum"), key=lambda curve: curve.scale)
    marks: list[Mark] = [*of_models(panel, "spectrum")]
    for index, curve in enumerate(measured):
        paint, seen = colour(index), np.isfinite(curve.y)
        bound = np.isfinite(curve.high)
        if bound.any():
            # An envelope that reaches down to no window at all has no lower end.
            floor = np.nanmin(np.concatenate([c.y for c in measured])) * 1.2
            low = np.where(np.isfinite(curve.low), curve.low, floor)
            marks.append(Band(curve.x[bound], low[bound], curve.high[bound], paint, 0.14))
        marker = MARKERS[index % len(MARKERS)]
        marks.append(dots(curve.x[seen], curve.y[seen], paint, marker, 2.6, edge=0, z=4))
    heights = [curve.y for curve in measured]
    heights += [curve.y for model in MODELS for curve in panel.of(f"spectrum.{model}")][:1]
    lowest = float(np.nanmin(np.concatenate(heights)))
    ends = np.concatenate([c.x for c in (*measured, *panel.of("spectrum.theory"))])
    margin = 0.04 * float(np.ptp(ends)) or 1.0
    return (
        marks,
        Axis("", float(ends.min()) - margin, float(ends.max()) + margin),
        Axis("", lowest * 1.08 or -1.0, max(0.002, -0.05 * lowest)),
    )


def _keys(panels: Sequence[Panel]) -> list[Key]:
    scales = sorted({curve.scale for panel in panels for curve in panel.of("spectrum")})
    return [
        Key(f"n = {scale}", colour(i), marker=MARKERS[i % len(MARKERS)])
        for i, scale in enumerate(scales)
    ]


KIND = figure(
    Look(
        kind="spectrum",
        title="Large-deviations spectrum of the congestion window",
        reading=(
            "Rate f at which means of n round trips near alpha become rare, measured at each n"
            " (markers) and in theory (lines); f is 0 at the mean. Bands: 95 % envelope of 1000"
            " simulated chains of equal length, all bins of all n together."
        ),
        x="mean window alpha (packets)",
        y="f (1 / RTT)",
        wanted="spectrum",
        marks=_marks,
        keys=_keys,
        is_answer=True,
    )
)
