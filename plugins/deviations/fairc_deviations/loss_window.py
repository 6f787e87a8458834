"""The figure `loss_window`: loss probability against the window, measured and modelled."""

from __future__ import annotations

from collections.abc import Sequence

from fairc.api import SERIES, Axis, Band, ErrorBars, Key, Line, Mark

from .panels import Look, Panel, figure, of_models

_MANY = 120  # windows beyond which bars would hide each other


def _marks(panel: Panel) -> tuple[Sequence[Mark], Axis, Axis]:
    # The chain of the measured p(w) is what is drawn as points, and straight lines between.
    marks: list[Mark] = [*of_models(panel, "loss", thin="theory")]
    for curve in panel.of("loss"):
        if len(curve.x) > _MANY:
            marks.append(Band(curve.x, curve.low, curve.high, SERIES[0], 0.25))
            marks.append(Line(curve.x, curve.y, SERIES[0], width=0.7))
        else:
            marks.append(ErrorBars(curve.x, curve.y, curve.low, curve.high, SERIES[0]))
    return marks, Axis(low=0), Axis("", 0, 1)


def _keys(panels: Sequence[Panel]) -> list[Key]:
    return [Key("measured, Wilson's 95 % interval", SERIES[0], marker="o")]


KIND = figure(
    Look(
        kind="loss_window",
        title="Loss probability against the congestion window",
        reading=(
            "Share of round trips at window w in which congestion control entered CWR, Recovery or"
            " Loss, and what the models say. The line through the points is the p(w) of the chain."
        ),
        x="window w (packets)",
        y="p(w)",
        wanted="loss",
        marks=_marks,
        keys=_keys,
    )
)
