"""Typed values as Python source that a reader can follow: no defaults, 100 columns, comments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

COLUMNS = 100
INDENT = 4
PIECE = 80  # of a long string

# How many arguments of a class come without their names.
POSITIONAL = {
    "Capture": 3,
    "Change": 2,
    "Egress": 4,
    "End": 3,
    "Flow": 1,
    "Impairment": 1,
    "Link": 2,
    "Network": 0,
    "Policed": 2,
    "Route": 2,
    "Shaper": 2,
}

Comment = Callable[[object], str]
"""Returns the comment above a value, on a line of its own; empty for none."""


@dataclass(slots=True)
class Code:
    """A value as an expression that makes it.

    flat: on one line. opening, parts, closing: on several; parts: (comment, what precedes it,
    part). A value that has no parts has no opening.
    """

    flat: str
    opening: str = ""
    parts: list[tuple[str, str, Code]] = field(default_factory=list)
    closing: str = ""

    def text(self, indent: int = 0, before: int = 0) -> str:
        """Return it on as few lines as fit.

        indent: of the line that it begins on; before: how many characters precede it there.
        """
        opening, closing = self.opening, self.closing
        if not opening:
            return self.flat
        if not any(comment for comment, _, _ in self.parts):
            if len(self.flat) <= COLUMNS - 1 - indent - before:
                return self.flat
            inside = self.flat[len(opening) : -len(closing)]
            if opening[0].isalpha() and len(inside) <= COLUMNS - INDENT - indent:
                return f"{opening}\n{' ' * (indent + INDENT)}{inside}\n{' ' * indent}{closing}"
        inner = " " * (indent + INDENT)
        end = "" if self.flat[0] in "\"'" else ","  # pieces of a string have none between them
        lines, last = [opening], ""
        for comment, prefix, part in self.parts:
            if comment and comment != last:
                lines.append(f"{inner}# {comment}")
            last = comment
            lines.append(f"{inner}{prefix}{part.text(indent + INDENT, len(prefix))}{end}")
        return "\n".join([*lines, " " * indent + closing])

    def classes(self) -> frozenset[str]:
        """Return the names of the classes in it."""
        own = [self.opening[:-1]] if self.opening[:1].isalpha() else []
        return frozenset(own).union(*[part.classes() for _, _, part in self.parts if part.opening])


def code(value: object, comment: Comment = lambda part: "") -> Code:
    """Return an expression that makes a value."""
    parts: Sequence[tuple[str, Any]]
    kind = type(value)
    if kind in _PLAIN:
        return Code(_scalar(value))
    if kind is str:
        flat = _scalar(value)
        if len(text := cast(str, value)) <= PIECE:
            return Code(flat)
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        return Code(flat, "(", [("", "", Code(_scalar(piece))) for piece in pieces], ")")
    if kind is tuple or kind is list:
        opening, closing = "()" if kind is tuple else "[]"
        parts = [("", item) for item in cast(Sequence[object], value)]
    elif isinstance(value, Mapping):
        opening, closing = "{", "}"
        parts = [(f"{_scalar(name)}: ", item) for name, item in value.items()]
    elif dataclasses.is_dataclass(value):
        opening, closing = f"{kind.__name__}(", ")"
        parts = _arguments(value)
    else:
        return Code(_scalar(value))
    written = []
    for prefix, part in parts:
        inner = code(part, comment)
        written.append((comment(part) if inner.opening else "", prefix, inner))
    # The last one has no comma behind it, or one without a space.
    alone = len(written) == 1 and kind is tuple
    inside = ", ".join([prefix + part.flat for _, prefix, part in written]) + "," * alone
    return Code(opening + inside + closing, opening, written, closing)


_PLAIN = frozenset((int, bool, float, type(None)))


def _scalar(value: object) -> str:
    """Return a value that has no parts."""
    if type(value) is int:
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if type(value) is str:
        plain = '"' not in value and "\\" not in value and value.isprintable()
        return f'"{value}"' if plain else repr(value)
    return repr(value)


def _arguments(value: object) -> list[tuple[str, Any]]:
    """Return (prefix, value) of the arguments that are not defaults."""
    kind: type = type(value)
    positional = POSITIONAL.get(kind.__name__, 0)
    found = []
    for number, (name, may_be_empty, default) in enumerate(_fields(kind)):
        given = getattr(value, name)
        if not given if may_be_empty else type(given) is type(default) and given == default:
            positional = min(positional, number)  # from here on by name
        else:
            found.append(("" if number < positional else f"{name}=", given))
    return found


@cache
def _fields(kind: type) -> tuple[tuple[str, bool, object], ...]:
    """Return (name, whether its default is empty, the default) of the fields of a dataclass."""
    return tuple(
        (
            field.name,
            field.default_factory is not dataclasses.MISSING or field.default == (),
            field.default,
        )
        for field in dataclasses.fields(kind)
    )
