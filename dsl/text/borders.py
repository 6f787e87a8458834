"""Borders of statements and blocks, by brackets and lines alone: the text need not parse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

CLOSING = {"(": ")", "[": "]", "{": "}"}

MOST_LINES = 3
"""A bracket that is open for more lines than this was forgotten."""

_PARTS = re.compile(r'#[^\n]*|"(?:[^"\\\n]|\\.)*(?P<closed>")?|[][(){}\n]')
_UNCLOSED = re.compile(r"#[^\n]*|[][(){}]")
"""The parts behind a quote that nothing closes on its line: no other quote there is closed, so none
is tried, which would take the square of their number.
"""
_STATEMENT = re.compile(
    r"[ \t]*(?:[A-Za-z_]\w*[ \t]*=(?!=)|[A-Za-z_]\w*[ \t]+[A-Za-z_\w]*[ \t]*\{)"
)
"""A line that begins a setting or a block."""

_CONTENT = re.compile(r"(?P<indent>[ \t]*)[^\s#)}\]]")


class Dedent(NamedTuple):
    """The brace that opens a block, and the beginning of a line that seems to be behind the
    block.
    """

    brace: int
    line: int


def _signs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the brackets and line ends of a text, outside strings and comments, with their
    places.
    """
    for match in _PARTS.finditer(text):
        sign = match[0][0]
        if sign not in '#"':
            yield match.start(), sign
        elif sign == '"' and not match["closed"]:
            for inner in _UNCLOSED.finditer(text, match.start(), match.end()):
                if inner[0][0] != "#":
                    yield inner.start(), inner[0]


class Borders:
    """The brackets and line ends of a text, outside strings and comments."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _signs(self) -> list[tuple[int, str]]:
        return list(_signs(self._text))

    @cached_property
    def surplus(self) -> int:
        """The number of open braces less that of closed ones."""
        signs = [sign for _, sign in self._signs]
        return signs.count("{") - signs.count("}")

    def unclosed(self, before: int) -> int | None:
        """Return the innermost bracket that is open at an offset."""
        stack: list[int] = []
        for at, sign in self._signs:
            if at >= before:
                break
            if sign in CLOSING:
                stack.append(at)
            elif sign != "\n" and stack:
                stack.pop()
        return stack[-1] if stack else None

    def statement(self, offset: int) -> tuple[int, int]:
        """Return where the statement around an offset begins and ends.

        It begins on the last line before the offset at which only the blocks around it are open,
        and ends with the first line after it for which the same holds, or before the offset if the
        next statement begins there.
        """
        begin = 0
        stack: list[str] = []
        later = len(self._signs)
        for index, (at, sign) in enumerate(self._signs):
            if at >= offset:
                later = index
                break
            if sign in CLOSING:
                stack.append(sign)
                if sign == "{":
                    begin = at + 1
            elif sign != "\n":
                if stack:
                    stack.pop()
            elif not stack or stack[-1] == "{":
                begin = at + 1
        line = self._text.rfind("\n", 0, offset) + 1
        if begin < line and _STATEMENT.match(self._text, line):
            return begin, line
        depth = 0
        for at, sign in self._signs[later:]:
            if sign == "{":
                depth += 1
            elif sign == "}":
                if not depth:
                    return begin, at
                depth -= 1
            elif sign == "\n" and not depth and self._closed(begin, at):
                return begin, at
        return begin, len(self._text)

    def _closed(self, begin: int, end: int) -> bool:
        """Return whether all brackets of a part are closed, or one was forgotten."""
        text = self._text[begin:end]
        signs = [sign for _, sign in _signs(text)]
        return signs.count("(") + signs.count("[") <= signs.count(")") + signs.count("]") or (
            signs.count("\n") > MOST_LINES
        )

    @cached_property
    def outdented(self) -> Dedent | None:
        """The first line in a block that is indented no more than the line that opens the block."""
        stack: list[tuple[str, int, int]] = []
        indent = self._indent(0) or 0
        for at, sign in self._signs:
            if sign in CLOSING:
                stack.append((sign, at, indent))
            elif sign != "\n":
                if stack:
                    stack.pop()
            else:
                begun = self._indent(at + 1)
                if begun is None:
                    continue
                indent = begun
                if stack and stack[-1][0] == "{" and indent <= stack[-1][2]:
                    return Dedent(stack[-1][1], at + 1)
        return None

    def _indent(self, line: int) -> int | None:
        """Return the indentation of the line that begins at an offset; None if it only closes, or
        is empty.
        """
        match = _CONTENT.match(self._text, line)
        return len(match["indent"]) if match else None
