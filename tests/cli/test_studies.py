"""The pages of the studies: what `make studies` writes into them, and that it can."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("studies.page")


WRITERS: dict[str, Callable[[str], str]] = {
    "facts": lambda _: "12 cells.",
    "claims": lambda _: "one holds",
    "table": lambda asked: f"| {asked} |",
    "sql": lambda asked: f"| {asked.splitlines()[-1]} |",
}


PAGE = """# A study

<!-- facts -->
<!-- end -->

What came out:

<!-- table: goodput --by r,flow --where 'r == 5' -->
| old |
<!-- end -->
By hand.

<!-- sql:
SELECT r
FROM cells -->
| old |
<!-- end -->
"""


def test_parts_between_marks_are_written_anew_and_nothing_else(page: ModuleType) -> None:
    written = page.filled(PAGE, WRITERS)
    assert "old" not in written
    assert "<!-- facts -->\n12 cells.\n<!-- end -->" in written
    assert "-->\n| goodput --by r,flow --where 'r == 5' |\n<!-- end -->\nBy hand.\n" in written
    assert "<!-- sql:\nSELECT r\nFROM cells -->\n| SELECT r FROM cells |\n<!-- end -->" in written
    assert page.filled(written, WRITERS) == written


@pytest.mark.parametrize("mark", ["<!-- facts -->", "<!-- end -->", "<!-- table: goodput -->"])
def test_a_mark_that_is_not_one_of_a_pair_is_refused(page: ModuleType, mark: str) -> None:
    with pytest.raises(page.BrokenPage, match="not one of a pair"):
        page.filled(f"{PAGE}{mark}\n", WRITERS)


def test_a_mark_of_no_known_kind_is_refused(page: ModuleType) -> None:
    with pytest.raises(page.BrokenPage, match="`tabel` is no mark"):
        page.filled(PAGE.replace("table:", "tabel:"), WRITERS)


def test_pictures_are_those_of_the_run(page: ModuleType) -> None:
    text = "![a](../../img/fmp/k.svg) ![b](../img/other/l.svg) ![c](../img/fmp/../x.svg)"
    assert list(page.pictures(text, "fmp")) == ["k.svg"]


def test_prose_is_wrapped_and_a_question_may_be(page: ModuleType) -> None:
    text = '<!-- sql:\nSELECT a AS "two\nwords" -->\n<!-- end -->\n'
    row = f"| {'x' * 120} |"
    told = page.filled(text, {"sql": lambda asked: f"{asked} {'word ' * 30}\n{row}"})
    lines = told.splitlines()
    assert row in lines
    assert any(line.startswith('SELECT a AS "two words" word') for line in lines)
    assert max(len(line) for line in lines if line != row) <= page.WIDTH


def test_every_study_has_its_file_and_a_page_that_can_be_filled(page: ModuleType) -> None:
    for name in importlib.import_module("studies.__main__").STUDIES:
        assert (ROOT / f"examples/{name}.fexp").exists()
        assert page.filled((ROOT / f"docs/learn/examples/{name}.md").read_text(), WRITERS)
