"""Typed values as Python source that a reader can follow: no defaults, 100 columns, comments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

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
    flat = _flat(value)
    written = _parts(value) or _pieces(value)
    if written is None:
        return flat
    opening, parts, closing = written
    said = [comment(part) for _, part in parts]
    if indent + before + len(flat) < COLUMNS and not any(said):
        return flat
    inside = flat[len(opening) : -len(closing)]
    if opening[0].isalpha() and INDENT + indent + len(inside) <= COLUMNS and not any(said):
        return "\n".join([opening, " " * (indent + INDENT) + inside, " " * indent + closing])
    inner, end = " " * (indent + INDENT), "" if isinstance(value, str) else ","
    lines, last = [opening], ""
    for (prefix, part), words in zip(parts, said, strict=True):
        if words and words != last:
            lines.append(f"{inner}# {words}")
        last = words
        lines.append(f"{inner}{prefix}{code(part, comment, indent + INDENT, len(prefix))}{end}")
    return "\n".join([*lines, " " * indent + closing])


def _flat(value: object) -> str:
    """Return a value on one line."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, str):
        plain = '"' not in value and "\\" not in value and value.isprintable()
        return f'"{value}"' if plain else repr(value)
    written = _parts(value)
    if written is None:
        return repr(value)
    opening, parts, closing = written
    inner = ", ".join(prefix + _flat(part) for prefix, part in parts)
    return opening + inner + "," * (isinstance(value, tuple) and len(value) == 1) + closing


Written = tuple[str, list[tuple[str, Any]], str]
"""What opens a value, (what precedes it, part) of each part, what closes it."""


def _parts(value: object) -> Written | None:
    if isinstance(value, Workload):
        given = [("", value.kind), *((f"{n}=", v) for n, v in value.parameters.items())]
        return "Workload(", given, ")"
    if isinstance(value, Mapping):
        return "{", [(f"{_flat(name)}: ", item) for name, item in value.items()], "}"
    if isinstance(value, tuple):
        return "(", [("", item) for item in value], ")"
    if isinstance(value, list):
        return "[", [("", item) for item in value], "]"
    if dataclasses.is_dataclass(value):
        return f"{type(value).__name__}(", list(_arguments(value)), ")"
    return None


def _pieces(value: object) -> Written | None:
    """Break a long string."""
    if not isinstance(value, str) or len(value) <= PIECE:
        return None
    return "(", [("", value[at : at + PIECE]) for at in range(0, len(value), PIECE)], ")"


def _arguments(value: Any) -> Iterable[tuple[str, Any]]:
    """Yield (prefix, value) of the arguments that are not defaults."""
    positional = POSITIONAL.get(type(value).__name__, 0)
    for number, field in enumerate(dataclasses.fields(value)):
        given = getattr(value, field.name)
        if _is_default(field, given):
            positional = min(positional, number)  # from here on by name
        else:
            yield ("" if number < positional else f"{field.name}="), given


def _is_default(field: dataclasses.Field[Any], given: object) -> bool:
    if field.default_factory is not dataclasses.MISSING or field.default == ():
        return not given
    return type(given) is type(field.default) and given == field.default
