"""The figure `boxplot`: quartiles of a metric for each group; the notch is the median's
interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import listed, one_line, quantity
from fairc.runtime.repetitions.mixtures import pools_cells
from fairc.runtime.repetitions.samples import PROTOCOL, Sample
from fairc.runtime.statistics import Estimate
from fairc.runtime.statistics.multiple import holm
from fairc.runtime.statistics.paired import signed_rank, student
from fairc.runtime.statistics.two_samples import mann_whitney, welch

from .axis import wants_log
from .base import Drawing, FigureKind, Subject, few, limits
from .cases import (
    Cases,
    by_text,
    grouped,
    headed,
    load,
    names_of,
    number_of,
    separated,
    stem,
    valued,
    worded,
)
from .layout import cut, fitted, fitting, thin
from .style import INK, MUTED, SERIES, WIDTHS, Width, logarithmic

_NARROW = 18  # boxes of a column above which its panels stand in twos
_ROW, _NOTE = 0.43, 0.17  # inches, of which the label of a box takes the upper part
_ABOVE, _HEADING, _BELOW, _SIDE = 0.08, 0.18, 0.42, 0.14
_BOX = 0.18
_READING = (
    "Box: quartiles; bar: median; whiskers: the farthest values within 1.5 quartile distances;"
    " dots: values beyond."
)
# All pairs of up to this many groups are tested; of more, only neighbours.
ALL_PAIRS = 3


@dataclass(frozen=True, slots=True)
class Box:
    """A group: its label, its values and their median; notch: whether its interval is drawn."""

    label: str
    values: tuple[float, ...]
    middle: Estimate
    notch: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """A test of two groups: what they are called, and its p-value, or None where it has none."""

    label: str
    p: float | None


Tests = tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows from above: boxes, and between them the tests of those above."""

    heading: str
    rows: tuple[Box | Tests, ...]


def _welch(a: Sequence[float], b: Sequence[float]) -> float | None:
    found = welch(a, b)
    return None if isinstance(found, str) else found.p


def _wilcoxon(a: Sequence[float], b: Sequence[float]) -> float | None:
    return mann_whitney(a, b).p if min(len(a), len(b)) > 1 else None


def _student(a: Sequence[float], b: Sequence[float]) -> float | None:
    return student([y - x for x, y in zip(a, b, strict=True)])


def _signed_rank(a: Sequence[float], b: Sequence[float]) -> float | None:
    found = signed_rank([y - x for x, y in zip(a, b, strict=True)]) if a else None
    return found.p if found and found.n > 1 else None


TestOf = tuple[str, Callable[[Sequence[float], Sequence[float]], float | None]]
TESTS: Mapping[str, TestOf] = MappingProxyType(
    {
        "welch": ("Welch's t-test", _welch),
        "wilcoxon": ("Wilcoxon's rank-sum test", _wilcoxon),
    }
)
PAIRED_TESTS: Mapping[str, TestOf] = MappingProxyType(
    {
        "welch": ("Student's t-test of the differences in each repetition", _student),
        "wilcoxon": (
            "Wilcoxon's signed-rank test of the differences in each repetition",
            _signed_rank,
        ),
    }
)
"""The same where configurations share draws, so that their values are not independent samples."""


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `by`, `facet`, `notch`, `test`, `ci`."""
    assert request is not None, "not a default figure"
    cases = load(subject, request)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    # A test compares values of the last name, which flows and loads are not.
    by = (*separated((), (*facet, *by), cases), *by)
    level, test = number_of(request, "ci"), str(request.options["test"])
    wants_notch = request.options["notch"] == "on"
    pooled = any(
        pools_cells([s.outcome for s in found]) for _, found in cases.groups((*facet, *by))
    )
    mixed = bool(cases.mixed((*facet, *by)))
    tests = PAIRED_TESTS if subject.run.plan.common else TESTS
    panels = _adjusted(
        [
            Panel(
                worded(facet, key),
                _rows(
                    cases,
                    by,
                    members,
                    wants_notch and not (pooled or mixed),
                    level,
                    None if pooled or mixed else tests.get(test),
                ),
            )
            for key, members in cases.groups(facet)
        ]
    )
    boxes = [(p.heading, row) for p in panels for row in p.rows if isinstance(row, Box)]
    few(len(boxes), limits("boxplot").groups, "boxes")
    few(len(panels), limits("boxplot").panels, "panels")
    log = wants_log(request, "x", (v for _, box in boxes for v in box.values))
    medians = [
        f"{headed(h, b.label)}: {quantity(b.middle.value, cases.unit)}"
        for h, b in boxes
        if b.middle.value is not None
    ]
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=cases.title(by_text((*by, *facet))),
        caption=" ".join(
            filter(
                None,
                (
                    _READING,
                    ""
                    if mixed
                    else _notches(boxes, wants_notch, pooled, level, cases.repeats.interval),
                    "" if mixed else _tested(tests.get(test), pooled, by),
                    "Each panel has its own scale." if len(panels) > 1 else "",
                    cases.basis((*by, *facet)),
                ),
            )
        ),
        alt=f"Box plot of {cases.metric}. Medians: {listed(medians, 8)}.",
        draw=lambda width: _draw(cases, panels, width, log),
    )


def _rows(
    cases: Cases,
    by: tuple[str, ...],
    members: list[Sample],
    notch: bool,
    level: float,
    test: TestOf | None,
) -> tuple[Box | Tests, ...]:
    rows: list[Box | Tests] = []
    for head, block in grouped(members, by[:-1], cases.orders):
        groups = []
        for key, own in grouped(block, by[-1:], cases.orders):
            values, middle = cases.median_of(own, level)
            label = worded(by, (*head, *key))
            rows.append(Box(label, values, middle, notch and middle.low is not None))
            groups.append((valued(key), own, values))
        if test is not None and by:
            pairs = _pairs(test, by[-1], groups)
            rows += [pairs] if pairs else []
    return tuple(rows)


def _pairs(
    test: TestOf, name: str, groups: Sequence[tuple[str, list[Sample], tuple[float, ...]]]
) -> Tests:
    """Test each pair of groups, which differ in a name; of many groups, neighbours.

    groups: the label of each, its cases, and the values that its box is of.
    """
    pairs = combinations(groups, 2) if len(groups) <= ALL_PAIRS else pairwise(groups)
    _, p_of = test
    paired = test in PAIRED_TESTS.values()
    return tuple(
        Pair(
            f"{a} / {b}", p_of(*(matched(own, others, name) if paired else (values, other_values)))
        )
        for (a, own, values), (b, others, other_values) in pairs
    )


def matched(
    first: Sequence[Sample], second: Sequence[Sample], name: str
) -> tuple[list[float], list[float]]:
    """Return the values of cases that differ in nothing but a name, in one order; others are left
    out.

    The protocol of a load is an outcome, not a setting: it does not separate cases.
    """

    def keyed(cases: Sequence[Sample]) -> dict[frozenset[tuple[str, str]], float]:
        return {
            frozenset(i for i in sample.keys.items() if i[0] not in (name, PROTOCOL)): sample.value
            for sample in cases
        }

    a, b = keyed(first), keyed(second)
    both = [key for key in a if key in b]
    return [a[key] for key in both], [b[key] for key in both]


def _adjusted(panels: list[Panel]) -> list[Panel]:
    """Return the panels with their p-values adjusted for all tests of the figure."""
    tests = [row for panel in panels for row in panel.rows if not isinstance(row, Box)]
    known = iter(holm([pair.p for row in tests for pair in row if pair.p is not None]))

    def adjusted(row: Box | Tests) -> Box | Tests:
        if isinstance(row, Box):
            return row
        return tuple(Pair(p.label, None if p.p is None else next(known)) for p in row)

    return [Panel(panel.heading, tuple(map(adjusted, panel.rows))) for panel in panels]


def p_text(p: float | None) -> str:
    """Return a p-value as it is printed: `p = 0.012`, `p < 0.001`."""
    if p is None:
        return "no p"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _notches(
    boxes: list[tuple[str, Box]], wanted: bool, pooled: bool, level: float, how: str
) -> str:
    if not wanted:
        return ""
    if pooled:
        return "No notch: values of one cell are not independent."
    without = sum(not box.notch for _, box in boxes)
    text = (
        f"Notch, or a bar below a box narrower than its notch: {100 * level:g} % interval of"
        f" the median"
        f" ({how})"
    )
    return (
        f"{text}; {without} without one have too few values, or equal ones."
        if without
        else f"{text}."
    )


def _tested(test: TestOf | None, pooled: bool, by: tuple[str, ...]) -> str:
    if test is None:
        return ""
    if pooled:
        return "No test: values of one cell are not independent."
    if not by:
        return "No test: there is only one group."
    return (
        f"p: {test[0]} between values of {one_line(by[-1])}, two-sided, adjusted for the"
        " number of tests in this figure (Holm)."
    )


def _draw(cases: Cases, panels: list[Panel], width: Width, log: bool) -> Figure:
    full = WIDTHS[width]
    boxes = sum(isinstance(row, Box) for panel in panels for row in panel.rows)
    across = 2 if len(panels) > 1 and (width == "page" or boxes > _NARROW) else 1
    lines = [panels[i : i + across] for i in range(0, len(panels), across)]
    heights = [max(_height(panel) for panel in line) for line in lines]
    heading = _HEADING if any(p.heading for p in panels) else 0.0
    total = sum(heights) + len(lines) * (_ABOVE + heading + _BELOW)
    figure = Figure(figsize=(full, total))
    slot = full / across
    top = total
    for line, height in zip(lines, heights, strict=True):
        top -= _ABOVE + heading
        for column, panel in enumerate(line):
            own = _height(panel)
            axes = figure.add_axes(
                (
                    (column * slot + _SIDE) / full,
                    (top - own) / total,
                    (slot - 2 * _SIDE) / full,
                    own / total,
                )
            )
            if log:
                logarithmic(axes, "x")
            _panel(axes, panel, cases, slot - 2 * _SIDE)
        top -= height + _BELOW
    return fitted(figure)


def _height(panel: Panel) -> float:
    return sum(_ROW if isinstance(row, Box) else _NOTE for row in panel.rows)


def _panel(axes: Axes, panel: Panel, cases: Cases, inches: float) -> None:
    """Draw the rows from above; heights are in inches."""
    most = int(inches / 0.05)
    top = 0.0
    for row in panel.rows:
        if isinstance(row, Box):
            _box(axes, row, top + 0.26, cases.scale.factor)
            text, size, at = f"{row.label}  n = {len(row.values)}".strip(), 6.2, top + 0.075
            top += _ROW
        else:
            text = "; ".join(f"{pair.label}: {p_text(pair.p)}" for pair in row)
            size, at = 6.0, top + 0.07
            top += _NOTE
        axes.text(
            0,
            at,
            cut(text, most),
            va="center",
            fontsize=size,
            color=MUTED,
            style="normal" if isinstance(row, Box) else "italic",
            transform=axes.get_yaxis_transform(),
        )
    axes.set_yticks([])
    if axes.get_xscale() != "log":
        axes.locator_params(axis="x", nbins=6)
    axes.set_ylim(top, 0)
    axes.grid(visible=True, axis="x")
    axes.spines["left"].set_visible(False)
    axes.set_title(fitting(panel.heading, inches))
    axes.set_xlabel(cases.label)


def _box(axes: Axes, box: Box, at: float, factor: float) -> None:
    line = {"color": INK, "linewidth": 0.8}
    found = [v / factor for v in box.values]
    middle = box.middle
    interval = None
    if box.notch and middle.low is not None and middle.high is not None:
        low, high = middle.low / factor, middle.high / factor
        quarter, three = np.percentile(found, (25, 75))
        if quarter <= low and high <= three:
            interval = np.array([[low, high]])
        else:  # a notch that is wider than its box would fold over the whiskers
            under = at + _BOX / 2 + 0.035
            axes.plot([low, high], [under, under], color=SERIES[0], linewidth=1.4)
    drawn = axes.boxplot(
        [found],
        positions=[at],
        orientation="horizontal",
        widths=_BOX,
        notch=interval is not None,
        conf_intervals=interval,
        patch_artist=True,
        manage_ticks=False,
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
    for dots in drawn["fliers"]:
        thin(dots)


KIND = FigureKind("boxplot", make)
