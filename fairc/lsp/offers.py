"""Completion: keys, statements, values, units and names that fit at the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from fairc.cli.show import described
from fairc.words.manual import KEYS, Field, Page

from .cursor import Cursor
from .places import Declaration

Pages = dict[str, list[Page]]
"""The manual: pages by family."""

_LITERALS = re.compile(r"`(\w+)(?:\(\.\.\.\))?`")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_DECLARED = re.compile(
    r"\b(?:the name of )?(?:an? )?(flow|node|router|users|metric|topology|swept)\b"
)
_SORTS = {"router": "node", "swept": "axis"}
"""The names of the sorts of declarations in descriptions."""

_VALUES = ("let", "axis", "parameter")
"""Declarations whose names stand for values, wherever one is written."""

_IN_BLOCKS = {"report": "figures", "precision": "metrics"}
"""Blocks that hold words of a family, not keys."""


class Sort(Enum):
    """The kind of an offer; an editor shows a picture for it."""

    KEY = "key"
    STATEMENT = "statement"
    WORD = "word"
    UNIT = "unit"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Offer:
    """A completion. text: what replaces the typed part. page: Markdown that explains it."""

    label: str
    sort: Sort
    text: str
    detail: str = ""
    page: str = ""


def offers(cursor: Cursor, pages: Pages, declared: Iterable[Declaration]) -> list[Offer]:
    """Return what may stand at a cursor, the most specific first."""
    named = list(declared)
    field = _field(cursor, pages)
    number = _NUMBER.match(cursor.typed)
    if number:
        units = field.units if field else ()
        return [Offer(number[0] + unit, Sort.UNIT, number[0] + unit) for unit in units]
    if cursor.call and isinstance(cursor.argument, int):
        found = [*_arguments(cursor.call, pages), *_values(field, pages, named)]
    elif cursor.key or cursor.call:
        found = list(_values(field, pages, named))
    elif cursor.block in _IN_BLOCKS:
        found = list(_words(pages[_IN_BLOCKS[cursor.block]]))
    else:
        found = [*_keys(cursor.block, pages), *_statements(cursor.block, pages)]
    return list(dict.fromkeys(found))


def _field(cursor: Cursor, pages: Pages) -> Field | None:
    """Return the key or the parameter whose value is written at a cursor."""
    if not cursor.call:
        found = [p.fields[0] for p in pages.get(KEYS + cursor.block, ()) if p.name == cursor.key]
        return found[0] if found else None
    fields = list(_parameters(cursor.call, pages))
    if isinstance(cursor.argument, str):
        return next((field for field in fields if field.name == cursor.argument), None)
    return fields[cursor.argument] if cursor.argument < len(fields) else None


def _parameters(call: str, pages: Pages) -> Iterator[Field]:
    """Yield the parameters of every word of a name: a CCA may run over two transports."""
    name, seen = call.partition(".")[0], set()
    for family, members in pages.items():
        if family == "blocks" or family.startswith(KEYS):
            continue
        for page in members:
            if page.name != name:
                continue
            for field in page.fields:
                if field.name not in seen:
                    seen.add(field.name)
                    yield field


def _arguments(call: str, pages: Pages) -> Iterator[Offer]:
    for field in _parameters(call, pages):
        yield Offer(field.name, Sort.KEY, f"{field.name}: ", field.kind, _about(field))


def _keys(block: str, pages: Pages) -> Iterator[Offer]:
    for page in pages.get(KEYS + block, ()):
        (field,) = page.fields
        yield Offer(page.name, Sort.KEY, f"{page.name} = ", field.kind, _about(field))


def _statements(block: str, pages: Pages) -> Iterator[Offer]:
    where = f"`{block}`" if block else "file"
    for page in pages["statements"]:
        if where in page.summary or (not block and "first line" in page.summary):
            yield Offer(page.name, Sort.STATEMENT, page.name, page.summary, markdown(page))


def _values(field: Field | None, pages: Pages, declared: list[Declaration]) -> Iterator[Offer]:
    """Yield what a key or parameter takes, as its description says, then every name of a value."""
    kind = field.kind if field else ""
    for family, members in pages.items():
        if re.search(rf"\ban? {_singular(family)}\b", kind):
            yield from _words(members)
    for literal in _LITERALS.findall(kind):
        yield Offer(literal, Sort.WORD, literal)
    wanted = {*_VALUES, *(_SORTS.get(what, what) for what in _DECLARED.findall(kind))}
    for one in declared:
        if one.sort in wanted:
            yield Offer(one.name, Sort.NAME, one.name, one.sort)


def _words(members: Iterable[Page]) -> Iterator[Offer]:
    for page in members:
        if page.runs:
            yield Offer(page.name, Sort.WORD, page.name, page.summary, markdown(page))
            for value in page.values:
                yield Offer(value, Sort.WORD, value, page.summary)


def _singular(family: str) -> str:
    """Return what one member of a family is called: `CCA` for `CCAs over TCP`."""
    plural = family.partition(" over ")[0].partition(" of ")[0]
    return plural.removesuffix("ies") + "y" if plural.endswith("ies") else plural.removesuffix("s")


def _about(field: Field) -> str:
    default = f"\n\ndefault: `{field.default}`" if field.default else ""
    return f"{field.summary}{default}"


def markdown(page: Page) -> str:
    """Return a page of the manual as Markdown."""
    lines = list(described(page))
    if page.text and page.family == "topologies":
        return f"**{page.name}**: {page.summary}\n\n```fexp\n{page.text.strip()}\n```"
    head, *rest = lines
    body = "\n".join(rest).strip("\n")
    return f"**{page.name}**{head.removeprefix(page.name)}" + (
        f"\n\n```text\n{body}\n```" if body else ""
    )
