"""The figure `ranges`: the smallest and largest mean window against the scale, theory and
measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairc.runtime.report.figures.layout import Key
from fairc.runtime.report.figures.style import SERIES

from .panels import MODELS, Look, Panel, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _paint(axes: Axes, panel: Panel) -> None:
    for model, (_, paint, dash) in MODELS.items():
        for curve in panel.of(f"range.{model}"):
            for ends in (curve.low, curve.high):
                axes.plot(curve.x, ends, color=paint, linestyle=dash, linewidth=0.9, zorder=3)
    for curve in panel.of("range"):
        for ends, marker in ((curve.low, "v"), (curve.high, "^")):
            axes.plot(
                curve.x,
                ends,
                color=SERIES[0],
                linestyle="none",
                marker=marker,
                markersize=3,
                markeredgewidth=0,
                zorder=4,
            )
        axes.plot(curve.x, curve.y, color=SERIES[0], linewidth=0.6, alpha=0.6)
        axes.set_xscale("log")
        ticks = sorted(c.scale for c in panel.of("spectrum"))
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.minorticks_off()
    axes.set_ylim(bottom=0)


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
            "Smallest and largest mean of n round trips of the flow (markers) and of a chain"
            " of equal"
            " length (lines): alpha where floor(N / n) = exp(-n f(alpha))."
        ),
        x="scale n (RTT)",
        y="mean window (packets)",
        wanted=("range",),
        paint=_paint,
        keys=_keys,
    )
)
