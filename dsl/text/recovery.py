"""Recovery from syntax errors: the file without the statements that have them.

One error does not hide all others. What follows from the absence of these statements is not
reported (`PartialFile.is_independent`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Severity
from fairc.dsl.core.source import Source

from . import syntax
from .borders import Borders
from .parser import parse_leniently

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARED = re.compile(
    r"(?:flow|users|let|metric|service|topology|template|experiment|pep|policer|nat|tunnel|node|router"
    r"|sweep)\b(?P<after>[^=]*)"
    r"|\b(?P<key>[A-Za-z_]\w*)\s*=(?!=)|\((?P<bound>[\w\s,]*)\)\s*=(?!=)"
)

OF_ABSENCE = re.compile(
    r"missing-key|no-.*|unused-name|nothing-.*|empty-.*|endless|circular|unreachable"
)
"""Codes for something missing: it may be in the part that was left out."""

OF_NAMES = re.compile(r"unknown-(?:name|node|flow|users|topology|policer)|not-an-axis")
"""Codes for names that nothing declares: what was left out may have."""


@dataclass(frozen=True)
class PartialFile:
    """A file as far as it can be read; file: None if none of it can.

    found: the syntax errors.
    named: the names in what was left out.
    lost: those that it may have declared.
    end: from here on, blocks may be other ones than they seem: one before it was not closed.
    """

    file: syntax.File | None
    found: tuple[Diagnostic, ...] = ()
    named: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    end: int | None = None

    def is_independent(self, diagnostic: Diagnostic) -> bool:
        """Return whether a finding in the rest is independent, not a consequence of what was left
        out.
        """
        if not self.found:
            return True
        if diagnostic.severity is not Severity.ERROR or OF_ABSENCE.fullmatch(diagnostic.code):
            return False
        span = diagnostic.span
        if self.end is not None and (span is None or span.start >= self.end):
            return False
        gone = self.named if OF_NAMES.fullmatch(diagnostic.code) else self.lost
        places = [span, *(label.span for label in diagnostic.labels)]
        return not any(gone & set(_NAME.findall(place.text)) for place in places if place)


def read(source: Source) -> PartialFile:
    """Return a file without the statements that have syntax errors."""
    try:
        file, found, dropped = parse_leniently(source)
    except CompileError as error:
        return PartialFile(None, error.diagnostics)
    named = frozenset(name for text in dropped for name in _NAME.findall(text))
    lost = frozenset(
        name
        for text in dropped
        for match in _DECLARED.finditer(text)
        for name in _NAME.findall(match[match.lastgroup or 0])
    )
    end = None
    if any(diagnostic.code == "unexpected-end" for diagnostic in found):
        outdented = Borders(source.text).outdented
        end = outdented.line if outdented else None
    return PartialFile(file, tuple(found), named, lost, end)
