"""What the faults of specs begin with: specs that are right, and sentences of the grammar."""

from __future__ import annotations

import random

import pytest
from torture.faults import specs

from fairc.dsl import CompileError, Source, render_full
from fairc.dsl.loading import load_all
from fairc.dsl.text.parser import parse


@pytest.mark.parametrize("text", [specs.SHORT, specs.MANY], ids=["short", "many"])
def test_specs_that_are_mutated_are_right(text: str) -> None:
    experiments, found = load_all(Source("file.fexp", text))
    assert experiments, render_full(found)


def test_many_has_the_statements_of_the_language() -> None:
    """A keyword that no spec has is one that no mutation moves."""
    for word in ("for", "when", "with", "every", "service", "template", "extends", "metric"):
        assert word in specs.MANY.split()


def test_sentences_of_the_grammar_parse() -> None:
    """One in five at least: words that stand for something else may end up in a wrong place."""
    rng, parsed = random.Random(1), 0
    for _ in range(50):
        try:
            parse(Source("file.fexp", specs.sentence(rng)))
            parsed += 1
        except CompileError:
            continue
    assert parsed > 10
