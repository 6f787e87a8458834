"""The figure `boxplot`: quartiles of a metric for each group; the notch is the median's interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.runtime.report.summary import summarise
from fairc.runtime.report.words import number, quantity

from .base import Drawing, FigureKind, Subject
from .cases import Cases, load, names_of, stem, with_flow, worded
from .style import INK, MUTED, SERIES, WIDTHS, Width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.4  # inches, of which the label takes the upper part
_ABOVE, _BELOW, _SIDE = 0.1, 0.36, 0.14
_BOX = 0.42  # share of a row


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `by`, `facet` (also groups, named in the labels), `notch`."""
    assert request is not None, "not a default figure"
    cases = load(subject, request, ("by", "facet", "notch"))
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    names = with_flow(tuple(dict.fromkeys((*facet, *by))), (), cases)
    notch = request.options.get("notch") == "on"
    groups = [(worded(names, k), [c.value for c in found]) for k, found in cases.groups(names)]
    medians = "; ".join(
        f"{label or 'all'}: {quantity(summarise(tuple(v)).median or 0.0, cases.scale.unit)}"
        for label, v in ((g, [x / cases.scale.factor for x in v]) for g, v in groups[:6])
    )
    notches = (
        " The notch is the 95 % interval of the median from order statistics; a group without a"
        " notch has fewer than 6 values or none that differ."
        if notch
        else ""
    )
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=f"{cases.metric} by {', '.join(names)}" if names else cases.metric,
        caption=(
            "Box: quartiles; bar: median; whiskers: the farthest values within 1.5 quartile"
            f" distances; dots: values beyond.{notches}{cases.pooled(names)}"
        ),
        alt=f"Box plot of {cases.metric}. Medians: {medians}.",
        draw=lambda width: _draw(cases, groups, notch, width),
    )


def _draw(cases: Cases, groups: list[tuple[str, list[float]]], notch: bool, width: Width) -> Figure:
    import numpy as np
    from matplotlib.figure import Figure

    full = WIDTHS[width]
    height = len(groups) * _ROW
    total = _ABOVE + height + _BELOW
    figure = Figure(figsize=(full, total))
    axes = figure.add_axes(
        (_SIDE / full, _BELOW / total, (full - 2 * _SIDE) / full, height / total)
    )
    values = [[v / cases.scale.factor for v in found] for _, found in groups]
    line = {"color": INK, "linewidth": 0.8}
    for place, ((label, _), found) in enumerate(zip(groups, values, strict=True)):
        summary = summarise(tuple(found))
        interval = (summary.low, summary.high)
        has_notch = notch and None not in interval
        axes.boxplot(
            [found],
            positions=[place + 0.66],
            orientation="horizontal",
            widths=_BOX,
            notch=has_notch,
            usermedians=np.array([summary.median], dtype=float),
            conf_intervals=np.array([interval], dtype=float) if has_notch else None,
            patch_artist=True,
            boxprops={"facecolor": "none", "edgecolor": SERIES[0], "linewidth": 0.9},
            medianprops={"color": INK, "linewidth": 1.6},
            whiskerprops=line,
            capprops=line,
            flierprops={
                "marker": "o",
                "markersize": 2.4,
                "markerfacecolor": SERIES[1],
                "markeredgewidth": 0,
            },
        )
        axes.text(
            0, place + 0.2, f"{label}  n = {number(len(found), 0)}".strip(), va="center",
            fontsize=6.2, color=MUTED, transform=axes.get_yaxis_transform(),
        )  # fmt: skip
    axes.set_yticks([])
    axes.set_ylim(len(groups), 0)
    axes.grid(visible=True, axis="x")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(cases.label)
    return figure


KIND = FigureKind("boxplot", make)
