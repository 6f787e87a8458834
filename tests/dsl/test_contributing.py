"""CONTRIBUTING.md: every path that it names is there, and as many as its table says."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WRITTEN_BY_THE_CAMPAIGN = {"tests/torture/record.jsonl", "docs/reliability.md"}
PATHS = re.findall(r"`([A-Za-z][\w.-]*(?:/[\w.-]+)+/?)`", TEXT)


def test_every_path_is_there() -> None:
    missing = [path for path in PATHS if not re.search("NAME|CODE", path)]
    missing = [path for path in missing if not (ROOT / path).exists()]
    assert set(missing) <= WRITTEN_BY_THE_CAMPAIGN
    assert len(PATHS) > 30


def test_a_place_for_a_new_word_is_a_folder_with_others_of_its_kind() -> None:
    for path in PATHS:
        if re.search("NAME|CODE", path):
            place = ROOT / path
            assert list(place.parent.glob(f"*{place.suffix}")), path


def test_the_table_counts_the_files_that_it_names() -> None:
    rows = re.findall(r"^\| ([\w ]+) \| (\d) \| (.*) \|$", TEXT, re.MULTILINE)
    assert len(rows) == 11
    for word, number, places in rows:
        if word != "diagnostic":  # stands where it is found
            assert len(re.findall(r"`[^`]*/[^`]*`", places)) == int(number), word
