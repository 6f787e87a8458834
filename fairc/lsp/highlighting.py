"""Colours: a lexer for Pygments, and the grammar that VS Code and others read (TextMate's form).

Both take the keywords from `grammar.lark`, where the parser has them from.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

_KEYWORD = re.compile(r'^[A-Z]+\.[23]: (?:"(\w+)" _KEYWORD|/(\w+)\\b)', re.MULTILINE)
_NUMBER = r"\b[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:%|[A-Za-z_]\w*(?:/s\b)?)?"
_FREE = r"(?!\s*(?:[.:]|=(?!=)))"
"""A keyword is a plain name where `=`, `.` or `:` follows."""


def keywords() -> list[str]:
    """Return the keywords of the language, sorted."""
    grammar = resources.files("fairc").joinpath("grammar.lark").read_text(encoding="utf-8")
    return sorted(one or other for one, other in _KEYWORD.findall(grammar))


class FexpLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """`.fexp` files, for Pygments: listings in papers (minted), pages and terminals."""

    name = "fairc experiment"
    aliases = ("fexp",)
    filenames = ("*.fexp",)
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"#[^\n]*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String.Double),
            (words(keywords(), prefix=r"\b", suffix=rf"\b{_FREE}"), Keyword),
            (_NUMBER, Number),
            (r"[A-Za-z_]\w*(?=\()", Name.Function),
            (r"[A-Za-z_]\w*(?=\s*(?:=(?!=)|:))", Name.Attribute),
            (r"[A-Za-z_][\w.]*", Name),
            (r"--|->|<-|\.\.|[=!<>]=|[-+*/<>=]", Operator),
            (r"[][(){},:.]", Punctuation),
            (r"\s+", Text),
        ]
    }


def textmate() -> dict[str, Any]:
    """Return the grammar in TextMate's form, as data."""
    words = "|".join(keywords())
    rules = (
        ("comment.line.number-sign.fexp", r"#.*$"),
        ("string.quoted.double.fexp", r'"(?:[^"\\]|\\.)*"'),
        ("keyword.control.fexp", rf"\b(?:{words})\b{_FREE}"),
        ("constant.numeric.fexp", _NUMBER),
        ("entity.name.function.fexp", r"\b[A-Za-z_]\w*(?=\()"),
        ("variable.other.property.fexp", r"\b[A-Za-z_]\w*(?=\s*(?:=(?!=)|:))"),
        ("keyword.operator.fexp", r"--|->|<-|\.\.|[=!<>]=|[-+*/<>=]"),
    )
    return {
        "name": "fairc experiment",
        "scopeName": "source.fexp",
        "fileTypes": ["fexp"],
        "patterns": [{"name": name, "match": pattern} for name, pattern in rules],
    }
