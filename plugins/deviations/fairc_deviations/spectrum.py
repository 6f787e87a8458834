"""The figure `spectrum`: measured large-deviations spectra at several scales on the theoretical
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairc.runtime.report.figures.layout import Key
from fairc.runtime.report.figures.style import colour

from .panels import MODELS, Look, Panel, figure, plot_models

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vPX*<>hp"


def _paint(axes: Axes, panel: Panel) -> None:
    measured = sorted(panel.of("spectrum"), key=lambda curve: curve.scale)
    plot_models(axes, panel, "spectrum")
    for index, curve in enumerate(measured):
        paint, seen = colour(index), np.isfinite(curve.y)
        bound = np.isfinite(curve.high)
        if bound.any():
            # An envelope that reaches down to no window at all has no lower end.
            floor = np.nanmin(np.concatenate([c.y for c in measured])) * 1.2
            low = np.where(np.isfinite(curve.low), curve.low, floor)
            axes.fill_between(
                curve.x[bound], low[bound], curve.high[bound], color=paint, alpha=0.14, linewidth=0
            )
        axes.plot(
            curve.x[seen],
            curve.y[seen],
            color=paint,
            linestyle="none",
            zorder=4,
            marker=MARKERS[index % len(MARKERS)],
            markersize=2.6,
            markeredgewidth=0,
        )
    heights = [curve.y for curve in measured]
    heights += [curve.y for model in MODELS for curve in panel.of(f"spectrum.{model}")][:1]
    lowest = float(np.nanmin(np.concatenate(heights)))
    axes.set_ylim(lowest * 1.08 or -1.0, max(0.002, -0.05 * lowest))
    own = [curve.x for curve in measured]
    own += [curve.x for curve in panel.of("spectrum.theory")]
    ends = np.concatenate(own)
    margin = 0.04 * float(np.ptp(ends)) or 1.0
    axes.set_xlim(float(ends.min()) - margin, float(ends.max()) + margin)


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
            "Rate f at which means of n round trips near alpha become rare, measured at each"
            " n (markers) and"
            " in theory (lines); f is 0 at the mean. Bands: 95 % envelope of 1000 simulated"
            " chains of equal"
            " length, all bins of all n together."
        ),
        x="mean window alpha (packets)",
        y="f (1 / RTT)",
        wanted=("spectrum",),
        paint=_paint,
        keys=_keys,
        is_answer=True,
    )
)
