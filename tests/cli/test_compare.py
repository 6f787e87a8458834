"""`fairc compare` and `fairc table --test`, over runs of the fake engine."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py


def text_of(file: str, *changes: tuple[str, str]) -> str:
    text = Path("tiny.fexp").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path(file).write_text(text)
    return file


@pytest.fixture
def runs(ran: Fairc) -> Fairc:
    """A run of the file, in the folder `one`."""
    Path("results/tiny").rename("one")
    return ran


def test_a_run_is_identical_to_its_repetition(runs: Fairc) -> None:
    assert runs("run", "tiny.fexp", "-o", "two").status == 0
    called = runs("compare", "one", "two").require(0)
    assert "6 cells in both; raw artefacts byte-identical (SHA-256): all" in called.out
    assert "different" in called.out.splitlines()[3]
    assert not [line for line in called.out.splitlines() if "goodput," in line]
    found = json.loads(runs("compare", "one", "two", "--format", "json").out)
    assert found["cells"] == {"first": 6, "second": 6, "both": 6, "identical": 6}
    assert {row["verdict"] for row in found["metrics"]} == {"identical"}
    assert list(found["metrics"][0]) == [
        *("metric", "unit", "by", "verdict", "n_first", "n_second"),
        *("median_first", "median_second", "p", "p_holm", "cliffs_delta", "hedges_g"),
        *("pairs", "shift", "shift_low", "shift_high", "correlation", "words"),
    ]


def test_another_run_differs_by_a_test(fairc: Fairc) -> None:
    """Eight times the base RTT: goodput is lower in each repetition."""
    one = text_of("one.fexp", ("repeat  = 3", "repeat  = 6"))
    two = text_of("two.fexp", ("repeat  = 3", "repeat  = 6"), ("rtt: 50ms", "rtt: 400ms"))
    for file in (one, two):
        assert fairc("run", file, "-o", file[:3]).status == 0
    called = fairc("compare", "one", "two", "--format", "json").require(1)
    found = json.loads(called.out)
    assert found["cells"]["both"] == found["cells"]["identical"] == 0
    goodput = [row for row in found["metrics"] if row["metric"] == "goodput"]
    assert {row["verdict"] for row in goodput} == {"different"}
    for row in goodput:
        assert row["p"] <= row["p_holm"] < 0.05
        assert row["cliffs_delta"] == 1
        assert row["median_first"] > row["median_second"]
        assert "stochastic dominance holds: the first is larger" in row["words"]
    text = fairc("compare", "one", "two").out
    assert "the runs have no cell in common" in text and "byte-identical" not in text
    assert "goodput, rate = 1Mbit/s, flow = a: medians" in text
    assert "Cliff's delta +1.00, large" in text


def test_few_repetitions_decide_nothing(runs: Fairc) -> None:
    other = text_of("other.fexp", ("rtt: 50ms", "rtt: 400ms"))
    assert runs("run", other, "-o", "two").status == 0
    called = runs("compare", "one", "two").require(1)
    assert "not decided: too few values (3 and 3), the clearest outcome has p = 0.1" in called.out


def test_what_is_missing_is_said(runs: Fairc) -> None:
    fewer = text_of("fewer.fexp", ("[fairness, goodput]", "[goodput]"), ("2Mbit/s", "3Mbit/s"))
    assert runs("run", fewer, "-o", "fewer").status == 0
    called = runs("compare", "one", "fewer").require(1)
    assert "goodput, rate = 2Mbit/s, flow = a: missing in the second" in called.out
    assert "goodput, rate = 3Mbit/s, flow = a: missing in the first" in called.out
    assert "fairness.F, rate = 1Mbit/s: missing in the second" in called.out
    assert "3 cells in both" in called.out
    assert "more are missing" not in called.out


@pytest.mark.full
def test_what_is_missing_is_not_said_for_ever(runs: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairc.cli.compare.SHOWN_ROWS", 2)
    other = text_of("other.fexp", ("[1Mbit/s, 2Mbit/s]", "[3Mbit/s]"))
    assert runs("run", other, "-o", "other").status == 0
    called = runs("compare", "one", "other")
    assert called.out.count("missing in the") == 2
    assert "more are missing in one run: --format json" in called.out


def test_a_directory_that_is_no_run(runs: Fairc) -> None:
    called = runs("compare", "one", "nowhere").require(2)
    assert "nowhere holds no plan" in called.err
    assert not Path("nowhere").exists()


def test_several_statistics_in_one_table(runs: Fairc) -> None:
    called = runs("table", "one", "goodput", "--stat", "median,mean,p90", "--format", "json")
    rows = json.loads(called.out)
    assert [row["stat"] for row in rows] == ["median"] * 4 + ["mean"] * 4 + ["p90"] * 4
    text = runs("table", "one", "goodput", "--stat", "median, max").out
    assert "median goodput" in text and "max goodput" in text
    wrong = runs("table", "one", "goodput", "--stat", "median,modus").require(2)
    assert "no statistic is called `modus`" in wrong.err


@pytest.mark.full
def test_groups_of_a_run_are_compared(fairc: Fairc) -> None:
    file = text_of("one.fexp", ("repeat  = 3", "repeat  = 12"))
    assert fairc("run", file, "-o", "one").status == 0
    called = fairc(
        "table", "one", "fairness.F", "--by", "rate", "--where", "rate < 9Mbit/s", "--test"
    ).require(0)
    assert called.out.startswith("fairness.F, rate = 1Mbit/s against rate = 2Mbit/s: medians ")
    assert "; second - first: " in called.out and "(signed-rank p" in called.out
    assert "12 pairs, correlation " in called.out
    rows = json.loads(fairc("table", "one", "goodput", "--test", "--format", "json").out)
    assert len(rows) == 4 * 3 / 2
    assert (rows[0]["by"]["flow"], rows[0]["by_second"]["flow"]) == ("a", "b")
    assert {row["pairs"] for row in rows} == {12}
    assert all(row["shift_low"] <= row["shift"] <= row["shift_high"] for row in rows)
    lines = fairc("table", "one", "goodput", "--test", "--format", "csv").out.splitlines()
    assert len(list(csv.DictReader(lines))) == 6
    none = fairc("table", "one", "fairness.F", "--by", "", "--where", "rate < 2Mbit/s", "--test")
    assert none.out == "fewer than two groups: nothing to compare\n"


@pytest.mark.full
def test_independent_draws_are_compared_as_independent_samples(fairc: Fairc) -> None:
    file = text_of("one.fexp", ("repeat  = 3", "repeat  = 12  draws = own"))
    assert fairc("run", file, "-o", "one").status == 0
    rows = json.loads(fairc("table", "one", "goodput", "--test", "--format", "json").out)
    rates = [row["by"]["rate"] == row["by_second"]["rate"] for row in rows]
    # Flows of one cell share its network, whatever the configurations draw.
    assert [row["pairs"] for row in rows] == [12 if same else None for same in rates]
    assert all(
        "Mann-Whitney" in r["words"] for r, same in zip(rows, rates, strict=True) if not same
    )


@pytest.mark.full
def test_a_mixture_has_no_interval_and_no_test(fairc: Fairc) -> None:
    file = text_of("one.fexp", ("repeat  = 3", "repeat  = 8"))
    assert fairc("run", file, "-o", "one").status == 0
    rows = json.loads(fairc("table", "one", "goodput", "--by", "flow", "--format", "json").out)
    assert [(row["n"], row["ci_low"], row["ci_high"]) for row in rows] == [(16, None, None)] * 2
    help = "add `rate` to --by, or fix `rate` with --where"
    assert rows[0]["no_interval"] == f"the values are of 2 configurations: {help}"
    text = fairc("table", "one", "goodput", "--by", "flow").out
    assert text.count("no interval: the values are of 2 configurations") == 1
    tested = fairc("table", "one", "goodput", "--by", "flow", "--test")
    assert tested.status == 2 and help in tested.err
    fixed = fairc("table", "one", "goodput", "--by", "flow", "--where", "rate < 2Mbit/s")
    assert "no interval" not in fixed.out and fixed.status == 0
    flows = fairc("table", "one", "goodput", "--by", "rate", "--test")
    assert "several flows of each cell: add `flow` to --by" in flows.err


def engine_named(run: str, name: str) -> None:
    """Let a stored run be one of another engine: the fake one is the only one here."""
    from fairc.compiler.record import of_file, recorded
    from fairc.runtime.store.folder import Store, key_of

    document = json.loads(Path(run, "lock.json").read_text())
    identity = document["engine"]["identity"]
    for cell in Store(Path(run)).cells():
        old, new = (key_of(cell, engine, identity) for engine in ("fake", name))
        folder = Path(run, "cells", old).rename(Path(run, "cells", new))
        result = json.loads((folder / "result.json").read_text()) | {"key": new, "engine": name}
        (folder / "result.json").write_text(json.dumps(result))
        known = recorded(folder)
        assert known
        files = known.files | {"result.json": of_file(folder / "result.json")}
        known.model_copy(update={"files": files}).write(folder, folder)
    document["engine"]["name"] = name
    Path(run, "lock.json").write_text(json.dumps(document))


def test_two_engines_that_agree(runs: Fairc) -> None:
    copytree("one", "two")
    engine_named("two", "other")
    called = runs("compare", "one", "two").require(0)
    assert called.out.startswith("first: one, engine fake; second: two, engine other\n")
    found = json.loads(runs("compare", "one", "two", "--format", "json").out)
    assert found["engines"] == ["fake", "other"]
    assert {row["verdict"] for row in found["agreement"]} == {"agree"}
    assert len(found["agreement"]) == len(found["metrics"])


@pytest.mark.full
def test_two_engines_that_differ_or_cannot_be_told(fairc: Fairc) -> None:
    one = text_of("one.fexp", ("repeat  = 3", "repeat  = 8"))
    two = text_of("two.fexp", ("repeat  = 3", "repeat  = 8"), ("rtt: 50ms", "rtt: 400ms"))
    for file in (one, two):
        assert fairc("run", file, "-o", file[:3]).status == 0
    engine_named("two", "other")
    called = fairc("compare", "one", "two").require(1)
    assert "no cell in common" in called.err
    lines = [line.split() for line in called.out.splitlines()]
    goodput = next(line for line in lines if line[:4] == ["goodput", "(Mbit/s)", "1Mbit/s", "a"])
    assert goodput[-2:] == ["8/8", "differ"]
    wide = json.loads(
        fairc("compare", "one", "two", "--margin", "goodput=10000000", "--format", "json").out
    )
    verdicts = {row["metric"]: row["verdict"] for row in wide["agreement"]}
    assert verdicts["goodput"] == "agree"
    row = next(row for row in wide["agreement"] if row["metric"] == "goodput")
    assert row["margin"] == 1e7 and row["shift_low"] <= row["shift"] <= row["shift_high"] < 0
    fairc("run", "two.fexp", "-o", "few", "--set", "repeat=3").require(0)
    open_ = fairc("compare", "one", "few", "--margin", "0.1%").out
    assert "cannot tell" in open_


@pytest.mark.parametrize(
    ("margin", "words"),
    [
        ("5", "'5' is not a margin"),
        ("goodput=", "'goodput=' is not a margin"),
        ("-5%", "'-5%' is not a margin"),
        ("godput=5%", "neither run measured `godput`"),
    ],
)
def test_margins_that_are_none(runs: Fairc, margin: str, words: str) -> None:
    called = runs("compare", "one", "one", "--margin", margin).require(2)
    assert words in called.err


def test_a_margin_asks_of_one_engine_too(runs: Fairc) -> None:
    called = runs("compare", "one", "one", "--margin", "1%").require(0)
    assert "engine fake; second: one, engine fake" in called.out
