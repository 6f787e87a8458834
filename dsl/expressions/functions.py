"""The functions that compute values, such as `max` and `logspace`, and ranges."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from math import isqrt
from typing import Literal, cast

from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, Dimension
from fairc.dsl.core.values import Argument, ListValue, Quantity, Size, TupleValue, Value, extreme
from fairc.words.rows import rows
from fairc.words.trace import A_LINK_RATE, peak

from . import arithmetic

LIST_LIMIT = 100_000
"""The longest list that a range, `logspace` or `pairs` may make."""

_EXACT = Context(prec=40)
"""Decimal logarithms are correctly rounded, so they are the same on every machine."""


def interval(first: Value, last: Value, span: Span) -> ListValue:
    """Return `first..last`: the whole numbers from first to last, both included."""
    a, b = _whole(first, "a range"), _whole(last, "a range")
    if b < a:
        fail(
            "empty-range",
            f"the range {a}..{b} is empty",
            span,
            help=f"write the smaller number first: `{b}..{a}`",
        )
    _refuse_long(b - a + 1, span)
    return ListValue(tuple(Quantity(Fraction(n), NUMBER, span) for n in range(a, b + 1)), span)


def _whole(value: Value, where: str) -> int:
    if not isinstance(value, Quantity) or value.dimension != NUMBER or value.number % 1:
        got = value.canonical if isinstance(value, Quantity) else value.phrase
        fail(
            "wrong-type",
            f"{where} needs whole numbers, not {got}",
            value.span,
            help="scale a range of them in parentheses: `(1..5) * 10ms`",
        )
    return value.number.numerator


def _refuse_long(length: int, span: Span) -> None:
    if length > LIST_LIMIT:
        fail(
            "too-many",
            f"this makes a list of {length} values; the limit is {LIST_LIMIT}",
            span,
            help="use fewer values, for example with `logspace`",
        )


def _positional(name: str, arguments: tuple[Argument, ...], span: Span, least: int) -> list[Value]:
    for argument in arguments:
        if argument.key is not None:
            fail(
                "unknown-argument",
                f"`{name}` takes no argument called `{argument.key}`",
                argument.key_span or span,
                help=f"write the values only: `{name}(a, b)`",
            )
    if len(arguments) < least:
        fail(
            "missing-argument",
            f"`{name}` needs at least {least} values, not {len(arguments)}",
            span,
        )
    return [argument.value for argument in arguments]


def _quantities(name: str, values: list[Value]) -> list[Quantity]:
    found: list[Quantity] = []
    for value in values:
        if not isinstance(value, Quantity):
            fail("wrong-type", f"`{name}` compares quantities, not {value.phrase}", value.span)
        if found and value.dimension != found[0].dimension:
            fail(
                "wrong-dimension",
                f"`{name}` needs quantities of the same kind, not {found[0].dimension} and"
                f" {value.dimension}",
                value.span,
                note=str(value.dimension),
            )
        found.append(value)
    return found


def _extreme(
    name: Literal["min", "max"], choose: Callable[..., Quantity]
) -> Callable[[tuple[Argument, ...], Span], Value]:
    def function(arguments: tuple[Argument, ...], span: Span) -> Value:
        values = _positional(name, arguments, span, 1)
        units = {_dimension(value) for value in values}
        if arithmetic.are_sizes(*values) and (None in units or len(units) > 1):
            if sum(value.weight for value in values) > arithmetic.MIXTURE_PARTS:
                fail("too-many", f"this size has more than {arithmetic.MIXTURE_PARTS} parts", span)
            return extreme(name, cast("list[Size]", values), span)
        return choose(_quantities(name, values), key=lambda q: q.number)

    return function


def _dimension(value: Value) -> Dimension | None:
    """Return the dimension of a quantity, or None for a mixture of several."""
    return value.dimension if isinstance(value, Quantity) else None


def _peak(arguments: tuple[Argument, ...], span: Span) -> Value:
    """Return the highest rate of what a link takes: of a trace that of its bins, else the rate
    itself.
    """
    values = _positional("peak", arguments, span, 1)
    if len(values) > 1:
        fail("unknown-argument", "`peak` takes one value", values[1].span)
    given = A_LINK_RATE.take(values[0], "the rate of `peak`")
    return given if isinstance(given, Quantity) else peak(given)


def _sqrt(arguments: tuple[Argument, ...], span: Span) -> Value:
    """Return the square root of a quantity, or of each item of a list.

    Exact for the square of a fraction; any other is rounded to 6 significant digits.
    """
    values = _positional("sqrt", arguments, span, 1)
    if len(values) > 1:
        fail("unknown-argument", "`sqrt` takes one value", values[1].span)
    return _root(values[0], span)


def _root(value: Value, span: Span) -> Value:
    if isinstance(value, ListValue):
        return ListValue(tuple(_root(item, span) for item in value.items), span)
    if not isinstance(value, Quantity):
        fail("wrong-type", f"`sqrt` needs a quantity, not {value.phrase}", value.span)
    data, time, packet, bdp, percent = value.dimension
    if any(exponent % 2 for exponent in (data, time, packet, bdp)):
        fail(
            "wrong-dimension",
            f"`sqrt` needs a number, or the square of a quantity, not {value.dimension}",
            value.span,
            note=str(value.dimension),
            help="take the root of a number and multiply: `1bdp * sqrt(n)`",
        )
    if value.number < 0:
        fail("out-of-range", "a negative number has no square root", value.span)
    a, b = value.number.numerator, value.number.denominator
    root = Fraction(isqrt(a), isqrt(b))
    if root * root != value.number:
        exact = _EXACT.sqrt(_EXACT.divide(Decimal(a), Decimal(b)))
        root = Fraction(Context(prec=6).plus(exact))
    return Quantity(root, Dimension(data // 2, time // 2, packet // 2, bdp // 2, percent), span)


def _logspace(arguments: tuple[Argument, ...], span: Span) -> Value:
    """Return n values from a to b with equal ratios; those between are rounded to 6 significant
    digits.
    """
    values = _positional("logspace", arguments, span, 3)
    if len(values) > 3:
        fail("unknown-argument", "`logspace` takes a first value, a last value and a count", span)
    a, b = _quantities("logspace", values[:2])
    n = _whole(values[2], "`logspace`")
    for end in (a, b):
        if end.number <= 0:
            fail("out-of-range", "`logspace` needs values above zero", end.span)
    if n < 2:
        fail("out-of-range", "`logspace` makes at least 2 values", values[2].span)
    _refuse_long(n, span)
    low, high = (
        _EXACT.divide(Decimal(q.number.numerator), Decimal(q.number.denominator)) for q in (a, b)
    )
    step = _EXACT.divide(_EXACT.ln(_EXACT.divide(high, low)), Decimal(n - 1))
    short = Context(prec=6)
    inner = [
        Quantity(
            Fraction(
                short.plus(_EXACT.multiply(low, _EXACT.exp(_EXACT.multiply(step, Decimal(i)))))
            ),
            a.dimension,
            span,
        )
        for i in range(1, n - 1)
    ]
    return ListValue((a, *inner, b), span)


def _pairs(arguments: tuple[Argument, ...], span: Span) -> Value:
    """Return all unordered pairs, with repetition."""
    values = _positional("pairs", arguments, span, 1)
    _refuse_long(len(values) * (len(values) + 1) // 2, span)
    pairs = combinations_with_replacement(values, 2)
    return ListValue(tuple(TupleValue(pair, span) for pair in pairs), span)


BUILTINS: dict[str, Callable[[tuple[Argument, ...], Span], Value]] = {
    "min": _extreme("min", min),
    "max": _extreme("max", max),
    "sqrt": _sqrt,
    "peak": _peak,
    "logspace": _logspace,
    "pairs": _pairs,
    "rows": rows,
}
