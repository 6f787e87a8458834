"""Values: exact arithmetic, dimensions, canonical text, functions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from strategies import dimensions, numbers

from fairc.dsl import CompileError, Source
from fairc.dsl.core.units import Dimension, canonical
from fairc.dsl.core.values import ListValue, Quantity
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.text.parser import parse_expression


def value_of(text: str) -> Quantity:
    value = evaluate(parse_expression(Source("<test>", text)), Scope({}))
    assert isinstance(value, Quantity)
    return value


def canonical_of(text: str) -> str:
    return evaluate(parse_expression(Source("<test>", text)), Scope({})).canonical


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3pkt + 0.5bdp", "0.5bdp + 3pkt"),
        ("1bdp - 2pkt", "1bdp - 2pkt"),
        ("1bdp + 2pkt - 1bdp", "2pkt"),
        ("1bdp + 1kB - 1bdp - 1kB", "0B"),
        ("2 * (1bdp + 10kB) / 4", "0.5bdp + 5kB"),
        ("0 * (1bdp + 10kB)", "0bdp"),
        ("50% * max(1bdp, 10kB)", "max(0.5bdp, 5kB)"),
        ("max(10kB, 1bdp)", "max(10kB, 1bdp)"),
        ("max(1bdp, 10kB)", "max(10kB, 1bdp)"),
        ("max(1bdp, 2bdp, 10kB, 5kB)", "max(10kB, 2bdp)"),
        ("max(1bdp, 1bdp + 3pkt)", "1bdp + 3pkt"),
        ("max(0bdp, 0pkt)", "0bdp"),
        ("max(1bdp, max(10kB, 20pkt))", "max(10kB, 1bdp, 20pkt)"),
        ("min(1bdp, 10kB) + 3pkt", "min(1bdp + 3pkt, 3pkt + 10kB)"),
        ("-max(1bdp, 10kB)", "min(-10kB, -1bdp)"),
        ("[1, 2] * (1bdp + 1pkt)", "[1bdp + 1pkt, 2bdp + 2pkt]"),
    ],
)
def test_sizes_of_several_units_have_one_text(text: str, expected: str) -> None:
    assert canonical_of(text) == expected
    assert canonical_of(expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqrt(9)", "3"),
        ("sqrt(4/9)", "2/3"),
        ("sqrt(2)", "1.41421"),
        ("sqrt(25%)", "50%"),
        ("sqrt(20ms * 5ms)", "10ms"),
        ("1bdp * sqrt(1/4)", "0.5bdp"),
        ("sqrt([1, 4])", "[1, 2]"),
        ("sqrt(0)", "0"),
    ],
)
def test_square_roots(text: str, expected: str) -> None:
    assert canonical_of(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("sqrt(2ms)", "wrong-dimension"),
        ("sqrt(-1)", "out-of-range"),
        ("sqrt(cubic)", "wrong-type"),
        ("sqrt()", "missing-argument"),
        ("1bdp + 2pkt + 3ms", "wrong-dimension"),
        ("(1bdp + 2pkt) * 1ms", "wrong-dimension"),
        ("1 / (1bdp + 2pkt)", "wrong-dimension"),
        ("(1bdp + 2pkt) / 0", "division-by-zero"),
        ("max(1bdp + 2pkt, 1ms)", "wrong-type"),
        (" + ".join(f"max({n}bdp, {n}kB)" for n in range(1, 20)), "too-many"),
    ],
)
def test_what_sizes_and_roots_refuse(text: str, code: str) -> None:
    with pytest.raises(CompileError) as error:
        canonical_of(text)
    assert [d.code for d in error.value.diagnostics] == [code]


TEN = ", ".join(f"{n}bdp + {100 - n}kB" for n in range(1, 11))
"""Ten sums, none of them larger than another, of three parts each: two sizes, and itself."""


@pytest.mark.parametrize(
    ("most", "one_more"),
    [
        (f"max({TEN}, 200bdp, 200kB)", f"max({TEN}, 200bdp, 200kB, 200pkt)"),
        (f"max({TEN}, 200bdp) + 1pkt", f"max({TEN}, 200bdp, 200kB) + 1pkt"),
        (f"1pkt - min({TEN}, 200bdp)", f"1pkt - min({TEN}, 200bdp, 200kB)"),
    ],
)
def test_a_size_has_at_most_32_parts(most: str, one_more: str) -> None:
    assert canonical_of(most).count("bdp") >= 9
    with pytest.raises(CompileError, match="this size has more than 32 parts"):
        canonical_of(one_more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000ms", "1s"),
        ("0.05s", "50ms"),
        ("90s", "90s"),
        ("1min", "60s"),
        ("1h", "3600s"),
        ("1.5Gbit/s", "1.5Gbit/s"),
        ("1500Mbit/s", "1.5Gbit/s"),
        ("1128kbit/s", "1128kbit/s"),
        ("10MiB", "10485760B"),
        ("11250B", "11250B"),
        ("0.1%", "0.1%"),
        ("0ms", "0s"),
        ("10ms / 3", "10000000ns/3"),
        ("2bdp", "2bdp"),
        ("100pkt", "100pkt"),
        ("-5ms", "-5ms"),
        ("1 - 3", "-2"),
        ("10MB / 1Mbit/s", "80s"),
        ("1Mbit/s * 2s", "250kB"),
        ("5% * 10Mbit/s", "500kbit/s"),
        ("1% + 2%", "3%"),
        ("10ms / 5ms", "2"),
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("10 - 3 - 2", "5"),
        ("100 / 10 / 5", "2"),
        ("- 2 * 3", "-6"),
        ("1e3", "1000"),
        ("2.5e-1s", "250ms"),
        ("[1, 2] * 1pkt/s", "[1pkt/s, 2pkt/s]"),
        ("1ms + [1ms, 2ms]", "[2ms, 3ms]"),
        ("(1..3) * 10ms", "[10ms, 20ms, 30ms]"),
        ("max(1ms, 2ms, 0.5ms)", "2ms"),
        ("min(100Mbit/s, 10 * 1Mbit/s)", "10Mbit/s"),
        ("logspace(1ms, 1s, 4)", "[1ms, 10ms, 100ms, 1s]"),
        ("logspace(1, 2, 3)", "[1, 1.41421, 2]"),
        ("pairs(a, b)", "[(a, a), (a, b), (b, b)]"),
        ("(a,)", "(a,)"),
        ('"a \\"b\\" \\\\ c"', '"a \\"b\\" \\\\ c"'),
        ("red(max: 100%, limit: 100ms)", "red(limit: 100ms, max: 100%)"),
        ("4g", "4g"),
        ("4g(rate: 1Mbit/s)", "4g(rate: 1Mbit/s)"),
    ],
)
def test_canonical_text(text: str, expected: str) -> None:
    assert canonical_of(text) == expected
    assert canonical_of(expected) == expected


@given(numbers, dimensions)
def test_canonical_text_parses_back(number: Fraction, dimension: Dimension) -> None:
    value = value_of(canonical(number, dimension))
    assert (value.number, value.dimension) == (number, dimension)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("1ms + 1", "wrong-dimension", "1ms + 1"),
        ("1% + 1", "wrong-dimension", "1% + 1"),
        ("1 / 0", "division-by-zero", "0"),
        ('"a" + 1', "wrong-type", '"a"'),
        ("1ms..5ms", "wrong-type", "1ms"),
        ("1.5..3", "wrong-type", "1.5"),
        ("1..100001", "too-many", "1..100001"),
        ("max(1ms, 1MB)", "wrong-dimension", "1MB"),
        ("max(a: 1)", "unknown-argument", "a"),
        ("max()", "missing-argument", "max()"),
        ("logspace(0s, 1s, 3)", "out-of-range", "0s"),
        ("logspace(1s, 2s, 1)", "out-of-range", "1"),
        ("logspace(1s, 2s, 1e9)", "too-many", "logspace(1s, 2s, 1e9)"),
        ("[1] * [2]", "wrong-type", "[1] * [2]"),
        ("5furlong", "unknown-unit", "furlong"),
        ("1e31", "number-too-large", "1e31"),
        ("1e30" + " * 1e30" * 40, "number-too-large", "1e30" + " * 1e30" * 40),
        ("fairness.F", "wrong-type", "fairness.F"),
        ("not 1", "wrong-type", "1"),
        ("1 and 1 == 1", "wrong-type", "1"),
        ("a < b", "unknown-name", "a"),
        ("1ms < 1MB", "wrong-dimension", "1ms < 1MB"),
        ('"bad \\n escape"', "syntax", "\\n"),
    ],
)
def test_wrong_values_are_refused_at_their_place(text: str, code: str, place: str) -> None:
    with pytest.raises(CompileError) as caught:
        evaluate(parse_expression(Source("<test>", text)), Scope({}))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.span is not None
    assert diagnostic.span.text == place


def test_every_item_of_a_list_is_checked() -> None:
    with pytest.raises(CompileError) as caught:
        evaluate(parse_expression(Source("<test>", "[1ms + 1, f(2s + 2B), 3s]")), Scope({}))
    places = [d.span.text for d in caught.value.diagnostics if d.span]
    assert places == ["1ms + 1", "2s + 2B"]


def test_logspace_keeps_its_ends_and_its_ratio() -> None:
    values = evaluate(parse_expression(Source("<test>", "logspace(1ms, 1s, 7)")), Scope({}))
    assert isinstance(values, ListValue)
    numbers = [v.number for v in values.items if isinstance(v, Quantity)]
    assert numbers[0] == Fraction(1, 1000) and numbers[-1] == 1
    assert numbers[2] == Fraction(1, 100)
    assert all(abs(float(b / a) - 10**0.5) < 1e-4 for a, b in pairwise(numbers))
