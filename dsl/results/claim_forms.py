"""Claims: what one compares, statistics and their sums and ratios, by where they are written.

    sum     f1 s1 + f2 s2 + shift     ratio     f s1 / s2 + shift

of one or two statistics s. Anything else has no interval of its own, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar, cast

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import EXAMPLES, NUMBER, SHARE, Dimension
from fairc.dsl.core.values import Quantity
from fairc.dsl.expressions import arithmetic, functions
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.expressions.names import depending, mentioned
from fairc.dsl.text import syntax
from fairc.words.claims import STATISTICS
from fairc.words.metrics import METRICS

from .instances import check_sub_values

N = TypeVar("N", bound=syntax.Node)

SHAPES = "a claim compares one statistic, or the sum, difference or ratio of two"


@dataclass(frozen=True)
class Form:
    """A sum of statistics, or the ratio of two, and a constant.

    parts: place of a statistic -> its factor; empty for a constant.
    shift: the constant.
    dimension: of the whole; of a ratio: a number.
    below: the place of the statistic that the only part is divided by; None: a sum.
    """

    parts: Mapping[int, Fraction]
    shift: Fraction
    dimension: Dimension
    span: Span
    below: int | None = None

    @property
    def is_constant(self) -> bool:
        """Whether it contains no statistic."""
        return not self.parts

    @property
    def factors(self) -> Mapping[int, Fraction]:
        """Each statistic with its factor: a ratio's numerator first, otherwise as written."""
        return self.parts if self.below is None else {**self.parts, self.below: Fraction(1)}


def is_statistic(node: syntax.Node) -> bool:
    """Return whether a node is a call of a statistic."""
    return isinstance(node, syntax.Call) and node.name.text in STATISTICS


def statistical(lets: Mapping[str, syntax.Expr]) -> frozenset[str]:
    """Return the `let`s that hold statistics, themselves or through others: no value before a
    run.
    """
    own = {name for name, value in lets.items() if any(map(is_statistic, value.walk()))}
    return depending(lets, own) | own


def expanded(node: N, lets: Mapping[str, syntax.Expr], inside: tuple[str, ...] = ()) -> N:
    """Return a node with every `let` of statistics in its place; inside: those that are being
    expanded. Raises CompileError for `let`s in a circle.
    """
    held = statistical(lets)
    if not held & mentioned(node):
        return node

    def replaced(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(replaced, part))
        if not isinstance(part, syntax.Node):
            return part
        if not isinstance(part, syntax.Name) or part.text not in held or part.rest or part.index:
            names: tuple[str, ...] = part.__match_args__[1:]
            return replace(part, **{name: replaced(getattr(part, name)) for name in names})
        if part.text in inside:
            fail(
                "circular",
                f"`{part.text}` is defined in terms of itself",
                lets[part.text].span,
                help="a `let` of statistics uses others, never itself",
            )
        if lets[part.text].span.source is not node.span.source:
            fail(
                "wrong-type",
                f"`{part.text}` holds statistics, and comes from another file",
                part.span,
                help="write it in this file",
            )
        return syntax.Group(part.span, expanded(lets[part.text], lets, (*inside, part.text)))

    return cast(N, replaced(node))


def _refuse_metric(name: str, whole: Span) -> None:
    """Refuse a metric where a statistic of it belongs."""
    if name in METRICS:
        path = whole.text.partition("(")[0].strip()
        check_sub_values(METRICS[name], path.split(".")[1:], whole.first(len(path)))
        fail(
            "wrong-type",
            f"`{name}` has a value in each repetition; a claim is about a statistic of them",
            whole,
            help=f"write `median({whole.text})`",
        )


def form_of(
    node: syntax.Expr, scope: Scope, dimension_of: Callable[[syntax.Call], Dimension]
) -> Form:
    """Return the form of an expression over statistics. Raises CompileError for any other shape."""
    if isinstance(node, syntax.Call) and is_statistic(node):
        return Form({node.span.start: Fraction(1)}, Fraction(0), dimension_of(node), node.span)
    if isinstance(node, syntax.Call) and node.name.text not in functions.BUILTINS:
        _refuse_metric(node.name.text.partition(".")[0], node.span)
        STATISTICS.get(node.name.text, node.name.span)  # raises: nothing else may be called here
    if isinstance(node, syntax.Name) and scope.get(node.text) is None:
        _refuse_metric(node.text, node.span)
    if not any(map(is_statistic, node.walk())):
        value = arithmetic.quantity(evaluate(node, scope), scope.names)
        return Form({}, value.number, value.dimension, node.span)
    if isinstance(node, syntax.Group):
        return form_of(node.inner, scope, dimension_of)
    if isinstance(node, syntax.Prefix) and node.operator == "-":
        return _scaled(form_of(node.inner, scope, dimension_of), Fraction(-1), node.span)
    if isinstance(node, syntax.Chain):
        first, *others = (form_of(part, scope, dimension_of) for part in node.operands)
        result = first
        for operator, other in zip(node.operators, others, strict=True):
            result = _RULES[operator](result, other, node.span)
        return result
    raise _refused(node.span)


def difference(left: Form, right: Form, span: Span) -> Form:
    """Return left - right. Raises CompileError if they are of different kinds."""
    return _plus(left, _scaled(right, Fraction(-1), right.span), span)


def require_same(left: Form | Quantity, right: Form | Quantity, at: Span) -> None:
    """Raise CompileError unless both sides have the same dimension; a share is a number."""
    a, b = left.dimension, right.dimension
    if a == b or {a, b} == {NUMBER, SHARE}:
        return
    bare = NUMBER in (a, b)
    other = b if a == NUMBER else a
    fail(
        "wrong-dimension",
        f"a claim compares quantities of the same kind, not {a} and {b}",
        at,
        labels=tuple(Label(q.span, str(q.dimension)) for q in (left, right) if q.span != at),
        help=f"give the number a unit, as in `{EXAMPLES[other]}`"
        if bare and other in EXAMPLES
        else None,
    )


_RATIO = "for example `median(plt, where: cca == bbr) / median(plt, where: cca == cubic) < 0.9`"
_PART = (
    "a share of two flows is a metric of each cell, `metric part = goodput(a) / (goodput(a) +"
    " goodput(b))`, and then `median(part)`"
)


def _refused(span: Span, example: str = _RATIO) -> CompileError:
    return CompileError(
        [
            Diagnostic(
                "claim-form",
                "this has no confidence interval that could decide a claim",
                span,
                SHAPES,
                help=example,
            )
        ]
    )


def _plus(a: Form, b: Form, span: Span) -> Form:
    require_same(a, b, span)
    if a.below is not None or b.below is not None:
        ratio, other = (a, b) if a.below is not None else (b, a)
        if not other.is_constant:
            raise _refused(span)
        return replace(ratio, shift=ratio.shift + other.shift, span=span)
    parts = dict(a.parts)
    for place, factor in b.parts.items():
        parts[place] = parts.get(place, Fraction(0)) + factor
    dimension = a.dimension if a.parts else b.dimension
    return Form(parts, a.shift + b.shift, dimension, span)


def _times(a: Form, b: Form, span: Span) -> Form:
    for number, other in ((a, b), (b, a)):
        if number.is_constant:
            return _scaled(other, _factor(number), span)
    raise _refused(span)


def _over(a: Form, b: Form, span: Span) -> Form:
    if b.is_constant:
        if b.shift == 0:
            fail("division-by-zero", "this divides by zero", b.span, note="this is zero")
        return _scaled(a, 1 / _factor(b), span)
    if len(a.factors) != 1 or len(b.factors) != 1 or a.shift or b.shift:
        raise _refused(span, _PART if len(b.factors) > 1 else _RATIO)
    require_same(a, b, span)
    ((top, above),), ((bottom, below),) = a.parts.items(), b.parts.items()
    if top == bottom:  # of a `let` that stands on both sides
        return Form({}, above / below, NUMBER, span)
    return Form({top: above / below}, Fraction(0), NUMBER, span, bottom)


def _factor(number: Form) -> Fraction:
    if number.dimension not in (NUMBER, SHARE):
        fail(
            "claim-form",
            f"a statistic is multiplied by a number, not by {number.dimension}",
            number.span,
            help="write the number without its unit",
        )
    return number.shift


def _scaled(a: Form, factor: Fraction, span: Span) -> Form:
    parts = {place: f * factor for place, f in a.parts.items()}
    return replace(a, parts=parts, shift=a.shift * factor, span=span)


_RULES: dict[str, Callable[[Form, Form, Span], Form]] = {
    "+": _plus,
    "-": difference,
    "*": _times,
    "/": _over,
}
