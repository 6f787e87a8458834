"""Values of expressions.

Every value knows where it was written and has one canonical text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from .source import Span
from .units import Dimension, canonical


@dataclass(frozen=True)
class Quantity:
    """A number of base units (s, bit, pkt, ...) of a dimension."""

    number: Fraction
    dimension: Dimension
    span: Span = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        """The value as text, the same for equal values on every machine."""
        return canonical(self.number, self.dimension)

    @property
    def ns(self) -> int:
        """A time in ns, rounded to the nearest integer."""
        return round(self.number * 10**9)

    @property
    def whole(self) -> int:
        """A number without its fractional part."""
        return int(self.number)

    @property
    def weight(self) -> int:
        """How many parts it has."""
        return 1

    @property
    def phrase(self) -> str:
        """What it is, for messages."""
        return str(self.dimension)


@dataclass(frozen=True)
class Symbol:
    """A word that stands for itself until something that knows its registry takes it.

    known: returns the names that have a value where the word is written, in case it should be one
    of them.
    """

    name: str
    span: Span = field(compare=False)
    known: Callable[[], Collection[str]] = field(default=tuple, compare=False, repr=False)

    @property
    def canonical(self) -> str:
        """The word."""
        return self.name

    @property
    def weight(self) -> int:
        """How many parts it has."""
        return 1

    @property
    def phrase(self) -> str:
        """What it is, for messages."""
        return f"the word `{self.name}`"


@dataclass(frozen=True)
class Text:
    """A string."""

    value: str
    span: Span = field(compare=False)

    @property
    def canonical(self) -> str:
        """The string in quotes, with escapes."""
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    @property
    def weight(self) -> int:
        """How many parts it has."""
        return 1

    @property
    def phrase(self) -> str:
        """What it is, for messages."""
        return "a string"


@dataclass(frozen=True)
class Truth:
    """The outcome of a condition."""

    value: bool
    span: Span = field(compare=False)

    @property
    def canonical(self) -> str:
        """`true` or `false`; conditions are not values, so this never needs to be parsed."""
        return str(self.value).lower()

    @property
    def weight(self) -> int:
        """How many parts it has."""
        return 1

    @property
    def phrase(self) -> str:
        """What it is, for messages."""
        return "a condition"


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


@dataclass(frozen=True)
class Applied:
    """A word with arguments, such as `fifo(2bdp)`; `name_span` is the word alone."""

    name: str
    arguments: tuple[Argument, ...]
    span: Span = field(compare=False)
    name_span: Span = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        """Positional arguments in their order, then named ones sorted."""
        given = [a.value.canonical for a in self.arguments if a.key is None]
        named = sorted(f"{a.key}: {a.value.canonical}" for a in self.arguments if a.key)
        return f"{self.name}({', '.join([*given, *named])})"

    @cached_property
    def weight(self) -> int:
        """How many parts it has."""
        return 1 + sum(argument.value.weight for argument in self.arguments)

    @property
    def phrase(self) -> str:
        """What it is, for messages."""
        return f"`{self.name}(...)`"


@dataclass(frozen=True)
class Several:
    """A number of equal things: `40 of 20kB`."""

    count: Quantity
    item: Quantity
    span: Span = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        """The count, `of`, and the item."""
        return f"{self.count.canonical} of {self.item.canonical}"

    @property
    def weight(self) -> int:
        """How many parts it has."""
        return 1

    @property
    def phrase(self) -> str:
        """What it is, for messages."""
        return "`... of ...`"


@dataclass(frozen=True)
class ListValue:
    """A list."""

    items: tuple[Value, ...]
    span: Span = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        """The items in brackets."""
        return f"[{', '.join(item.canonical for item in self.items)}]"

    @cached_property
    def weight(self) -> int:
        """How many parts it has."""
        return 1 + sum(item.weight for item in self.items)

    @property
    def phrase(self) -> str:
        """What it is, for messages."""
        return "a list"


@dataclass(frozen=True)
class TupleValue:
    """A tuple."""

    items: tuple[Value, ...]
    span: Span = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        """The items in parentheses."""
        inner = ", ".join(item.canonical for item in self.items)
        return f"({inner},)" if len(self.items) == 1 else f"({inner})"

    @cached_property
    def weight(self) -> int:
        """How many parts it has."""
        return 1 + sum(item.weight for item in self.items)

    @property
    def phrase(self) -> str:
        """What it is, for messages."""
        return "a tuple"


Value = Quantity | Symbol | Text | Truth | Applied | Several | ListValue | TupleValue
