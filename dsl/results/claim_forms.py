"""What a claim compares: statistics, their sums and ratios, as an algebra over the places where
they are written.

    sum     f1 s1 + f2 s2 + shift     ratio     f s1 / s2 + shift

of one or two statistics s. Anything else has no interval of its own, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import EXAMPLES, NUMBER, SHARE, Dimension
from fairc.dsl.core.values import Quantity
from fairc.dsl.expressions import arithmetic, functions
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.text import syntax
from fairc.words.claims import STATISTICS

SHAPES = "a claim compares one statistic, or the sum, difference or ratio of two"


@dataclass(frozen=True)
class Sum:
    """A sum of statistics (place -> factor) and a constant; all of one dimension."""

    parts: Mapping[int, Fraction]
    shift: Fraction
    dimension: Dimension
    span: Span

    @property
    def is_constant(self) -> bool:
        """Whether it contains no statistic."""
        return not self.parts


@dataclass(frozen=True)
class Ratio:
    """One statistic over another, by their places, with a factor and a constant: a number."""

    factor: Fraction
    top: int
    bottom: int
    shift: Fraction
    span: Span

    @property
    def dimension(self) -> Dimension:
        """A ratio is a number."""
        return NUMBER

    @property
    def is_constant(self) -> bool:
        """Never: a ratio contains statistics."""
        return False


Quantified = Sum | Ratio


def is_statistic(node: syntax.Node) -> bool:
    """Return whether a node is a call of a statistic."""
    return isinstance(node, syntax.Call) and node.name.text in STATISTICS


def quantified(
    node: syntax.Expr, scope: Scope, dimension_of: Callable[[syntax.Call], Dimension]
) -> Quantified:
    """Return the form of an expression over statistics. Raises CompileError for any other shape."""
    if isinstance(node, syntax.Call) and is_statistic(node):
        return Sum({node.span.start: Fraction(1)}, Fraction(0), dimension_of(node), node.span)
    if isinstance(node, syntax.Call) and node.name.text not in functions.BUILTINS:
        STATISTICS.get(node.name.text, node.name.span)  # raises: nothing else may be called here
    if not any(map(is_statistic, node.walk())):
        value = arithmetic.quantity(evaluate(node, scope), scope.names)
        return Sum({}, value.number, value.dimension, node.span)
    if isinstance(node, syntax.Group):
        return quantified(node.inner, scope, dimension_of)
    if isinstance(node, syntax.Prefix) and node.operator == "-":
        return _scaled(quantified(node.inner, scope, dimension_of), Fraction(-1), node.span)
    if isinstance(node, syntax.Chain):
        first, *others = (quantified(part, scope, dimension_of) for part in node.operands)
        result = first
        for operator, other in zip(node.operators, others, strict=True):
            result = _RULES[operator](result, other, node.span)
        return result
    raise _refused(node.span)


def difference(left: Quantified, right: Quantified, span: Span) -> Quantified:
    """Return left - right. Raises CompileError if they are of different kinds."""
    return _plus(left, _scaled(right, Fraction(-1), right.span), span)


def require_same(left: Quantified | Quantity, right: Quantified | Quantity, at: Span) -> None:
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


def _refused(span: Span) -> CompileError:
    return CompileError(
        [
            Diagnostic(
                "claim-form",
                "this has no confidence interval that could decide a claim",
                span,
                SHAPES,
                help="for example `median(plt, where: cca == bbr) / median(plt, where: cca =="
                " cubic)"
                " < 0.9`",
            )
        ]
    )


def _plus(a: Quantified, b: Quantified, span: Span) -> Quantified:
    require_same(a, b, span)
    if isinstance(a, Ratio) or isinstance(b, Ratio):
        ratio, other = (a, b) if isinstance(a, Ratio) else (b, a)
        if not isinstance(ratio, Ratio) or not isinstance(other, Sum) or not other.is_constant:
            raise _refused(span)
        return Ratio(ratio.factor, ratio.top, ratio.bottom, ratio.shift + other.shift, span)
    parts = dict(a.parts)
    for place, factor in b.parts.items():
        parts[place] = parts.get(place, Fraction(0)) + factor
    dimension = a.dimension if a.parts else b.dimension
    return Sum(parts, a.shift + b.shift, dimension, span)


def _minus(a: Quantified, b: Quantified, span: Span) -> Quantified:
    return difference(a, b, span)


def _times(a: Quantified, b: Quantified, span: Span) -> Quantified:
    for number, other in ((a, b), (b, a)):
        if isinstance(number, Sum) and number.is_constant:
            return _scaled(other, _factor(number), span)
    raise _refused(span)


def _over(a: Quantified, b: Quantified, span: Span) -> Quantified:
    if isinstance(b, Sum) and b.is_constant:
        if b.shift == 0:
            fail("division-by-zero", "this divides by zero", b.span, note="this is zero")
        return _scaled(a, 1 / _factor(b), span)
    if not (isinstance(a, Sum) and isinstance(b, Sum)) or a.shift or b.shift:
        raise _refused(span)
    if len(a.parts) != 1 or len(b.parts) != 1:
        raise _refused(span)
    require_same(a, b, span)
    ((top, above),), ((bottom, below),) = a.parts.items(), b.parts.items()
    return Ratio(above / below, top, bottom, Fraction(0), span)


def _factor(number: Sum) -> Fraction:
    if number.dimension not in (NUMBER, SHARE):
        fail(
            "claim-form",
            f"a statistic is multiplied by a number, not by {number.dimension}",
            number.span,
            help="write the number without its unit",
        )
    return number.shift


def _scaled(a: Quantified, factor: Fraction, span: Span) -> Quantified:
    if isinstance(a, Ratio):
        return Ratio(a.factor * factor, a.top, a.bottom, a.shift * factor, span)
    parts = {place: f * factor for place, f in a.parts.items()}
    return Sum(parts, a.shift * factor, a.dimension, span)


_RULES: dict[str, Callable[[Quantified, Quantified, Span], Quantified]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
}
