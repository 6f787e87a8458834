"""The figure `boxplot`: quartiles of a metric for each group; the notch is the median's
interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from math import isfinite
from types import MappingProxyType
from typing import NamedTuple

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import listed, one_line, quantity
from fairc.runtime.repetitions.mixtures import pools_cells
from fairc.runtime.repetitions.samples import PROTOCOL, Sample
from fairc.runtime.statistics import Estimate
from fairc.runtime.statistics.paired import signed_rank, student
from fairc.runtime.statistics.two_samples import mann_whitney, welch
from fairc.runtime.statistics.verdicts import holm

from .axis import wants_log
from .base import Drawing, FigureKind, Subject
from .chart import Axis
from .marks import Box as Drawn
from .marks import Mark, dots
from .query import Names, Query, load
from .rows import Panel, Row, Rows, note_length
from .style import INK, SERIES
from .wording import by_text, headed, valued, worded

_BOX, _TESTS, _AT = 0.43, 0.17, 0.26
"""Heights of the rows of a box and of tests; where a box is below the top of its row, inches."""
_ACROSS = 2
"""Panels side by side on a page."""
_READING = (
    "Box: quartiles; bar: median; whiskers: the farthest values within 1.5 quartile distances;"
    " dots: values beyond."
)
FEW = 6
"""Fewer values are dots: quartiles of theirs say nothing."""
# All pairs of up to this many groups are tested; of more, only neighbours.
ALL_PAIRS = 3


class Box(NamedTuple):
    """A group: its label, its values and their median.

    notch: whether its interval is drawn. endless: how many more values it has, which are larger
    than any that was observed.
    """

    label: str
    values: tuple[float, ...]
    middle: Estimate
    notch: bool
    endless: int = 0


class Pair(NamedTuple):
    """A test of two groups: what they are called, and its p-value, or None where it has none."""

    label: str
    p: float | None


Tests = list[Pair]
Part = Box | Tests
"""From above: boxes, and between them the tests of those above."""


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


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `by`, `facet`, `notch`, `test`, `ci`."""
    query = load(subject, request)
    facet, by = query.names("facet"), query.names("by")
    # A test compares values of the last name, which flows and loads are not.
    by = (*query.separated((), *facet, *by), *by)
    level, wants_notch = query.number("ci"), query.option("notch") == "on"
    pooled = any(
        pools_cells([s.outcome for s in found]) for _, found in query.groups((*facet, *by))
    )
    mixed = bool(query.mixed((*facet, *by)))
    test = (PAIRED_TESTS if subject.run.plan.common else TESTS).get(query.option("test"))
    notch, tested = wants_notch and not (pooled or mixed), None if pooled or mixed else test
    endless = Counter(
        tuple(sample.keys[name] for name in (*facet, *by))
        for sample in load(subject, request, endless=True).samples
        if not isfinite(sample.value)
    )
    panels = {
        worded(facet, key): _parts(
            query,
            by,
            members,
            notch,
            level,
            tested,
            {names[len(key) :]: n for names, n in endless.items() if names[: len(key)] == key},
        )
        for key, members in query.groups(facet)
    }
    _adjust([part for parts in panels.values() for part in parts if not isinstance(part, Box)])
    boxes = [(h, part) for h, parts in panels.items() for part in parts if isinstance(part, Box)]
    query.check(len(panels), len(boxes), "boxes")
    log = wants_log(query, "x", (v for _, box in boxes for v in box.values))
    medians = [
        f"{headed(h, b.label)}: {quantity(b.middle.value, query.unit)}"
        for h, b in boxes
        if b.middle.value is not None
    ]
    notches = _notches([box for _, box in boxes], wants_notch, pooled, level, subject)
    sizes = [len(box.values) for _, box in boxes]
    caption = (
        _READING if max(sizes) >= FEW else "Dots: the values.",
        f"Fewer than {FEW} values are dots." if min(sizes) < FEW <= max(sizes) else "",
        "" if mixed else notches,
        "" if mixed else _tested(test, pooled, by),
        "Each panel has its own scale." if len(panels) > 1 else "",
        query.basis((*by, *facet)),
    )
    axis, factor = Axis(query.label, log=log, bins=6), query.scale.factor
    note = note_length(len(panels), len(boxes), _ACROSS)
    drawn = [Panel(heading, _rows(parts, factor, note), axis) for heading, parts in panels.items()]
    return query.drawing(
        title=query.title(by_text((*by, *facet))),
        caption=" ".join(filter(None, caption)),
        alt=f"Box plot of {query.name}. Medians: {listed(medians, 8)}.",
        picture=Rows(drawn, _ACROSS),
    )


def _parts(
    query: Query,
    by: Names,
    members: list[Sample],
    notch: bool,
    level: float,
    test: TestOf | None,
    endless: Mapping[Names, int],
) -> list[Part]:
    parts: list[Part] = []
    for head, block in query.groups(by[:-1], members):
        groups = []
        for key, own in query.groups(by[-1:], block):
            values, middle = query.median_of(own, level)
            label = worded(by, (*head, *key))
            beyond = endless.get((*head, *key), 0)
            parts.append(Box(label, values, middle, notch and middle.low is not None, beyond))
            groups.append((valued(key), own, values))
        if test is not None and by and (pairs := _pairs(test, by[-1], groups)):
            parts.append(pairs)
    return parts


def _rows(parts: list[Part], factor: float, note: int) -> list[Row]:
    """Return the rows of a panel; note: the characters that fit into one about tests."""
    rows: list[Row] = []
    top = 0.0
    for part in parts:
        if isinstance(part, Box):
            middle, notch = part.middle, None
            if part.notch and middle.low is not None and middle.high is not None:
                notch = middle.low / factor, middle.high / factor
            values = [v / factor for v in part.values]
            if len(values) < FEW:
                mark: Mark = dots(values, [top + _AT] * len(values), SERIES[0], "o", 3.2, alpha=0.8)
            else:
                mark = Drawn(values, top + _AT, (INK, SERIES[0], SERIES[1]), notch)
            size = f"n = {len(values)}"
            size += f", and {part.endless} infinite" if part.endless else ""
            text = f"{part.label} ({size})" if part.label else size
            rows.append(Row(text, _BOX, (mark,)))
            top += _BOX
        else:
            lines = _lines([f"{pair.label}: {p_text(pair.p)}" for pair in part], note)
            rows += [Row(line, _TESTS, is_note=True) for line in lines]
            top += _TESTS * len(lines)
    return rows


def _lines(texts: Sequence[str], most: int) -> list[str]:
    """Return texts one after the other, in as few lines as have room for them.

    >>> _lines(["a / b: p = 0.1", "a / c: p < 0.001", "b / c: no p"], 32)
    ['a / b: p = 0.1; a / c: p < 0.001', 'b / c: no p']
    """
    lines = [*texts[:1]]
    for text in texts[1:]:
        if len(longer := f"{lines[-1]}; {text}") <= most:
            lines[-1] = longer
        else:
            lines.append(text)
    return lines


def _pairs(
    test: TestOf, name: str, groups: Sequence[tuple[str, list[Sample], tuple[float, ...]]]
) -> Tests:
    """Test each pair of groups, which differ in a name; of many groups, neighbours.

    groups: the label of each, its cases, and the values that its box is of.
    """
    pairs = combinations(groups, 2) if len(groups) <= ALL_PAIRS else pairwise(groups)
    _, p_of = test
    paired = test in PAIRED_TESTS.values()
    return [
        Pair(
            f"{a} / {b}", p_of(*(matched(own, others, name) if paired else (values, other_values)))
        )
        for (a, own, values), (b, others, other_values) in pairs
    ]


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


def _adjust(figure: list[Tests]) -> None:
    """Adjust the p-values of a figure for the number of its tests."""
    adjusted = iter(holm([pair.p for tests in figure for pair in tests if pair.p is not None]))
    for tests in figure:
        tests[:] = [pair if pair.p is None else Pair(pair.label, next(adjusted)) for pair in tests]


def p_text(p: float | None) -> str:
    """Return a p-value as it is printed: `p = 0.012`, `p < 0.001`."""
    if p is None:
        return "no p"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _notches(boxes: list[Box], wanted: bool, pooled: bool, level: float, subject: Subject) -> str:
    if not wanted:
        return ""
    if pooled:
        return "No notch: values of one cell are not independent."
    without = sum(not box.notch for box in boxes)
    text = (
        f"Notch, or a bar below a box narrower than its notch: {100 * level:g} % interval of the"
        f" median ({subject.run.repeated.interval})"
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


KIND = FigureKind("boxplot", requested)
