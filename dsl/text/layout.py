"""The canonical layout of a file, for `fairc fmt`: tokens and comments printed again.

Line breaks are the author's, as are the words and their order; everything between them follows
rules (docs/learn/language/layout.md). A gap that lines something up with the line above or below
stays, so tables stay tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairc.dsl.core.source import Source

from .parser import parse_with_tokens
from .pieces import CLOSERS, COMMENT, OPENERS, Marks, Piece, marks, partners, pieces, with_commas

INDENT = 2
BETWEEN_STATEMENTS = 2
"""Spaces between settings on one line; one more is the author's choice."""

NO_BREAK_BEFORE = frozenset(
    {
        *("_EQUALS", "_COLON", "_COMMA", "_DOT", "_DOTDOT", "_LBRACE", "ARROW"),
        *("FROM", "TO", "OVER", "EXTENDS", "WITH"),
    }
)
NO_BREAK_AFTER = frozenset(
    {
        *("_DOT", "_DOTDOT", "ARROW"),
        *("FEXP", "IMPORT", "LET", "METRIC", "SERVICE", "TOPOLOGY", "TEMPLATE", "EXPERIMENT"),
        *("EXTENDS", "FLOW", "USERS", "SWEEP", "HOSTS", "REPORT", "CLAIM", "EXCLUDE", "PRECISION"),
        *("NODE", "ROUTER", "LINK", "PEP", "POLICER", "TUNNEL"),
        *("AT", "OVER", "EVERY", "DOWN", "FROM", "TO", "FOR", "WHEN", "WITH"),
    }
)
TIGHT_BEFORE = frozenset({"_COMMA", "_COLON", "_RPAR", "_RSQB", "_DOT", "_DOTDOT"})
TIGHT_AFTER = frozenset({"CALL", "_LPAR", "_LSQB", "_DOT", "_DOTDOT"})
ENDS_A_VALUE = frozenset({"QUANTITY", "NAME", "STRING", "_RPAR", "_RSQB"})
LINED_UP_AFTER = frozenset({"_COMMA", "_COLON"})
LINED_UP_BEFORE = frozenset({"_LBRACE", "FOR", "WHEN"})
LINED_UP_ALONE = frozenset({"LET", "METRIC", "FLOW"})
"""Beginnings of lines whose `=` is lined up only with those of lines that begin with the same."""

ADDED = 10**9
"""Places of commas that were added begin here, behind any text."""

PASSES = 50
"""Gaps only shrink from the second pass on, so few are needed."""


def layout(source: Source) -> str:
    """Return a file in its canonical layout. Raises CompileError if it does not parse."""
    tree, tokens = parse_with_tokens(source)
    found = pieces(source, tokens)
    what = marks(tree, found)
    text = ""
    for _ in range(PASSES):
        found = with_commas(found, what)
        lines = _lines(found, what, _breaks(found, what))
        _indent(lines, what)
        again, found = _Printer(found, what).text(lines)
        if again == text:
            break
        text = again
    return text


@dataclass
class _Line:
    """A line of the result: its pieces, and whether an empty line precedes it."""

    pieces: list[Piece] = field(default_factory=list)
    blank: bool = False
    indent: int = 0
    level: int = 0
    """Number of the block that the line is in; lines of one block are lined up."""


def _breaks(found: list[Piece], what: Marks) -> list[bool]:
    """Return for each piece whether it begins a line."""
    breaks = [_wanted(found, i, what) for i in range(len(found))]
    for opener, closer in partners(found).items():
        if found[opener].kind != "_LBRACE" or closer == opener + 1:
            if found[opener].kind == "_LBRACE":
                breaks[closer] = False
            continue
        inner = [i for i in range(opener + 1, closer + 1) if i == closer or _begins(found[i], what)]
        if (
            found[opener].start in what.spread
            or any(breaks[i] for i in inner)
            or breaks[opener + 1]
        ):
            trailing = found[opener + 1].kind == COMMENT and not breaks[opener + 1]
            breaks[opener + 1] = not trailing
            breaks[closer] = True
    return breaks


def _begins(piece: Piece, what: Marks) -> bool:
    return piece.start in what.items or piece.start in what.statements or piece.kind == COMMENT


def _wanted(found: list[Piece], index: int, what: Marks) -> bool:
    """Return whether a piece itself requires a new line."""
    piece = found[index]
    if index == 0:
        return True
    before = found[index - 1]
    if before.kind == COMMENT or piece.start in what.statements:
        return True
    if piece.kind != COMMENT and (piece.kind in NO_BREAK_BEFORE or before.kind in NO_BREAK_AFTER):
        return False
    return piece.lines > 0


def _lines(found: list[Piece], what: Marks, breaks: list[bool]) -> list[_Line]:
    lines: list[_Line] = []
    for index, piece in enumerate(found):
        if breaks[index]:
            before = found[index - 1] if index else None
            opened = before is None or before.kind in OPENERS
            blank = piece.lines > 1 and not opened and piece.kind not in CLOSERS
            lines.append(_Line(blank=blank))
        lines[-1].pieces.append(piece)
    _separate_declarations(lines, what)
    return lines


def _separate_declarations(lines: list[_Line], what: Marks) -> None:
    """Put an empty line between the version, blocks, and what surrounds them."""
    previous: bool | None = None
    for index, line in enumerate(lines):
        first = line.pieces[0]
        if first.kind == "FEXP" and first.start not in what.declarations:
            previous = True
        elif first.start in what.declarations:
            block = what.declarations[first.start]
            if previous is not None and (block or previous):
                top = index
                while not lines[top].blank and lines[top - 1].pieces[0].kind == COMMENT:
                    top -= 1
                lines[top].blank = True
            previous = block


def _indent(lines: list[_Line], what: Marks) -> None:
    """Set the indentation of every line, by the brackets that are open where it begins."""
    stack: list[tuple[int, bool, int]] = []  # indentation of what opened it, a brace?, number
    opened = 0
    for line in lines:
        first = line.pieces[0]
        inside, braced, line.level = stack[-1] if stack else (-INDENT, True, 0)
        line.indent = inside + INDENT
        if first.kind in CLOSERS:
            line.indent = inside
        elif braced and first.kind not in (COMMENT, "FEXP") and not _begins(first, what):
            line.indent += INDENT
        for piece in line.pieces:
            if piece.kind in OPENERS:
                opened += 1
                brace = piece.kind == "_LBRACE"
                base = (stack[-1][0] + INDENT if stack else 0) if brace else line.indent
                stack.append((base, brace, opened))
            elif piece.kind in CLOSERS:
                stack.pop()


def _run(line: _Line) -> tuple[int, str]:
    """Return what neighbouring lines have in common whose `=` are lined up."""
    kind = line.pieces[0].kind
    return line.level, kind if kind in LINED_UP_ALONE else ""


class _Printer:
    """Writes lines, with the gaps between their pieces."""

    def __init__(self, found: list[Piece], what: Marks) -> None:
        self._what = what
        self._starts: dict[int, set[int]] = {}
        self._ends: dict[int, set[int]] = {}
        self._comments: dict[int, set[int]] = {}
        for piece in found:
            if piece.kind == COMMENT:
                self._comments.setdefault(piece.line, set()).add(piece.column)
            elif piece.start >= 0:
                self._starts.setdefault(piece.line, set()).add(piece.column)
                self._ends.setdefault(piece.line, set()).add(piece.column + len(piece.text))

    def text(self, lines: list[_Line]) -> tuple[str, list[Piece]]:
        """Return all lines as a text, and the pieces where they stand in it."""
        written: list[str] = []
        placed: list[Piece] = []
        widths = self._widths(lines)
        for line, width in zip(lines, widths, strict=True):
            if line.blank:
                written.append("")
            text, columns = self._line(line, width)
            written.append(text)
            for piece, column in zip(line.pieces, columns, strict=True):
                apart = len(written) - (placed[-1].line if placed else 1)
                # A comma that was added begins nothing; a place of its own makes it one that was
                # written.
                start = piece.start if piece.start >= 0 else ADDED + len(placed)
                placed.append(Piece(piece.kind, piece.text, start, apart, len(written), column))
        return "\n".join(written) + "\n", placed

    def _widths(self, lines: list[_Line]) -> list[int]:
        """Return the column of each line's first `=`: consecutive lines share one."""
        widths = [0] * len(lines)
        runs: list[list[int]] = []
        for index, line in enumerate(lines):
            if line.pieces[0].start not in self._what.keys:
                continue
            goes_on = runs and runs[-1][-1] == index - 1 and not line.blank
            if not goes_on or _run(line) != _run(lines[index - 1]):
                runs.append([])
            runs[-1].append(index)
        for run in runs:
            widest = max(len(self._upto_equals(lines[index])) for index in run)
            for index in run:
                widths[index] = widest
        return widths

    def _upto_equals(self, line: _Line) -> str:
        text = ""
        for index, piece in enumerate(line.pieces):
            if piece.kind == "_EQUALS":
                break
            text += " " * (self._least(line.pieces, index) if index else 0) + piece.text
        return " " * line.indent + text

    def _line(self, line: _Line, width: int) -> tuple[str, list[int]]:
        """Return a line, and the columns of its pieces."""
        text = " " * line.indent
        columns: list[int] = []
        equals = False
        for index, piece in enumerate(line.pieces):
            if index:
                gap = self._gap(line.pieces, index, len(text))
                if piece.kind == "_EQUALS" and width and not equals:
                    gap, equals = max(gap, width + 1 - len(text)), True
                text += " " * gap
            columns.append(len(text))
            text += piece.text
        return text, columns

    def _gap(self, line: list[Piece], index: int, column: int) -> int:
        """Return the spaces before a piece: as few as possible, or as many as line it up."""
        before, piece = line[index - 1], line[index]
        if piece.kind == COMMENT:
            return self._distance(before, piece, column)
        least = self._least(line, index)
        if before.start < 0 or piece.lines:
            return least
        gap = piece.column - before.column - len(before.text)
        if gap > least and self._lined_up(before, piece):
            return gap
        between = piece.start in self._what.items and before.kind != "_LBRACE"
        return min(gap, BETWEEN_STATEMENTS + 1) if between and gap > least else least

    def _distance(self, before: Piece, piece: Piece, column: int) -> int:
        """Return the spaces before a trailing comment: unchanged, but at least two.

        Comments below each other keep their column.
        """
        if any(piece.column in self._comments.get(piece.line + step, ()) for step in (-1, 1)):
            return max(2, piece.column - column)
        moved = before.line != piece.line  # a comma that stood after the comment
        return 2 if moved else max(2, piece.column - before.column - len(before.text))

    def _lined_up(self, before: Piece, piece: Piece) -> bool:
        """Return whether a piece lines up with one above or below, and may be meant to."""
        if not (
            before.kind in LINED_UP_AFTER
            or piece.kind in LINED_UP_BEFORE
            or (piece.start in self._what.items and before.kind != "_LBRACE")
        ):
            return False
        end = piece.column + len(piece.text)
        near = (piece.line - 1, piece.line + 1)
        return any(
            piece.column in self._starts.get(line, ()) or end in self._ends.get(line, ())
            for line in near
        )

    def _least(self, line: list[Piece], index: int) -> int:
        """Return the fewest spaces that may stand before a piece."""
        before, piece = line[index - 1], line[index]
        if piece.kind in TIGHT_BEFORE or before.kind in TIGHT_AFTER:
            return 0
        if piece.start in self._what.indexes:
            return 0
        if (before.kind, piece.kind) == ("_LBRACE", "_RBRACE"):
            return 0
        if before.kind == "MINUS" and piece.kind != "MINUS":
            earlier = line[index - 2].kind if index > 1 else ""
            return int(earlier in ENDS_A_VALUE)
        if piece.start in self._what.items and before.kind != "_LBRACE":
            return BETWEEN_STATEMENTS
        return 1
