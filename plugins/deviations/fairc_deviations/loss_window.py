"""The figure `loss_window`: loss probability against the window, measured and modelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairc.runtime.report.figures.layout import Key
from fairc.runtime.report.figures.style import SERIES

from .panels import MODELS, Look, Panel, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MANY = 120  # windows beyond which bars would hide each other


def _paint(axes: Axes, panel: Panel) -> None:
    for model, (_, paint, dash) in MODELS.items():
        for curve in panel.of(f"loss.{model}"):
            # The chain of the measured p(w) is what is drawn as points, and straight lines between.
            thin = 0.4 if model == "theory" else 0.9
            axes.plot(curve.x, curve.y, color=paint, linestyle=dash, linewidth=thin, zorder=3)
    for curve in panel.of("loss"):
        if len(curve.x) > _MANY:
            axes.fill_between(
                curve.x, curve.low, curve.high, color=SERIES[0], alpha=0.25, linewidth=0
            )
            axes.plot(curve.x, curve.y, color=SERIES[0], linewidth=0.7)
            continue
        axes.errorbar(
            curve.x,
            curve.y,
            np.abs(np.stack([curve.y - curve.low, curve.high - curve.y])),
            color=SERIES[0],
            linestyle="none",
            marker="o",
            markersize=2,
            elinewidth=0.5,
            zorder=4,
        )
    axes.set_ylim(0, 1)
    axes.set_xlim(left=0)


def _keys(panels: Sequence[Panel]) -> list[Key]:
    return [Key("measured, Wilson's 95 % interval", SERIES[0], marker="o")]


KIND = figure(
    Look(
        kind="loss_window",
        title="Loss probability against the congestion window",
        reading=(
            "Share of round trips at window w in which congestion control entered CWR,"
            " Recovery or Loss, and"
            " what the models say. The line through the points is the p(w) of the chain."
        ),
        x="window w (packets)",
        y="p(w)",
        wanted=("loss",),
        paint=_paint,
        keys=_keys,
    )
)
