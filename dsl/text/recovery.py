"""Reads a file with a syntax error without the statement that has it, so one error does not hide all others.

The statement is blanked, so everything else keeps its line and column. It is found by its braces: it begins
on the last line before the error at which only the blocks around it are open, and ends with the first line
after the error for which the same holds. What follows from its absence is not news (`Recovered.is_news`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Severity
from fairc.dsl.core.source import Source

from . import syntax
from .parser import parse, parse_blanked
from .slips import SLIP_LIMIT

_PARTS = re.compile(r'#[^\n]*|"(?:[^"\\\n]|\\.)*"|[][(){}\n]')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

OF_ABSENCE = re.compile(
    r"missing-.*|no-.*|unknown-(?:name|node|flow|users|topology|policer)|not-an-axis|not-measured"
    r"|unused-name|nothing-.*|empty-.*|endless|circular|unreachable"
)
"""Codes for something missing: it may be in the part that was left out."""


@dataclass(frozen=True)
class Recovered:
    """A file as far as it can be read; file: None if none of it can.

    found: the syntax errors. lost: the names in what was left out.
    """

    file: syntax.File | None
    found: tuple[Diagnostic, ...] = ()
    lost: frozenset[str] = frozenset()

    def is_news(self, diagnostic: Diagnostic) -> bool:
        """Return whether a finding in the rest is independent, not a consequence of what was left out."""
        if not self.found:
            return True
        if diagnostic.severity is not Severity.ERROR or OF_ABSENCE.fullmatch(diagnostic.code):
            return False
        places = [diagnostic.span, *(label.span for label in diagnostic.labels)]
        return not any(self.lost & set(_NAME.findall(place.text)) for place in places if place)


def read(source: Source) -> Recovered:
    """Return a file without the statements that have syntax errors."""
    try:
        return Recovered(parse(source))
    except CompileError as error:
        found = list(error.diagnostics)
    text, lost = source.text, set[str]()
    while len(found) < SLIP_LIMIT:
        last = found[-1]
        if last.code == "unexpected-end" or last.span is None:
            break
        begin, end = statement(text, last.span.start)
        if not text[begin:end].strip():
            break
        lost |= set(_NAME.findall(text[begin:end]))
        text = text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]
        try:
            return Recovered(parse_blanked(source, text), tuple(found), frozenset(lost))
        except CompileError as error:
            known = {(d.code, d.span.start if d.span else -1) for d in found}
            fresh = [
                d
                for d in error.diagnostics
                if (d.code, d.span.start if d.span else -1) not in known
            ]
            if not fresh or fresh[-1].code == "unexpected-end":
                break
            found += fresh
    return Recovered(None, tuple(found))


def statement(text: str, offset: int) -> tuple[int, int]:
    """Return where the statement around an offset begins and ends."""
    begin = 0
    stack: list[str] = []
    for at, sign in _signs(text[:offset]):
        if sign in "([{":
            stack.append(sign)
            if sign == "{":
                begin = at + 1
        elif sign in ")]}":
            if stack:
                stack.pop()
        elif not stack or stack[-1] == "{":
            begin = at + 1
    depth = 0
    for at, sign in _signs(text[offset:]):
        at += offset
        if sign == "{":
            depth += 1
        elif sign == "}":
            if not depth:
                return begin, at
            depth -= 1
        elif sign == "\n" and not depth and _closed(text[begin:at]):
            return begin, at
    return begin, len(text)


def _closed(text: str) -> bool:
    """Return whether all brackets of a text are closed, or it is so long (over three lines) that one was forgotten."""
    signs = [sign for _, sign in _signs(text)]
    return signs.count("(") + signs.count("[") <= signs.count(")") + signs.count("]") or (
        signs.count("\n") > 3
    )


def _signs(text: str) -> Iterator[tuple[int, str]]:
    """Yield brackets and line ends outside strings and comments, with their offsets."""
    for match in _PARTS.finditer(text):
        if match[0][0] not in '#"':
            yield match.start(), match[0]
