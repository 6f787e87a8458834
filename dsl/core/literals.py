"""Values as the registries write their defaults: `5ms`, `on`, `fifo(1000pkt)`, `[100, 200]`."""

from __future__ import annotations

import re
from fractions import Fraction

from .source import Source, Span
from .units import UNITS
from .values import Applied, Argument, ListValue, Quantity, Symbol, Value

_TOKEN = re.compile(r"\s*(?:([0-9.]+)([A-Za-z%/]*)|([A-Za-z_]\w*)|([\[\](),]))")


def literal(text: str) -> Value:
    """Return the value that a literal of the language stands for.

    Raises ValueError if it is not one.
    """
    tokens = list(_TOKEN.finditer(text))
    value, rest = _value(tokens, Span(Source("<default>", text), 0, len(text)))
    if rest or "".join(token[0] for token in tokens) != text:
        raise ValueError(f"{text!r} is not a literal")
    return value


def _value(tokens: list[re.Match[str]], span: Span) -> tuple[Value, list[re.Match[str]]]:
    """Return the first value, and the tokens after it."""
    if not tokens:
        raise ValueError(f"{span.text!r} ends too early")
    (digits, unit, word, mark), rest = tokens[0].groups(), tokens[1:]
    if digits:
        factor, dimension, _ = UNITS[unit]
        return Quantity(Fraction(digits) * factor, dimension, span), rest
    if mark == "[":
        items, rest = _items(rest, "]", span)
        return ListValue(items, span), rest
    if not word:
        raise ValueError(f"{span.text!r} is not a literal")
    if not rest or rest[0][4] != "(":
        return Symbol(word, span), rest
    items, rest = _items(rest[1:], ")", span)
    return Applied(word, tuple(Argument(None, item) for item in items), span, span), rest


def _items(
    tokens: list[re.Match[str]], end: str, span: Span
) -> tuple[tuple[Value, ...], list[re.Match[str]]]:
    items: list[Value] = []
    while tokens and tokens[0][4] != end:
        item, tokens = _value(tokens, span)
        items.append(item)
        if tokens and tokens[0][4] == ",":
            tokens = tokens[1:]
    if not tokens:
        raise ValueError(f"{span.text!r} lacks its {end!r}")
    return tuple(items), tokens[1:]
