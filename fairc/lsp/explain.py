"""Hover: the manual's page of the word under the cursor."""

from __future__ import annotations

from fairc.cli.show import with_definition
from fairc.words.manual import KEYS, Page

from .cursor import Cursor
from .offers import Pages, markdown


def explanation(word: str, cursor: Cursor, pages: Pages, is_key: bool) -> str:
    """Return Markdown about a word; empty if the manual has no page of it.

    is_key: whether `=` or `:` follows it.
    """
    found = _page(word, cursor, pages, is_key)
    return "\n\n---\n\n".join(markdown(with_definition(page)) for page in found)


def _page(word: str, cursor: Cursor, pages: Pages, is_key: bool) -> list[Page]:
    if is_key and not cursor.call:
        return [page for page in pages.get(KEYS + cursor.block, ()) if page.name == word]
    if is_key:
        parameters = _of_call(cursor.call, pages)
        return [
            Page(word, f"parameter of {cursor.call}", field.summary, field.runs, (field,))
            for page in parameters
            for field in page.fields
            if field.name == word
        ][:1]
    named = [page for page in _words(pages) if page.name == word]
    if not named and "." in word:
        named = [page for page in pages["metrics"] if word in page.values]
    return named


def _of_call(call: str, pages: Pages) -> list[Page]:
    return [page for page in _words(pages) if page.name == call.partition(".")[0]]


def _words(pages: Pages) -> list[Page]:
    left_out = ("blocks", "units", "targets", "engines")
    return [
        page
        for family, members in pages.items()
        if family not in left_out and not family.startswith(KEYS)
        for page in members
    ]
