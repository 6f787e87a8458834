"""Arithmetic on quantities and on lists of them, exact and with dimensions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import NoReturn

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import DATA, EXAMPLES, NUMBER, SHARE, SIZES, UNITS, Dimension
from fairc.dsl.core.values import (
    Applied,
    ListValue,
    Mixture,
    Quantity,
    Size,
    Symbol,
    Value,
    added,
    scaled,
)
from fairc.words.trace import RATES, multiplied

NUMBER_BITS = 2048
"""The most bits of a numerator or denominator: beyond this, a file is an attack or a mistake."""

MIXTURE_PARTS = 32
"""The most parts that the sum of two sizes may have, each with several: it has one for each pair.
"""

_HYPHENED = re.compile(r"[A-Za-z]\w*(?:-[A-Za-z]\w*)+")
"""What may be meant as one name."""

Units = Callable[[Collection[Dimension], Span], Mapping[Dimension, Fraction]]
"""Returns what one packet, one BDP and one bit are, bits, as far as they are wanted at some place.
Raises CompileError where they have no single meaning.
"""

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
    if isinstance(left, ListValue):
        return ListValue(tuple(apply(operator, v, right, span, names) for v in left.items), span)
    if isinstance(right, ListValue):
        return ListValue(tuple(apply(operator, left, v, span, names) for v in right.items), span)
    return _arithmetic(operator, left, right, span, names)


def each(value: Value, span: Span, function: Callable[[Size], Value], names: Names) -> Value:
    """Apply a function to a quantity, or to each item of a list of them."""
    if isinstance(value, ListValue):
        return ListValue(tuple(each(item, span, function, names) for item in value.items), span)
    return function(value if isinstance(value, Mixture) else quantity(value, names))


def negative(size: Size, span: Span) -> Size:
    """Return a quantity with the opposite sign."""
    return scaled(size, Fraction(-1), span)


def are_sizes(*values: Value) -> bool:
    """Return whether all values are amounts of data, in whatever unit."""
    return all(
        isinstance(v, Mixture) or (isinstance(v, Quantity) and v.dimension in SIZES) for v in values
    )


def _arithmetic(operator: str, left: Value, right: Value, span: Span, names: Names) -> Value:
    if isinstance(left, Mixture) or isinstance(right, Mixture):
        return _of_mixtures(operator, left, right, span, names)
    for trace, factor in ((left, right), (right, left)):
        fits = operator == "*" or (operator == "/" and trace is left)
        if fits and isinstance(trace, Applied) and trace.name in RATES:
            return _of_trace(operator, trace, quantity(factor, names), span)
    a, b = quantity(left, names), quantity(right, names)
    if operator in "+-":
        if a.dimension != b.dimension and are_sizes(a, b):
            return _of_mixtures(operator, a, b, span, names)
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


def _of_trace(operator: str, trace: Applied, factor: Quantity, span: Span) -> Applied:
    """Return a trace whose values are multiplied or divided by a number."""
    if operator == "/" and factor.number == 0:
        fail("division-by-zero", "division by zero", factor.span, note="this is zero")
    number = 1 / factor.number if operator == "/" else factor.number
    return multiplied(trace, replace(factor, number=number), span)


def _of_mixtures(operator: str, left: Value, right: Value, span: Span, names: Names) -> Size:
    """Return a sum or difference of sizes of several units, or a multiple of one."""
    a, b = (v if isinstance(v, Mixture) else quantity(v, names) for v in (left, right))
    if operator in "+-":
        if not are_sizes(a, b):
            _mismatch(f"`{operator}` needs two quantities of the same kind", a, b, span)
        if a.weight * b.weight > MIXTURE_PARTS:
            fail("too-many", f"this size has more than {MIXTURE_PARTS} parts", span)
        return added(a, b if operator == "+" else negative(b, span), span)
    factor = b if isinstance(a, Mixture) or operator == "/" else a
    size = a if factor is b else b
    if isinstance(factor, Mixture) or factor.dimension not in (NUMBER, SHARE):
        fail(
            "wrong-dimension",
            "a size of several units can only be multiplied or divided by a number",
            span,
            labels=tuple(Label(v.span, v.phrase) for v in (a, b) if v.span != span),
        )
    if operator == "/" and factor.number == 0:
        fail("division-by-zero", "division by zero", factor.span, note="this is zero")
    return scaled(size, 1 / factor.number if operator == "/" else factor.number, span)


def quantity(value: Value, names: Names) -> Quantity:
    """Return a value that is a quantity. Raises CompileError for any other."""
    if isinstance(value, Symbol):
        unit = _unit_at(value.span)
        near = None if unit else suggest(value.name, names())
        hyphened = _HYPHENED.match(value.span.source.text, value.span.start)
        fail(
            "unknown-name",
            f"`{value.name}` is not a quantity here",
            value.span,
            note=f"did you mean `{near}`?" if near else "",
            help=f"a unit has a number: `1{unit}`"
            if unit
            else f"names have no hyphens; is `{hyphened[0].replace('-', '_')}` meant?"
            if hyphened
            else "names of quantities come from `sweep`, `let` and the topology's parameters",
        )
    if not isinstance(value, Quantity):
        fail("wrong-type", f"{value.phrase} cannot be used in arithmetic", value.span)
    return value


def _unit_at(word: Span) -> str:
    """Return the unit that begins with a word, such as `Mbit/s` at `Mbit`; empty if none does."""
    text = word.source.text
    rate = f"{word.text}/s" if text[word.end :].startswith("/s") else word.text
    return next((unit for unit in (rate, word.text) if unit in UNITS), "")


def _mismatch(what: str, a: Size, b: Size, span: Span) -> NoReturn:
    bare = b if b.dimensions == {NUMBER} else a if a.dimensions == {NUMBER} else None
    other = a if bare is b else b
    unit = EXAMPLES.get(other.dimension) if isinstance(other, Quantity) else EXAMPLES[DATA]
    help = f"give the number a unit, as in `{unit}`" if bare and unit else None
    if are_sizes(a, b):
        help = (
            "`bdp` and `pkt` are compared with bytes where path and MTU are known: in `exclude`,"
            " and in the `where` of a claim"
        )
    fail(
        "wrong-dimension",
        f"{what}, not {a.phrase} and {b.phrase}",
        span,
        labels=tuple(Label(q.span, q.phrase) for q in (a, b) if q.span != span),
        help=help,
    )


_COMPARISONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "==": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


def compare(
    operator: str, a: Value, b: Value, span: Span, names: Names, units: Units | None
) -> bool:
    """Return whether a comparison holds; words and lists can only be equal or not.

    units: for sizes of different units; None: nothing defines them here. Raises CompileError.
    """
    if operator in ("==", "!=") and a == b:
        return operator == "=="
    if isinstance(a, Mixture | Quantity) and isinstance(b, Mixture | Quantity):
        if isinstance(a, Quantity) and isinstance(b, Quantity) and a.dimension == b.dimension:
            return _COMPARISONS[operator](a.number, b.number)
        mixed = isinstance(a, Mixture) or isinstance(b, Mixture)
        if are_sizes(a, b) and units is not None:
            known = units(a.dimensions | b.dimensions, span)
            return _COMPARISONS[operator](a.bits(known), b.bits(known))
        if not (operator in ("==", "!=") and mixed and are_sizes(a, b)):
            _mismatch(f"`{operator}` compares two quantities of the same kind", a, b, span)
    if operator in ("==", "!="):
        return operator == "!="
    return _COMPARISONS[operator](quantity(a, names).number, quantity(b, names).number)
