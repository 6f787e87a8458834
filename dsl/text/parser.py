"""Parser: runs the grammar, then builds the syntax tree with one plain method per rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Literal, cast

from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import UNITS

from . import syntax
from .expectations import start_of
from .syntax_errors import SyntaxErrors, refuse_characters

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

NESTING_LIMIT = 60
"""The deepest nesting of values: more than any person writes, far less than Python's stack."""

NAME_LIMIT = 60

SURPLUS_LIMIT = 3
"""A file with more surplus braces than this is not worth reading."""

WORD_LIMIT = 90_000
"""Names, numbers, texts and signs of one file: some seconds of work, and far more than the largest
study needs.
"""

_WORD = (
    r"(?P<word>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?%?\w*(?:/s\b)?|\w+|[<>=!]=|--|->|<-|\.\."
    r"|[^\s\w])"
)
_WORDS = re.compile(rf'#[^\n]*|"(?:[^"\\\n]|\\.)*(?P<closed>")?|{_WORD}')
_UNCLOSED = re.compile(rf"#[^\n]*|{_WORD}")
"""What stands behind a quote that nothing closes on its line, as in `borders`."""


def parse(source: Source) -> syntax.File:
    """Return the tree of a whole file. Raises CompileError with every syntax error."""
    return cast(syntax.File, Builder(source).build(_whole(source, "start")))


def parse_expression(source: Source, start: int = 0) -> syntax.Expr:
    """Return the tree of one value or condition that begins at `start`. Raises CompileError."""
    return cast(syntax.Expr, Builder(source).build(_whole(source, "expression", start)))


def parse_with_tokens(source: Source) -> tuple[syntax.File, list[tuple[str, str, int]]]:
    """Return the tree of a file, and the kind, the text and the offset of each token.

    Raises like `parse`.
    """
    tree = _whole(source, "start")
    node = cast(syntax.File, Builder(source).build(tree))
    return node, [(token.type, str(token), start_of(token)) for token in _tokens(tree)]


def parse_leniently(source: Source) -> tuple[syntax.File | None, list[Diagnostic], list[str]]:
    """Return the tree of a file without its broken statements, what is wrong in them, and what was
    left out.

    The tree is None if nothing can be made of the rest. Raises CompileError where a file is not
    even read.
    """
    _refuse_unreadable(source)
    text = source.text
    tree, errors = _attempt(source, "start", text)
    surplus: list[Diagnostic] = []
    while errors.surplus is not None and len(surplus) < SURPLUS_LIMIT:
        surplus.append(errors.found[-1])
        text = f"{text[: errors.surplus]} {text[errors.surplus + 1 :]}"
        tree, errors = _attempt(source, "start", text)
    found = [*surplus, *errors.found]
    if tree is None:
        return None, found, errors.dropped
    _refuse_deep_nesting(source, tree)
    return cast(syntax.File, Builder(source).build(tree)), found, errors.dropped


def _whole(source: Source, rule: str, begin: int = 0) -> Tree[Token]:
    """Return the parse tree of a text without errors, with every token in it.

    Raises CompileError.
    """
    _refuse_unreadable(source)
    text = " " * begin + source.text[begin:]
    tree, errors = _attempt(source, rule, text)
    if tree is None or errors.found:
        raise CompileError(errors.found)
    _refuse_deep_nesting(source, tree)
    return tree


def _attempt(source: Source, rule: str, text: str) -> tuple[Tree[Token] | None, SyntaxErrors]:
    """Return the tree of a text without its broken statements, if there is one, and what is wrong
    in them.
    """
    errors = SyntaxErrors(source, text)
    tree = errors.watch(lambda: grammar().parse(text, start=rule, on_error=errors.on_error))
    return tree, errors


def _refuse_unreadable(source: Source) -> None:
    refuse_characters(source)
    _refuse_many_words(source)


def _tokens(tree: Tree[Token]) -> Iterator[Token]:
    """Yield the tokens of a tree in the order of the text."""
    stack: list[Tree[Token] | Token] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        else:
            stack.extend(reversed(node.children))


def _end(node: Tree[Token] | Token) -> int:
    """Return where the last token of a node ends."""
    while not isinstance(node, str):
        node = node.children[-1]
    assert node.end_pos is not None
    return node.end_pos


@cache
def grammar() -> Lark:
    """Return the parser that grammar.lark describes; importing lark takes a while."""
    from .tables import load

    return load()


def _refuse_many_words(source: Source) -> None:
    """Raise CompileError if a file is too long to be parsed in a few seconds."""
    if len(source.text) > WORD_LIMIT:
        beyond = next(islice(_words(source.text), WORD_LIMIT, None), None)
        if beyond is not None:
            fail(
                "too-large",
                f"this file has more than {WORD_LIMIT:,} words and signs",
                Span(source, *beyond.span()),
                note="this is one too many",
                help="write long lists as ranges (`1..1000`) or `logspace(...)`, or split the file",
            )


def _words(text: str) -> Iterator[re.Match[str]]:
    """Yield the words and signs of a text, outside strings and comments."""
    for match in _WORDS.finditer(text):
        if match["word"]:
            yield match
        elif match[0][0] == '"' and not match["closed"]:
            behind = _UNCLOSED.finditer(text, match.start(), match.end())
            yield from (inner for inner in behind if inner["word"])


def _refuse_deep_nesting(source: Source, tree: Tree[Token]) -> None:
    """Raise CompileError if a value is nested too deeply to be walked by recursion."""
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > NESTING_LIMIT:
            fail(
                "too-deep",
                f"values are nested more than {NESTING_LIMIT} levels deep",
                Span(source, start_of(node), start_of(node) + 1),
                note="this is one level too many",
                help="give inner values a name with `let`",
            )
        stack.extend((child, depth + 1) for child in node.children if not isinstance(child, str))


class Builder:
    """Builds syntax nodes from a parse tree: the method of a rule has the rule's name."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def build(self, tree: Tree[Token]) -> syntax.Node:
        """Return the node of a tree."""
        method = cast(
            "Callable[[Span, list[Any]], syntax.Node]", getattr(self, f"_{tree.data}".rstrip("_"))
        )
        empty = not tree.children  # a file without a single token
        span = Span(self.source, 0 if empty else start_of(tree), 0 if empty else _end(tree))
        return method(
            span, [c for c in tree.children if not isinstance(c, str) or c.type[0] != "_"]
        )

    def _word(self, token: Token) -> syntax.Word:
        return self._named(self._at(token), str(token))

    def _named(self, span: Span, name: str) -> syntax.Word:
        """Return a word; names end up in file names and columns, so their length is limited."""
        if len(name) > NAME_LIMIT:
            fail("long-name", f"a name has at most {NAME_LIMIT} characters", span)
        return syntax.Word(span, name)

    def _at(self, token: Token) -> Span:
        start, end = token.start_pos, token.end_pos
        assert start is not None and end is not None
        return Span(self.source, start, end)

    def _all(self, children: list[Any]) -> tuple[Any, ...]:
        return tuple(self.build(c) for c in children)

    def _declared(
        self, trees: list[Any]
    ) -> tuple[list[Any], tuple[syntax.Loop, ...], syntax.Expr | None]:
        """Return the parts of a declaration, its loops, and what follows `when`."""
        parts: list[syntax.Node] = []
        loops: list[syntax.Loop] = []
        when = None
        for tree in trees:
            node = self.build(tree)
            if isinstance(node, syntax.Loop):
                loops.append(node)
            elif tree.data == "when":
                when = cast(syntax.Expr, node)
            else:
                parts.append(node)
        return parts, tuple(loops), when

    # declarations

    def _start(self, span: Span, c: list[Any]) -> syntax.Node:
        nodes = self._all(c)
        if nodes and isinstance(nodes[0], syntax.Version):
            return syntax.File(span, nodes[0], nodes[1:])
        return syntax.File(span, None, nodes)

    def _expression(self, span: Span, c: list[Any]) -> syntax.Node:
        return self.build(c[0])

    def _version(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Version(span, self._number(c[1]))

    def _import(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Import(span, self._text(self._at(c[1]), c[1:]))

    def _let(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Let(span, self._word(c[1]), self._expr(c[2]))

    def _metric(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Metric(span, self._word(c[1]), self._expr(c[2]))

    def _service(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Service(span, self._word(c[1]), self._settings_of(c[2]))

    def _topology(self, span: Span, c: list[Any]) -> syntax.Node:
        *parameters, body = self._all(c[2:])
        name = self._head(c[1])
        if "." in name.text:
            fail(
                "syntax",
                "the name of a topology has no dot",
                name.span,
                help="names consist of letters, digits and `_`",
            )
        return syntax.Topology(span, name, tuple(parameters), body)

    def _parameter(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Parameter(span, self._word(c[0]), self._expr(c[1]) if c[1:] else None)

    def _experiment(self, span: Span, c: list[Any]) -> syntax.Node:
        name, parts = self._word(c[1]), self._all(c[2:])
        is_template = c[0].type == "TEMPLATE"
        if parts and isinstance(parts[0], syntax.Word):
            return syntax.Experiment(span, name, parts[1:], is_template, parts[0])
        return syntax.Experiment(span, name, parts, is_template)

    _template = _experiment

    def _extends(self, span: Span, c: list[Any]) -> syntax.Node:
        return self._word(c[1])

    # what is declared: a name with an index, loops, a condition

    def _ref(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Reference(span, self._word(c[0]), self._all(c[1:]))

    def _loop(self, span: Span, c: list[Any]) -> syntax.Node:
        *names, _, values = c[1:]
        return syntax.Loop(span, tuple(map(self._word, names)), self._expr(values))

    def _when(self, span: Span, c: list[Any]) -> syntax.Node:
        return self.build(c[1])

    # topologies

    def _body(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Body(span, self._all(c))

    def _nodes(self, span: Span, c: list[Any]) -> syntax.Node:
        kind: Literal["host", "router"] = "host" if c[0].type == "NODE" else "router"
        names, loops, when = self._declared(c[1:])
        return syntax.Nodes(span, kind, tuple(names), loops, when)

    def _link(self, span: Span, c: list[Any]) -> syntax.Node:
        parts, loops, when = self._declared(c[1:])
        settings = parts.pop() if isinstance(parts[-1], syntax.Attributes) else None
        return syntax.Link(span, tuple(parts), settings, loops, when)

    def _ends(self, span: Span, c: list[Any]) -> syntax.Node:
        left, right = self._all([c[0], c[2]])
        return syntax.Ends(span, left, cast(Any, str(c[1])), right)

    def _device(self, span: Span, c: list[Any]) -> syntax.Node:
        (name, settings), loops, when = self._declared(c[1:])
        return syntax.Device(span, str(c[0]), name, settings, loops, when)

    def _settings(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Settings(span, self._all(c))

    def _attributes(self, span: Span, c: list[Any]) -> syntax.Node:
        nodes = self._all(c)
        settings = tuple(node for node in nodes if isinstance(node, syntax.Setting))
        changes = tuple(node for node in nodes if not isinstance(node, syntax.Setting))
        return syntax.Attributes(span, settings, changes)

    def _change(self, span: Span, c: list[Any]) -> syntax.Node:
        over = self._after("OVER", c)
        return syntax.Change(span, self._expr(c[1]), self._settings_of(c[-1]), over)

    def _cycle(self, span: Span, c: list[Any]) -> syntax.Node:
        begin, length = self._after("FROM", c), self._after("FOR", c)
        return syntax.Cycle(span, self._expr(c[1]), begin, length, self._settings_of(c[-1]))

    def _outage(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Outage(span, self._expr(c[2]), self._after("TO", c))

    def _outages(self, span: Span, c: list[Any]) -> syntax.Node:
        begin = self._after("FROM", c)
        return syntax.Outages(span, self._expr(c[2]), begin, self._expr(c[-1]))

    def _after(self, keyword: str, c: list[Any]) -> syntax.Expr | None:
        """Return the value that follows a keyword, or None without the keyword."""
        for word, value in pairwise(c):
            if getattr(word, "type", "") == keyword:
                return self._expr(value)
        return None

    def _settings_of(self, tree: Tree[Token]) -> syntax.Settings:
        return cast(syntax.Settings, self.build(tree))

    # statements of an experiment

    def _setting(self, span: Span, c: list[Any]) -> syntax.Node:
        per = self._expr(c[3]) if c[3:] else None
        return syntax.Setting(span, self._word(c[0]), self._expr(c[1]), per)

    def _sweep(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Sweep(span, self._all(c[1:]))

    def _binding(self, span: Span, c: list[Any]) -> syntax.Node:
        names = tuple(self._word(t) for t in c[:-1])
        is_tuple = self.source.text[span.start] == "("
        return syntax.Binding(span, names, self._expr(c[-1]), is_tuple)

    def _exclude(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Exclude(span, self._expr(c[1]))

    def _precision(self, span: Span, c: list[Any]) -> syntax.Node:
        nodes = self._all([child for child in c if not isinstance(child, str)])
        goals = tuple(node for node in nodes if isinstance(node, syntax.Setting))
        per = nodes[0] if len(nodes) > len(goals) else None
        return syntax.Precision(span, cast("syntax.Expr | None", per), goals)

    def _goal(self, span: Span, c: list[Any]) -> syntax.Node:
        *names, value = c
        extent = Span(self.source, span.start, _end(names[-1]))
        key = self._named(extent, ".".join(names))
        return syntax.Setting(span, key, self._expr(value), None)

    def _hosts(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Hosts(span, self._settings_of(c[1]))

    def _users(self, span: Span, c: list[Any]) -> syntax.Node:
        (name, settings), loops, when = self._declared(c[1:])
        return syntax.Users(span, name, settings, loops, when)

    def _flow(self, span: Span, c: list[Any]) -> syntax.Node:
        (name, settings), loops, when = self._declared(c[1:])
        return syntax.Flow(span, name, settings, loops, when)

    def _flow_of(self, span: Span, c: list[Any]) -> syntax.Node:
        (name, base, *rest), loops, when = self._declared(c[1:])
        nothing = syntax.Settings(Span(self.source, span.end, span.end), ())
        return syntax.Flow(span, name, rest[0] if rest else nothing, loops, when, base)

    def _report(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Report(span, self._all(c[1:]))

    def _claim(self, span: Span, c: list[Any]) -> syntax.Node:
        text = self._text(self._at(c[1]), c[1:])
        return syntax.Claim(span, text, self._settings_of(c[2]))

    def _inline_topology(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.InlineTopology(span, cast(syntax.Body, self.build(c[1])))

    # values

    def _expr(self, tree: Tree[Token]) -> syntax.Expr:
        return cast(syntax.Expr, self.build(tree))

    def _number(self, token: Token) -> syntax.Number:
        match = re.fullmatch(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(.*)", token)
        assert match
        return syntax.Number(self._at(token), match[1], match[2])

    def _quantity(self, span: Span, c: list[Any]) -> syntax.Node:
        """Distinguish numbers from the few names that begin with a digit, such as `4g`."""
        number = self._number(c[0])
        if number.unit in UNITS or not re.fullmatch(r"\d+[a-z]\w*", c[0]):
            return number
        return syntax.Name(span, str(c[0])) if str(c[0]) in _DIGIT_NAMES else number

    def _text(self, span: Span, c: list[Any]) -> syntax.Text:
        return syntax.Text(span, re.sub(r"\\(.)", r"\1", c[0][1:-1]))

    def _name(self, span: Span, c: list[Any]) -> syntax.Node:
        index = self._index_of(c.pop(1)) if c[1:] and not isinstance(c[1], str) else ()
        return syntax.Name(span, str(c[0]), tuple(str(t) for t in c[1:]), index)

    def _index_of(self, tree: Tree[Token]) -> tuple[syntax.Expr, ...]:
        return self._all([c for c in tree.children if not isinstance(c, str)])

    def _head(self, token: Token) -> syntax.Word:
        """Return the name that a call's opening token carries, without its parenthesis."""
        span = self._at(token)
        name = token.rstrip("(")
        return self._named(span.first(len(name)), name)

    def _call(self, span: Span, c: list[Any]) -> syntax.Node:
        arguments = []
        for node in self._all(c[1:]):
            if not isinstance(node, syntax.Argument):
                node = syntax.Argument(node.span, None, node)
            arguments.append(node)
        return syntax.Call(span, self._head(c[0]), tuple(arguments))

    def _argument(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Argument(span, self._word(c[0]), self._expr(c[1]))

    def _list(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.ListOf(span, self._all(c))

    def _group(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Group(span, self._expr(c[0]))

    def _tuple(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.TupleOf(span, self._all(c))

    def _with(self, span: Span, c: list[Any]) -> syntax.Node:
        base, body = self._all([c[0], c[2]])
        return syntax.With(span, base, body)

    def _interval(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Interval(span, self._expr(c[0]), self._expr(c[1]))

    def _several(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Several(span, self._expr(c[0]), self._expr(c[2]))

    def _prefix(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Prefix(span, cast(Any, str(c[0])), self._expr(c[1]))

    def _chain(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Chain(span, self._all(c[::2]), tuple(str(t) for t in c[1::2]))

    def _compare(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Compare(span, self._expr(c[0]), str(c[1]), self._expr(c[2]))

    def _within(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Within(span, self._expr(c[0]), self._expr(c[2]))

    def _logic(self, span: Span, c: list[Any]) -> syntax.Node:
        return syntax.Logic(span, cast(Any, str(c[1])), self._all(c[::2]))


_DIGIT_NAMES = frozenset({"3g", "4g", "5g"})
