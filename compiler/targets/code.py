"""A cell as Python source that a reader can follow: no defaults, 100 columns, comments."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from fairc.cell.batch import word
from fairc.cell.devices import Device
from fairc.cell.expansion import expand
from fairc.cell.links import Interface
from fairc.cell.model import Capture, Cell, Flow

from . import runner
from .rendering import comment

COLUMNS = 100
INDENT = 4
PIECE = 80  # of a long string

# How many arguments of a class come without their names.
POSITIONAL = {
    "Cable": 2,
    "Capture": 6,
    "Change": 2,
    "Flow": 1,
    "Impairment": 1,
    "Interface": 4,
    "Node": 4,
    "Route": 2,
    "Shaper": 2,
}

ORIGIN = frozenset({"declared", "users", "baseline", "baselines"})
"""Fields that say where something comes from, or what it is compared with, and not what runs; and
so does a `Line` of the experiment's file. (The `source` of a route is an address.)
"""

MEANINGS = {
    "client": "client of page loads",
    "device": "what a device sees",
    "echo": "echoes of pings",
    "sender": "data and ACKs at a sender",
}
"""The meaning of captures away from a queue, by their point."""


@dataclass(slots=True)
class Code:
    """A value as an expression that makes it.

    value: what it makes. flat: on one line. opening, parts, closing: on several; parts: (comment,
    what precedes it, part). A value that has no parts has no opening. classes: those in it.
    """

    value: object
    flat: str
    opening: str = ""
    parts: Sequence[tuple[str, str, Code]] = ()
    closing: str = ""
    classes: frozenset[type] = frozenset()
    _at: tuple[int, int] = (-1, -1)
    _text: str = ""

    def text(self, indent: int = 0, before: int = 0) -> str:
        """Return it on as few lines as fit.

        indent: of the line that it begins on; before: how many characters precede it there.
        """
        if not self.opening:
            return self.flat
        if self._at != (indent, before):
            self._at, self._text = (indent, before), self._written(indent, before)
        return self._text

    def _written(self, indent: int, before: int) -> str:
        opening, closing = self.opening, self.closing
        if not any(above for above, _, _ in self.parts):
            if len(self.flat) <= COLUMNS - 1 - indent - before:
                return self.flat
            inside = self.flat[len(opening) : -len(closing)]
            if opening[0].isalpha() and len(inside) <= COLUMNS - INDENT - indent:
                return f"{opening}\n{' ' * (indent + INDENT)}{inside}\n{' ' * indent}{closing}"
        inner = " " * (indent + INDENT)
        end = "" if self.flat[0] in "\"'" else ","  # pieces of a string have none between them
        lines, last, is_open = [opening], "", False
        for above, prefix, part in self.parts:
            if above and above != last:
                lines.append(f"{inner}# {above}")
            last = above
            text = f"{prefix}{part.text(indent + INDENT, len(prefix))}{end}"
            # Arguments without names share lines.
            fills = bool(end) and not prefix and (opening[0].isalpha() or not part.opening)
            fills = fills and "\n" not in text
            if is_open and fills and not above and len(lines[-1]) + 1 + len(text) <= COLUMNS:
                lines[-1] += f" {text}"
            else:
                lines.append(f"{inner}{text}")
            is_open = fills
        return "\n".join([*lines, " " * indent + closing])


def comment_of(part: object) -> str:
    """Return the comment above a part: its line of the experiment's file, what a capture shows."""
    if isinstance(part, Capture):
        shown = f"{part.point} of the bottleneck {'/'.join(part.queue)}"
        return comment(MEANINGS.get(part.point, shown))
    if isinstance(part, Flow | Device):
        return comment(part.source)
    if isinstance(part, Interface) and (part.shaper or part.impairment):
        return comment(part.source)
    return ""


@dataclass(frozen=True, slots=True)
class CellCode:
    """A cell as source: the lines of its arguments, and the lines that import what they need."""

    arguments: list[str]
    imports: str


class CellWriter:
    """Writes cells as source, with an import of `run` from the module `runs` of `cell`.

    Repetitions of a configuration share most of their parts, and these are written once.
    """

    def __init__(self, runs: str) -> None:
        self._runs = runs
        self._last: dict[str, Code] = {}

    def __call__(self, cell: Cell) -> CellCode:
        """Return a cell as source. Raises ValueError for one that is not data."""
        word(cell.id)
        last = self._last.get(cell.configuration)
        if last is None:
            expand(cell)  # refuses what is not data
            if len(self._last) >= KEPT_CONFIGURATIONS:
                self._last.clear()
        made = self._last[cell.configuration] = code(cell, last)
        lines = [f"{prefix}{part.text(INDENT, len(prefix))}," for _, prefix, part in made.parts]
        return CellCode(lines, _imports(made.classes, self._runs))


KEPT_CONFIGURATIONS = 2000  # as many as `compilation` keeps


def _imports(used: frozenset[type], runs: str) -> str:
    """Return the lines that import these classes, and `run` of the module that runs a cell."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for kind in sorted(used, key=lambda kind: kind.__name__):
        wanted[runner.module_name(kind.__module__)].append(kind.__name__)
    wanted[runs] = ["run"]
    return "\n".join(_import(module, found) for module, found in sorted(wanted.items()))


def _import(module: str, names: list[str]) -> str:
    line = f"from cell.{module} import {', '.join(names)}"
    if len(line) <= COLUMNS:
        return line
    return f"from cell.{module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def code(value: object, last: Code | None = None) -> Code:
    """Return an expression that makes a value.

    last: that of a similar value, whose parts that both have are not written again.
    """
    parts: Sequence[tuple[str, Any]]
    kind = type(value)
    if kind in _PLAIN:
        return Code(value, scalar(value))
    if last is not None and last.value == value:
        return last
    if kind is str:
        flat = scalar(value)
        if len(text := cast(str, value)) <= PIECE:
            return Code(value, flat)
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        written = [("", "", Code(piece, scalar(piece))) for piece in pieces]
        return Code(value, flat, "(", written, ")")
    named: tuple[type, ...] = ()
    if kind is tuple or kind is list:
        opening, closing = "()" if kind is tuple else "[]"
        parts = [("", item) for item in cast(Sequence[object], value)]
    elif isinstance(value, Mapping):
        opening, closing = "{", "}"
        parts = [(f"{scalar(name)}: ", item) for name, item in value.items()]
    elif dataclasses.is_dataclass(value):
        opening, closing, named = f"{kind.__name__}(", ")", (kind,)
        parts = _arguments(value)
    else:
        return Code(value, scalar(value))
    written = []
    before = last.parts if last is not None else ()
    for number, (prefix, part) in enumerate(parts):
        similar = before[number] if number < len(before) else None
        if similar and similar[1] == prefix and similar[2].value is part:
            written.append(similar)
            continue
        inner = code(part, similar[2] if similar else None)
        written.append((comment_of(part) if inner.opening else "", prefix, inner))
    # The last one has no comma behind it, or one without a space.
    alone = len(written) == 1 and kind is tuple
    inside = ", ".join([prefix + part.flat for _, prefix, part in written]) + "," * alone
    classes = frozenset(named).union(*[part.classes for _, _, part in written if part.opening])
    return Code(value, opening + inside + closing, opening, written, closing, classes)


_PLAIN = frozenset((int, bool, float, type(None)))


def scalar(value: object) -> str:
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
    ordered = sorted(dataclasses.fields(kind), key=lambda field: field.kw_only is True)
    return tuple(
        (
            field.name,
            field.default_factory is not dataclasses.MISSING or field.default == (),
            field.default,
        )
        for field in ordered
        if field.name not in ORIGIN and field.type != "Line"
    )
