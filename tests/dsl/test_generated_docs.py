"""docs/: the generated blocks of its pages are current. After a change: `make docs`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.runtime import documents

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    page: documents.BLOCK.findall(text)
    for page in sorted(DOCS.rglob("*.md"))
    if "<!-- generated: " in (text := page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_are_current(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert documents.current(text) == text


def test_every_block_is_on_one_page() -> None:
    names = [name for found in PAGES.values() for _, name, _ in found]
    assert sorted(names) == sorted(documents.BLOCKS)


def test_a_page_is_brought_up_to_date(tmp_path: Path) -> None:
    page = tmp_path / "book/page.md"
    page.parent.mkdir()
    page.write_text("before\n<!-- generated: engines -->\nold\n<!-- end -->\nafter\n")
    documents.main(tmp_path)
    assert "old" not in page.read_text()
    assert "| `uml` | the Linux kernel" in page.read_text()
    assert page.read_text().endswith("<!-- end -->\nafter\n")
