"""The parser's kept tables are those that Lark makes of the grammar."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import lark
import pytest

from fairc.dsl.text import tables

KEPT = Path(__file__).parents[2] / "dsl" / "text" / tables.FILE
EXAMPLES = Path(__file__).parents[2] / "examples"


def test_kept_tables_are_those_of_the_grammar(update: bool) -> None:
    """`pytest --update tests/dsl` writes them after a change of grammar.lark.

    They name their grammar and their Lark. Their content is compared by what they read: Lark
    numbers states and tokens differently in each process.
    """
    new = json.loads(tables.document())["of"]
    if update and new != json.loads(KEPT.read_text(encoding="utf-8"))["of"]:
        KEPT.write_text(tables.document(), encoding="utf-8")
    assert json.loads(KEPT.read_text(encoding="utf-8"))["of"] == new


def test_both_parsers_read_the_same() -> None:
    """A parser from kept tables, and one made anew, have the same trees of all examples."""
    grammar = resources.files("fairc").joinpath("grammar.lark").read_text(encoding="utf-8")
    kept, made = tables.load(), tables._made(grammar)
    texts = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.rglob("*.fexp"))]
    assert len(texts) > 20
    for text in texts:
        assert kept.parse(text, start="start") == made.parse(text, start="start")
    condition = "a == 1 and b in 1..2"
    assert kept.parse(condition, start="expression") == made.parse(condition, start="expression")


def test_tables_of_another_lark_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another version of Lark the parser is made from the grammar."""
    made: list[str] = []
    make = tables._made

    def counted(text: str) -> lark.Lark:
        made.append(text)
        return make(text)

    monkeypatch.setattr(lark, "__version__", "1.9.9")
    monkeypatch.setattr(tables, "_made", counted)
    parser = tables.load()
    assert made and parser.parse("1ms", start="expression")
