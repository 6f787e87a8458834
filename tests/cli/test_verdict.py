"""Claims after a run, and `fairc verdict`, over runs of the fake engine."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairc.compiler.record import Record

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py

HOLDS = 'claim "all get something" { holds = median(goodput, flow: a) > 1kbit/s }'
FAILS = (
    'claim "more than the link" { where = rate == 1Mbit/s  holds = median(goodput, flow: a) >'
    " 5Mbit/s }"
)


def write(*claims: str, repeat: int = 10) -> str:
    text = Path("tiny.fexp").read_text()
    text = text.replace("repeat  = 3", f"repeat  = {repeat}\n  " + "\n  ".join(claims))
    Path("claims.fexp").write_text(text)
    return "claims.fexp"


def verdicts(fairc: Fairc, run: str = "one") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(fairc("verdict", run, "--format", "json").out)[
        "claims"
    ]
    return found


def test_a_run_whose_claims_hold_is_well(fairc: Fairc) -> None:
    called = fairc("run", write(HOLDS), "-o", "one").require(0)
    assert "1 claim: 1 holds (2 intervals, each at 97.5 %" in called.out
    (found,) = verdicts(fairc)
    assert (found["verdict"], found["kind"], found["needed"]) == ("holds", "confirmatory", None)
    assert [row["by"] for row in found["configurations"]] == [
        {"rate": "1Mbit/s"},
        {"rate": "2Mbit/s"},
    ]
    assert all(row["ci_low"] > 1000 and row["n"] == 10 for row in found["configurations"])


def test_a_run_ends_with_1_when_a_claim_fails_and_says_which(fairc: Fairc) -> None:
    called = fairc("run", write(HOLDS, FAILS), "-o", "one").require(1)
    assert "fails  more than the link" in called.out
    assert "10 valid" not in called.err  # cells are as valid as ever
    assert fairc("verdict", "one").status == 1


@pytest.mark.full
def test_an_undecided_claim_fails_a_run_only_with_strict(fairc: Fairc) -> None:
    """Three repetitions have no interval."""
    file = write(HOLDS, repeat=3)
    called = fairc("run", file, "-o", "one")
    assert "few-repetitions" in called.err and called.status == 0
    assert "1 claim: 1 is undecided" in called.out
    assert fairc("run", file, "-o", "one", "--strict").status == 1
    assert fairc("verdict", "one").status == 0
    assert fairc("verdict", "one", "--strict").status == 1


def test_a_share_of_the_configurations_may_be_enough(fairc: Fairc) -> None:
    body = "holds = median(goodput, flow: a) > 700kbit/s"  # at 1 Mbit/s it cannot
    half = f'claim "in half of them" {{ for = 50%  {body} }}'
    most = f'claim "in most of them" {{ for = 60%  {body} }}'
    called = fairc("run", write(half, most), "-o", "one").require(1)
    assert "    holds  in half of them" in called.out
    assert "it holds in 1 of 2 configurations; 1 are claimed" in called.out
    assert "    fails  in most of them" in called.out
    found = verdicts(fairc)
    assert [(row["for"], row["verdict"]) for row in found] == [("50%", "holds"), ("60%", "fails")]
    xml = fairc("verdict", "one", "--format", "junit").out.split("\n", 1)[1]
    cases = [len(case) for case in ET.fromstring(xml)[0]]
    assert cases == [0, 1]  # a case for each claim: the first holds although a configuration fails


def test_a_trend_is_decided_by_a_test(fairc: Fairc) -> None:
    of = "(median(goodput(a)), over: rate) }"
    rises, falls = (
        f'claim "more" {{ holds = increasing{of}',
        f'claim "less" {{ holds = decreasing{of}',
    )
    called = fairc("run", write(rises, falls), "-o", "one").require(1)
    assert "2 claims: 1 holds, 1 fails (4 intervals and tests, each at 98.75 %" in called.out
    assert "tau 1.000 (p = 0.00098), claimed to rise" in called.out
    found = verdicts(fairc)
    assert [row["verdict"] for row in found] == ["holds", "fails"]
    (unit,) = found[0]["configurations"]
    assert (unit["by"], unit["value"], unit["interval"]) == ({}, 1.0, "Page's trend test")
    assert unit["p"] == pytest.approx(0.5**10)
    assert "from 1Mbit/s to 2Mbit/s it changes by" in found[1]["configurations"][0]["remark"]


@pytest.mark.full
def test_what_is_claimed_after_results_were_there_is_exploratory(fairc: Fairc) -> None:
    assert fairc("run", write(HOLDS), "-o", "one").status == 0
    assert fairc("run", write(HOLDS, FAILS), "-o", "one").status == 1
    kinds = {row["claim"]: row["kind"] for row in verdicts(fairc)}
    assert kinds == {"all get something": "confirmatory", "more than the link": "exploratory"}
    moved = HOLDS.replace("1kbit/s", "2kbit/s")  # the same words with another bound
    assert fairc("run", write(moved), "-o", "one").status == 0
    assert [row["kind"] for row in verdicts(fairc)] == ["exploratory"]
    renamed = HOLDS.replace("all get something", "nobody starves")
    assert fairc("run", write(renamed), "-o", "one").status == 0
    assert [row["kind"] for row in verdicts(fairc)] == ["confirmatory"]


def test_a_part_of_the_cells_decides_nothing_about_the_rest(fairc: Fairc) -> None:
    fairc("run", write(HOLDS), "-o", "one", "--where", "rate == 1Mbit/s").require(0)
    (found,) = verdicts(fairc)
    assert [row["verdict"] for row in found["configurations"]] == ["holds", "undecided"]
    assert found["verdict"] == "undecided"
    answer = json.loads(fairc("verdict", "one", "--format", "json").out)
    assert answer["cells"]["missing"] == 10 and answer["well"]


def test_junit_and_markdown(fairc: Fairc) -> None:
    fairc("run", write(HOLDS, FAILS), "-o", "one")
    root = ET.fromstring(fairc("verdict", "one", "--format", "junit").out.split("\n", 1)[1])
    claims, validity = root
    assert claims.attrib == {"name": "claims", "failures": "1", "skipped": "0", "tests": "3"}
    assert [case.get("name") for case in claims] == [
        "rate = 1Mbit/s",
        "rate = 2Mbit/s",
        "rate = 1Mbit/s",
    ]
    assert validity.get("failures") == "0"
    called = fairc("verdict", "one", "--format", "md").require(1)
    rows = [line for line in called.out.splitlines() if line.startswith("| more than")]
    assert len(rows) == 1 and "| fails |" in rows[0] and "\\> 5 Mbit/s" not in rows[0]
    assert "&gt; 5 Mbit/s" in rows[0]


def test_a_run_without_claims_is_judged_by_its_cells(fairc: Fairc) -> None:
    fairc("run", "tiny.fexp", "-o", "one")
    called = fairc("verdict", "one").require(0)
    assert "makes no claim" in called.out and "6 cells: 6 valid" in called.out
    assert fairc("verdict", "nothing").status == 2


def test_claims_about_what_set_leaves_out_are_not_denied(fairc: Fairc) -> None:
    """The file makes one, which this run does not decide."""
    about = HOLDS.replace("{ holds", "{ where = rate == 2Mbit/s  holds")
    called = fairc("run", write(about), "-o", "one", "--set", "rate=[1Mbit/s]")
    assert called.status == 0 and "warning[empty-claim]" in called.err
    assert "makes no claim about what `--set` has left of it" in fairc("verdict", "one").out


def test_a_baseline_that_nothing_has_changed_against(fairc: Fairc) -> None:
    fairc("run", write(HOLDS), "-o", "one")
    Record(Path("one"), Path("one/.partial")).write("report.html", b"")
    assert fairc("pack", "one", "-o", "base.zip").status == 0
    called = fairc("compare", "one", "--baseline", "base.zip").require(0)
    assert (
        "1 claim as before" in called.out
        and "cells in both, raw artefacts byte-identical: 20" in called.out
    )


@pytest.mark.full
def test_a_baseline_shows_claims_and_metrics_that_changed(fairc: Fairc) -> None:
    fairc("run", write(HOLDS, FAILS), "-o", "one")
    text = Path("claims.fexp").read_text()
    Path("claims.fexp").write_text(
        text.replace("rtt: 50ms", "rtt: 400ms").replace("5Mbit/s", "50kbit/s")
    )
    assert fairc("run", "claims.fexp", "-o", "two").status in (0, 1)
    called = fairc("compare", "two", "--baseline", "one", "--format", "json")
    found = json.loads(called.out)
    assert called.status == 1 and found["changed"]
    assert [row["claim"] for row in found["claims"]] == ["more than the link"]
    assert found["claims"][0]["before"] == "fails" != found["claims"][0]["after"]
    assert {row["verdict"] for row in found["metrics"]} >= {"different"}
    page = fairc("compare", "two", "--baseline", "one", "--format", "md").out
    assert "| more than the link | fails |" in page and "| different |" in page


def test_a_baseline_that_is_not_there_is_refused(fairc: Fairc) -> None:
    assert fairc("run", write(HOLDS), "-o", "one").status == 0
    for arguments, words in (
        (("--baseline", "base.zip"), "there is no baseline base.zip"),
        ((), "compare takes two runs"),
        (("one", "--baseline", "one"), "--baseline stands for the other run"),
        (("one", "--format", "md"), "--format md is for --baseline"),
    ):
        called = fairc("compare", "one", *arguments)
        assert called.status == 2 and words in called.err
