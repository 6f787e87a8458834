"""`metric NAME = ...`: metrics of a file's own, which follow from other values of the same cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NoReturn

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label, warning
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import DATA, NUMBER, PACKETS, SHARE, SI, Dimension
from fairc.dsl.core.values import Mixture
from fairc.dsl.expressions import arithmetic, functions
from fairc.dsl.expressions.evaluate import evaluate
from fairc.dsl.grid.sampling import Bindings
from fairc.dsl.model.expressions import DEEPEST as MOST_LEVELS
from fairc.dsl.model.expressions import Amount, CellValue, Expression, Operator, applied
from fairc.dsl.model.requests import Formula
from fairc.dsl.text import syntax
from fairc.words.metric_entry import FLOW, MetricEntry
from fairc.words.metrics import METRICS

from .amounts import amount
from .instances import Instance, Namer
from .measures import dimension_of

OPERATORS: Mapping[str, Operator] = {"+": "+", "-": "-", "*": "*", "/": "/"}
EXTREMES: Mapping[str, Operator] = {"min": "min", "max": "max"}
ROOT: Operator = "sqrt"
ZERO, EIGHT = (Amount(text=f"{number:g}", numbers=(number,)) for number in (0.0, 8.0))

DEEPEST = 100
"""The deepest nesting of a formula, through every metric of the file that it names."""

MOST_OPERANDS = 100
MOST_PARTS = 200
"""The most metrics and numbers in a formula."""


@dataclass(frozen=True)
class Whose:
    """Whose values an expression has.

    flows: None: the cell's; empty: each flow's. is_each: a value for each of several flows.
    is_mixed: whether it is the cell's because values of several flows are in it.
    """

    flows: tuple[str, ...] | None
    is_each: bool
    is_mixed: bool = False


OF_CELL = Whose(None, False)
MIXED = Whose(None, False, is_mixed=True)


@dataclass(frozen=True)
class Part:
    """A part of a formula: its dimension, whose values it has, and its expression.

    build: returns its expression, whose metrics are computed from then on.
    is_number: whether it has no metric in it.
    operator, levels, size: the operator of its expression, how deep that is nested, and how many
    metrics and numbers it has.
    """

    dimension: Dimension
    whose: Whose
    build: Callable[[], Expression]
    span: Span
    is_number: bool = False
    operator: Operator | None = None
    levels: int = 0
    size: int = 1

    def __post_init__(self) -> None:
        if self.levels > MOST_LEVELS - 2:  # beside what converts from bytes and into them
            fail(
                "too-deep",
                f"a metric is nested more than {MOST_LEVELS - 2} levels deep",
                self.span,
                help="give a part of it a name: `metric NAME = ...`",
            )
        if self.size > MOST_PARTS:
            message = f"a metric is made of at most {MOST_PARTS} metrics and numbers"
            fail("too-many", message, self.span)


@dataclass
class Draft:
    """A metric of the file's own that is being read.

    operands: with their instances. per_load: whether it has a value for each page load.
    """

    node: syntax.Metric
    operands: list[tuple[Instance | str, Whose]] = field(default_factory=list)
    part: Part | None = None
    per_load: bool = False


class Formulas:
    """Reads the metrics of a file's own.

    single: the names that are one flow each.
    """

    def __init__(
        self, nodes: Sequence[syntax.Metric], namer: Namer, single: Collection[str]
    ) -> None:
        self._nodes = {node.name.text: node for node in nodes}
        self._namer = namer
        self._single = single
        self._read: dict[str, Draft] = {}
        self._failed: dict[str, CompileError] = {}
        self._open: list[str] = []
        self._used: set[str] = set()

    def entries(self) -> tuple[MetricEntry, ...]:
        """Return the metrics as words of the language. Raises CompileError with everything
        wrong.
        """
        gather = Gather()
        for node in self._nodes.values():
            with gather.attempt():
                self._check_name(node.name)
        gather.finish()
        for name, node in self._nodes.items():
            with gather.attempt():
                self._draft(name, node.name.span)
        gather.finish()
        return tuple(self._entry(draft) for draft in self._read.values())

    def build(self, measured: Collection[str]) -> tuple[Formula, ...]:
        """Return what is computed: metrics that are named, and before each what it needs; of
        these none that was returned before.
        """
        wanted = set(measured) & set(self._read)
        drafts = [draft for name, draft in self._read.items()]
        for draft in reversed(drafts):  # each is after those that it names
            if draft.node.name.text in wanted:
                wanted |= {of for of, _ in draft.operands if isinstance(of, str)}
        wanted -= self._used
        self._used |= wanted
        return tuple(self._formula(draft) for draft in drafts if draft.node.name.text in wanted)

    def unused(self) -> Iterator[Diagnostic]:
        """Yield warnings about metrics that nothing needs; call once all are built."""
        for name, draft in self._read.items():
            if name not in self._used:
                yield warning(
                    "unused-name",
                    f"the metric `{name}` is not measured",
                    draft.node.name.span,
                    help=f"add `{name}` to `measure`, or leave it out",
                )

    def _check_name(self, word: syntax.Word) -> None:
        """Raise CompileError for a name that means something else."""
        name, sweep = word.text, self._namer.sweep
        for what, taken in (
            ("a built-in metric", name in METRICS),
            ("a flow, or a group of users", name in self._namer.flows),
            ("a swept name", name in sweep.names),
            ("a `let`", name in sweep.lets),
        ):
            if taken:
                fail(
                    "duplicate-metric",
                    f"`{name}` is already the name of {what}",
                    word.span,
                    help="give the metric another name",
                )

    def _entry(self, draft: Draft) -> MetricEntry:
        part = draft.part
        assert part is not None
        return MetricEntry(
            name=draft.node.name.text,
            summary=draft.node.value.span.one_line,
            unit=_unit(part.dimension),
            of_cell=part.whose.flows is None,
            parameters=() if part.whose.flows is None else (FLOW,),
            per_load=draft.per_load,
            signed=frozenset({draft.node.name.text} if _may_be_negative(draft.node) else ()),
            runs=True,
            is_own=True,
            flows=part.whose.flows or (),
        )

    # reading

    def _draft(self, name: str, at: Span) -> Draft:
        """Return a metric of the file's own, read. Raises CompileError."""
        if name in self._failed:
            raise self._failed[name]
        if name in self._open:
            self._refuse_circle(name)
        return self._read.get(name) or self._draft_anew(name, at)

    def _draft_anew(self, name: str, at: Span) -> Draft:
        if len(self._open) > DEEPEST:
            fail("too-deep", f"metrics need each other more than {DEEPEST} levels deep", at)
        draft = Draft(self._nodes[name])
        self._open.append(name)
        try:
            draft.part = self._part(draft.node.value, draft)
            if draft.part.is_number:
                fail(
                    "metric-form",
                    f"`{name}` contains no metric",
                    draft.node.value.span,
                    help="for a number write `let`",
                )
        except CompileError as error:
            self._failed[name] = error
            raise
        finally:
            self._open.pop()
        self._read[name] = draft  # after those that it needs
        return draft

    def _refuse_circle(self, name: str) -> NoReturn:
        circle = [*self._open[self._open.index(name) :], name]
        fail(
            "circular",
            f"the metric `{name}` is defined in terms of itself",
            self._nodes[name].value.span,
            notes=(", ".join(f"`{a}` needs `{b}`" for a, b in pairwise(circle)),),
            help="define one of these metrics without the others",
        )

    def _part(self, node: syntax.Expr, draft: Draft) -> Part:
        """Return a part of a formula. Raises CompileError."""
        if isinstance(node, syntax.Group):
            return self._part(node.inner, draft)
        if not self._has_metric(node):
            return self._number(node)
        if isinstance(node, syntax.Prefix) and node.operator == "-":
            inner = self._part(node.inner, draft)
            zero = Part(inner.dimension, OF_CELL, lambda: ZERO, node.span, is_number=True)
            return _joined("-", zero, inner, node.span)
        if isinstance(node, syntax.Chain):
            gather, parts = Gather(), list[Part]()
            for operand in node.operands:
                with gather.attempt():
                    parts.append(self._part(operand, draft))
            gather.finish()
            result = parts[0]
            for operator, part in zip(node.operators, parts[1:], strict=True):
                result = _joined(OPERATORS[operator], result, part, node.span)
            return result
        if isinstance(node, syntax.Name | syntax.Call) and self._is_metric(node):
            return self._operand(node, draft)
        if isinstance(node, syntax.Call) and node.name.text in (*EXTREMES, ROOT):
            return self._function(node, draft)
        return fail(
            "metric-form",
            "a metric is made of other metrics and numbers with `+`, `-`, `*`, `/`, `min`, `max`"
            " and `sqrt`",
            node.span,
            help="for example `metric power = goodput(load) / rtt.p95(probe)`",
        )

    def _function(self, node: syntax.Call, draft: Draft) -> Part:
        """Return the smallest or largest of several parts, or the root of one."""
        name, gather, parts = node.name.text, Gather(), list[Part]()
        for argument in node.arguments:
            with gather.attempt():
                if argument.key is not None:
                    fail(
                        "unknown-argument",
                        f"`{name}` takes no argument called `{argument.key.text}`",
                        argument.key.span,
                        help=f"write the values only: `{name}(a, b)`",
                    )
                parts.append(self._part(argument.value, draft))
        gather.finish()
        if name == ROOT:
            if len(parts) > 1:
                fail("too-many-arguments", "`sqrt` takes one value", parts[1].span)
            return _root(parts[0], node.span)
        if len(parts) < 2:
            fail(
                "missing-argument",
                f"`{name}` compares at least two values",
                node.span,
                help=f"for example `{name}(goodput(a), goodput(b))`",
            )
        result = parts[0]
        for part in parts[1:]:
            result = _joined(EXTREMES[name], result, part, node.span)
        return result

    def _has_metric(self, node: syntax.Expr) -> bool:
        """Return whether a part of an expression names a metric."""
        return any(
            self._is_metric(part)
            for part in node.walk()
            if isinstance(part, syntax.Name | syntax.Call)
        )

    def _is_metric(self, node: syntax.Name | syntax.Call) -> bool:
        if isinstance(node, syntax.Call):
            return node.name.text not in functions.BUILTINS
        if node.rest:  # only metrics have values with names: `rtt.p95` beside a swept `rtt`
            return True
        known = node.text in (*self._namer.sweep.names, *self._namer.sweep.lets)
        return not known and node.text not in self._namer.flows

    def _number(self, node: syntax.Expr) -> Part:
        """Return a number, which may depend on the configuration."""
        sweep, dimensions = self._namer.sweep, list[Dimension]()

        def number(bound: Bindings) -> float:
            scope = sweep.grid.scope(bound)
            value = evaluate(node, scope)
            if isinstance(value, Mixture):
                fail(
                    "wrong-dimension",
                    "this size depends on the path, which a metric does not know",
                    node.span,
                    help="write it in bytes",
                )
            found = arithmetic.quantity(value, scope.names)
            if not dimensions:
                dimensions.append(found.dimension)
            if found.dimension != dimensions[0]:
                fail("wrong-dimension", "this has another unit in each configuration", node.span)
            return float(found.number)

        numbers = sweep.each([node], number)
        step = amount(node.span.one_line, sweep.used([node]), numbers)
        return Part(_plain(dimensions[0]), OF_CELL, lambda: step, node.span, is_number=True)

    def _operand(self, node: syntax.Name | syntax.Call, draft: Draft) -> Part:
        """Return the value of a metric, as one operand more."""
        name = node.text if isinstance(node, syntax.Name) else node.name.text
        if name in self._nodes:
            if isinstance(node, syntax.Call) or node.rest:
                fail(
                    "unknown-argument",
                    f"`{name}` takes neither arguments nor has it values",
                    node.span,
                )
            other = self._draft(name, node.span)
            part = other.part
            assert part is not None
            draft.per_load = draft.per_load or other.per_load
            return self._added(name, part.whose, part.dimension, node.span, draft)
        instance = self._namer.read(node, "a part of a metric")
        if instance.entry.only_compares:
            fail(
                "metric-form",
                f"`{instance.entry.name}` cannot be part of a metric",
                node.span,
                note="it compares two cells, and a custom metric is of one",
                help="calculate with it in a claim: `holds = 1 - median(harm.goodput(f)) > 50%`",
            )
        draft.per_load = draft.per_load or instance.entry.per_load
        entry, value = instance.entry, instance.value.partition(".")[2]
        unit = entry.unit_of(value)
        whose = self._whose(instance, value)
        return self._added(instance, whose, dimension_of(unit) or NUMBER, node.span, draft)

    def _added(
        self, of: Instance | str, whose: Whose, dimension: Dimension, span: Span, draft: Draft
    ) -> Part:
        if len(draft.operands) >= MOST_OPERANDS:
            fail("too-many", f"a metric is made of at most {MOST_OPERANDS} others", span)
        draft.operands.append((of, whose))

        def build() -> Expression:
            name = of if isinstance(of, str) else self._namer.name(of)
            value = CellValue(metric=name, flows=whose.flows or (), is_each=whose.is_each)
            # A plan holds bytes, and dimensions count bits.
            return applied("*", value, EIGHT) if dimension == DATA else value

        return Part(dimension, whose, build, span)

    def _whose(self, instance: Instance, value: str) -> Whose:
        """Return whose values an instance has."""
        if instance.entry.of_cell:
            return OF_CELL
        sessions = instance.sessions
        grouped = value in ("user", "group") or value.startswith("group_")
        one = len(sessions) == 1 and (grouped or sessions[0] in self._single)
        return Whose(sessions, not one)

    def _formula(self, draft: Draft) -> Formula:
        """Return a metric as the plan holds it. Raises CompileError."""
        part = draft.part
        assert part is not None
        expression = part.build()
        if part.dimension == DATA:
            expression = applied("/", expression, EIGHT)
        return Formula(
            name=draft.node.name.text,
            text=draft.node.value.span.one_line,
            unit=_unit(part.dimension),
            flows=part.whose.flows,
            expression=expression,
        )


def _joined(operator: Operator, left: Part, right: Part, span: Span) -> Part:
    """Return `left operator right`. Raises CompileError."""
    if operator not in "*/":
        dimension = left.dimension
        if left.dimension != right.dimension:
            fail(
                "wrong-dimension",
                f"`{operator}` needs two quantities of the same kind, not {left.dimension} and"
                f" {right.dimension}",
                span,
                labels=tuple(
                    Label(p.span, str(p.dimension)) for p in (left, right) if p.span != span
                ),
            )
    else:
        dimension = left.dimension.times(right.dimension, 1 if operator == "*" else -1)
    levels = max(left.levels + (left.operator != operator), right.levels + 1)
    return Part(
        _plain(dimension),
        _shared(left, right, span),
        lambda: applied(operator, left.build(), right.build()),
        span,
        left.is_number and right.is_number,
        operator,
        levels,
        left.size + right.size,
    )


def _root(part: Part, span: Span) -> Part:
    """Return the square root of a part. Raises CompileError."""
    data, time, packet, bdp, _ = part.dimension
    if any(exponent % 2 for exponent in (data, time, packet, bdp)):
        fail(
            "wrong-dimension",
            f"`sqrt` needs a number, or the square of a quantity, not {part.dimension}",
            part.span,
            note=str(part.dimension),
        )
    dimension = Dimension(data // 2, time // 2, packet // 2, bdp // 2)
    return replace(
        part,
        dimension=dimension,
        build=lambda: applied(ROOT, part.build()),
        span=span,
        operator=ROOT,
        levels=part.levels + 1,
    )


def _shared(left: Part, right: Part, span: Span) -> Whose:
    """Return whose values two parts have together. Raises CompileError."""
    a, b = left.whose, right.whose
    if a.is_each and b.is_each:
        if set(a.flows or ()) != set(b.flows or ()):
            fail(
                "different-flows",
                "these have a value for each of different flows, so no two belong together",
                span,
                labels=tuple(
                    Label(p.span, _named(p.whose)) for p in (left, right) if p.span != span
                ),
                help="name the same flows in both, or one flow",
            )
        return a
    if a.is_each or b.is_each:
        return a if a.is_each else b
    if right.is_number or a == b:
        return a
    if left.is_number:
        return b
    if a.is_mixed or b.is_mixed:
        return MIXED
    if a.flows is None or b.flows is None:
        return a if b.flows is None else b
    return MIXED


def _named(whose: Whose) -> str:
    return f"each of {', '.join(whose.flows)}" if whose.flows else "each flow"


def _plain(dimension: Dimension) -> Dimension:
    return NUMBER if dimension == SHARE else dimension


def _may_be_negative(node: syntax.Metric) -> bool:
    """Return whether a metric may have values below zero."""
    roots = [p for p in node.value.walk() if isinstance(p, syntax.Call) and p.name.text == ROOT]
    below_roots = {id(part) for root in roots for part in root.walk()}
    return any(
        (isinstance(part, syntax.Chain) and "-" in part.operators)
        or isinstance(part, syntax.Prefix)
        for part in node.value.walk()
        if id(part) not in below_roots
    )


def _unit(dimension: Dimension) -> str:
    """Return the SI unit of a dimension as tables have it: `bit/s`, `bit/s^2`."""
    if dimension == PACKETS:
        return "packets"
    if dimension in SI:
        return SI[dimension]
    names = ("bit", "s", "packets", "bdp")
    above = [_power(n, e) for n, e in zip(names, dimension, strict=False) if e > 0]
    below = [_power(n, -e) for n, e in zip(names, dimension, strict=False) if e < 0]
    return "/".join(filter(None, (" ".join(above) or "1", " ".join(below))))


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"
