"""Mistakes by the token or the character at which a parser stops: what is wrong, in the user's
terms, and what to write instead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairc.dsl.core.diagnostics import Diagnostic, Label
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import MISSPELT as MISSPELT_UNITS
from fairc.dsl.core.units import UNITS

from .borders import Borders
from .expectations import expected, shortened

if TYPE_CHECKING:
    from lark import Token

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
    "\u00b5": "u",
    "\u03bc": "u",
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

FORMS = {
    "LET": "let slow = 1Mbit/s",
    "METRIC": "metric power = goodput(a) / rtt(a)",
    "SERVICE": "service film { cca = cubic  workload = file(1MB) }",
    "TEMPLATE": "template base { ... }",
    "EXPERIMENT": "experiment e { ... }",
    "FLOW": "flow a { cca = cubic  workload = file(1MB) }",
    "SWEEP": "sweep { n = [1, 2] }",
    "EXCLUDE": "exclude n == 1",
    "PRECISION": "precision { goodput = 5% }",
    "HOSTS": "hosts { ecn = on }",
    "REPORT": "report { cdf(rtt) }",
    "CLAIM": 'claim "short waits" { holds = median(rtt.p95(a)) < 60ms }',
    "NODE": "node server, client",
    "ROUTER": "router left, right",
    "LINK": "link left -- right { rate = 1Mbit/s }",
    "AT": "at 10s { rate = 5Mbit/s }",
    "EVERY": "every 15s from 12s { loss = 1% }",
}
"""An example of each of them."""

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
    re.compile(rf"(?:{shape})\Z"): advice
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
        (r"\bflow\s+\w+\s*\(", "keys of a flow stand in braces: `flow a { cca = cubic ... }`"),
        (r"\blet\s+\w+\s+\w+", "a `let` is a name and its value: `let slow = 1Mbit/s`"),
        (r"[:=(,\[]\s*\.", "a number has a digit before its point: `0.5s`"),
        (r"(?<!\.)\b[a-z]\w*\.\d+", "a percentile of a metric is `rtt.p99`"),
        (r"\.\.\s*\S+\s*\.\.", "a range has two ends: `1..4`"),
        (r"[=(,\[]\s*\d+\s*:|\.\.\s*\.", "a range is written `1..4`"),
        (r"\*\s*\*", "a power is a product: `n * n`"),
        (r"\bstep\s+\S+", "values in equal steps are a range times the step: `(1..5) * 10ms`"),
        (r"(?:\A|\n)[ \t]*/|/[/*]", "a comment begins with `#`"),
        (
            r"\b(?:topology|sweep|hosts|report|precision)\s*=\s*\{",
            "a block has no `=`: `topology { ... }`, `sweep { n = [1, 2] }`",
        ),
        (
            r"\bexperiment\s+\"[^\"\n]*\"",
            'an experiment has a name, and may have a title: `experiment e { title = "..." }`',
        ),
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

REACH = 200
"""Characters before a token that are looked at."""

_SPACED_UNIT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[ \t]+([A-Za-z]+(?:/s\b)?|%)")

_LOOPED_FLOW = re.compile(r"\s*flow\s+([A-Za-z_]\w*(?:\[[^\]\n]*\])?)\s+((?:for|when)\b[^={}]*)$")
"""A flow with loops or a condition, up to an `=`."""

_COMPARISON = re.compile(r"[=!]=|[<>]|\bin\b")
"""A sign or a word of a condition that is whole."""

_SERVICE = re.compile(r"=\s*([A-Za-z_]\w*)")

_CHAIN = re.compile(
    r"=\s*([\w.%/]+)\s*<=?\s*((?:[^<>={}]|==)+?)\s*<=?\s*([\w.%/]+)(?=\s*(?:\Z|[}\n]|\w))"
)
"""A value between two others, as mathematics has it."""

Mistake = tuple[Diagnostic, bool]
"""What is wrong, and whether dropping or replacing the token repairs the text."""


@dataclass(frozen=True)
class Unexpected:
    """A token that the parser did not expect.

    borders: of the text's statements and brackets. accepts: what the parser accepts in its place.
    before: the token before it, if it is a part of the same statement.
    """

    source: Source
    borders: Borders
    token: Token
    accepts: frozenset[str]
    before: Token | None

    @property
    def start(self) -> int:
        """Where it begins."""
        assert self.token.start_pos is not None
        return self.token.start_pos

    @property
    def span(self) -> Span:
        """Its place."""
        assert self.token.end_pos is not None
        return Span(self.source, self.start, self.token.end_pos)

    @property
    def read(self) -> str:
        """The last `REACH` characters before it, without white space at the end: a pattern that
        ends there is tried at each place.
        """
        return self.source.text[: self.start].rstrip()[-REACH:]

    @property
    def rest_of_line(self) -> str:
        """The rest of its line, without a comment."""
        return self.source.text[self.start :].partition("\n")[0].partition("#")[0].strip()

    @property
    def opened(self) -> Span | None:
        """The innermost bracket that is open."""
        return unclosed(self.source, self.borders, self.start)

    @property
    def misplaced(self) -> Token | None:
        """The keyword of a statement that cannot stand where it does: the token, or the one before
        it, which was taken for a key.
        """
        token, before = self.token, self.before
        if token.type in KEYWORDS and "_RBRACE" in self.accepts:
            return token
        if before is None or before.type != "NAME" or "_EQUALS" not in self.accepts:
            return None
        if before == "at" and not token[:1].isdigit():
            return None
        return before if before.upper() in KEYWORDS else None


def unclosed(source: Source, borders: Borders, before: int) -> Span | None:
    """Return the innermost bracket that is open at an offset."""
    at = borders.unclosed(before)
    return None if at is None else Span(source, at, at + 1)


def mistake(at: Unexpected) -> Mistake:
    """Describe an unexpected token by the first rule that knows it."""
    known = next((found for rule in RULES if (found := rule(at)) is not None), None)
    if known is not None:
        return known
    opened = at.opened
    labels: tuple[Label, ...] = ()
    if opened and opened.text == "{" and "_RBRACE" in at.accepts:
        labels = (Label(opened, "inside the block that is opened here"),)
    elif opened and opened.text in "([" and opened.line < at.span.line:
        labels = (Label(opened, f"this `{opened.text}` is not closed"),)
    return Diagnostic(
        "syntax",
        f"`{shortened(at.token)}` was not expected here",
        at.span,
        note=f"expected {expected(at.accepts)}",
        labels=labels,
        help=next((help for rule in HELPS if (help := rule(at))), None),
    ), False


# rules: what is wrong


def _out_of_place(at: Unexpected) -> Mistake | None:
    """Describe a statement in a block in which only settings stand."""
    keyword = at.misplaced
    if keyword is None or keyword.upper() not in HOMES:
        return None
    start = keyword.start_pos or 0
    line = at.source.text[start:].partition("\n")[0].partition("#")[0].strip()
    while line.endswith("}") and line.count("}") > line.count("{"):
        line = line[:-1].strip()
    opened = unclosed(at.source, at.borders, start)
    return Diagnostic(
        "syntax",
        f"`{keyword}` cannot stand in this block",
        Span(at.source, start, start + len(keyword)),
        note="not here",
        labels=(Label(opened, "inside the block that is opened here"),) if opened else (),
        help=f"move `{shortened(line)}` out of this block: {HOMES[keyword.upper()]}",
    ), False


def _spaced_unit(at: Unexpected) -> Mistake | None:
    """Find `10 Mbit/s` at or just before an unexpected token.

    The number was taken for a whole value and the unit for the next key, so the parser stumbles
    over the unit, over what follows it, or over the slash inside it.
    """
    source, offset = at.source, at.start
    begin = source.text.rfind("\n", 0, offset) + 1
    line = source.line(source.position(offset)[0])
    begin = min(begin, source.text[:offset].rstrip().rfind("\n") + 1)
    text = source.text[begin : offset + len(line)]
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
                Span(source, start, end),
                note="without the space",
                help=f"write `{match[1]}{unit}`",
            ), False
    return None


def _wrong_sign(at: Unexpected) -> Mistake | None:
    """Describe `:` for `=` or for nothing, `=` for `:`, and `==` for `=`."""
    token, span = at.token, at.span
    keyword = "" if at.before is None else at.before.upper()
    if token.type == "_COLON" and keyword in HOMES:
        return Diagnostic(
            "syntax",
            f"no `:` follows `{at.before}`",
            span,
            note="delete this",
            help=f"for example `{FORMS[keyword]}`",
        ), False
    if token.type == "_COLON" and "_EQUALS" in at.accepts:
        return Diagnostic(
            "syntax",
            "a setting is written with `=`",
            span,
            note="`=` instead of this",
            help="`:` is used inside calls only: `bottleneck(rate: 1Mbit/s)`",
        ), True
    if token.type == "_EQUALS" and "_COLON" in at.accepts:
        return Diagnostic(
            "syntax",
            "an argument of a call is written with `:`",
            span,
            note="`:` instead of this",
            help="`=` is used in settings only: `rate = 1Mbit/s`",
        ), False
    if token.type == "_EQUALS" and at.source.text[at.start - 1 : at.start] == "=":
        return Diagnostic(
            "syntax",
            "a setting is written with one `=`",
            Span(at.source, span.start - 1, span.end),
            help="`==` compares, in `exclude` and `where`",
        ), True
    return None


def _wrong_comma(at: Unexpected) -> Mistake | None:
    """Describe a comma behind a loop, between values without a list, or between statements."""
    if at.token.type != "_COMMA":
        return None
    text, start = at.source.text, at.start
    if _LOOPED.search(text[:start]):
        return Diagnostic(
            "syntax",
            "nothing can be declared together with this behind the loop",
            at.span,
            note="the loop is of everything before it",
            help="declare what follows in a statement of its own, with a loop if it needs one",
        ), False
    several = _SEVERAL.match(text, start) if "_RBRACE" in at.accepts else None
    if several:
        begin, _ = at.borders.statement(start)
        first = text[begin:start].rpartition("=")[2].strip()
        listed = f"[{first}{several[0].rstrip()}]"
        return Diagnostic(
            "syntax",
            "several values are written as a list",
            at.span,
            note="a list has brackets",
            help=f"write `{listed}`" if first else "write `[a, b]`",
        ), False
    return Diagnostic(
        "syntax",
        "no comma is written here",
        at.span,
        note="delete this",
        help="commas separate the items of lists and calls; statements need none",
    ), bool(at.accepts & {"_RBRACE", "$END"})


def _wrong_equals(at: Unexpected) -> Mistake | None:
    """Describe a service behind the loops of its flow, and `=` in a condition."""
    if at.token.type != "_EQUALS":
        return None
    source, start = at.source, at.start
    begin, _ = at.borders.statement(start)
    flow = _LOOPED_FLOW.match(source.text, begin, start)
    condition = flow[2].rpartition("when")[2] if flow else ""
    if flow and ("when" not in flow[2] or _COMPARISON.search(condition)):
        service = _SERVICE.match(source.text, start)
        name = service[1] if service else "SERVICE"
        return Diagnostic(
            "syntax",
            "the service of a flow stands before its loops and its condition",
            Span(source, start, service.end() if service else start + 1),
            note="this stands too late",
            help=f"write `flow {flow[1]} = {name} {' '.join(flow[2].split())}`",
        ), False
    if "COMPARE" not in at.accepts:
        return None
    return Diagnostic(
        "syntax",
        "a condition compares with `==`",
        Span(source, start, start + 1),
        note="`==` instead of this",
        help="`=` is used in settings only: `rate = 1Mbit/s`",
    ), False


RULES: tuple[Callable[[Unexpected], Mistake | None], ...] = (
    _wrong_sign,
    _out_of_place,
    _spaced_unit,
    _wrong_comma,
    _wrong_equals,
)


# helps: what to write, where all that is known is that a token does not fit


def _misshapen(at: Unexpected) -> str | None:
    written = at.source.text[: at.token.end_pos][-REACH:]
    return next((advice for shape, advice in MISSHAPEN.items() if shape.search(written)), None)


def _call(at: Unexpected) -> str | None:
    before = at.source.text[: at.start][-80:]
    if at.token.type == "_LPAR" and re.search(r"\w[ \t]+$", before):
        return "in a call the parenthesis follows the name without a space"
    called = re.search(r"=[ \t]*(\w+)\Z", at.read)
    if at.token.type == "_LBRACE" and called:
        return f"arguments stand in parentheses, with `:`: `{called[1]}(rate: 10Mbit/s)`"
    return None


def _setting(at: Unexpected) -> str | None:
    kind, opened = at.token.type, at.opened
    if kind == "COMPARE" and (chain := _CHAIN.search(f"{at.read} {at.rest_of_line}")):
        return f"between two values is a range: `{chain[2]} in {chain[1]}..{chain[3]}`"
    if opened and re.search(r'\bclaim\s+"[^"\n]*"\s*\Z', at.source.text[: opened.start]):
        return "a claim says what holds: `holds = median(goodput(a)) > 1Mbit/s`"
    if kind == "_LBRACE" and at.accepts == {"_EQUALS"}:
        return "settings are written `rate = 1Mbit/s`, and lists `measure = [goodput, rtt]`"
    if kind == "FEXP":
        return "`fexp 1` stands at the top of the file, once"
    if kind == "MINUS" and re.search(r"[A-Za-z_]\w*\Z", at.read) and "_LBRACE" in at.accepts:
        return "names consist of letters, digits and `_`"
    return None


def _misnamed(at: Unexpected) -> str | None:
    """Return how a name with hyphens, or a metric's value, is written."""
    token, before, after = at.token, at.read, at.source.text[at.start :]
    names_stop = token.type == "MINUS" and "_EQUALS" in at.accepts
    hyphen = re.search(r"\w+\Z", before) if names_stop else None
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


def _order(at: Unexpected) -> str | None:
    """Return where loops, conditions, and the parts of claims and sweeps stand."""
    before = at.read
    if re.search(r"\b(?:for|while)\Z", before):
        return "a loop follows what it repeats: `flow f[i] for i in 1..3 { ... }`"
    if re.search(r"\bif\Z", before):
        return "a condition follows what it decides on: `flow f when n > 0 { ... }`"
    if before.endswith("claim") and "STRING" in at.accepts:
        return 'a claim begins with what it states: `claim "BBR takes more than CUBIC" { ... }`'
    if before.endswith("sweep") and "_LBRACE" in at.accepts:
        return f"a sweep is a block: `sweep {{ {at.rest_of_line} }}`"
    if at.token in ("if", "where") and "WHEN" in at.accepts:
        return "a condition begins with `when`: `flow f when n > 0 { ... }`"
    if at.token == "in" and "FOR" in at.accepts:
        return "a loop begins with `for`: `flow f[i] for i in 1..3 { ... }`"
    if at.token.type == "FOR" and at.opened and at.opened.text == "[":
        return "a list times a value multiplies each item: `(1..3) * 10ms`"
    if at.token.type == "WHEN":
        return "a condition stands before the block: `flow f when n > 0 { ... }`"
    if at.token.type == "FOR":
        return "a loop stands before the block: `flow f[i] for i in 1..3 { ... }`"
    return None


def _keywords(at: Unexpected) -> list[str]:
    return [name.lower() for name in at.accepts if name in KEYWORDS]


def _glued(at: Unexpected) -> str | None:
    """Return the help for a word that begins with a keyword."""
    token = at.token
    begun = (word for word in _keywords(at) if token.startswith(word) and token != word)
    keyword = next(begun, None)
    if keyword is None:
        return None
    if token == f"{keyword}s":
        return f"did you mean `{keyword}`?"
    return f"is a space missing after `{keyword}`?"


def _outage(at: Unexpected) -> str | None:
    """Return how links go down."""
    before = at.read
    if at.token.type == "DOWN":
        return _OF_LINK.format("down from 10s to 12s")
    if at.token.type == "AT" and before.endswith("down"):
        return "a link is down from one time to another: `down from 10s to 12s`"
    if not re.search(r"\b(?:down|up)\Z", before) or at.accepts != {"_EQUALS"}:
        return None
    if cycle := _CYCLE.search(before):
        times = " ".join(cycle[1].split())
        each = times if re.search(r"\bfor\b", times) else f"{times} for 1s"
        return f"a link is down time and again: `down {each}`, beside `at`"
    return "a link is down for a time: `down from 10s to 12s`, beside `at`"


def _word(at: Unexpected) -> str | None:
    """Return what was meant by a word that is none of the language, or not here."""
    token, before, accepts = at.token, at.read, at.accepts
    if before.endswith("topology") and accepts == {"_LBRACE"} and token.type == "NAME":
        return (
            "here a topology has no name: write `topology {`; or move it above the experiment,"
            f" and use it: `topology = {token}`"
        )
    taken = re.search(r"\w+\Z", before) if accepts == {"_EQUALS"} else None  # for a key
    other = OTHERS.get(taken[0] if taken else str(token))
    if other is not None and (taken or other[0] in accepts):
        return other[1]
    near = suggest(str(token), _keywords(at))
    if taken and token.type == "NAME":
        near = suggest(taken[0], [word.lower() for word in BLOCKS])
    return f"did you mean `{near}`?" if near and near != str(token) else None


def _bracket(at: Unexpected) -> str | None:
    """Return which bracket is missing, or one too many."""
    kind, opened = at.token.type, at.opened
    if kind in BLOCKS and opened is not None and opened.text == "{":
        return f"is the `}}` missing that closes the block of line {opened.line}?"
    if kind == "_RBRACE" and opened and opened.text != "{":
        return f"close the `{opened.text}` of line {opened.line} first"
    if kind == "_RBRACE" and not opened:
        return "there is one `}` too many"
    return None


def _separator(at: Unexpected) -> str | None:
    """Return which sign is missing between a name and its value, or which block around them."""
    after = at.source.text[at.start : at.start + REACH]
    if re.search(r"\bwith\s*\{[^{}]*\Z", at.read) and re.match(r"[a-z]+\s*=", after):
        return "it stands in a link: `with { link left -> right { jitter = 5ms } }`"
    if at.token.type not in ("NAME", "CALL", "QUANTITY"):
        return None
    key = re.search(r"\w+\Z", at.read) if at.accepts == {"_EQUALS"} else None
    if key:
        return f"a setting has an `=`: `{key[0]} = {at.token}`"
    named = re.search(r"[(,]\s*([A-Za-z_]\w*)\Z", at.read)
    if named and "_COLON" in at.accepts:
        return f"an argument has a colon: `{named[1]}: {at.token}`"
    return None


HELPS: tuple[Callable[[Unexpected], str | None], ...] = (
    _misshapen,
    _call,
    _setting,
    _misnamed,
    _order,
    _glued,
    _outage,
    _word,
    _bracket,
    _separator,
)


# characters that are part of no token


def stray(source: Source, offset: int) -> Diagnostic:
    """Describe a character that is not part of the language where it stands."""
    char = source.text[offset]
    span = Span(source, offset, offset + 1)
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
        return _broken_text(source, offset)
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
        help="conditions are joined by `and` and `or`"
        if char in "&|"
        else "names consist of letters, digits and `_`; a file cannot contain shell commands",
    )


def _broken_text(source: Source, offset: int) -> Diagnostic:
    """Describe a text, from its quote, that has a wrong escape sequence or no end."""
    end = source.text.find("\n", offset)
    whole = Span(source, offset, len(source.text) if end < 0 else end)
    escape = re.search(r'\\[^"\\]', whole.text)
    if escape and whole.text.count('"') > 1:
        start = offset + escape.start()
        return Diagnostic(
            "syntax",
            f"`{escape[0]}` is not an escape sequence",
            Span(source, start, start + 2),
            help='only `\\"` and `\\\\` are written with a backslash',
        )
    return Diagnostic(
        "unterminated-text",
        "this text is not closed on its line",
        whole,
        note='the closing `"` is missing',
    )
