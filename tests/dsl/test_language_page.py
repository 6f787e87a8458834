"""docs/learn: the examples of the language and the tutorials are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairc.dsl import Source, load_all

LEARN = Path(__file__).parents[2] / "docs/learn"
PAGES = (
    "language.md",
    "links.md",
    "from-a-paper.md",
    *(f"language/{page.name}" for page in sorted((LEARN / "language").glob("*.md"))),
)
EXAMPLES = [
    pytest.param(page, text, id=f"{page}-{number}")
    for page in PAGES
    for number, text in enumerate(
        re.findall(r"```fexp\n(.*?)```", (LEARN / page).read_text(encoding="utf-8"), re.DOTALL)
    )
]


@pytest.mark.parametrize(("page", "text"), EXAMPLES)
def test_example(page: str, text: str) -> None:
    experiments, found = load_all(Source(f"docs/learn/{page}", text))
    assert [d.message for d in found] == []
    assert experiments
    assert all(next(each.configurations()).scenario.flows for each in experiments)


@pytest.mark.parametrize("page", PAGES[:3])
def test_there_are_examples(page: str) -> None:
    assert sum(example.values[0] == page for example in EXAMPLES) >= 4


def test_blocks_have_examples() -> None:
    pages = {example.values[0] for example in EXAMPLES}
    without = {"hosts", "layout", "measure"}
    assert {*PAGES[3:]} - pages == {f"language/{name}.md" for name in without}
