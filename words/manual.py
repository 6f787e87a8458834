"""Manual pages of all words, as data for `fairc show`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import Kind, Lists, Quantities
from fairc.dsl.core.units import UNITS

from .distributions import Random
from .presets import Preset
from .reference import BLOCKS, WORDS_OF
from .sizes import Sizes
from .statements import FUNCTIONS, STATEMENTS

KEYS = "keys of "
"""How the families of keys begin, one for each block; their names do not hide a family: `cca` means
the family of CCAs.
"""


@dataclass(frozen=True)
class Field:
    """A parameter or a key: its kind, the units it takes, its default, as text."""

    name: str
    kind: str
    units: tuple[str, ...]
    default: str | None
    required: bool
    summary: str
    runs: bool


@dataclass(frozen=True)
class Page:
    """A word: its family, a line about it, its fields; values and unit of a metric; a preset's
    text.
    """

    name: str
    family: str
    summary: str
    runs: bool
    fields: tuple[Field, ...] = ()
    values: tuple[str, ...] = ()
    unit: str = ""
    text: str = ""


def families() -> dict[str, list[Page]]:
    """Return the pages of every word, by family."""
    found = {
        _family(title): [_page(entry, title) for entry in registry] for title, registry in WORDS_OF
    }
    blocks = [(title.split("`")[1], keys) for title, keys in BLOCKS]
    found["blocks"] = [
        Page(name, "blocks", f"the keys of `{name}`", True, tuple(map(_field, keys)))
        for name, keys in blocks
    ]
    found |= {
        family: [
            Page(s.name, family, f"{s.summary} (in {s.where})", True, text=s.example)
            for s in written
        ]
        for family, written in (("statements", STATEMENTS), ("functions", FUNCTIONS))
    }
    found |= {
        f"{KEYS}{name}": [
            Page(key.name, f"{KEYS}{name}", key.summary, key.runs, (_field(key),)) for key in keys
        ]
        for name, keys in blocks
    }
    return found


def _family(title: str) -> str:
    """Return a title as people type it: in lower case, except for abbreviations."""
    return " ".join(word if word[:2].isupper() else word.lower() for word in title.split())


def _page(entry: Entry, family: str) -> Page:
    return Page(
        entry.name,
        _family(family),
        entry.summary,
        entry.runs,
        tuple(map(_field, entry.parameters)),
        tuple(f"{entry.name}.{value}" for value in entry.values),
        entry.unit,
        entry.text if isinstance(entry, Preset) else "",
    )


def _field(parameter: Parameter[Any]) -> Field:
    return Field(
        parameter.name,
        parameter.kind.phrase,
        tuple(units(parameter.kind)),
        parameter.unless_given or None,
        parameter.required,
        parameter.summary,
        parameter.runs,
    )


def units(kind: Kind[object]) -> Iterable[str]:
    """Yield the units that a value of a kind may have."""
    if isinstance(kind, Random | Sizes):
        yield from units(kind.quantity)
    elif isinstance(kind, Quantities):
        for dimension in kind.dimensions:
            yield from (n for n, unit in UNITS.items() if n and unit.dimension == dimension)
    elif isinstance(kind, Lists):
        yield from units(kind.item)
