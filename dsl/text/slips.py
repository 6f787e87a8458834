"""Syntax errors in the user's terms: common slips are named, and simple ones repaired."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import UNITS

if TYPE_CHECKING:
    from lark import Token, Tree, UnexpectedInput

SLIP_LIMIT = 20
"""After this many repaired slips the rest of a file is not worth reading."""

SMART_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a"

LOOK_ALIKES = dict(
    zip("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u03bf\u03b1\u03bd\u0131",
        "aeopcyxijsdoavi", strict=True)
) | {"\u2212": "-", "\u2013": "-", "\u2014": "--", "\u2192": "->", "\u2190": "<-",
     "\u00d7": "*", "\u00f7": "/", "\u00a0": " ", "\u2026": ".."}  # fmt: skip
"""Characters that look like those of the language, besides those that Unicode treats as the same."""

SIGNS = {
    "_EQUALS": "`=`",
    "_COLON": "`:`",
    "_COMMA": "`,`",
    "_DOT": "`.`",
    "_DOTDOT": "`..`",
    "_LPAR": "`(`",
    "_RPAR": "`)`",
    "_LSQB": "`[`",
    "_RSQB": "`]`",
    "_LBRACE": "`{`",
    "_RBRACE": "`}`",
    "ARROW": "`--`, `->` or `<-`",
    "NAME": "a name",
    "STRING": 'a string in "quotes"',
    "$END": "the end of the file",
}
VALUE = frozenset({"QUANTITY", "_LSQB", "MINUS", "CALL"})
OPERATORS = frozenset(
    {"PLUS", "MINUS", "STAR", "SLASH", "COMPARE", "AND", "OR", "_DOT", "_DOTDOT", "PER", "OF", "IN"}
)


BLOCKS = frozenset(
    {
        *("FLOW", "SWEEP", "EXPERIMENT", "EXCLUDE", "PRECISION", "USERS", "HOSTS", "REPORT"),
        *("CLAIM", "TOPOLOGY"),
    }
)
KEYWORDS = BLOCKS | {"FEXP", "IMPORT", "LET", "NODE", "ROUTER", "LINK", "PEP", "POLICER"}

_SPACED_UNIT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[ \t]+([A-Za-z]+(?:/s\b)?|%)")


def refuse_characters(source: Source) -> None:
    """Raise CompileError for characters that have no place in a text file.

    Control characters and those that reorder what a reader sees are refused everywhere, in
    comments too: a file must mean what it looks like.
    """
    found = []
    for match in re.finditer("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]",
                             source.text):  # fmt: skip
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
    """Collects the syntax errors of one file while the parser runs."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Diagnostic] = []

    def watch(self, parse: Callable[[], Tree[Token]]) -> Tree[Token]:
        """Return what `parse` returns. Raises CompileError if there was an error, repaired or not."""
        from lark import UnexpectedInput

        tree = None
        try:
            tree = parse()
        except UnexpectedInput:
            assert self.found, "the parser gave up without a report"
        if tree is None or self.found:
            raise CompileError(self.found)
        return tree

    def on_error(self, error: UnexpectedInput) -> bool:
        """Describe an error; return whether the parser can go on after it."""
        from lark import UnexpectedCharacters, UnexpectedToken

        if isinstance(error, UnexpectedCharacters):
            assert error.pos_in_stream is not None
            self.found.append(self._character(error.pos_in_stream))
            repaired = self.source.text[error.pos_in_stream] == ";"
            return repaired and len(self.found) < SLIP_LIMIT
        assert isinstance(error, UnexpectedToken)
        token = error.token
        accepts = frozenset(error.accepts)
        if token.type == "$END":
            self.found.append(self._end(accepts))
            return False
        diagnostic, repaired = self._token(token, accepts)
        self.found.append(diagnostic)
        if repaired and token.type == "_COLON":
            error.interactive_parser.feed_token(token.update("_EQUALS", "="))
        return repaired and len(self.found) < SLIP_LIMIT

    def _character(self, offset: int) -> Diagnostic:
        char = self.source.text[offset]
        span = Span(self.source, offset, offset + 1)
        if char == ";":
            return Diagnostic(
                "syntax",
                "statements do not end with `;`",
                span,
                note="delete this",
                help="a new line or a space separates statements",
            )
        if char in SMART_QUOTES:
            return Diagnostic(
                "smart-quote",
                f"`{char}` is a typographic quote",
                span,
                note="not this character",
                help='write texts in straight quotes: "like this"',
            )
        if char == '"':
            end = self.source.text.find("\n", offset)
            whole = Span(self.source, offset, len(self.source.text) if end < 0 else end)
            escape = re.search(r'\\[^"\\]', whole.text)
            if escape and whole.text.count('"') > 1:
                start = offset + escape.start()
                return Diagnostic(
                    "syntax",
                    f"`{escape[0]}` is not an escape sequence",
                    Span(self.source, start, start + 2),
                    help='only `\\"` and `\\\\` are written with a backslash',
                )
            return Diagnostic(
                "unterminated-text",
                "this text is not closed on its line",
                whole,
                note='the closing `"` is missing',
            )
        if char == "'":
            return Diagnostic(
                "smart-quote",
                "texts are written in double quotes",
                span,
                help='write "like this"',
            )
        if not char.isascii():
            name = unicodedata.name(char, f"U+{ord(char):04X}").lower()
            twin = LOOK_ALIKES.get(char.lower()) or unicodedata.normalize("NFKC", char)
            looks = twin.isascii() and twin.isprintable()
            return Diagnostic(
                "strange-character",
                f"`{char}` ({name}) is not part of the language",
                span,
                note=f"it looks like `{twin}`" if looks else "not this character",
                notes=("outside texts and comments only ASCII characters are used",),
                help="type it again" if looks else "names consist of letters, digits and `_`",
            )
        return Diagnostic(
            "syntax",
            f"`{char}` is not part of the language",
            span,
            note="unexpected",
            help="names consist of letters, digits and `_`; a file cannot contain shell commands",
        )

    def _end(self, accepts: frozenset[str]) -> Diagnostic:
        end = len(self.source.text)
        opened = self._unclosed(end)
        labels = (Label(opened, f"this `{opened.text}` is not closed"),) if opened else ()
        return Diagnostic(
            "unexpected-end",
            f"the file ends where {expected(accepts)} was expected",
            Span(self.source, end, end),
            labels=labels,
            help=f"add the missing `{CLOSING[opened.text]}`" if opened else None,
        )

    def _token(self, token: Token, accepts: frozenset[str]) -> tuple[Diagnostic, bool]:
        """Describe an unexpected token; the flag tells whether dropping or replacing it repairs the text."""
        start, end = token.start_pos, token.end_pos
        assert start is not None and end is not None
        span = Span(self.source, start, end)
        spaced = self._spaced_unit(start)
        if spaced is not None:
            return spaced, False
        if token.type == "_COLON" and "_EQUALS" in accepts:
            return Diagnostic(
                "syntax",
                "a setting is written with `=`",
                span,
                note="`=` instead of this",
                help="`:` is used inside calls only: `bottleneck(rate: 1Mbit/s)`",
            ), True
        if token.type == "_EQUALS" and "_COLON" in accepts:
            return Diagnostic(
                "syntax",
                "an argument of a call is written with `:`",
                span,
                note="`:` instead of this",
                help="`=` is used in settings only: `rate = 1Mbit/s`",
            ), False
        if token.type == "_EQUALS" and start > 0 and self.source.text[start - 1] == "=":
            return Diagnostic(
                "syntax",
                "a setting is written with one `=`",
                Span(self.source, start - 1, end),
                help="`==` compares, in `exclude` and `where`",
            ), True
        if token.type == "_COMMA":
            return Diagnostic(
                "syntax",
                "no comma is written here",
                span,
                note="delete this",
                help="commas separate the items of lists and calls; statements need none",
            ), bool(accepts & {"_RBRACE", "$END"})
        opened = self._unclosed(start)
        labels: tuple[Label, ...] = ()
        if opened and opened.text == "{" and "_RBRACE" in accepts:
            labels = (Label(opened, "inside the block that is opened here"),)
        elif opened and opened.text in "([" and opened.line < span.line:
            labels = (Label(opened, f"this `{opened.text}` is not closed"),)
        return Diagnostic(
            "syntax",
            f"`{shortened(token)}` was not expected here",
            span,
            note=f"expected {expected(accepts)}",
            labels=labels,
            help=self._help(token, accepts, opened),
        ), False

    def _spaced_unit(self, offset: int) -> Diagnostic | None:
        """Find `10 Mbit/s` at or just before an unexpected token.

        The number was taken for a whole value and the unit for the next key, so the parser
        stumbles over the unit, over what follows it, or over the slash inside it.
        """
        begin = self.source.text.rfind("\n", 0, offset) + 1
        line = self.source.line(self.source.position(offset)[0])
        before = self.source.text[:offset].rstrip()
        begin = min(begin, before.rfind("\n") + 1)
        text = self.source.text[begin : offset + len(line)]
        for match in _SPACED_UNIT.finditer(text):
            start, end = begin + match.start(), begin + match.end()
            near = start < offset <= end or (
                end <= offset and not text[match.end() :][: offset - end].strip()
            )
            if near and match[2] in UNITS:
                return Diagnostic(
                    "spaced-unit",
                    "a number and its unit are written together",
                    Span(self.source, start, end),
                    note="without the space",
                    help=f"write `{match[1]}{match[2]}`",
                )
        return None

    def _help(self, token: Token, accepts: frozenset[str], opened: Span | None) -> str | None:
        start = token.start_pos or 0
        if token.type == "_LPAR" and re.search(r"\w[ \t]+$", self.source.text[:start][-80:]):
            return "in a call the parenthesis follows the name without a space"
        if token.type == "FEXP":
            return "`fexp 1` stands at the top of the file, once"
        before = self.source.text[:start].rstrip()
        if before.endswith("sweep") and "_LBRACE" in accepts:
            rest = self.source.text[start:].partition("\n")[0].partition("#")[0].strip()
            return f"a sweep is a block: `sweep {{ {rest} }}`"
        keywords = [name.lower() for name in accepts if name in KEYWORDS]
        glued = next((word for word in keywords if token.startswith(word) and token != word), None)
        if glued:
            return f"is a space missing after `{glued}`?"
        near = suggest(str(token), keywords)
        if near:
            return f"did you mean `{near}`?"
        if token.type in BLOCKS and opened is not None and opened.text == "{":
            return f"is the `}}` missing that closes the block of line {opened.line}?"
        if token.type == "_RBRACE" and opened and opened.text != "{":
            return f"close the `{opened.text}` of line {opened.line} first"
        if token.type == "_RBRACE" and not opened:
            return "there is one `}` too many"
        return None

    def _unclosed(self, before: int) -> Span | None:
        """Return the innermost bracket that is open at an offset."""
        stack: list[int] = []
        pattern = r'#[^\n]*|"(?:[^"\\\n]|\\.)*"|[][(){}]'
        for match in re.finditer(pattern, self.source.text[:before]):
            if match[0] in CLOSING:
                stack.append(match.start())
            elif match[0] in CLOSING.values() and stack:
                stack.pop()
        return Span(self.source, stack[-1], stack[-1] + 1) if stack else None


CLOSING = {"(": ")", "[": "]", "{": "}"}


def shortened(token: str) -> str:
    """Return a token's text, cut if it is long."""
    return token if len(token) <= 40 else f"{token[:37]}..."


def expected(accepts: frozenset[str]) -> str:
    """Describe what a parser state accepts."""
    if accepts >= VALUE - {"MINUS"}:
        return "a value"
    terminals = {name for name in accepts if name not in SIGNS and name not in OPERATORS}
    signs = [SIGNS[name] for name in sorted(accepts) if name in SIGNS]
    if len(terminals) > 6:
        if "NAME" in accepts:
            signs = [s for s in signs if s != "a name"]
        return " or ".join(["a statement", *signs])
    parts = [*signs, *(f"`{word.lower()}`" for word in sorted(terminals) if word != "CALL")]
    if "CALL" in terminals and not parts:
        parts = ["a call"]
    if not parts:
        return "something else"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"
