"""Every relative link of the documentation leads to a file, and to a heading of it where it names
one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("*/*.md")]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    broken = []
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_of_the_source(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return  # history
    rooms = "dsl|words|compiler|runtime|cell|fairc|endpoints|tests|scripts|examples"
    paths = re.findall(rf"`((?:{rooms})/[\w./-]+)`", page.read_text(encoding="utf-8"))
    named = [path for path in paths if not re.search("NAME|CODE", path)]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_is_linked() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = readme + "".join(
        page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")
    )
    names = {page.name for page in (ROOT / "docs").rglob("*.md")}
    assert {
        name for name in names if f"{name})" not in linked and f"{name}#" not in linked
    } == set()
