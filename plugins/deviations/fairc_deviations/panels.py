"""Shared by the figures of `deviations`: the cells that they show, their curves, and the style of
models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import one_line
from fairc.runtime.measurement.series import Curve
from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.repetitions.samples import REPETITION
from fairc.runtime.report.figures.base import (
    Drawing,
    FigureKind,
    NothingToDraw,
    Subject,
    few,
    limits,
)
from fairc.runtime.report.figures.cases import load, names_of, separated, stem, worded
from fairc.runtime.report.figures.layout import WIDE_LEFT, Key, panels_for
from fairc.runtime.report.figures.style import INK, LIMIT, MUTED, Dash, Width
from fairc.runtime.report.figures.traces import representatives
from fairc.runtime.report.run import Run

from .words import METRIC

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Model -> what a legend calls it, and its line.
MODELS: dict[str, tuple[str, str, Dash]] = {
    "theory": ("theory, p(w) measured", INK, "-"),
    "bernoulli": ("theory, Bernoulli losses", LIMIT, (0, (4, 1.5))),
    "gaussian": ("theory, Gaussian cross traffic", MUTED, (0, (1, 1.2))),
}


@dataclass(frozen=True, slots=True)
class Panel:
    """The curves of one flow in one cell; heading: what identifies it."""

    heading: str
    repetition: int
    inside: float | None
    curves: tuple[Curve, ...]

    def of(self, name: str) -> list[Curve]:
        """Return the curves of a name."""
        return [curve for curve in self.curves if curve.name == name]

    @property
    def verdict(self) -> str:
        """Say whether the measured spectrum is inside the envelope; empty without a verdict."""
        if self.inside is None:
            return ""
        return "inside" if self.inside else "outside"


@dataclass(frozen=True, slots=True)
class Look:
    """What differs between the figures.

    kind: word of the figure. title, reading: heading and how to read it. x, y: names of the axes.
    paint: draws a panel. keys: of the legend, other than those of the models. wanted: names of
    curves it needs. is_answer: as of a FigureKind.
    """

    kind: str
    title: str
    reading: str
    x: str
    y: str
    wanted: tuple[str, ...]
    paint: Callable[[Axes, Panel], None]
    keys: Callable[[Sequence[Panel]], list[Key]]
    is_answer: bool = False


def figure(look: Look) -> FigureKind:
    """Return the kind of figure that looks so."""
    return FigureKind(
        look.kind,
        partial(make, look),
        is_due=lambda subject: subject.measures(METRIC.name),
        is_answer=look.is_answer,
    )


def make(look: Look, subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make a figure; options: `facet`, `where`. Each configuration and flow has a panel of its own.

    Raises NothingToDraw where no cell that counts has these curves, or there are too many panels.
    """
    found = _default(subject) if request is None else _asked(subject, request)
    panels = [p for p in found if any(p.of(name) for name in look.wanted)]
    if not panels:
        raise NothingToDraw(f"no cell that counts has the curves of `{look.kind}`")
    few(len(panels), limits(look.kind).panels, "panels")
    shown = sorted({panel.repetition for panel in panels})
    which = "repetition" if len(shown) == 1 else "repetitions"
    verdicts = "; ".join(f"{p.heading}: {p.verdict}" for p in panels if p.verdict and p.heading)
    verdict = f" The measured spectrum against the envelope: {verdicts}." if verdicts else ""
    if len(panels) == 1 and panels[0].verdict:
        verdict = f" The measured spectrum is {panels[0].verdict} the envelope."
    return Drawing(
        name=look.kind if request is None else stem(subject, request),
        section="repetitions" if request is None else "asked",
        title=look.title,
        caption=(
            f"{look.reading} One run per panel, not a summary: {which}"
            f" {', '.join(map(str, shown))}. The metric `deviations` documents the"
            f" computation.{verdict}"
        ),
        alt=f"{look.title}, {len(panels)} {'panel' if len(panels) == 1 else 'panels'}."
        + (verdict or " No theory."),
        draw=lambda width: _draw(look, panels, width),
    )


def _draw(look: Look, panels: Sequence[Panel], width: Width) -> Figure:
    single = len(panels) == 1
    present = {curve.name.partition(".")[2] for panel in panels for curve in panel.curves}
    keys = look.keys(panels)
    keys += [Key(label, paint, dash) for m, (label, paint, dash) in MODELS.items() if m in present]
    layout = panels_for(
        width, [panel.heading for panel in panels], (1.9, 1.35), keys, left=WIDE_LEFT, share=False
    )
    for axes, panel in zip(layout.panels, panels, strict=True):
        look.paint(axes, panel)
        heading = ", ".join(filter(None, (one_line(panel.heading), panel.verdict)))
        axes.set_title(heading if not single or panel.heading else "")
    layout.label(look.x, look.y)
    return layout.figure


def plot_models(axes: Axes, panel: Panel, name: str) -> None:
    """Draw the curve `name.MODEL` of each model as a line."""
    for model, (_, paint, dash) in MODELS.items():
        for curve in panel.of(f"{name}.{model}"):
            axes.plot(curve.x, curve.y, color=paint, linestyle=dash, linewidth=0.9, zorder=3)


def _default(subject: Subject) -> list[Panel]:
    panels: list[Panel] = []
    for _, outcome, _, heading in representatives(subject):
        flows = _flows(subject.run, outcome.cell)
        for flow in flows:
            own = ", ".join(filter(None, (heading, f"flow = {flow}" if len(flows) > 1 else "")))
            panels.append(_panel(subject, own, outcome, flow))
    return panels


def _asked(subject: Subject, request: FigureRequest) -> list[Panel]:
    # The number of rounds is known of every flow that has curves; a verdict is not.
    cases = load(subject, request.model_copy(update={"metric": f"{METRIC.name}.rounds"}))
    facet = names_of(request, "facet", cases)
    rest = [n for n in subject.run.axes if n not in facet and len(cases.orders[n]) > 1]
    names = separated((*facet, *rest), (), cases)
    panels: list[Panel] = []
    for key, members in cases.groups(names):
        first = min(members, key=lambda sample: int(sample.keys[REPETITION]))
        panels.append(_panel(subject, worded(names, key), first.outcome, first.flow))
    return panels


def _flows(run: Run, cell: str) -> list[str]:
    rows = run.rows(
        "SELECT DISTINCT flow FROM curves WHERE cell = ? AND metric = ? ORDER BY flow",
        [cell, METRIC.name],
    )
    return [flow for (flow,) in rows]


def _panel(subject: Subject, heading: str, outcome: Outcome, flow: str) -> Panel:
    table = subject.run.columns(
        "SELECT curve, scale, x, y, low, high FROM curves WHERE cell = ? AND flow = ? AND metric"
        " = ?",
        [outcome.cell, flow, METRIC.name],
    )
    names, scales = table["curve"], table["scale"].astype(int)
    curves: list[Curve] = []
    for name, scale in _unique(zip(names.tolist(), scales.tolist(), strict=True)):
        ours = (names == name) & (scales == scale)
        columns = (table[column][ours].astype(float) for column in ("x", "y", "low", "high"))
        curves.append(Curve(METRIC.name, flow, name, scale, *columns))
    results = subject.results
    verdicts = (m for m in results.select(f"{METRIC.name}.inside") if m.flow == flow)
    inside = next((results.number(measure, outcome) for measure in verdicts), None)
    return Panel(heading, outcome.repetition, inside, tuple(curves))


def _unique(pairs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return list(dict.fromkeys(pairs))
