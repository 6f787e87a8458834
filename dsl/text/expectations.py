"""The words for what a parser has read and expects, in the user's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairc.dsl.core.kinds import either

if TYPE_CHECKING:
    from lark import Token, Tree
    from lark.parsers.lalr_interactive_parser import InteractiveParser

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
    {
        *("PLUS", "MINUS", "STAR", "SLASH", "COMPARE", "AND", "OR", "_DOT", "_DOTDOT", "PER", "OF"),
        *("IN", "WITH"),
    }
)


def last_token(parser: InteractiveParser) -> Token | None:
    """Return the last thing that was read, if it is a token and no finished part of the tree
    yet.
    """
    from lark import Token

    stack = parser.parser_state.value_stack
    last: Tree[Token] | Token | None = stack[-1] if stack else None
    return last if isinstance(last, Token) else None


def start_of(node: Tree[Token] | Token) -> int:
    """Return where the first token of a node begins."""
    while not isinstance(node, str):
        node = node.children[0]
    assert node.start_pos is not None
    return node.start_pos


def shortened(token: str) -> str:
    """Return a token's text, cut if it is long."""
    return token if len(token) <= 40 else f"{token[:37]}..."


def expected(accepts: frozenset[str]) -> str:
    """Describe what a parser state accepts."""
    if accepts >= VALUE - {"MINUS"}:
        return "a value"
    terminals = {name for name in accepts if name not in SIGNS and name not in OPERATORS}
    if "_LBRACE" in accepts:  # `for` and `when` are possible before it, and rarely meant
        terminals -= {"FOR", "WHEN"}
    signs = [SIGNS[name] for name in sorted(accepts - {"_LSQB"}) if name in SIGNS]
    if len(terminals) > 6:
        if "NAME" in accepts:
            signs = [s for s in signs if s != "a name"]
        return " or ".join(["a statement", *signs])
    parts = [*signs, *(f"`{word.lower()}`" for word in sorted(terminals) if word != "CALL")]
    if "CALL" in terminals and not parts:
        parts = ["a call"]
    if not parts:
        return "something else"
    return either(parts)
