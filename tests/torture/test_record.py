"""The record of the campaign: it resumes, it is compacted, and the page tells what is in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from torture import campaign, page
from torture.__main__ import RECORD
from torture.fault import Fault, Problem, Try
from torture.record import Record, Slice, kind_of


def _bad(one: Try) -> str:
    if one.number % 2:
        one.ending = "odd"
        raise Problem(f"number {one.number} of /tmp/x")
    return "even"


BAD = Fault("kind.bad", "nothing", _bad, here=True)


def tried(start: int, end: int) -> Slice:
    made = Slice(start, start, 1.0)
    for number in range(start, end):
        outcome = BAD.attempt(1, number)
        made.add(number, outcome.ending, outcome.problem)
    return made


def test_a_campaign_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    assert record.next("kind.bad", 1) == 0
    record.add("2026-01-01", "v", "kind.bad", 1, tried(0, 10))
    with (tmp_path / "record.jsonl").open("a") as file:
        file.write('{"date": "2026-')  # a campaign was killed while it wrote
    again = Record(tmp_path / "record.jsonl")
    assert again.next("kind.bad", 1) == 10
    assert again.next("kind.bad", 2) == 0
    again.add("2026-01-01", "v", "kind.bad", 1, tried(10, 15))
    again.compact()
    (line,) = again.lines
    assert (line["from"], line["to"], line["seconds"]) == (0, 15, 2.0)
    assert line["endings"] == {"even": 8, "odd": 7}
    assert line["problems"] == [{"number": 1, "tries": 7, "what": "number 1 of .../x"}]
    assert again.count("kind.bad") == 15


def test_no_folder_of_the_machine_is_published(tmp_path: Path) -> None:
    record, made = Record(tmp_path / "record.jsonl"), Slice(0, 0, 1.0)
    made.add(0, "problem", f"{tmp_path}/x.so: no; {Path.home()}/a/b, /proc/self/mem, https://a.b/c")
    record.add("2026-01-01", "v", "kind.bad", 1, made)
    record.again("2026-01-01", "v", "kind.bad", 1, 0, "problem", f"({tmp_path}/deep/x.so)")
    text = (tmp_path / "record.jsonl").read_text()
    assert ".../x.so: no; .../b, /proc/self/mem, https://a.b/c" in text
    assert "(.../x.so)" in text
    for committed in (campaign.ROOT / "docs/trust/reliability.md", RECORD):
        assert not re.findall(r"/(?:home|root|work|tmp|var)/[^\s`]*", committed.read_text())


def test_other_days_and_versions_stay_apart(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    record.add("2026-01-01", "v", "kind.bad", 1, tried(0, 2))
    record.add("2026-01-02", "v", "kind.bad", 1, tried(2, 4))
    record.add("2026-01-02", "w", "kind.bad", 1, tried(4, 6))
    record.compact()
    assert len(record.lines) == 3
    assert record.next("kind.bad", 1) == 6


def test_a_problem_is_open_until_a_try_again_ends_it(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    record.add("2026-01-01", "v", "kind.bad", 1, tried(0, 4))
    assert [found[:3] for found in record.open()] == [("kind.bad", 1, 1)]
    record.again("2026-01-02", "w", "kind.bad", 1, 1, "even", "")
    assert [*record.open()] == []
    assert "2026-01-02, w: no problem" in page.render(record, [BAD])
    record.again("2026-01-03", "w", "kind.bad", 1, 1, "odd", "there it is")
    assert [found[:3] for found in record.open()] == [("kind.bad", 1, 1)]
    assert "2026-01-03, w: still there" in page.render(record, [BAD])


def test_the_page_counts_what_is_in_the_record(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    assert "between never and never" in page.render(record, [BAD]).replace("\n", " ")
    record.add("2026-01-01", "v", "kind.bad", 1, tried(0, 2000))
    text = page.render(record, [BAD])
    assert "| `kind.bad` | nothing | 2,000 | 2,000 | 1,000 | 1,000 | 1 | 2026-01-01 | 1 |" in text
    assert "- `kind.bad`: even: 1,000; odd: 1,000" in text


def test_an_ending_of_older_records_counts_under_its_present_name(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    for day, ending in enumerate(("file size: told", "file size: reported"), 1):
        made = Slice(day, day, 1.0)
        made.add(day, ending, "")
        record.add(f"2026-01-0{day}", "v", "kind.bad", 1, made)
    text = page.render(record, [BAD])
    assert "- `kind.bad`: file size: reported: 2" in text


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("hangs: more than 5 s", "hangs: more than 61 s", True),
        ("/tmp/a/b was written", "/var/c was written", True),
        ("process 0123456789abcdef left", "process fedcba9876543210 left", True),
        ("status 1", "traceback 1", False),
    ],
)
def test_the_same_bug_is_one_problem(one: str, other: str, equal: bool) -> None:
    assert (kind_of(one) == kind_of(other)) is equal


def test_the_same_numbers_with_two_versions_are_not_different(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    record.add("2026-01-01", "v", "kind.bad", 1, tried(0, 10))
    record.add("2026-01-01", "w", "kind.bad", 1, tried(0, 4))
    record.add("2026-01-01", "w", "kind.bad", 2, tried(0, 3))
    assert (record.count("kind.bad"), record.different("kind.bad")) == (17, 13)


def test_lines_are_json(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    record.add("2026-01-01", "v", "kind.bad", 1, tried(0, 3))
    (text,) = (tmp_path / "record.jsonl").read_text().splitlines()
    assert json.loads(text)["to"] == 3
    (tmp_path / "record.jsonl").write_text("no line\n")
    with pytest.raises(ValueError):
        Record(tmp_path / "record.jsonl")
