"""A text as pieces to print one after the other: tokens and comments, and what they are."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fairc.dsl.core.source import Source

from . import syntax

COMMENT = "COMMENT"
OPENERS = {"CALL": "_RPAR", "_LPAR": "_RPAR", "_LSQB": "_RSQB", "_LBRACE": "_RBRACE"}
CLOSERS = frozenset(OPENERS.values())

ITEMS = (
    syntax.Setting,
    syntax.Binding,
    syntax.Change,
    syntax.Cycle,
    syntax.Outage,
    syntax.Outages,
)
KEYED = (syntax.Setting, syntax.Binding, syntax.Let, syntax.Metric, syntax.Parameter)


@dataclass(frozen=True, slots=True)
class Piece:
    """A token or a comment.

    kind: the token's name in the grammar.
    start: its offset in the source; -1 for a comma that is added.
    lines: line ends between the piece before it and this one.
    line, column: where it stood, from 1 and from 0.
    """

    kind: str
    text: str
    start: int
    lines: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Marks:
    """The offsets that the syntax tree tells.

    declarations: where a declaration begins, and whether it is a block.
    statements: what begins a line of its own.
    items: what may share a line.
    keys: what is followed by an `=` that is lined up.
    spread: braces whose contents always stand on lines of their own.
    tuples: parentheses around a tuple, and whether it has one item.
    indexes: the brackets that open an index.
    """

    declarations: dict[int, bool]
    statements: frozenset[int]
    items: frozenset[int]
    keys: frozenset[int]
    spread: frozenset[int]
    tuples: dict[int, bool]
    indexes: frozenset[int]


def pieces(source: Source, tokens: Iterable[tuple[str, str, int]]) -> list[Piece]:
    """Return the pieces of a text; tokens: the kind, the text and the offset of each of its
    tokens.
    """
    found: list[Piece] = []
    end = 0
    for kind, text, start in tokens:
        found.extend(_between(source, end, start))
        found.append(_piece(source, kind, text, start, end if not found else _end(found[-1])))
        end = start + len(text)
    found.extend(_between(source, end, len(source.text)))
    return [piece for piece in found if piece.text]


def marks(tree: syntax.File, found: list[Piece]) -> Marks:
    """Return what the tree says about the pieces of its text."""
    declarations = {
        d.span.start: isinstance(d, syntax.Topology | syntax.Experiment) for d in tree.declarations
    }
    statements = set(declarations)
    items: set[int] = set()
    keys: set[int] = set()
    tuples: dict[int, bool] = {}
    spread: set[int] = set()
    indexes: set[int] = set()
    amended = {n.body.span.start for n in tree.walk() if isinstance(n, syntax.With)}
    braces = [p.start for p in found if p.kind == "_LBRACE"]
    brackets = [p.start for p in found if p.kind == "_LSQB"]
    for node in tree.walk():
        if isinstance(node, syntax.Experiment):
            statements.update(s.span.start for s in node.statements)
            spread.add(braces[bisect_right(braces, node.name.span.start)])
        elif isinstance(node, syntax.Body):
            elements = (e.span.start for e in node.elements)
            if node.span.start in amended:
                items.update(elements)
            else:
                statements.update(elements)
                spread.add(node.span.start)
        elif isinstance(node, syntax.Report):
            items.update(f.span.start for f in node.figures)
        elif isinstance(node, syntax.TupleOf):
            tuples[node.span.start] = len(node.items) == 1
        elif isinstance(node, syntax.Binding) and node.is_tuple:
            tuples[node.span.start] = False
        elif isinstance(node, syntax.Reference | syntax.Name) and node.index:
            indexes.add(brackets[bisect_right(brackets, node.span.start)])
        if isinstance(node, ITEMS):
            items.add(node.span.start)
        if isinstance(node, KEYED) or (isinstance(node, syntax.Flow) and node.base is not None):
            keys.add(node.span.start)
    return Marks(
        declarations,
        frozenset(statements),
        frozenset(items),
        frozenset(keys),
        frozenset(spread),
        tuples,
        frozenset(indexes),
    )


def partners(found: list[Piece]) -> dict[int, int]:
    """Return, for the index of each opening bracket, that of the closing one."""
    stack: list[int] = []
    pairs: dict[int, int] = {}
    for index, piece in enumerate(found):
        if piece.kind in OPENERS:
            stack.append(index)
        elif piece.kind in CLOSERS:
            pairs[stack.pop()] = index
    return pairs


def with_commas(found: list[Piece], what: Marks) -> list[Piece]:
    """Return the pieces with commas where they belong.

    A comma follows what it separates, before any comment. The last item has one exactly if the
    closing bracket stands on a line of its own, or if a tuple has one item.
    """
    result: list[Piece] = []
    closing = {close: open_ for open_, close in partners(found).items()}
    for index, piece in enumerate(found):
        if piece.kind == "_COMMA":
            result.insert(_behind_code(result), replace(piece, lines=0))
        elif index in closing and _may_trail(found[closing[index]], what):
            _trail(result, piece, what.tuples.get(found[closing[index]].start, False))
            result.append(piece)
        else:
            result.append(piece)
    return result


def _may_trail(opener: Piece, what: Marks) -> bool:
    listed = opener.kind in ("CALL", "_LSQB") and opener.start not in what.indexes
    return listed or opener.start in what.tuples


def _trail(result: list[Piece], closer: Piece, needed: bool) -> None:
    at = _behind_code(result)
    last = result[at - 1]
    own_line = closer.lines > 0 or at < len(result)
    if last.kind in OPENERS:
        return
    if last.kind == "_COMMA":
        if not own_line and not needed:
            del result[at - 1]
    elif own_line:
        result.insert(at, Piece("_COMMA", ",", -1, 0, last.line, last.column + len(last.text)))


def _behind_code(result: list[Piece]) -> int:
    """Return the index after the last piece that is not a comment."""
    at = len(result)
    while result[at - 1].kind == COMMENT:
        at -= 1
    return at


def _between(source: Source, start: int, end: int) -> Iterator[Piece]:
    """Yield the comments of a gap between two tokens."""
    before = start
    for match in re.finditer(r"#[^\n]*", source.text[start:end]):
        at = start + match.start()
        yield _piece(source, COMMENT, match[0].rstrip(), at, before)
        before = start + match.end()


def _piece(source: Source, kind: str, text: str, start: int, before: int) -> Piece:
    line, column = source.position(start)
    lines = source.text.count("\n", before, start)
    return Piece(kind, text, start, lines, line, column - 1)


def _end(piece: Piece) -> int:
    return piece.start + len(piece.text)
