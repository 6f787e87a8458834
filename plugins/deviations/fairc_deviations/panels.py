"""Shared by the figures of `deviations`: the cells that they show, their curves, and the style of
models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fairc.api import (
    INK,
    LIMIT,
    MUTED,
    WIDE_LEFT,
    Axis,
    Chart,
    Curve,
    Dash,
    Drawing,
    FigureKind,
    FigureRequest,
    Key,
    Line,
    Mark,
    NothingToDraw,
    Outcome,
    Run,
    Subject,
    counted,
    in_order,
    load_samples,
    representatives,
    worded,
)
from fairc.api import (
    Panel as Drawn,
)

from .words import METRIC

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

    kind: word of the figure. title, reading: heading and how to read it. x, y: the axes.
    marks: of a panel, with axes of its own where it has them. keys: of the legend, other than those
    of the models. wanted: name of the curves it needs. is_answer: as of a
    FigureKind.
    """

    kind: str
    title: str
    reading: str
    x: str
    y: str
    wanted: str
    marks: Callable[[Panel], tuple[Sequence[Mark], Axis, Axis]]
    keys: Callable[[Sequence[Panel]], list[Key]]
    is_answer: bool = False


def figure(look: Look) -> FigureKind:
    """Return the kind of figure that looks so."""
    return FigureKind(
        look.kind,
        partial(_requested, look),
        lambda subject: _figure(look, _default(subject), look.kind, "repetitions"),
        lambda subject: subject.measures(METRIC.name),
        look.is_answer,
    )


def _requested(look: Look, subject: Subject, request: FigureRequest) -> Drawing:
    """Make a figure; options: `facet`, `where`. Each configuration and flow has a panel of its own.

    Raises NothingToDraw where no cell that counts has these curves, or there are too many panels.
    """
    # The number of rounds is known of every flow that has curves; a verdict is not.
    query = load_samples(subject, request.model_copy(update={"metric": f"{METRIC.name}.rounds"}))
    names = query.separated(query.swept_by(query.names("facet")))
    panels: list[Panel] = []
    for key, members in query.groups(names):
        first = in_order(members)[0]
        panels.append(_panel(subject, worded(names, key), first.outcome, first.flow))
    drawing = _figure(look, panels, replace(query, request=request).stem, "requested")
    query.check(sum(bool(panel.of(look.wanted)) for panel in panels))
    return drawing


def _figure(look: Look, found: Sequence[Panel], name: str, section: str) -> Drawing:
    panels = [panel for panel in found if panel.of(look.wanted)]
    if not panels:
        raise NothingToDraw(f"no cell that counts has the curves of `{look.kind}`")
    shown = sorted({panel.repetition for panel in panels})
    which = "repetition" if len(shown) == 1 else "repetitions"
    verdicts = "; ".join(f"{p.heading}: {p.verdict}" for p in panels if p.verdict and p.heading)
    verdict = f" The measured spectrum against the envelope: {verdicts}." if verdicts else ""
    if len(panels) == 1 and panels[0].verdict:
        verdict = f" The measured spectrum is {panels[0].verdict} the envelope."
    return Drawing(
        name,
        section,
        title=look.title,
        caption=(
            f"{look.reading} One run per panel, not a summary: {which}"
            f" {', '.join(map(str, shown))}. The metric `deviations` documents the"
            f" computation.{verdict}"
        ),
        alt=f"{look.title}, {counted(len(panels), 'panel')}." + (verdict or " No theory."),
        picture=_chart(look, panels),
    )


def _chart(look: Look, panels: Sequence[Panel]) -> Chart:
    present = {curve.name.partition(".")[2] for panel in panels for curve in panel.curves}
    models = [Key(label, paint, dash) for m, (label, paint, dash) in MODELS.items() if m in present]
    drawn = []
    for panel in panels:
        marks, x, y = look.marks(panel)
        heading = ", ".join(filter(None, (panel.heading, panel.verdict)))
        drawn.append(Drawn(heading if panel.heading else "", marks, x, y))
    return Chart(
        drawn,
        Axis(look.x),
        Axis(look.y),
        heights=(1.9, 1.35),
        keys=[*look.keys(panels), *models],
        left=WIDE_LEFT,
        share=False,
    )


def of_models(panel: Panel, name: str, thin: str = "") -> list[Line]:
    """Return the curve `name.MODEL` of each model as a line; thin: the model with a thin one."""
    return [
        Line(
            curve.x,
            curve.y,
            paint,
            dash,
            width=0.4 if model == thin else 0.9,
            z=3,
        )
        for model, (_, paint, dash) in MODELS.items()
        for curve in panel.of(f"{name}.{model}")
    ]


def _default(subject: Subject) -> list[Panel]:
    panels: list[Panel] = []
    for _, outcome, _, heading, _ in representatives(subject):
        flows = _flows(subject.run, outcome.cell)
        for flow in flows:
            own = ", ".join(filter(None, (heading, f"flow = {flow}" if len(flows) > 1 else "")))
            panels.append(_panel(subject, own, outcome, flow))
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
    for name, scale in dict.fromkeys(zip(names.tolist(), scales.tolist(), strict=True)):
        ours = (names == name) & (scales == scale)
        columns = (table[column][ours].astype(float) for column in ("x", "y", "low", "high"))
        curves.append(Curve(METRIC.name, flow, name, scale, *columns))
    results = subject.results
    verdicts = (m for m in results.select(f"{METRIC.name}.inside") if m.flow == flow)
    inside = next((results.number(measure, outcome) for measure in verdicts), None)
    return Panel(heading, outcome.repetition, inside, tuple(curves))
