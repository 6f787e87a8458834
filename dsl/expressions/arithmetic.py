"""Arithmetic on quantities and on lists of them, exact and with dimensions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import NoReturn

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import EXAMPLES, NUMBER
from fairc.dsl.core.values import ListValue, Quantity, Symbol, Value

NUMBER_BITS = 2048
"""The most bits of a numerator or denominator: beyond this, a file is an attack or a slip."""

Names = Callable[[], set[str]]
"""Returns the names to suggest if a word is not a quantity."""


def apply(operator: str, left: Value, right: Value, span: Span, names: Names) -> Value:
    """Return `left operator right`; a list is combined item by item. Raises CompileError."""
    if isinstance(left, ListValue) and isinstance(right, ListValue):
        fail(
            "wrong-type",
            "two lists cannot be combined by arithmetic",
            span,
            help="one side must be a quantity: `[1, 2] * 1pkt/s`",
        )
    if isinstance(right, ListValue):
        return each(right, span, lambda q: _arithmetic(operator, left, q, span, names), names)
    return each(left, span, lambda q: _arithmetic(operator, q, right, span, names), names)


def each(value: Value, span: Span, function: Callable[[Quantity], Value], names: Names) -> Value:
    """Apply a function to a quantity, or to each item of a list of them."""
    if isinstance(value, ListValue):
        return ListValue(tuple(each(item, span, function, names) for item in value.items), span)
    return function(quantity(value, names))


def _arithmetic(operator: str, left: Value, right: Value, span: Span, names: Names) -> Quantity:
    a, b = quantity(left, names), quantity(right, names)
    if operator in "+-":
        if a.dimension != b.dimension:
            _mismatch(f"`{operator}` needs two quantities of the same kind", a, b, span)
        number = a.number + b.number if operator == "+" else a.number - b.number
        return Quantity(number, a.dimension, span)
    if operator == "/" and b.number == 0:
        fail("division-by-zero", "division by zero", b.span, note="this is zero")
    number = a.number * b.number if operator == "*" else a.number / b.number
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > NUMBER_BITS:
        fail("number-too-large", "this number is far outside any sensible range", span)
    return Quantity(number, a.dimension.times(b.dimension, 1 if operator == "*" else -1), span)


def quantity(value: Value, names: Names) -> Quantity:
    """Return a value that is a quantity. Raises CompileError for any other."""
    if isinstance(value, Symbol):
        near = suggest(value.name, names())
        fail(
            "unknown-name",
            f"`{value.name}` is not a quantity here",
            value.span,
            note=f"did you mean `{near}`?" if near else "",
            help="names of quantities come from `sweep`, `let` and the topology's parameters",
        )
    if not isinstance(value, Quantity):
        fail("wrong-type", f"{value.phrase} cannot be used in arithmetic", value.span)
    return value


def _mismatch(what: str, a: Quantity, b: Quantity, span: Span) -> NoReturn:
    bare = b if b.dimension == NUMBER else a if a.dimension == NUMBER else None
    other = a if bare is b else b
    unit = EXAMPLES.get(other.dimension)
    fail(
        "wrong-dimension",
        f"{what}, not {a.dimension} and {b.dimension}",
        span,
        labels=tuple(Label(q.span, str(q.dimension)) for q in (a, b) if q.span != span),
        help=f"give the number a unit, as in `{unit}`" if bare and unit else None,
    )


_COMPARISONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


def compare(operator: str, a: Value, b: Value, span: Span, names: Names) -> bool:
    """Return whether a comparison holds; words and lists can only be equal or not.

    Raises CompileError.
    """
    if isinstance(a, Quantity) and isinstance(b, Quantity) and a.dimension != b.dimension:
        _mismatch(f"`{operator}` compares two quantities of the same kind", a, b, span)
    if operator in ("==", "!="):
        return bool((eq if operator == "==" else ne)(a, b))
    left, right = quantity(a, names), quantity(b, names)
    return _COMPARISONS[operator](left.number, right.number)
