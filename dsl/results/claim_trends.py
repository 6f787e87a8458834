"""Claims: the units of a trend, `increasing(median(goodput), over: buffer)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import refuse_unknown
from fairc.dsl.model.claims import ClaimUnit, Contrast
from fairc.dsl.model.requests import Axis
from fairc.dsl.text import syntax
from fairc.words import claims as words

from .claim_forms import is_statistic
from .claim_readings import Reading, arguments
from .claim_units import ClaimUnits, Point
from .facts import Facts


def trend_of(holds: syntax.Expr) -> syntax.Call | None:
    """Return the call of a trend, or None if a claim is of another form."""
    node = holds
    while isinstance(node, syntax.Group):
        node = node.inner
    if isinstance(node, syntax.Call) and (node.name.text in words.TRENDS or _may_be_trend(node)):
        words.TRENDS.get(node.name.text, node.name.span)
        return node
    for part in node.walk():
        if isinstance(part, syntax.Call) and part.name.text in words.TRENDS:
            fail(
                "claim-form",
                f"`{part.name.text}` is a whole claim, and nothing is compared with it",
                part.span,
                help=f"write `holds = {part.span.text}`",
            )
    return None


def _may_be_trend(call: syntax.Call) -> bool:
    """Return whether a call is meant as a trend, going by its argument."""
    return any(a.key is not None and a.key.text == words.OVER.name for a in call.arguments)


class Trends(ClaimUnits):
    """The units of a trend: one for each configuration of the other swept names."""

    def __init__(
        self,
        facts: Facts,
        call: syntax.Call,
        readings: Mapping[int, Reading],
        where: syntax.Expr | None,
        common: bool,
    ) -> None:
        """Raise CompileError unless it is a trend of a median over a swept name with an order."""
        given = arguments(call, words.TRENDS.get(call.name.text, call.name.span).parameters)
        self._reading = _median(given[words.STATISTIC.name], readings)
        self._axis = _ordered(given[words.OVER.name], facts)
        super().__init__(facts, call, readings, where, apart=[self._axis.name])
        self._common = common
        self._rises = call.name.text == words.INCREASING.name
        self.relation = ">" if self._rises else "<"

    def _unit(self, group: Sequence[Point]) -> ClaimUnit | None:
        place = self._reading.span.start
        present = [point for point in group if not self._is_absent(place, point)]
        if not present:
            return None
        name, numbers = (
            self._axis.name,
            dict(zip(self._axis.values, self._axis.numbers, strict=True)),
        )
        points: dict[float, Point] = {}
        for point in present:
            number = numbers[point.bound[name].canonical]
            if number in points:
                self._refuse([points[number], point], group, self._reading)
            points[number] = point
        if len(points) < 2 and self._is_of_each_flow:
            return None
        if len(points) < 2:
            fail(
                "no-order",
                f"a trend is over several values, and `{name}` has one{self._within(group)}",
                self._holds.span,
                help="with the claim's own `where`, choose configurations that differ in it",
            )
        ordered = [points[number] for number in sorted(points)]
        self.least = min(self.least, *(point.repetitions for point in ordered))
        self.kinds |= {("trend", 0.5), ("median" if self._common else "independent", 0.5)}
        shared = {name: group[0].bound[name] for name in self.shared}
        scope = self._facts.grid.scope(shared)
        terms = tuple(self._statistic(place, point, scope) for point in ordered)
        low, high = (0.0, None) if self._rises else (None, 0.0)
        expression = Contrast("trend", terms, (1.0,) * len(terms)).expression
        return ClaimUnit(expression=expression, low=low, high=high)


def _median(node: syntax.Expr, readings: Mapping[int, Reading]) -> Reading:
    """Return the statistic of a trend. Raises CompileError unless it is one median."""
    if not isinstance(node, syntax.Call) or not is_statistic(node):
        fail(
            "wrong-type",
            "a trend is of a statistic",
            node.span,
            help="for example `increasing(median(goodput), over: buffer)`",
        )
    reading = readings[node.span.start]
    if reading.statistic != "median":
        fail(
            "claim-form",
            f"a trend is of a `median`, not of a `{reading.statistic}`",
            node.span,
            note="its test compares ranks",
        )
    if reading.where is not None:
        fail(
            "claim-form",
            "a trend is over the configurations of the claim",
            reading.where.span,
            help="choose them with the claim's own `where`",
        )
    return reading


def _ordered(node: syntax.Expr, facts: Facts) -> Axis:
    """Return the axis that a trend is over. Raises CompileError unless its values have an order."""
    if not isinstance(node, syntax.Name) or node.rest:
        fail("wrong-type", "`over` is a swept name", node.span)
    if node.text not in facts.swept:
        refuse_unknown("swept name", "name", node.text, facts.swept, node.span)
    axis = next(axis for axis in facts.axes if axis.name == node.text)
    shown = f"it has {', '.join(axis.values[:8])}"
    if len(axis.values) < 2:
        fail(
            "no-order",
            f"a trend is over several values, and `{axis.name}` has one",
            node.span,
            note=shown,
        )
    if not axis.numbers:
        fail(
            "no-order",
            f"the values of `{axis.name}` have no order",
            node.span,
            note=shown,
            help="a trend is over quantities of one unit; words are compared with"
            f" `median(..., where: {axis.name} == {axis.values[0]})`",
        )
    return axis
