"""Claims: the units of one, with the statistics and the bounds of each configuration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NoReturn, cast

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import listed
from fairc.dsl.core.units import NUMBER, SHARE, in_si
from fairc.dsl.core.values import Quantity, shown
from fairc.dsl.expressions import arithmetic
from fairc.dsl.expressions.evaluate import Scope, evaluate, truth
from fairc.dsl.expressions.names import used_names
from fairc.dsl.grid.sampling import Bindings
from fairc.dsl.model.claims import ClaimUnit, Contrast, Over, Relation
from fairc.dsl.model.expressions import Expression, Statistic, Tested
from fairc.dsl.text import syntax
from fairc.words.claims import P

from .claim_forms import SHAPES, Form, difference, form_of, require_same
from .claim_readings import Reading
from .facts import Facts

WALK_LIMIT = 100_000
"""At most this many configurations are examined to find those that a claim is about."""

UNIT_STEPS = 40
"""Steps that resolving a unit counts as; evaluating an expression is one."""

PAIR_LIMIT = 1000
"""At most this many pairs of claim and configuration: more would need 17 repetitions, and nobody
would read them.
"""

FLIPPED: dict[Relation, Relation] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Point:
    """A configuration: its bindings, its values in the order of the axes, and its number of
    repetitions.
    """

    bound: Bindings
    row: tuple[str, ...]
    repetitions: int


class ClaimUnits(ABC):
    """The units of one claim, and what is common to them once all have been resolved.

    Statistics of several flows, `median(goodput(f))` of `f[1]` and `f[2]`, have a unit for each of
    them.

    subject, aim: what they are the units of, and what it does.
    code: of the diagnostic for one that is about nothing.
    relation: of the quantity to its bounds.
    least: the fewest repetitions of any configuration.
    kinds: the intervals that decide, each with its quantile.
    """

    subject, aim = "claim", "claim"
    code: ClassVar[str] = "empty-claim"
    relation: Relation

    def __init__(
        self,
        facts: Facts,
        holds: syntax.Expr,
        readings: Mapping[int, Reading],
        where: syntax.Expr | None,
        apart: Collection[str] = (),
    ) -> None:
        """Prepare for the configurations where `where` holds.

        apart: swept names by which the statistics of a unit differ, beside those that choose them.
        """
        self._facts, self._holds = facts, holds
        self._readings = readings  # of several flows: those of the one that is being resolved
        self._where = where
        self._each = _of_each_flow(readings)
        inner = [r.where for r in readings.values() if r.where is not None]
        differing = {name for name in used_names(inner, facts.lets) if name in facts.swept}
        differing |= set(apart)
        for group in facts.grid.groups:  # names that are bound together change together
            if differing & set(group.names):
                differing |= set(group.names)
        self.shared = tuple(name for name in facts.swept if name not in differing)
        self.least = 10**9
        self.kinds: set[tuple[str, float]] = set()
        self.unit = "1"

    def units(self) -> Iterator[ClaimUnit]:
        """Yield the units to decide, in the order of the grid. Raises CompileError."""
        groups: dict[tuple[str, ...], list[Point]] = {}
        places = [self._facts.swept.index(name) for name in self.shared]
        for point in self._points():
            key = tuple(point.row[place] for place in places)
            groups.setdefault(key, []).append(point)
        if not groups:
            at = self._where or self._holds
            shown = "; ".join(
                f"`{axis.name}` has {', '.join(axis.values[:8])}"
                for axis in self._facts.axes
                if axis.name in used_names([at], self._facts.lets)
            )
            fail(
                self.code,
                f"no configuration meets this condition, so there is nothing to {self.aim}",
                at.span,
                note="" if self._facts.grid.sample is None else "`sample` has drawn none",
                help=shown or "write a condition on swept names",
            )
        units: list[ClaimUnit] = []
        for group in groups.values():
            for readings in self._each:
                self._facts.grid.work.step(self._holds.span, UNIT_STEPS)
                self._readings = readings
                if (unit := self._unit(group)) is not None:
                    units.append(unit)
            if len(units) > PAIR_LIMIT:
                of = "flows and configurations" if self._is_of_each_flow else "configurations"
                fail(
                    "too-many",
                    f"this {self.subject} is about more than {PAIR_LIMIT:,} {of}",
                    self._holds.span,
                    help="fix swept names with `where`",
                )
        if not units:
            self._refuse_absent()
        yield from units

    def _points(self) -> Iterator[Point]:
        grid, names = self._facts.grid, self._facts.swept
        for walked, (bound, kept) in enumerate(grid.configurations()):
            if walked >= WALK_LIMIT:
                fail(
                    "too-many",
                    f"claims are made about at most {WALK_LIMIT:,} configurations",
                    self._holds.span,
                    help="sweep fewer values, or draw some with `sample`",
                )
            grid.work.reset()
            grid.work.step(self._holds.span)
            if self._where is None or self._true(self._where, bound):
                row = tuple(shown(bound[name]) for name in names)
                yield Point(bound, row, len(kept))

    def _true(self, node: syntax.Expr, bound: Bindings) -> bool:
        return truth(evaluate(node, self._facts.grid.scope(bound)), node.span)

    @property
    def _is_of_each_flow(self) -> bool:
        """Whether a configuration has a unit for each of several flows."""
        return len(self._each) > 1

    @abstractmethod
    def _unit(self, group: Sequence[Point]) -> ClaimUnit | None:
        """Return the unit of a group; None if a flow of it is absent there."""

    def _is_absent(self, place: int, point: Point) -> bool:
        flow = self._readings[place].flow
        return bool(flow) and flow not in self._facts.present(point.bound)

    def _refuse_absent(self) -> NoReturn:
        """Raise CompileError for a claim of which no configuration has every flow."""
        flows = dict.fromkeys(r.flow for r in self._readings.values() if r.flow)
        named = " and ".join(f"`{flow}`" for flow in flows)
        at = self._where or self._holds
        fail(
            "absent-flow",
            f"no configuration of this {self.subject} has {named}, so there is nothing to"
            f" {self.aim}",
            at.span,
            "where a flow's `count` is 0, it is absent",
            help="choose other configurations, or leave out `where`"
            if self._where
            else f"{self.aim} something about a flow that exists",
        )

    def _chosen(self, place: int, group: Sequence[Point]) -> Point:
        """Return the one configuration of a group that a statistic is about."""
        reading = self._readings[place]
        where = reading.where
        found = [p for p in group if where is None or self._true(where, p.bound)]
        if len(found) != 1:
            self._refuse(found, group, reading)
        return found[0]

    def _refuse(self, found: Sequence[Point], group: Sequence[Point], reading: Reading) -> NoReturn:
        """Raise CompileError for a statistic about no configuration, or about several."""
        where = reading.where
        within = self._within(group)
        at = where.span if where is not None else reading.span
        if not found:
            fail(
                self.code,
                f"no configuration meets this condition{within}",
                at,
                help=self._whole_sample()
                or f"leave such configurations out with the {self.subject}'s own `where`",
            )
        differ = [
            name
            for i, name in enumerate(self._facts.swept)
            if len({point.row[i] for point in found}) > 1
        ]
        fail(
            "several-configurations",
            f"this statistic covers {len(found)} configurations{within}",
            at,
            note="repetitions are never pooled across configurations",
            help=f"choose one with `where: {differ[0]} == {found[0].bound[differ[0]].canonical}`",
        )

    def _whole_sample(self) -> str:
        """Return how to draw configurations together with those that they are compared with; empty
        if they all are.
        """
        sample = self._facts.grid.sample
        if sample is None or not self.shared or (sample.of and set(sample.of) <= set(self.shared)):
            return ""
        names = ", ".join(self.shared)
        of = f"({names})" if len(self.shared) > 1 else names
        return (
            f"`sample` draws single configurations: `sample = {sample.size} of {of}` draws them"
            " with those that they are compared with"
        )

    def _within(self, group: Sequence[Point]) -> str:
        """Say which group it is; empty for the only one."""
        shared = ", ".join(f"{name} = {group[0].bound[name].canonical}" for name in self.shared)
        return f" where {shared}" if shared else ""

    def _share(self, node: syntax.Expr, scope: Scope) -> Fraction:
        return P.kind.take(evaluate(node, scope), "`p` of `percentile`", node.span).number / 100

    def _expression(self, form: Form, group: Sequence[Point], scope: Scope) -> Expression | None:
        """Return an expression for a group; None if a flow of it is absent there."""
        factors = form.factors
        chosen = {place: self._chosen(place, group) for place in factors}
        if any(self._is_absent(place, point) for place, point in chosen.items()):
            return None
        self._note(chosen)
        first = self._readings[next(iter(factors))]
        self.unit = "1" if form.below is not None or first.test else first.unit
        (shift,), _ = in_si([form.shift], form.dimension)
        return Contrast(
            "sum" if form.below is None else "ratio",
            tuple(self._statistic(place, chosen[place], scope) for place in factors),
            tuple(map(float, factors.values())),
            shift,
        ).expression

    def _note(self, chosen: Mapping[int, Point]) -> None:  # noqa: B027
        """Remember what decides a unit, whose statistics are about these configurations."""

    def _statistic(self, place: int, point: Point, scope: Scope) -> Statistic:
        reading = self._readings[place]
        relation: Tested = ""
        bound, share = 0.0, 0.5
        if reading.share is not None:
            share = float(self._share(reading.share, scope))
        if reading.test is not None:
            relation, node = reading.test
            value = arithmetic.quantity(evaluate(node, scope), scope.names)
            if value.dimension != reading.of_metric and {value.dimension, reading.of_metric} != {
                NUMBER,
                SHARE,
            }:
                fail(
                    "wrong-dimension",
                    (
                        f"`{reading.metric}` is {reading.of_metric}, and is compared with"
                        f" {value.dimension}"
                    ),
                    node.span,
                )
            bound = _si(value)
        return Statistic(
            statistic=reading.statistic,
            metric=reading.metric,
            flow=reading.flow,
            load=reading.load,
            share=share,
            relation=relation,
            bound=bound,
            cells=point.row,
        )


class Comparisons(ClaimUnits):
    """The units of a claim that compares one statistic, or two, with bounds."""

    def __init__(
        self,
        facts: Facts,
        holds: syntax.Expr,
        readings: Mapping[int, Reading],
        over: Over,
        where: syntax.Expr | None,
        common: bool,
    ) -> None:
        """Raise CompileError unless `holds` is a comparison."""
        super().__init__(facts, holds, readings, where)
        self._over: Over = over
        self._common = common
        self._written: Relation
        self._left, self._written, self._right = _compared(holds)
        self.relation = self._written

    def _unit(self, group: Sequence[Point]) -> ClaimUnit | None:
        shared = {name: group[0].bound[name] for name in self.shared}
        scope = self._facts.grid.scope(shared)

        found, low, high = self._bounds(scope)
        self._require_shape(found)
        expression = self._expression(found, group, scope)
        return None if expression is None else ClaimUnit(expression=expression, low=low, high=high)

    def _bounds(self, scope: Scope) -> tuple[Form, float | None, float | None]:
        """Return what is compared, and its bounds in SI units."""

        def compared(node: syntax.Expr) -> Form:
            return form_of(node, scope, lambda c: self._readings[c.span.start].dimension)

        if isinstance(self._right, syntax.Interval):
            found = compared(self._left)
            ends = []
            for node in (self._right.first, self._right.last):
                end = arithmetic.quantity(evaluate(node, scope), scope.names)
                require_same(found, end, self._holds.span)
                ends.append(end)
            if ends[0].number > ends[1].number:
                fail(
                    "empty-range",
                    "this range is empty: its end is before its start",
                    self._right.span,
                    note=f"{ends[0].canonical} is more than {ends[1].canonical}",
                )
            low, high = (_si(end) for end in ends)
            return found, low, high
        left, right = compared(self._left), compared(self._right)
        relation: Relation = self._written
        require_same(left, right, self._holds.span)
        if left.is_constant:
            left, right = right, left
            relation = FLIPPED[relation]
        if right.is_constant:
            bound = _si(Quantity(right.shift, right.dimension, right.span))
        else:
            left, bound = difference(left, right, self._holds.span), 0.0
        self.relation = relation
        return left, (None if "<" in relation else bound), (bound if "<" in relation else None)

    def _require_shape(self, found: Form) -> None:
        if not found.factors:
            fail(
                "claim-form",
                "this comparison contains no statistic of a metric",
                self._holds.span,
                note=SHAPES,
                help="for example `holds = median(fairness.F) > 0.2`",
            )
        check_joined(found, self._readings, self._holds)
        readings = [self._readings[place] for place in found.factors]
        kinds = [reading.statistic for reading in readings]
        if self._over == "mean" and self._is_of_each_flow:
            several = next(reading for reading in readings if reading.each)
            fail(
                "claim-form",
                "a mean over configurations is of one flow, not of each of several",
                several.span,
                help=f"name one, such as `{several.each[0]}`, or write `for = each`",
            )
        if self._over == "mean" and not set(kinds) <= {"median", "mean"}:
            fail(
                "claim-form",
                f"`for = mean` takes `mean` or `median`, not `{kinds[0]}`",
                readings[0].span,
                help="write `for = each`",
            )
        if self._over == "mean" and "median" in kinds and not self._common:
            fail(
                "claim-form",
                "the mean over configurations that draw on their own is of means, not of medians",
                readings[0].span,
                help="write `mean(...)`, whose interval is Welch's",
            )

    def _note(self, chosen: Mapping[int, Point]) -> None:
        """Remember which interval a unit gets, and how many repetitions it has."""
        points = list(chosen.values())
        self.least = min(self.least, *(point.repetitions for point in points), 10**9)
        reading = self._readings[next(iter(chosen))]
        share = 0.5
        kind: str = reading.statistic
        if kind == "percentile":
            assert reading.share is not None
            share = float(self._share(reading.share, Scope({}, self._facts.lets)))
        paired = self._common or points[0].row == points[-1].row
        if kind == "median" and len(points) == 2 and not paired:
            kind = "independent"
        self.kinds.add((kind, share))


def _of_each_flow(readings: Mapping[int, Reading]) -> Sequence[Mapping[int, Reading]]:
    """Return the statistics of each flow where some are of several, else the statistics alone.

    Raises CompileError for statistics of different groups of flows.
    """
    grouped = [reading for reading in readings.values() if reading.each]
    if not grouped:
        return [readings]
    first = grouped[0]
    other = next((reading for reading in grouped if reading.each != first.each), None)
    if other is not None:
        fail(
            "different-flows",
            f"`{first.flow}` and `{other.flow}` are several flows each, so no two belong together",
            other.span,
            labels=(Label(first.span, f"one for each of {listed(first.each)}"),),
            help=f"name one flow of them, such as `{other.each[0]}`",
        )
    return [
        {place: replace(r, flow=flow) if r.each else r for place, r in readings.items()}
        for flow in first.each
    ]


def check_joined(found: Form, readings: Mapping[int, Reading], whole: syntax.Expr) -> None:
    """Raise CompileError unless an expression's statistics have an interval together."""
    kinds = [readings[place].statistic for place in found.factors]
    if len(kinds) > 2 or (len(kinds) == 2 and set(kinds) not in ({"median"}, {"mean"})):
        fail(
            "claim-form",
            "this has no confidence interval that could decide a claim",
            whole.span,
            note=f"{SHAPES}, both medians or both means",
        )


def _compared(holds: syntax.Expr) -> tuple[syntax.Expr, Relation, syntax.Expr]:
    """Return the left side, the relation and the right side of a claim. Raises CompileError."""
    node = holds
    while isinstance(node, syntax.Group):
        node = node.inner
    if isinstance(node, syntax.Within):
        if isinstance(node.right, syntax.Interval):
            return node.left, "in", node.right
        ends = node.right.items if isinstance(node.right, syntax.ListOf) else ()
        written = [end.span.one_line for end in ends] if len(ends) == 2 else ["1.8", "2.2"]
        fail(
            "claim-form",
            "a claim compares with a range here",
            node.right.span,
            help=f"{'write' if ends else 'for example'} `in {'..'.join(written)}`",
        )
    if isinstance(node, syntax.Logic):
        fail(
            "claim-form",
            f"a claim makes one comparison: `{node.operator}` joins several",
            node.span,
            help="write several claims, or a range: `median(plt) in 1s..2s`",
        )
    if not isinstance(node, syntax.Compare):
        fail(
            "claim-form",
            "`holds` must be a comparison of statistics",
            node.span,
            note="this compares nothing",
            help="for example `holds = median(fairness.F) > 0.2`",
        )
    if node.operator in ("==", "!="):
        fail(
            "claim-form",
            f"no confidence interval can decide `{node.operator}`",
            node.span,
            note="a measured value never equals a number exactly",
            help="give a range: `in 0.9..1.1`",
        )
    return node.left, cast(Relation, node.operator), node.right


def _si(value: Quantity) -> float:
    """Return a bound in its SI unit."""
    return in_si([value.number], value.dimension)[0][0]
