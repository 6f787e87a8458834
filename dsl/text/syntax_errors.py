"""Syntax errors: where the parser goes on behind one, and what is said of all of them.

What is wrong with a single token or character: mistakes.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.source import Source, Span

from .borders import CLOSING, Borders
from .expectations import expected, last_token, shortened, start_of
from .mistakes import BLOCKS, Unexpected, mistake, stray, unclosed

if TYPE_CHECKING:
    from lark import Token, Tree, UnexpectedInput
    from lark.parsers.lalr_interactive_parser import InteractiveParser

SLIP_LIMIT = 20
"""After this many repaired mistakes the rest of a file is not worth reading."""

DEEPEST = 6
"""Blocks are nested less deeply than this."""


def refuse_characters(source: Source) -> None:
    """Raise CompileError for characters that have no place in a text file.

    Control characters and those that reorder what a reader sees are refused everywhere, in
    comments too: a file must mean what it looks like.
    """
    found = []
    for match in re.finditer(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]",
        source.text,
    ):
        name = unicodedata.name(match[0], f"control character {ord(match[0])}").lower()
        found.append(
            Diagnostic(
                "invisible-character",
                f"the file contains an invisible character ({name})",
                Span(source, match.start(), match.end()),
                help="delete it",
            )
        )
        if len(found) == SLIP_LIMIT:
            break
    if found:
        raise CompileError(found)


class SyntaxErrors:
    """Collects the syntax errors of one file while the parser runs, and lets it go on behind each
    of them.

    A statement with an error is left out, so that one error does not hide the next. dropped: the
    parts of the text that were left out. surplus: a brace that closes too much, without which the
    text should be parsed again.
    """

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.text = text
        self.found: list[Diagnostic] = []
        self.dropped: list[str] = []
        self.surplus: int | None = None
        self._borders = Borders(text)
        self._braces = self._borders.surplus
        self._last = -1

    def watch(self, parse: Callable[[], Tree[Token]]) -> Tree[Token] | None:
        """Return what `parse` returns, or None if it gave up; errors are in `found`."""
        from lark import UnexpectedInput

        try:
            return parse()
        except UnexpectedInput:
            assert self.found, "the parser gave up without a report"
        return None

    def on_error(self, error: UnexpectedInput) -> bool:
        """Describe an error; return whether the parser can go on after it."""
        from lark import UnexpectedCharacters, UnexpectedToken

        if len(self.found) >= SLIP_LIMIT:
            return False
        parser = error.interactive_parser
        if isinstance(error, UnexpectedCharacters):
            offset = error.pos_in_stream
            assert offset is not None
            self.found.append(stray(self.source, offset))
            if self.text[offset] != ";":
                self._leave_out(parser, offset, offset + 1)
            return True
        assert isinstance(error, UnexpectedToken)
        token = error.token
        accepts = frozenset(error.accepts)
        if token.type == "$END":
            return self._close(parser, accepts)
        start, end = token.start_pos, token.end_pos
        assert start is not None and end is not None
        if start == self._last:  # the statement before it was left out, and it fits no better
            self._go_to(parser, end)
            return True
        self._last = start
        at = Unexpected(self.source, self._borders, token, accepts, last_token(parser))
        if self._mend_braces(parser, at):
            return self.surplus is None
        foreign = self._foreign(token)
        if foreign is not None:
            self.found.append(foreign)
            return False
        diagnostic, repaired = mistake(at)
        self.found.append(diagnostic)
        if diagnostic.code == "spaced-unit" and diagnostic.span is not None:
            start = min(start, diagnostic.span.start)  # its statement is the one before the token
        if repaired and token.type == "_COLON":
            parser.feed_token(token.update("_EQUALS", "="))
        elif token.type == "MINUS" and "_LBRACE" in accepts and "{" in self.source.text[end:]:
            self._go_to(parser, self.source.text.index("{", end))  # the rest of a name
        elif not repaired:
            self._leave_out(parser, start, end)
        return True

    def _foreign(self, token: Token) -> Diagnostic | None:
        """Describe a file in another format, by how it begins; None for one of ours."""
        start, end = token.start_pos or 0, token.end_pos or 0
        begun = re.sub(r"#[^\n]*", "", self.source.text[:start]).strip()
        colon = re.match(r"[ \t]*:", self.source.text[end:])
        if begun or not (token.type == "_LBRACE" or colon):
            return None
        return Diagnostic(
            "syntax",
            "this is another format, such as YAML or JSON",
            Span(self.source, start, end),
            note="expected `fexp 1`",
            help="begin with `fexp 1`, then `experiment NAME { topology = ...  flow a { ... } }`",
        )

    def _leave_out(self, parser: InteractiveParser, start: int, end: int) -> None:
        """Go on behind the statement with an error, as if it were not there; start, end: of what is
        wrong in it.
        """
        first, behind = self._borders.statement(start)
        if not self.text[first:behind].strip():
            first, behind = start, end
        state = parser.parser_state
        while state.value_stack and start_of(state.value_stack[-1]) >= first:
            state.value_stack.pop()
            state.state_stack.pop()
        if state.value_stack and not isinstance(rest := state.value_stack[-1], str):
            while rest.data.startswith("_") and start_of(rest.children[-1]) >= first:
                rest.children.pop()  # a helper of the grammar: the statements so far
        self.dropped.append(self.text[first:behind])
        self._go_to(parser, behind)

    def _go_to(self, parser: InteractiveParser, offset: int) -> None:
        state = parser.lexer_thread.state
        assert state is not None
        state.line_ctr.char_pos = offset

    def _close(self, parser: InteractiveParser, accepts: frozenset[str]) -> bool:
        """Report that the file ends too early, and close its blocks; return whether that makes it
        whole.
        """
        if not self.found or self._braces > 0:
            self.found.append(self._end(accepts))
        end = len(self.text)
        if "_RBRACE" not in accepts:
            self._leave_out(parser, end, end)
        return self._feed(parser, "_RBRACE", "}", end, until="$END")

    def _mend_braces(self, parser: InteractiveParser, at: Unexpected) -> bool:
        """Report a brace that is missing, or one too many, and go on as if it were right; return
        whether it is so.
        """
        token, accepts, start, word = at.token, at.accepts, at.start, at.misplaced
        opened = self._unclosed(word.start_pos or 0) if word is not None else None
        if word and word.upper() in BLOCKS and self._braces > 0 and opened and opened.text == "{":
            begin = word.start_pos or 0
            self.found.append(
                Diagnostic(
                    "syntax",
                    f"`{word}` cannot stand in this block",
                    Span(self.source, begin, word.end_pos or 0),
                    note="expected the end of the block first",
                    labels=(Label(opened, "the block that is opened here is not closed"),),
                    help=f"add the missing `}}` to the block of line {opened.line}",
                )
            )
            if word is not token:
                parser.parser_state.value_stack.pop()
                parser.parser_state.state_stack.pop()
            self._go_to(parser, begin)
            self._braces -= 1
            return self._feed(parser, "_RBRACE", "}", begin, until=word.upper())
        if self._braces >= 0 or token.type == "_RBRACE":
            return False
        if "_LBRACE" in accepts:
            self.found.append(
                Diagnostic(
                    "syntax",
                    f"`{shortened(token)}` was not expected here",
                    at.span,
                    note="expected `{`",
                    help="add the `{` that opens this block",
                )
            )
            self._go_to(parser, start)
            self._braces += 1
            return self._feed(parser, "_LBRACE", "{", start, until=token.type)
        if "EXPERIMENT" not in accepts or "}" not in self.text[:start]:
            return False
        self.surplus = self.text.rindex("}", 0, start)
        self.found.append(
            Diagnostic(
                "syntax",
                "there is one `}` too many",
                Span(self.source, self.surplus, self.surplus + 1),
                note="the block ends here already",
                labels=(Label(at.span, "before this"),),
                help="delete it",
            )
        )
        return True

    def _feed(self, parser: InteractiveParser, kind: str, sign: str, at: int, until: str) -> bool:
        """Feed a sign that is missing until the parser accepts what follows; return whether it
        does.
        """
        from lark import Token

        accepts = cast("Callable[[], set[str]]", parser.accepts)
        for _ in range(DEEPEST):
            if kind not in accepts():
                break
            parser.feed_token(Token(kind, sign, at, end_pos=at))
            if until in accepts():
                return True
        return False

    def _end(self, accepts: frozenset[str]) -> Diagnostic:
        end = len(self.source.text)
        outdented = self._borders.outdented if self._braces > 0 else None
        opened = self._unclosed(end)
        if outdented is not None:
            opened = Span(self.source, outdented.brace, outdented.brace + 1)
        labels = (Label(opened, f"this `{opened.text}` is not closed"),) if opened else ()
        return Diagnostic(
            "unexpected-end",
            f"the file ends where {expected(accepts)} was expected",
            Span(self.source, end, end),
            labels=labels,
            help=f"add the missing `{CLOSING[opened.text]}`" if opened else None,
        )

    def _unclosed(self, before: int) -> Span | None:
        return unclosed(self.source, self._borders, before)
