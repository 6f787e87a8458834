"""Diagnostics as text: in full with the source, one line each, or JSON; `runnable` makes them
strict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from .diagnostics import Diagnostic, Diagnostics, Label, Severity
from .source import Span, printable

LIMIT = 50
"""At most this many diagnostics are shown; the rest are only counted."""

WIDTH = 160
"""Longer source lines are cut around the caret."""

_RED, _YELLOW, _BLUE, _BOLD, _OFF = "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"


def runnable(diagnostics: Iterable[Diagnostic]) -> Diagnostics:
    """Return the diagnostics with every `not-yet` warning made an error, for `plan` and later."""
    return Diagnostics(
        replace(d, severity=Severity.ERROR) if d.code == "not-yet" else d for d in diagnostics
    )


def render_full(diagnostics: Iterable[Diagnostic], colour: bool = False) -> str:
    """Return each diagnostic with its source lines, carets, notes and help.

    colour: whether to use ANSI escapes. The text ends with a newline unless it is empty.
    """
    found = list(diagnostics)
    parts = [_full(d, colour) for d in found[:LIMIT]]
    if len(found) > LIMIT:
        parts.append(f"... and {len(found) - LIMIT} more\n")
    return "\n".join(parts)


def render_concise(diagnostics: Iterable[Diagnostic]) -> str:
    """Return one line per diagnostic: `file:line:column: severity[code]: message`."""
    lines = []
    for d in diagnostics:
        where = f"{d.span.source.name}:{d.span.line}:{d.span.column}: " if d.span else ""
        note = f" ({d.note})" if d.note else ""
        lines.append(f"{_safe(where)}{d.severity.value}[{d.code}]: {_safe(d.message + note)}\n")
    return "".join(lines)


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Return one workflow command per diagnostic, which GitHub shows beside the line: `::error
    file=...,line=...::message`.
    """
    lines = []
    for d in diagnostics:
        about = {"title": d.code}
        if d.span:
            place = _place(d.span)
            about |= {
                "file": d.span.source.name,
                "line": str(d.span.line),
                "col": str(d.span.column),
            }
            if place["end_line"] == d.span.line:
                about["endColumn"] = str(place["end_column"])
        parts = [d.message, d.note, *d.remarks, *([f"help: {d.help}"] if d.help else [])]
        text = "\n".join(_safe(part) for part in parts if part)
        keys = ",".join(f"{key}={_github(value, ',:')}" for key, value in about.items())
        lines.append(f"::{d.severity.value} {keys}::{_github(text)}\n")
    return "".join(lines)


def _github(text: str, more: str = "") -> str:
    """Escape what ends a part of a workflow command; more: further characters that do."""
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Return a JSON array with one object per diagnostic; docs/reference/diagnostics.md has the
    schema.
    """
    return json.dumps([_object(d) for d in diagnostics], indent=2, ensure_ascii=False) + "\n"


def _object(d: Diagnostic) -> dict[str, object]:
    return {
        "code": d.code,
        "severity": d.severity.value,
        "message": d.message,
        "place": _place(d.span) if d.span else None,
        "note": d.note,
        "labels": [{"place": _place(label.span), "text": label.text} for label in d.labels],
        "notes": list(d.remarks),
        "help": d.help,
    }


def _place(span: Span) -> dict[str, object]:
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "line": span.line,
        "column": span.column,
        "end_line": end_line,
        "end_column": end_column,
        "start": span.start,
        "end": span.end,
    }


def _full(d: Diagnostic, colour: bool) -> str:
    def paint(style: str, text: str) -> str:
        return f"{style}{text}{_OFF}" if colour else text

    tone = _RED if d.severity is Severity.ERROR else _YELLOW
    head = f"{d.severity.value}[{d.code}]"
    lines = [paint(tone, head) + paint(_BOLD, f": {_safe(d.message)}")]
    marks = [Label(d.span, d.note)] if d.span else []
    marks += d.labels
    gutter = max((len(str(m.span.line)) for m in marks), default=1)
    bar = paint(_BLUE, " " * gutter + " |")
    for group in _by_source(marks):
        first = group[0]
        is_main = first is marks[0]
        arrow = "-->" if is_main else ":::"
        place = f"{first.span.source.name}:{first.span.line}:{first.span.column}"
        lines.append(f"{' ' * gutter}{paint(_BLUE, arrow)} {_safe(place)}")
        lines.append(bar)
        shown = sorted({m.span.line for m in group})
        for previous, number in zip([None, *shown], shown, strict=False):
            if previous is not None and number > previous + 1:
                lines.append(paint(_BLUE, "..."))
            here = sorted((m for m in group if m.span.line == number), key=lambda m: m.span.start)
            cut = _cut(here)
            text = _visible(here[0].span.source.line(number))[cut : cut + WIDTH]
            lines.append(f"{paint(_BLUE, f'{number:>{gutter}} |')} {text}".rstrip())
            for mark in here:
                main = mark is marks[0]
                lines.append(f"{bar} {paint(tone if main else _BLUE, _caret(mark, main, cut))}")
    lines += [f"{' ' * gutter} = note: {_safe(note)}" for note in d.remarks]
    if d.help:
        lines.append(f"{paint(_BOLD, 'help')}: {_safe(d.help)}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _by_source(marks: list[Label]) -> list[list[Label]]:
    groups: dict[int, list[Label]] = {}
    for mark in marks:
        groups.setdefault(id(mark.span.source), []).append(mark)
    return list(groups.values())


def _cut(marks: list[Label]) -> int:
    """Return how many characters to leave out at the left of a long line."""
    line = marks[0].span.source.line(marks[0].span.line)
    if len(line) <= WIDTH:
        return 0
    return max(0, min(marks[0].span.column - 1 - WIDTH // 2, len(line) - WIDTH))


def _caret(mark: Label, main: bool, cut: int) -> str:
    span = mark.span
    line = span.source.line(span.line)
    start = min(span.column - 1, len(line))
    end = min(len(line), start + max(1, span.end - span.start))
    wide = max(1, min(end, cut + WIDTH) - start)
    return f"{' ' * (start - cut)}{('^' if main else '-') * wide} {_safe(mark.text)}".rstrip()


def _visible(line: str) -> str:
    """Return a line as a terminal may show it: a tab is one space wide, like its caret."""
    return _safe(line.replace("\t", " "))


def _safe(text: str) -> str:
    """Replace what would move the cursor or reorder the line."""
    return printable(text, "�")
