"""Values of expressions.

Every value knows where it was written (`span`), has one canonical text (`canonical`), a name in
messages (`phrase`) and the number of its parts (`weight`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from .source import Span
from .units import SIZES, TIME, Dimension, canonical


@dataclass(frozen=True)
class Quantity:
    """A number of base units (s, bit, pkt, ...) of a dimension."""

    number: Fraction
    dimension: Dimension
    span: Span = field(compare=False)
    weight: ClassVar[int] = 1

    @cached_property
    def canonical(self) -> str:
        """The value as text, the same for equal values on every machine."""
        return canonical(self.number, self.dimension)

    @property
    def dimensions(self) -> frozenset[Dimension]:
        """Its dimension alone: that of a mixture are several."""
        return frozenset({self.dimension})

    def bits(self, units: Mapping[Dimension, Fraction]) -> Fraction:
        """Return a size in bits; units: what one base unit of each dimension is, bits."""
        return self.number * units[self.dimension]

    @property
    def ns(self) -> int:
        """A time in ns, rounded to the nearest integer."""
        return round(self.number * 10**9)

    @property
    def whole(self) -> int:
        """A number without its fractional part."""
        return int(self.number)

    @property
    def phrase(self) -> str:
        """Its name in messages."""
        return str(self.dimension)


@dataclass(frozen=True)
class Mixture:
    """A size of several units, such as `0.5bdp + 3pkt` or `max(1bdp, 10kB)`: a number of bytes once
    path and MTU are known.

    parts: of a sum, a quantity of each unit; of `max` and `min`, sizes none of which is always the
    larger or smaller one.
    """

    operation: Literal["sum", "max", "min"]
    parts: tuple[Quantity | Mixture, ...]
    span: Span = field(compare=False)
    phrase: ClassVar[str] = "a size that depends on path and packets"

    @cached_property
    def canonical(self) -> str:
        """The parts in a fixed order, which parses back to it."""
        if self.operation != "sum":
            return f"{self.operation}({', '.join(part.canonical for part in self.parts)})"
        first, *others = (part.canonical for part in self.parts)
        signed = (f" - {text[1:]}" if text.startswith("-") else f" + {text}" for text in others)
        return first + "".join(signed)

    @property
    def dimensions(self) -> frozenset[Dimension]:
        """Those of all parts."""
        return frozenset().union(*(part.dimensions for part in self.parts))

    @cached_property
    def weight(self) -> int:
        """The number of its parts."""
        return 1 + sum(part.weight for part in self.parts)

    def bits(self, units: Mapping[Dimension, Fraction]) -> Fraction:
        """Return the size; units: what one base unit of each dimension is, bits."""
        parts = [part.bits(units) for part in self.parts]
        if self.operation == "sum":
            return sum(parts, Fraction(0))
        return max(parts) if self.operation == "max" else min(parts)


Size = Quantity | Mixture
"""An amount of data: bytes, packets, multiples of the BDP, a mixture of them, or, of a queue,
seconds at its link's rate; a threshold of a queue may also be a share of the queue's limit.
"""


_UNITS = (*SIZES, TIME)
"""Those of sizes; a time only between the queues of a link, at whose rate it is a size."""


def added(a: Size, b: Size, span: Span) -> Size:
    """Return the sum of two sizes."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Mixture) and one.operation != "sum":
            parts = (added(part, other, span) for part in one.parts)
            return extreme(one.operation, parts, span)
    totals = dict.fromkeys(_UNITS, Fraction(0))
    for part in (*_terms(a), *_terms(b)):
        totals[part.dimension] += part.number
    terms = [Quantity(number, dimension, span) for dimension, number in totals.items() if number]
    if len(terms) < 2:
        return terms[0] if terms else Quantity(Fraction(0), _terms(a)[0].dimension, span)
    return Mixture("sum", tuple(terms), span)


def scaled(size: Size, factor: Fraction, span: Span) -> Size:
    """Return a multiple of a size; a negative one of the larger size is the smaller one."""
    if isinstance(size, Quantity):
        return Quantity(size.number * factor, size.dimension, span)
    if not factor:
        return scaled(size.parts[0], factor, span)
    if size.operation == "sum":
        return Mixture("sum", tuple(scaled(part, factor, span) for part in size.parts), span)
    opposite: Literal["max", "min"] = "min" if size.operation == "max" else "max"
    parts = (scaled(part, factor, span) for part in size.parts)
    return extreme(size.operation if factor >= 0 else opposite, parts, span)


def extreme(operation: Literal["max", "min"], sizes: Iterable[Size], span: Span) -> Size:
    """Return the largest or smallest of sizes, as far as it can be told without path and MTU."""
    listed: dict[str, Size] = {}
    for size in sizes:
        same = isinstance(size, Mixture) and size.operation == operation
        for part in size.parts if isinstance(size, Mixture) and same else (size,):
            listed.setdefault(part.canonical, part)
    kept: list[tuple[Size, tuple[Fraction, ...] | None]] = []
    for size in listed.values():
        totals = _totals(size)
        if any(_decided(operation, other, totals) for _, other in kept):
            continue
        kept = [known for known in kept if not _decided(operation, totals, known[1])]
        kept.append((size, totals))
    if len(kept) == 1:
        return replace(kept[0][0], span=span)
    sizes = sorted((size for size, _ in kept), key=lambda size: size.canonical)
    return Mixture(operation, tuple(sizes), span)


def _totals(size: Size) -> tuple[Fraction, ...] | None:
    """Return the amounts of a sum by unit, in the order of _UNITS; None for another mixture."""
    if isinstance(size, Mixture) and size.operation != "sum":
        return None
    totals = dict.fromkeys(_UNITS, Fraction(0))
    for part in _terms(size):
        totals[part.dimension] += part.number
    return tuple(totals.values())


def _decided(
    operation: Literal["max", "min"],
    chosen: tuple[Fraction, ...] | None,
    other: tuple[Fraction, ...] | None,
) -> bool:
    """Return whether one sum is chosen over another one, whatever path and MTU."""
    if chosen is None or other is None:
        return False
    larger, smaller = (chosen, other) if operation == "max" else (other, chosen)
    return all(a >= b for a, b in zip(larger, smaller, strict=True))


def _terms(size: Size) -> tuple[Quantity, ...]:
    """Return the quantities of a sum."""
    parts = (size,) if isinstance(size, Quantity) else size.parts
    return tuple(part for part in parts if isinstance(part, Quantity))


@dataclass(frozen=True)
class Symbol:
    """A word that stands for itself until something that knows its registry takes it.

    known: returns the names that have a value where the word is written, in case it should be one
    of them.
    """

    name: str
    span: Span = field(compare=False)
    known: Callable[[], Collection[str]] = field(default=tuple, compare=False, repr=False)
    weight: ClassVar[int] = 1
    arguments: ClassVar[tuple[Argument, ...]] = ()

    @property
    def name_span(self) -> Span:
        """The place of the word."""
        return self.span

    @property
    def canonical(self) -> str:
        """The word."""
        return self.name

    @property
    def phrase(self) -> str:
        """Its name in messages."""
        return f"the word `{self.name}`"


@dataclass(frozen=True)
class Text:
    """A string."""

    value: str
    span: Span = field(compare=False)
    phrase: ClassVar[str] = "a string"
    weight: ClassVar[int] = 1

    @property
    def canonical(self) -> str:
        """The string in quotes, with escapes."""
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'


@dataclass(frozen=True)
class Truth:
    """The outcome of a condition."""

    value: bool
    span: Span = field(compare=False)
    phrase: ClassVar[str] = "a condition"
    weight: ClassVar[int] = 1

    @property
    def canonical(self) -> str:
        """`true` or `false`; conditions are not values, so this never needs to be parsed."""
        return str(self.value).lower()


@dataclass(frozen=True)
class Argument:
    """An argument of an applied word; `key_span` is where its name stands, if it has one."""

    key: str | None
    value: Value
    key_span: Span | None = field(default=None, compare=False)

    @property
    def place(self) -> Span:
        """Where it is given: at its name, if it has one."""
        return self.key_span or self.value.span


_ORDERED: set[str] = set()


def keep_order(word: str) -> str:
    """Note that the order of a word's named arguments counts; return the word."""
    _ORDERED.add(word)
    return word


@dataclass(frozen=True)
class Applied:
    """A word with arguments, such as `fifo(2bdp)`; `name_span` is the word alone.

    label: the name by which it is shown, of a `let` that holds it.
    """

    name: str
    arguments: tuple[Argument, ...]
    span: Span = field(compare=False)
    name_span: Span = field(compare=False)
    label: str = field(default="", compare=False)

    @cached_property
    def canonical(self) -> str:
        """Positional arguments in their order, then named ones, sorted unless order counts."""
        given = [a.value.canonical for a in self.arguments if a.key is None]
        named = [f"{a.key}: {a.value.canonical}" for a in self.arguments if a.key]
        if self.name not in _ORDERED:
            named.sort()
        return f"{self.name}({', '.join([*given, *named])})"

    @cached_property
    def weight(self) -> int:
        """The number of its parts."""
        return 1 + sum(argument.value.weight for argument in self.arguments)

    @property
    def phrase(self) -> str:
        """Its name in messages."""
        return f"`{self.name}(...)`"


@dataclass(frozen=True)
class Amended:
    """A topology `with` changes.

    text: the changes, with the values of all names in them.
    changes: the same as they were written, which the network's part reads.
    label: the name by which it is shown, of a `let` that holds it.
    """

    base: Symbol | Applied | Amended
    text: str
    changes: object = field(compare=False, repr=False)
    span: Span = field(compare=False)
    label: str = field(default="", compare=False)
    phrase: ClassVar[str] = "a topology `with` changes"

    @cached_property
    def canonical(self) -> str:
        """The topology and its changes."""
        return f"{self.base.canonical} with {self.text}"

    @property
    def weight(self) -> int:
        """The number of its parts."""
        return 1 + self.base.weight


@dataclass(frozen=True)
class Several:
    """A number of equal things: `40 of 20kB`."""

    count: Quantity
    item: Quantity
    span: Span = field(compare=False)
    phrase: ClassVar[str] = "`... of ...`"
    weight: ClassVar[int] = 1

    @cached_property
    def canonical(self) -> str:
        """The count, `of`, and the item."""
        return f"{self.count.canonical} of {self.item.canonical}"


@dataclass(frozen=True)
class _Items:
    """Values in order."""

    items: tuple[Value, ...]
    span: Span = field(compare=False)

    @cached_property
    def weight(self) -> int:
        """The number of its parts."""
        return 1 + sum(item.weight for item in self.items)


class ListValue(_Items):
    """A list."""

    phrase: ClassVar[str] = "a list"

    @cached_property
    def canonical(self) -> str:
        """The items in brackets."""
        return f"[{', '.join(item.canonical for item in self.items)}]"


class TupleValue(_Items):
    """A tuple."""

    phrase: ClassVar[str] = "a tuple"

    @cached_property
    def canonical(self) -> str:
        """The items in parentheses."""
        inner = ", ".join(item.canonical for item in self.items)
        return f"({inner},)" if len(self.items) == 1 else f"({inner})"


Value = (
    Quantity
    | Mixture
    | Symbol
    | Text
    | Truth
    | Applied
    | Amended
    | Several
    | ListValue
    | TupleValue
)


def shown(value: Value) -> str:
    """Return the text by which plans and pages show a value: its name, or its canonical text."""
    label = value.label if isinstance(value, Applied | Amended) else ""
    return label or value.canonical
