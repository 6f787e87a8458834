"""Every file in tests/diagnostics: a block of `.fexp`, then the diagnostics that it gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairc.dsl import Source, load, render_full

FOLDER = Path(__file__).parent.parent / "diagnostics"
FILES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(r"```fexp\n(?P<text>.*?)```\n\n```diagnostic\n(?P<expected>.*?)```\n", re.DOTALL)


def rendered(text: str) -> str:
    return render_full(load(Source("file.fexp", text))[1])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_diagnostic(file: Path, update: bool) -> None:
    page = file.read_text(encoding="utf-8")
    assert BLOCK.search(page), "a page has a block of fexp and a block of its diagnostics"
    if update:
        page = BLOCK.sub(
            lambda m: f"```fexp\n{m['text']}```\n\n```diagnostic\n{rendered(m['text'])}```\n", page
        )
        file.write_text(page, encoding="utf-8")
    for match in BLOCK.finditer(page):
        assert rendered(match["text"]) == match["expected"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_page_is_about_its_code(file: Path) -> None:
    codes = re.findall(
        r"^(?:error|warning)\[(.*?)\]", file.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert file.stem in codes


def test_every_code_has_a_page() -> None:
    root = Path(__file__).parent.parent.parent
    sources = [path for room in ("dsl", "words") for path in (root / room).rglob("*.py")]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    codes = set(re.findall(r"(?:fail|Diagnostic|_warn)\(\s*\"([a-z-]+)\"", text))
    of_files = {"no-such-file", "is-directory", "unreadable", "not-text", "too-large", "empty-file"}
    of_settings = {"unknown-setting", "tuple-name", "plugin-failed"}
    assert len(codes) > 40
    assert sorted(codes - of_files - of_settings - {file.stem for file in FILES}) == []
