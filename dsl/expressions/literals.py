"""Quantities from numbers with units, as written."""

from __future__ import annotations

from fractions import Fraction

from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import MISSPELT, UNITS
from fairc.dsl.core.values import Quantity
from fairc.dsl.text import syntax

_BIT_SIZES = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
_TC_BITS = {"mbit": "Mbit", "gbit": "Gbit", "Kbit": "kbit"}
"""Other spellings of them, among them those of tc."""
_PREFIXES = {"k": "k", "K": "k", "M": "M", "g": "G", "G": "G"}
"""Units of iperf3 and tc: a bare prefix is one of bits or bytes by the option that it follows."""
_BYTE_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B"))


def number_of(node: syntax.Number) -> Quantity:
    """Return the quantity that a literal stands for. Raises CompileError."""
    unit = UNITS.get(node.unit)
    if unit is None:
        fail(
            "unknown-unit",
            f"`{node.unit}` is not a unit",
            Span(node.span.source, node.span.end - len(node.unit), node.span.end),
            note=_unit_hint(node),
            help="units: " + ", ".join(name for name in UNITS if name),
        )
    mantissa, _, exponent = node.digits.lower().partition("e")
    if len(mantissa) > 30 or len(exponent) > 3 or abs(int(exponent or 0)) > 30:
        fail(
            "number-too-large",
            "this number is far outside any sensible range",
            node.span,
            help="numbers have at most 30 digits and exponents of at most 30",
        )
    return Quantity(Fraction(node.digits) * unit.factor, unit.dimension, node.span)


def _unit_hint(node: syntax.Number) -> str:
    bytes_rate = {"B/s": 1, "kB/s": 1, "MB/s": 1, "GB/s": 1}
    if node.unit in bytes_rate and len(node.digits) <= 30:
        bits = Fraction(node.digits) * 8
        if bits.denominator == 1:
            return f"rates are in bits: `{bits}{node.unit[:-3]}bit/s`"
    if node.unit == "m":
        return f"`{node.digits}ms` is in milliseconds, `{node.digits}min` in minutes"
    if node.unit in _PREFIXES:
        prefix = _PREFIXES[node.unit]
        return f"`{node.digits}{prefix}bit/s` is a rate, `{node.digits}{prefix}B` a size"
    bits_unit = _TC_BITS.get(node.unit, node.unit)
    if bits_unit in _BIT_SIZES and len(node.digits) <= 30:
        data = Fraction(node.digits) * _BIT_SIZES[bits_unit] / 8
        factor, unit = next((f, u) for f, u in _BYTE_UNITS if data % f == 0 or f == 1)
        if data.denominator == 1:
            return (
                f"`{node.digits}{bits_unit}/s` is a rate; sizes are in bytes:"
                f" `{data / factor}{unit}`"
            )
    near = MISSPELT.get(node.unit) or suggest(node.unit, [name for name in UNITS if name])
    return f"did you mean `{node.digits}{near}`?" if near else ""
