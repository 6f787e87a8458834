"""Evaluation of expressions: scopes of names, and a rule for each kind of node."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn, TypeVar

from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import MISSPELT, NUMBER, UNITS
from fairc.dsl.core.values import (
    Amended,
    Applied,
    Argument,
    ListValue,
    Quantity,
    Several,
    Symbol,
    Text,
    Truth,
    TupleValue,
    Value,
)
from fairc.dsl.model.names import indexed
from fairc.dsl.text import syntax

from . import arithmetic, functions

T = TypeVar("T")

WORK_LIMIT = 400_000
"""The most list items that are computed while a file is checked, or for one configuration."""

DEPTH_LIMIT = 100
"""The deepest nesting of expressions, through every `let`: far less than Python's stack."""

WEIGHT_LIMIT = 1_000_000
"""The most parts of a value: lists of lists of lists grow fast."""


STEP_LIMIT = 1_000_000
"""How many expressions may be evaluated while a file is checked: seconds, where a study takes a few
thousand.
"""


class StepLimitExceeded(Exception):
    """A check has evaluated `STEP_LIMIT` expressions; span: the last one."""

    def __init__(self, span: Span) -> None:
        super().__init__()
        self.span = span


class Work:
    """Counts computed list items, so that a short file cannot ask for hours.

    steps: expressions evaluated, and points of a grid examined; most: where a check ends.
    """

    def __init__(self) -> None:
        self._done = 0
        self.steps = 0
        self.most = sys.maxsize

    def step(self, span: Span, number: int = 1) -> None:
        """Count a step, or what takes as long as a number of them. Raises StepLimitExceeded when
        there are too many.
        """
        self.steps += number
        if self.steps > self.most:
            raise StepLimitExceeded(span)

    def add(self, items: int, span: Span) -> None:
        """Count items. Raises CompileError when there are too many."""
        if items > 1:
            self._done += items
        if self._done > WORK_LIMIT:
            fail(
                "too-many",
                f"this file computes more than {WORK_LIMIT:,} list items",
                span,
                note="the limit was reached here",
                help="make shorter lists, or compute them once with `let`",
            )

    def reset(self) -> None:
        """Count from zero again."""
        self._done = 0


class Scope:
    """Names and their values; `let`s and defaults are evaluated when they are first asked for.

    parent: where to look up names that this scope lacks.
    circular: raises the error for names that need each other.
    work: the count of computed items; by default the parent's, or a new one.
    dotted: whether names with a dot are words, as in `measure`.
    units: returns what `bdp` and `pkt` are here, bits; by default the parent's.
    own: names whose values are shown by their names, as far as they are calls or topologies.
    """

    dotted = False

    def __init__(
        self,
        values: Mapping[str, Value],
        deferred: Mapping[str, syntax.Expr] | None = None,
        parent: Scope | None = None,
        circular: Callable[[tuple[str, ...]], NoReturn] | None = None,
        work: Work | None = None,
        units: arithmetic.Units | None = None,
        own: Collection[str] = (),
    ) -> None:
        self._own = own
        self.work: Work = work or (parent.work if parent else Work())
        self.units: arithmetic.Units | None = units or (parent.units if parent else None)
        self._values = dict(values)
        self._deferred = deferred or {}
        self._parent = parent
        self._circular = circular or self._defined_by_itself
        self.depth = 0
        self._open: dict[str, None] = {}
        self._failed: dict[str, CompileError] = {}

    def get(self, name: str) -> Value | None:
        """Return the value of a name, or None if it is not bound. Raises CompileError."""
        if name in self._values:
            return self._values[name]
        if name in self._deferred:
            return self._evaluate(name)
        return self._parent.get(name) if self._parent else None

    def names(self) -> set[str]:
        """Return every name that is bound."""
        outer = self._parent.names() if self._parent else set()
        return outer | set(self._values) | set(self._deferred)

    def _evaluate(self, name: str) -> Value:
        if name in self._failed:
            raise self._failed[name]
        if name in self._open:
            names = list(self._open)
            self._circular(tuple(names[names.index(name) :]))
        self._open[name] = None
        try:
            value = evaluate(self._deferred[name], self)
            if isinstance(value, Amended) or (isinstance(value, Applied) and name in self._own):
                value = replace(value, label=name)
        except CompileError as error:
            self._failed[name] = error
            raise
        finally:
            del self._open[name]
        self._values[name] = value
        return value

    def _defined_by_itself(self, names: tuple[str, ...]) -> NoReturn:
        """Refuse a cycle, at the same place wherever it is entered."""
        first = min(names, key=lambda name: self._deferred[name].span.start)
        at = names.index(first)
        circle = [*names[at:], *names[:at], first]
        fail(
            "circular",
            f"`{first}` is defined in terms of itself",
            self._deferred[first].span,
            notes=(", ".join(f"`{a}` needs `{b}`" for a, b in pairwise(circle)),),
            help="give one of these names a fixed value",
        )


def evaluate(node: syntax.Expr, scope: Scope) -> Value:
    """Return the value of an expression. Raises CompileError with everything wrong in it."""
    scope.work.step(node.span)
    scope.depth += 1
    try:
        if scope.depth > DEPTH_LIMIT:
            fail(
                "too-deep",
                f"values depend on each other more than {DEPTH_LIMIT} levels deep",
                node.span,
                help="define them more directly",
            )
        return _RULES[type(node)](node, scope)
    finally:
        scope.depth -= 1


class IncompleteCall(CompileError):
    """Some arguments of a call are wrong; `value` holds the others, so that they can be checked."""

    def __init__(self, diagnostics: Iterable[Diagnostic], value: Applied) -> None:
        super().__init__(diagnostics)
        self.value = value


def evaluate_with(node: syntax.Expr, scope: Scope, use: Callable[[Value], T]) -> T:
    """Evaluate an expression and use its value; for a faulty call, use the valid arguments.

    Raises CompileError with what is wrong in the expression and in its use.
    """
    try:
        value = evaluate(node, scope)
    except IncompleteCall as error:
        gather = Gather()
        with gather.attempt():
            use(error.value)
        others = [d for d in gather.found if d.code != "missing-argument"]
        raise CompileError([*error.diagnostics, *others]) from None
    return use(value)


def _number(node: syntax.Number, scope: Scope) -> Value:
    return number_of(node)


def _text(node: syntax.Text, scope: Scope) -> Value:
    return Text(node.value, node.span)


def _name(node: syntax.Name, scope: Scope) -> Value:
    if node.index:
        return _indexed(node, scope)
    if node.rest:
        if scope.dotted:
            return Symbol(".".join((node.text, *node.rest)), node.span)
        fail(
            "wrong-type",
            f"`{node.span.text}` is the value of a metric, which is known only after a run",
            node.span,
            help="names with a dot are used in `measure` and in `report`",
        )
    return scope.get(node.text) or Symbol(node.text, node.span, scope.names)


def _indexed(node: syntax.Name, scope: Scope) -> Value:
    """Return the name of a flow or a node with an index, as a word."""
    named = scope.get(node.text)
    if node.rest or isinstance(named, ListValue | TupleValue):
        what = "is a list" if named is not None else "with an index has no values"
        fail(
            "wrong-type",
            f"`{node.text}` {what}: an index chooses one of several flows, nodes or users",
            node.span,
            help="a loop takes the items of a list: `flow f[x] for x in LIST { ... }`",
        )
    text = named.name if isinstance(named, Symbol) else node.text
    return Symbol(indexed(text, [item.canonical for item in _items(node.index, scope)]), node.span)


def _call(node: syntax.Call, scope: Scope) -> Value:
    gather = Gather()
    arguments = []
    for argument in node.arguments:
        with gather.attempt():
            key = argument.key
            value = evaluate(argument.value, scope)
            arguments.append(Argument(key.text if key else None, value, key.span if key else None))
    bound = scope.get(node.name.text)
    word = bound if isinstance(bound, Symbol) else Symbol(node.name.text, node.name.span)
    function = functions.BUILTINS.get(word.name)
    applied = Applied(word.name, tuple(arguments), node.span, word.span)
    if gather.found and function is None:
        raise IncompleteCall(gather.found, applied)
    gather.finish()
    return _light(function(tuple(arguments), node.span) if function else applied, scope)


def _light(value: Value, scope: Scope) -> Value:
    """Return a value, or refuse it if it has too many parts to write out."""
    scope.work.add(value.weight, value.span)
    if value.weight > WEIGHT_LIMIT:
        fail(
            "too-many",
            f"this value has more than {WEIGHT_LIMIT:,} parts",
            value.span,
            help="make smaller lists",
        )
    return value


@dataclass(frozen=True)
class Changes:
    """The changes between the braces of a `with`, and the scope of their names."""

    body: syntax.Body
    scope: Scope


def _with(node: syntax.With, scope: Scope) -> Value:
    base = evaluate(node.base, scope)
    if not isinstance(base, Symbol | Applied | Amended):
        fail(
            "wrong-type",
            f"`with` changes a topology, not {base.phrase}",
            node.base.span,
            help="for example `geo with { link gateway -> terminal { loss = 1% } }`",
        )
    text = written(node.body, scope)
    return _light(Amended(base, text, Changes(node.body, scope), node.span), scope)


def written(body: syntax.Body, scope: Scope) -> str:
    """Return the text of a topology's body on one line, with the values of all names in it that the
    scope knows.
    """
    own = set[str]()
    for part in body.walk():
        if isinstance(part, syntax.Loop):
            own |= {name.text for name in part.names}
        elif isinstance(part, syntax.Let):
            own.add(part.name.text)
    values: dict[int, tuple[int, str]] = {}
    for part in body.walk():
        if not isinstance(part, syntax.Name | syntax.Call):
            continue
        word = part.name if isinstance(part, syntax.Call) else part
        if word.text in own:
            continue
        value = scope.get(word.text)
        if value is not None:
            text = f"({value.canonical})" if " " in value.canonical else value.canonical
            values[word.span.start] = word.span.start + len(word.text), text
    source, place, parts = body.span.source.text, body.span.start, list[str]()
    for start, (end, text) in sorted(values.items()):
        parts += [source[place:start], text]
        place = end
    words: list[str] = []
    for piece in _PIECES.findall("".join((*parts, source[place : body.span.end]))):
        if piece.isspace() or piece.startswith("#"):
            words.append("")
        elif words:
            words[-1] += piece
        else:
            words.append(piece)
    return " ".join(filter(None, words))


_PIECES = re.compile(r'"(?:[^"\\\n]|\\["\\])*"|#[^\n]*|\s+|[^"#\s]+')
"""Strings, comments, white space, and everything else."""


def _items(nodes: tuple[syntax.Expr, ...], scope: Scope) -> tuple[Value, ...]:
    gather = Gather()
    items = []
    for node in nodes:
        with gather.attempt():
            items.append(evaluate(node, scope))
    gather.finish()
    return tuple(items)


def _list(node: syntax.ListOf, scope: Scope) -> Value:
    return _light(ListValue(_items(node.items, scope), node.span), scope)


def _tuple(node: syntax.TupleOf, scope: Scope) -> Value:
    return _light(TupleValue(_items(node.items, scope), node.span), scope)


def _group(node: syntax.Group, scope: Scope) -> Value:
    return evaluate(node.inner, scope)


def _interval(node: syntax.Interval, scope: Scope) -> Value:
    first, last = _items((node.first, node.last), scope)
    return _light(functions.interval(first, last, node.span), scope)


def _several(node: syntax.Several, scope: Scope) -> Value:
    count, item = _items((node.count, node.item), scope)
    number = arithmetic.quantity(count, scope.names)
    if number.dimension != NUMBER:
        fail(
            "wrong-dimension",
            f"`of` needs a number before it, not {number.phrase}",
            number.span,
            note=number.phrase,
            help="for example `40 of 20kB`",
        )
    return Several(number, arithmetic.quantity(item, scope.names), node.span)


def _prefix(node: syntax.Prefix, scope: Scope) -> Value:
    value = evaluate(node.inner, scope)
    if node.operator == "not":
        return Truth(not truth(value, node.inner.span), node.span)
    return arithmetic.each(
        value, node.span, lambda size: arithmetic.negative(size, node.span), scope.names
    )


def _chain(node: syntax.Chain, scope: Scope) -> Value:
    first, *others = _items(node.operands, scope)
    result = first
    for operator, other in zip(node.operators, others, strict=True):
        scope.work.add(result.weight * other.weight, node.span)
        result = arithmetic.apply(operator, result, other, node.span, scope.names)
    return result


def _compare(node: syntax.Compare, scope: Scope) -> Value:
    a, b = _items((node.left, node.right), scope)
    return Truth(_compared(node.operator, a, b, node.span, scope), node.span)


def _compared(operator: str, a: Value, b: Value, span: Span, scope: Scope) -> bool:
    return arithmetic.compare(operator, a, b, span, scope.names, scope.units)


def _within(node: syntax.Within, scope: Scope) -> Value:
    right = node.right
    if isinstance(right, syntax.Interval):
        value, low, high = _items((node.left, right.first, right.last), scope)
        holds = all(
            _compared("<=", a, b, node.span, scope) for a, b in ((low, value), (value, high))
        )
        return Truth(holds, node.span)
    value, listed = _items((node.left, right), scope)
    if not isinstance(listed, ListValue):
        fail(
            "wrong-type",
            f"`in` needs a range or a list behind it, not {listed.phrase}",
            right.span,
            help="for example `loss in 0%..1%`, or `cca in [cubic, reno]`",
        )
    return Truth(value in listed.items, node.span)


def _logic(node: syntax.Logic, scope: Scope) -> Value:
    values = [
        truth(value, part.span)
        for value, part in zip(_items(node.operands, scope), node.operands, strict=True)
    ]
    return Truth(all(values) if node.operator == "and" else any(values), node.span)


def truth(value: Value, at: Span) -> bool:
    """Return the outcome of a condition. Raises CompileError at `at` for any other value."""
    if not isinstance(value, Truth):
        fail(
            "wrong-type",
            f"a condition is needed here, not {value.phrase}",
            at,
            help="compare it with something, as in `loss == 1%`",
        )
    return value.value


def check_symbols(node: syntax.Expr, scope: Scope, known: Collection[str]) -> None:
    """Raise CompileError for words of a condition that are not `known` and have no value."""
    gather = Gather()
    for part in node.walk():
        if isinstance(part, syntax.Name) and not part.rest:
            with gather.attempt():
                if part.text in known or scope.get(part.text) is not None:
                    continue
                near = suggest(part.text, {*known, *scope.names()})
                fail(
                    "unknown-name",
                    f"`{part.text}` is not defined",
                    part.span,
                    note=f"did you mean `{near}`?" if near else "",
                    help="a condition compares swept names and `repetition` with their values",
                )
    gather.finish()


_RULES: dict[type, Callable[[Any, Scope], Value]] = {
    syntax.Number: _number,
    syntax.Text: _text,
    syntax.Name: _name,
    syntax.Call: _call,
    syntax.ListOf: _list,
    syntax.TupleOf: _tuple,
    syntax.Group: _group,
    syntax.Interval: _interval,
    syntax.Several: _several,
    syntax.Prefix: _prefix,
    syntax.Chain: _chain,
    syntax.Compare: _compare,
    syntax.Within: _within,
    syntax.Logic: _logic,
    syntax.With: _with,
}


_BIT_SIZES = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
_TC_BITS = {"mbit": "Mbit", "gbit": "Gbit", "Kbit": "kbit"} | {
    short: f"{short[:-1]}bit" for short in ("kb", "Mb", "Gb")
}
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
    parts = re.fullmatch(r"([a-z]+)(\d+)([a-z]+)", node.unit)
    if parts and parts[1] in UNITS and parts[3] in UNITS:
        return f"a sum is written `{node.digits}{parts[1]} + {parts[2]}{parts[3]}`"
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
