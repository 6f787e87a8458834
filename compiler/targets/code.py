"""Typed values as Python source that a reader can follow: no defaults, 100 columns, comments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

from fairc.cell.experiment import Workload

COLUMNS = 100
INDENT = 4
PIECE = 80  # of a long string

# How many arguments of a class come without their names.
POSITIONAL = {
    "Capture": 3,
    "Egress": 4,
    "End": 3,
    "Flow": 1,
    "Link": 2,
    "Network": 0,
    "Netem": 1,
    "Pep": 1,
    "Policer": 1,
    "Route": 2,
    "Shaper": 2,
}

Comment = Callable[[object], str]
"""What is said above a value, on a line of its own; nothing where that is empty."""


def code(value: object, comment: Comment, indent: int = 0, before: int = 0) -> str:
    """Return an expression that makes a value.

    indent: of the line that it begins on; before: how many characters precede it there.
    """
    written = _parts(value) or _pieces(value)
    if written is None:
        return _scalar(value)
    opening, parts, closing = written
    comments = [comment(part) for _, part in parts]
    if not any(comments):
        beside = COLUMNS - 1 - indent - before
        below = COLUMNS - INDENT - indent if opening[0].isalpha() else 0
        flat = _flat(value, max(beside, below + len(opening) + len(closing)))
        if flat is not None and len(flat) <= beside:
            return flat
        if flat is not None and len(flat) - len(opening) - len(closing) <= below:
            inside = flat[len(opening) : -len(closing)]
            return f"{opening}\n{' ' * (indent + INDENT)}{inside}\n{' ' * indent}{closing}"
    inner, end = " " * (indent + INDENT), "" if type(value) is str else ","
    lines, last = [opening], ""
    for (prefix, part), words in zip(parts, comments, strict=True):
        if words and words != last:
            lines.append(f"{inner}# {words}")
        last = words
        lines.append(f"{inner}{prefix}{code(part, comment, indent + INDENT, len(prefix))}{end}")
    return "\n".join([*lines, " " * indent + closing])


def _scalar(value: object) -> str:
    """Return a value that has no parts."""
    if type(value) is int:
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if type(value) is str:
        plain = '"' not in value and "\\" not in value and value.isprintable()
        return f'"{value}"' if plain else repr(value)
    return repr(value)


def _flat(value: object, room: int) -> str | None:
    """Return a value on one line; None where that is longer than `room`."""
    written = _parts(value)
    if written is None:
        flat = _scalar(value)
        return flat if len(flat) <= room else None
    opening, parts, closing = written
    room -= len(opening) + len(closing)
    inner = []
    for prefix, part in parts:
        flat_part = _flat(part, room - len(prefix))
        if flat_part is None:
            return None
        inner.append(prefix + flat_part)
        room -= len(prefix) + len(flat_part) + 2
    # The last one has no comma behind it, or one without a space.
    alone = len(inner) == 1 and type(value) is tuple
    return opening + ", ".join(inner) + "," * alone + closing if room >= alone - 2 else None


Written = tuple[str, list[tuple[str, Any]], str]
"""What opens a value, (what precedes it, part) of each part, what closes it."""


def types(value: object) -> frozenset[str]:
    """Return the names of the classes with which a value is written."""
    written = _parts(value)
    if written is None:
        return frozenset()
    opening, parts, _ = written
    return frozenset([opening[:-1]] if opening[0].isalpha() else ()).union(
        *(types(part) for _, part in parts)
    )


def _parts(value: object) -> Written | None:
    kind = type(value)
    if kind in _PLAIN:
        return None
    if kind is tuple or kind is list:
        opening, closing = "()" if kind is tuple else "[]"
        return opening, [("", item) for item in cast(Sequence[object], value)], closing
    if isinstance(value, Workload):
        given = [("", value.kind), *((f"{n}=", v) for n, v in value.parameters.items())]
        return "Workload(", given, ")"
    if isinstance(value, Mapping):
        return "{", [(f"{_scalar(name)}: ", item) for name, item in value.items()], "}"
    if dataclasses.is_dataclass(value):
        return f"{kind.__name__}(", arguments(value), ")"
    return None


_PLAIN = frozenset((int, str, bool, float, type(None)))


def _pieces(value: object) -> Written | None:
    """Break a long string."""
    if type(value) is not str or len(value) <= PIECE:
        return None
    return "(", [("", value[at : at + PIECE]) for at in range(0, len(value), PIECE)], ")"


def arguments(value: object) -> list[tuple[str, Any]]:
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
