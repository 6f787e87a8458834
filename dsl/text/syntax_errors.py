"""Syntax errors in the user's terms: common mistakes are named, and simple ones repaired."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import MISSPELT as MISSPELT_UNITS
from fairc.dsl.core.units import UNITS

from .borders import CLOSING, Borders
from .equals import equals
from .expectations import expected, last_token, shortened, start_of

if TYPE_CHECKING:
    from lark import Token, Tree, UnexpectedInput
    from lark.parsers.lalr_interactive_parser import InteractiveParser

SLIP_LIMIT = 20
"""After this many repaired mistakes the rest of a file is not worth reading."""

DEEPEST = 6
"""Blocks are nested less deeply than this."""

SMART_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a"

LOOK_ALIKES = dict(
    zip(
        "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u03bf\u03b1\u03bd\u0131",
        "aeopcyxijsdoavi",
        strict=True,
    )
) | {
    "\u2212": "-",
    "\u2013": "-",
    "\u2014": "--",
    "\u2192": "->",
    "\u2190": "<-",
    "\u00d7": "*",
    "\u00f7": "/",
    "\u00a0": " ",
    "\u2026": "..",
}
"""Characters that look like those of the language, besides those that Unicode treats as the
same.
"""

BLOCKS = frozenset(
    {
        *("FLOW", "SWEEP", "TEMPLATE", "EXPERIMENT", "EXCLUDE", "PRECISION", "USERS", "HOSTS"),
        *("REPORT", "CLAIM", "TOPOLOGY", "LET", "METRIC", "SERVICE"),
    }
)
"""First words of statements of an experiment or a file."""

KEYWORDS = BLOCKS | {
    *("FEXP", "IMPORT", "NODE", "ROUTER", "LINK", "PEP", "POLICER", "TUNNEL"),
    *("AT", "OVER", "EVERY", "DOWN", "FROM", "TO", "FOR", "WHEN", "EXTENDS"),
}

_OF_EXPERIMENT = "it stands in an experiment"
_OF_TOPOLOGY = "it stands in a topology"
_OF_LINK = (
    "it stands in a link, of a preset in `with`:"
    " `bottleneck(...) with {{ link left -> right {{ {} }} }}`"
)
HOMES = {
    "LET": "it stands in an experiment, in a topology, or above them",
    "METRIC": "it stands in an experiment, or above it",
    "SERVICE": "it stands in an experiment, or above it",
    "TEMPLATE": "it stands beside experiments",
    "EXPERIMENT": "experiments stand beside each other",
    **dict.fromkeys(("FLOW", "SWEEP", "EXCLUDE", "PRECISION"), _OF_EXPERIMENT),
    **dict.fromkeys(("HOSTS", "REPORT", "CLAIM"), _OF_EXPERIMENT),
    **dict.fromkeys(("NODE", "ROUTER", "LINK"), _OF_TOPOLOGY),
    **dict.fromkeys(("AT", "EVERY"), _OF_LINK.format("at 10s { rate = 5Mbit/s }")),
}
"""Where a statement stands, for those keywords that are no key anywhere; `at` is one of policers,
and begins a statement where a time follows.
"""

_NODE = "a host is a `node`, and what forwards is a `router`: `node a, b`, `router r`"
_FIGURES = "figures are a block: `report { line(goodput, x: time)  cdf(rtt) }`"
_PAGE = (
    "a page is what a flow loads: `flow web { cca = cubic  workload = load(page(html: 30kB,"
    " objects: 20 of 50kB)) }`"
)
OTHERS = {
    "host": ("NODE", _NODE),
    "hosts": ("NODE", _NODE),
    "switch": ("NODE", _NODE),
    "figure": ("REPORT", _FIGURES),
    "plot": ("REPORT", _FIGURES),
    "page": ("FLOW", _PAGE),
}
"""Statements of other tools: a keyword that could stand in their place, and the help."""

_SEVERAL = re.compile(r"(?:,[ \t]*[\w.%/]+(?:\([^()\n]*\))?(?![\w.%/(])(?![ \t]*(?:=(?!=)|[:{])))+")
"""Further values behind a comma that no list surrounds, and not the next setting."""

_LOOPED = re.compile(
    r"\b(?:node|router|link)\b[^{}#]*\bfor\s+\w+\s+in\s+(?:[^{},#\[\]]|\[[^\[\]]*\])*\Z"
)
"""A statement that declares several things, up to the end of its loop."""

_CYCLE = re.compile(r"\b(every\b[^{}]*?)\s*\{\s*(?:down|up)\Z")
"""The pattern that repeats, up to a word that is no setting."""

MISSHAPEN = {
    re.compile(shape + r"\Z"): advice
    for shape, advice in (
        (r"\blink\s+[\w\[\]]+\s*(?:-|<-\s*>)", "both ways is `a -- b`, one way `a -> b`"),
        (
            r"\blink\s+[\w\[\]]+\s*(?:--|->|<-)\s*[\w\[\]]+\s*\(",
            "what a link has stands in braces: `link a -- b { rate = 1Mbit/s }`",
        ),
        (
            r"\bflow\s+[\w\[\]]+\s+(?:from|to)",
            "it stands in the block: `flow a { from = server  to = client ... }`",
        ),
        (r"\.\.\s*\S+\s*\.\.", "a range has two ends: `1..4`"),
        (r"\bstep\s+\S+", "values in equal steps are a range times the step: `(1..5) * 10ms`"),
        (r"=\s*\{", "several values are a list in brackets: `[a, b]`"),
        (
            r"\bat\s+[\w.]+\s+for",
            (
                "values for a while are `every 1h from 3s for 500ms { rate = 1Mbit/s }`; a link"
                " that is down: `down from 3s to 3.5s`"
            ),
        ),
        (r"\bsweep\s*\{\s*\w+\s+in", "what is swept is set: `sweep { n = 1..4 }`"),
    )
}
"""Shapes of other languages, up to the token that does not fit, and how it is written here."""

MISSHAPEN_REACH = 200

_SPACED_UNIT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[ \t]+([A-Za-z]+(?:/s\b)?|%)")


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
            at = error.pos_in_stream
            assert at is not None
            self.found.append(self._character(at))
            if self.text[at] != ";":
                self._leave_out(parser, at, at + 1)
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
        if self._mend_braces(parser, token, accepts):
            return self.surplus is None
        foreign = self._foreign(token)
        if foreign is not None:
            self.found.append(foreign)
            return False
        before = last_token(parser)
        diagnostic, repaired = self._token(token, accepts, before)
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

    def _mend_braces(
        self, parser: InteractiveParser, token: Token, accepts: frozenset[str]
    ) -> bool:
        """Report a brace that is missing, or one too many, and go on as if it were right; return
        whether it is so.
        """
        start = token.start_pos or 0
        word = _misplaced(token, last_token(parser), accepts)
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
            at = Span(self.source, start, token.end_pos or start)
            self.found.append(
                Diagnostic(
                    "syntax",
                    f"`{shortened(token)}` was not expected here",
                    at,
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
                labels=(Label(Span(self.source, start, token.end_pos or start), "before this"),),
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

    def _token(
        self, token: Token, accepts: frozenset[str], before: Token | None
    ) -> tuple[Diagnostic, bool]:
        """Describe an unexpected token; the flag tells whether dropping or replacing it repairs the
        text.

        before: the token before it, if it is a part of the same statement.
        """
        start, end = token.start_pos, token.end_pos
        assert start is not None and end is not None
        span = Span(self.source, start, end)
        word = _misplaced(token, before, accepts)
        if word is not None and word.upper() in HOMES:
            return self._out_of_place(word), False
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
        if token.type == "_COMMA" and _LOOPED.search(self.source.text[:start]):
            return Diagnostic(
                "syntax",
                "nothing can be declared together with this behind the loop",
                span,
                note="the loop is of everything before it",
                help="declare what follows in a statement of its own, with a loop if it needs one",
            ), False
        several = _SEVERAL.match(self.source.text, start) if "_RBRACE" in accepts else None
        if token.type == "_COMMA" and several:
            begin, _ = self._borders.statement(start)
            first = self.source.text[begin:start].rpartition("=")[2].strip()
            listed = f"[{first}{several[0].rstrip()}]"
            return Diagnostic(
                "syntax",
                "several values are written as a list",
                span,
                note="a list has brackets",
                help=f"write `{listed}`" if first else "write `[a, b]`",
            ), False
        if token.type == "_EQUALS":
            misplaced = equals(self.source, self._borders, start, "COMPARE" in accepts)
            if misplaced is not None:
                return misplaced, False
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

    def _out_of_place(self, keyword: Token) -> Diagnostic:
        """Describe a statement in a block in which only settings stand."""
        start = keyword.start_pos or 0
        line = self.source.text[start:].partition("\n")[0].partition("#")[0].strip()
        while line.endswith("}") and line.count("}") > line.count("{"):
            line = line[:-1].strip()
        opened = self._unclosed(start)
        return Diagnostic(
            "syntax",
            f"`{keyword}` cannot stand in this block",
            Span(self.source, start, start + len(keyword)),
            note="not here",
            labels=(Label(opened, "inside the block that is opened here"),) if opened else (),
            help=f"move `{shortened(line)}` out of this block: {HOMES[keyword.upper()]}",
        )

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
            unit = match[2] if match[2] in UNITS else MISSPELT_UNITS.get(match[2])
            if near and unit:
                return Diagnostic(
                    "spaced-unit",
                    "a number and its unit are written together",
                    Span(self.source, start, end),
                    note="without the space",
                    help=f"write `{match[1]}{unit}`",
                )
        return None

    def _help(self, token: Token, accepts: frozenset[str], opened: Span | None) -> str | None:
        start = token.start_pos or 0
        written = self.source.text[: token.end_pos][-MISSHAPEN_REACH:]
        for shape, advice in MISSHAPEN.items():
            if shape.search(written):
                return advice
        if token.type == "_LPAR" and re.search(r"\w[ \t]+$", self.source.text[:start][-80:]):
            return "in a call the parenthesis follows the name without a space"
        # Patterns that end here try each place before: only so many are tried.
        before = self.source.text[:start].rstrip()[-MISSHAPEN_REACH:]
        called = re.search(r"=[ \t]*(\w+)\Z", before)
        if token.type == "_LBRACE" and called:
            return f"arguments stand in parentheses, with `:`: `{called[1]}(rate: 10Mbit/s)`"
        if opened and re.search(r'\bclaim\s+"[^"\n]*"\s*\Z', self.source.text[: opened.start]):
            return "a claim says what holds: `holds = median(goodput(a)) > 1Mbit/s`"
        if token.type == "_LBRACE" and accepts == {"_EQUALS"}:
            return "settings are written `rate = 1Mbit/s`, and lists `measure = [goodput, rtt]`"
        if token.type == "FEXP":
            return "`fexp 1` stands at the top of the file, once"
        if token.type == "MINUS" and re.search(r"[A-Za-z_]\w*\Z", before) and "_LBRACE" in accepts:
            return "names consist of letters, digits and `_`"
        if misnamed := _misnamed(token, before, self.source.text[start:], accepts):
            return misnamed
        if re.search(r"\b(?:for|while)\Z", before):
            return "a loop follows what it repeats: `flow f[i] for i in 1..3 { ... }`"
        if re.search(r"\bif\Z", before):
            return "a condition follows what it decides on: `flow f when n > 0 { ... }`"
        if before.endswith("claim") and "STRING" in accepts:
            return 'a claim begins with what it states: `claim "BBR takes more than CUBIC" { ... }`'
        if before.endswith("sweep") and "_LBRACE" in accepts:
            rest = self.source.text[start:].partition("\n")[0].partition("#")[0].strip()
            return f"a sweep is a block: `sweep {{ {rest} }}`"
        keywords = [name.lower() for name in accepts if name in KEYWORDS]
        glued = next((word for word in keywords if token.startswith(word) and token != word), None)
        if token == f"{glued}s":
            return f"did you mean `{glued}`?"
        if glued:
            return f"is a space missing after `{glued}`?"
        if token.type == "DOWN":
            return _OF_LINK.format("down from 10s to 12s")
        if token.type == "AT" and before.endswith("down"):
            return "a link is down from one time to another: `down from 10s to 12s`"
        if token.type == "WHEN":
            return "a condition stands before the block: `flow f when n > 0 { ... }`"
        if token.type == "FOR":
            return "a loop stands before the block: `flow f[i] for i in 1..3 { ... }`"
        if re.search(r"\b(?:down|up)\Z", before) and accepts == {"_EQUALS"}:
            if cycle := _CYCLE.search(before):
                times = " ".join(cycle[1].split())
                each = times if re.search(r"\bfor\b", times) else f"{times} for 1s"
                return f"a link is down time and again: `down {each}`, beside `at`"
            return "a link is down for a time: `down from 10s to 12s`, beside `at`"
        if before.endswith("topology") and accepts == {"_LBRACE"} and token.type == "NAME":
            return (
                "here a topology has no name: write `topology {`; or move it above the experiment,"
                f" and use it: `topology = {token}`"
            )
        taken = re.search(r"\w+\Z", before) if accepts == {"_EQUALS"} else None  # for a key
        other = OTHERS.get(taken[0] if taken else str(token))
        if other is not None and (taken or other[0] in accepts):
            return other[1]
        near = suggest(str(token), keywords)
        if taken and token.type == "NAME":
            near = suggest(taken[0], [word.lower() for word in BLOCKS])
        if near and near != str(token):
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
        at = self._borders.unclosed(before)
        return None if at is None else Span(self.source, at, at + 1)


def _misnamed(token: Token, before: str, after: str, accepts: frozenset[str]) -> str | None:
    """Return how a name with hyphens, or a metric's value, is written.

    before: the text up to the token. after: from the token on.
    """
    hyphen = re.search(r"\w+\Z", before) if token.type == "MINUS" and "_EQUALS" in accepts else None
    rest = re.match(r"(?:-\w+)+", after)
    if hyphen and rest:
        return f"names have no hyphens: `{(hyphen[0] + rest[0]).replace('-', '_')}`"
    hyphened = re.search(r"[A-Za-z_]\w*(?:-\w+)+\Z", before) if token.type == "_COLON" else None
    if hyphened:
        return f"names have no hyphens: `{hyphened[0].replace('-', '_')}`"
    if percentile := re.search(r"(\w+)\.p\d+\.\Z", before):
        return f"`fairc show {percentile[1]}` lists the percentiles that `{percentile[1]}` has"
    called = re.search(r"(\w+)(\([^()\n]*\))\Z", before)
    value = re.match(r"\.[A-Za-z_]\w*", after)
    if called and value:
        return f"the value stands before the flow: `{called[1]}{value[0]}{called[2]}`"
    return None


def _misplaced(token: Token, before: Token | None, accepts: frozenset[str]) -> Token | None:
    """Return the keyword of a statement that cannot stand where it does: an unexpected token, or
    the one before it, which was taken for a key.
    """
    if token.type in KEYWORDS and "_RBRACE" in accepts:
        return token
    taken = before is not None and before.type == "NAME" and "_EQUALS" in accepts
    taken = taken and (before != "at" or token[:1].isdigit())
    return before if before is not None and taken and before.upper() in KEYWORDS else None
