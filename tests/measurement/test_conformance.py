"""The tables of docs/learn/congestion.md that say which test shows a rule of a draft: the tests exist,
and every function of bbr3 that the draft has is in one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "learn" / "congestion.md"
SOURCES = ROOT / "endpoints" / "src"
# Functions of ours that the draft has no counterpart for: those of Rust's traits, and helpers.
OURS = frozenset(
    {
        *("new", "name", "pacing_gain", "cwnd_gain", "min_pipe_cwnd", "model", "window", "on_mtu"),
        *("on_sent", "on_ack", "on_acks", "on_congestion", "rate_bps", "was_cwnd_limited"),
        *("take_lost", "lose", "forget", "handle_mark", "bw_probe_wait", "enter_recovery"),
    }
)


def sections() -> Iterator[tuple[str, str]]:
    """Yield the headings of the page, and the text below each."""
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        yield heading, text


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield section, rule and the cell that says what shows it, of every table that has such a
    column.
    """
    for heading, text in sections():
        shown = False
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if not line.startswith("|"):
                shown = False
            elif "shown by" in cells[-1]:
                shown = True
            elif shown and not set(line) <= set("|- "):
                yield heading, cells[0], cells[-1].rstrip("| ")


def known_tests() -> frozenset[str]:
    """Return the names of all tests of the endpoints and of the suite."""
    found: set[str] = set()
    for path in (ROOT / "endpoints").glob("[st]*/**/*.rs"):
        text = path.read_text(encoding="utf-8")
        found.update(re.findall(r"#\[test\]\s+(?:#\[[^]]*\]\s+)*fn (\w+)", text))
    for path in (ROOT / "tests").rglob("test_*.py"):
        found.update(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    return frozenset(found)


ROWS = [*rows()]
TESTS = known_tests()


def test_the_tables_are_there() -> None:
    headings = {heading for heading, _, _ in ROWS}
    drafts = {"BBRv3: conformance", "Prague: conformance", "HyStart++", "Careful Resume", "copa"}
    assert drafts <= headings
    assert len(ROWS) > 80


@pytest.mark.parametrize(("heading", "rule", "shown"), ROWS, ids=[row[1][:40] for row in ROWS])
def test_what_a_row_names_is_there(heading: str, rule: str, shown: str) -> None:
    assert rule, "what it is about"
    assert shown or "not here" in rule or heading == "Careful Resume"
    for name in re.findall(r"`([\w./]+)`", shown):
        if "." in name or "/" in name:
            places = (ROOT, SOURCES, SOURCES / "congestion", SOURCES / "congestion" / "bbr3")
            assert any((place / name).is_file() for place in places), name
        elif name.count("_") >= 2 or name.startswith("test_"):
            assert name in TESTS, name


def test_a_name_that_is_not_there_would_be_found() -> None:
    assert "constants_are_the_drafts" in TESTS
    assert "constants_are_not_the_drafts" not in TESTS


def test_every_function_of_bbr3_is_in_its_table() -> None:
    text = next(text for heading, text in sections() if heading.startswith("BBRv3"))
    listed = {name.lower().replace("_", "") for name in re.findall(r"\b[A-Z]\w+", text)}
    files = [SOURCES / "congestion" / "bbr3.rs", *(SOURCES / "congestion" / "bbr3").glob("*.rs")]
    missing = set()
    for path in files:
        if path.stem in ("tests", "flows", "peer", "reference"):
            continue
        program = path.read_text("utf-8").split("#[cfg(test)]")[0]
        for name in re.findall(r"^ +(?:pub )?fn (\w+)", program, re.MULTILINE):
            if name not in OURS and name.replace("_", "") not in listed:
                missing.add(name)
    assert not missing
