"""Kinds of values that a key or a parameter takes, with their limits and how they are described."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, NoReturn, Protocol, TypeVar

from .diagnostics import Label
from .problems import Gather, fail
from .registry import refuse_unknown, suggest
from .source import Span
from .units import (
    BDP,
    DATA,
    EXAMPLES,
    FREQUENCY,
    NUMBER,
    PACKET_RATE,
    PACKETS,
    RATE,
    SHARE,
    TIME,
    Dimension,
    canonical,
)
from .values import Applied, ListValue, Quantity, Several, Symbol, Text, TupleValue, Value

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
W = TypeVar("W", bound=str)


class Kind(Protocol[T_co]):
    """A kind of value, and the type that the compiler works with."""

    @property
    def phrase(self) -> str:
        """Describe the kind after "must be", with an article."""
        ...

    def take(self, value: Value, use: str, at: Span | None = None) -> T_co:
        """Return the value as its type. Raises CompileError unless it is of this kind.

        use: what it is for, such as "`rate` of a link"; at: where it is used, if elsewhere.
        """
        ...


def refuse(
    kind: Kind[object], value: Value, use: str, at: Span | None, help: str | None = None
) -> NoReturn:
    """Raise the error for a value of another kind."""
    if isinstance(value, ListValue):
        help = "to try several values, sweep over them: `sweep { x = [...] }`, and write `x` here"
    if isinstance(value, Applied) and value.name == "trace" and help is None:
        text = value.span.text if value.span.text.startswith("trace") else "trace(...)"
        help = (
            f"a link takes a trace, `link left -> right {{ rate = {text} }}`, and so do presets:"
            f" `topology = 4g(down: {text})`"
        )
    written = r"\d[\w.%/]*" if isinstance(kind, Quantities) else r"[\w.%/]+"
    if isinstance(value, Text) and re.fullmatch(written, value.value) and help is None:
        help = f"write `{value.value}`, without quotes"
    fail(
        "wrong-dimension" if isinstance(kind, Quantities) else "wrong-type",
        f"{use} must be {kind.phrase}, not {value.phrase}",
        value.span,
        note=value.phrase,
        labels=used(value, at, use),
        help=help,
    )


def either(words: Sequence[str]) -> str:
    """List words of which one applies.

    >>> either(["a"]), either(["a", "b", "c"])
    ('a', 'a, b or c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def used(value: Value, at: Span | None, use: str) -> tuple[Label, ...]:
    """Label the place of use, unless the value is written there."""
    inside = at and value.span.source is at.source and at.start <= value.span.start < at.end
    return () if at is None or inside or at == value.span else (Label(at, f"used here as {use}"),)


@dataclass(frozen=True)
class Quantities:
    """Quantities of some dimensions within limits, in base units.

    low, high: limits, included unless `open_low`, `open_high`.
    whole: integers only.
    """

    dimensions: tuple[Dimension, ...]
    low: Fraction | int | None = 0
    high: Fraction | int | None = None
    open_low: bool = False
    open_high: bool = False
    whole: bool = False

    @property
    def phrase(self) -> str:
        """Describe the dimensions."""
        if self.whole:
            of = {PACKETS: " of packets"}.get(self.dimensions[0], "")
            return f"a whole number{of}"
        names = [str(d) for d in self.dimensions]
        return either(names)

    def take(self, value: Value, use: str, at: Span | None = None) -> Quantity:
        """Return the value.

        Raises CompileError unless it has one of the dimensions and is within limits.
        """
        if isinstance(value, Symbol):
            near = suggest(value.name, value.known())
            fail(
                "unknown-name",
                f"`{value.name}` is not defined, and {use} must be {self.phrase}",
                value.span,
                note=f"did you mean `{near}`?" if near else "",
                labels=used(value, at, use),
                help=f"write {self.phrase}, such as `{EXAMPLES[self.dimensions[0]]}`, or define "
                f"`{value.name}` in `sweep` or with `let`",
            )
        if not isinstance(value, Quantity):
            refuse(self, value, use, at)
        if value.dimension not in self.dimensions:
            if value.dimension == NUMBER:
                self._missing_unit(value, use, at)
            refuse(self, value, use, at, f"write for example `{self.example}`")
        self._limits(value, use, at)
        return value

    @property
    def example(self) -> str:
        """A quantity of the first dimension."""
        return EXAMPLES[self.dimensions[0]]

    def _missing_unit(self, value: Quantity, use: str, at: Span | None) -> NoReturn:
        offers = {
            TIME: ("ms", "s"),
            DATA: ("B", "kB", "MB"),
            RATE: ("kbit/s", "Mbit/s"),
            SHARE: ("%",),
            PACKETS: ("pkt",),
            BDP: ("bdp",),
            PACKET_RATE: ("pkt/s",),
            FREQUENCY: ("/s",),
        }
        offered = [f"{value.canonical}{u}" for d in self.dimensions for u in offers.get(d, ())]
        if RATE in self.dimensions and value.number >= 10**4:  # in bit/s, as in a simulator
            offered = [canonical(value.number, RATE)]
        if SHARE in self.dimensions and 0 < value.number < 1:  # 0.5 may be meant as a half
            offered.append(f"{canonical(100 * value.number, value.dimension)}%")
        *others, last = (f"`{text}`" for text in offered)
        first = ", ".join(others)
        behind = re.match(
            r",(\d+[A-Za-z%]\S*?)(?=[,)\s]|$)", value.span.source.text[value.span.end :]
        )
        if behind:  # 1,5ms
            last += f"; a decimal number has a point: `{value.span.text}.{behind[1]}`"
        fail(
            "missing-unit",
            f"{use} must be {self.phrase}, but this number has no unit",
            value.span,
            note="a unit is missing",
            labels=used(value, at, use),
            help="write " + " or ".join(filter(None, (first, last))),
        )

    def _limits(self, value: Quantity, use: str, at: Span | None) -> None:
        number, low, high = value.number, self.low, self.high
        message = ""
        if self.whole and number.denominator != 1:
            message = "must be a whole number"
        elif low is not None and (number < low or (self.open_low and number == low)):
            edge = canonical(Fraction(low), value.dimension)
            if low == 0:
                message = "must be more than zero" if self.open_low else "cannot be negative"
            else:
                message = f"must be {'more than' if self.open_low else 'at least'} {edge}"
        elif high is not None and (number > high or (self.open_high and number == high)):
            edge = canonical(Fraction(high), value.dimension)
            message = f"must be {'less than' if self.open_high else 'at most'} {edge}"
        if message:
            fail(
                "out-of-range",
                f"{use} {message}",
                value.span,
                note=f"this is {value.canonical}",
                labels=used(value, at, use),
            )


@dataclass(frozen=True)
class Words(Generic[W]):
    """One of a few words; for any other the error's code is `unknown-<code>`."""

    what: str
    choices: tuple[W, ...]
    code: str = "word"

    @property
    def phrase(self) -> str:
        """List the words."""
        listed = [f"`{c}`" for c in self.choices]
        return either(listed)

    def take(self, value: Value, use: str, at: Span | None = None) -> W:
        """Return the word. Raises CompileError unless it is one of the choices."""
        if not isinstance(value, Symbol):
            refuse(self, value, use, at)
        if value.name not in self.choices:
            refuse_unknown(self.what, self.code, value.name, self.choices, value.span)
        return self.choices[self.choices.index(value.name)]


@dataclass(frozen=True)
class Switch:
    """`on` or `off`."""

    word: Words[str] = Words("switch", ("on", "off"))

    @property
    def choices(self) -> tuple[str, ...]:
        """Both words."""
        return self.word.choices

    @property
    def phrase(self) -> str:
        """List both."""
        return self.word.phrase

    def take(self, value: Value, use: str, at: Span | None = None) -> bool:
        """Return whether it is on. Raises CompileError for another word."""
        return self.word.take(value, use, at) == "on"


@dataclass(frozen=True)
class AnyName:
    """The name of something declared in the file; the caller, which knows the names, checks it."""

    what: str

    @property
    def phrase(self) -> str:
        """Say what the name refers to."""
        return f"the name of {self.what}"

    def take(self, value: Value, use: str, at: Span | None = None) -> Symbol:
        """Return the name. Raises CompileError unless the value is a plain name."""
        if not isinstance(value, Symbol):
            refuse(self, value, use, at)
        return value


@dataclass(frozen=True)
class Texts:
    """A string."""

    phrase: str = 'a string in "quotes"'

    def take(self, value: Value, use: str, at: Span | None = None) -> Text:
        """Return the string. Raises CompileError for any other value."""
        if not isinstance(value, Text):
            word = value.name if isinstance(value, Symbol) else "like this"
            refuse(self, value, use, at, f'write it in quotes, "{word}"')
        return value


@dataclass(frozen=True)
class Lists(Generic[T]):
    """A list (or a tuple) of values of one kind, with at least one item."""

    item: Kind[T]

    @property
    def phrase(self) -> str:
        """Describe the items."""
        return f"a list, each item {self.item.phrase}"

    def take(self, value: Value, use: str, at: Span | None = None) -> tuple[T, ...]:
        """Return the items. Raises CompileError unless every item is of the kind."""
        if not isinstance(value, ListValue | TupleValue):
            refuse(self, value, use, at)
        if not value.items:
            fail("empty-list", f"{use} is empty", value.span)
        gather = Gather()
        items: list[T] = []
        for item in value.items:
            with gather.attempt():
                items.append(self.item.take(item, f"an item of {use}", at))
        gather.finish()
        return tuple(items)


@dataclass(frozen=True)
class OneOrMore(Generic[T]):
    """A value of one kind, or a list of them."""

    item: Kind[T]
    phrase: str

    def take(self, value: Value, use: str, at: Span | None = None) -> tuple[T, ...]:
        """Return the items. Raises CompileError unless each is of the kind."""
        if isinstance(value, ListValue | TupleValue):
            return Lists(self.item).take(value, use, at)
        return (self.item.take(value, use, at),)


@dataclass(frozen=True)
class Groups:
    """One or more groups of equal things: `2kB`, `40 of 20kB`, `[10 of 5kB, 2 of 200kB]`."""

    item: Quantities
    count: Quantities

    @property
    def phrase(self) -> str:
        """Describe a group."""
        return f"{self.item.phrase} or groups such as `40 of {self.item.example}`"

    def take(
        self, value: Value, use: str, at: Span | None = None
    ) -> tuple[Several | Quantity, ...]:
        """Return the groups. Raises CompileError unless each is a size, or a count and a size."""
        if not isinstance(value, ListValue | TupleValue):
            return (self._group(value, use, at),)
        if not value.items:
            fail("empty-list", f"{use} is empty", value.span, help=f"write {self.phrase}")
        gather = Gather()
        groups: list[Several | Quantity] = []
        for item in value.items:
            with gather.attempt():
                groups.append(self._group(item, f"a group of {use}", at))
        gather.finish()
        return tuple(groups)

    def _group(self, value: Value, use: str, at: Span | None) -> Several | Quantity:
        if isinstance(value, Quantity):
            return self.item.take(value, use, at)
        if not isinstance(value, Several):
            refuse(self, value, use, at)
        gather = Gather()
        with gather.attempt():
            self.count.take(value.count, f"the number in {use}", at)
        with gather.attempt():
            self.item.take(value.item, f"the size in {use}", at)
        gather.finish()
        return value


A_TIME = Quantities((TIME,))
A_POSITIVE_TIME = Quantities((TIME,), open_low=True)
A_RATE = Quantities((RATE,), open_low=True)
A_SIZE = Quantities((DATA,), open_low=True)
A_SHARE = Quantities((SHARE,), high=1)
A_POSITIVE_SHARE = Quantities((SHARE,), high=1, open_low=True)
A_PROBABILITY = Quantities((SHARE,), high=1, open_high=True)
A_FACTOR = Quantities((NUMBER,), open_low=True)
A_COUNT = Quantities((NUMBER,), low=1, high=10_000, whole=True)
A_NUMBER_OF = Quantities((NUMBER,), low=0, high=10_000, whole=True)
A_WHOLE = Quantities((NUMBER,), low=0, high=2**63 - 1, whole=True)
A_PACKET_RATE = Quantities((PACKET_RATE,), open_low=True)
PACKET_COUNT = Quantities((PACKETS,), open_low=True)
A_PACKET_COUNT = Quantities((PACKETS,), low=1, high=1000, whole=True)
A_SWITCH = Switch()
AN_ECN: Words[str] = Words("value of `ecn`", ("on", "off", "accurate"))
