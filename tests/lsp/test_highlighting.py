"""Colours: both grammars find the keywords of every example, and lose no character.

A keyword that is a value (`policer: policer`) is free only for the parser, which knows the context;
here it is coloured, too.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pygments.token import Error, Keyword

from fairc.dsl.core.source import Source
from fairc.dsl.text.parser import parse_with_tokens
from fairc.lsp.highlighting import FexpLexer, keywords, textmate

ROOT = Path(__file__).parents[2]
GRAMMAR = ROOT / "editors" / "vscode" / "syntaxes" / "fexp.tmLanguage.json"
EXAMPLES = sorted((ROOT / "examples").glob("*.fexp"))


def test_the_grammar_of_editors_is_up_to_date(update: bool) -> None:
    text = json.dumps(textmate(), indent=2) + "\n"
    if update:
        GRAMMAR.write_text(text, encoding="utf-8")
    assert GRAMMAR.read_text(encoding="utf-8") == text, "pytest --update tests/lsp writes it"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_keywords_are_those_of_the_parser(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    lexed = list(FexpLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(text))
    assert "".join(value for _, _, value in lexed) == text
    assert not [value for _, kind, value in lexed if kind is Error]
    coloured = [(at, value) for at, kind, value in lexed if kind is Keyword]
    _, tokens = parse_with_tokens(Source(file.name, text))
    known = [(at, word) for kind, word, at in tokens if kind.lower() == word and word in keywords()]
    assert set(known) <= set(coloured) and len(coloured) <= len(known) + 6
    (rule,) = (r["match"] for r in textmate()["patterns"] if "keyword.control" in r["name"])
    plain = re.sub(r'#[^\n]*|"[^"\n]*"', lambda found: " " * len(found[0]), text)
    assert [(found.start(), found[0]) for found in re.finditer(rule, plain)] == coloured
