"""`fairc run --phase-check`, with the fake engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fairc.cli.phase import phase_lines
from fairc.runtime.compare.comparison import Side
from fairc.runtime.ranges.cells import finished
from fairc.runtime.repetitions.reading import measured
from fairc.runtime.repetitions.samples import samples
from fairc.runtime.run import phase
from fairc.runtime.statistics import Estimate
from fairc.runtime.store.folder import Store, read_cells, read_plan

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py
CHECK = Path("one/phase-check")


@pytest.fixture
def checked(fairc: Fairc, kept: Path) -> Fairc:
    """A run of six repetitions with its phase check, in the folder `one`."""
    text = Path("tiny.fexp").read_text().replace("repeat  = 3", "repeat  = 6")
    Path("tiny.fexp").write_text(text)
    if kept.exists():
        shutil.copytree(kept, "one")
    else:
        assert fairc("run", "tiny.fexp", "-o", "one", "--phase-check").status == 0
        shutil.copytree("one", kept)
    return fairc


def scale(metric: str, change: str) -> None:
    """Change the values of a metric in the tables of the phase check, by an SQL expression of
    `value`.
    """
    table = (CHECK / "tables/metrics.parquet").as_posix()
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE m AS SELECT * FROM read_parquet('{table}')")
        connection.execute(f"UPDATE m SET value = {change} WHERE metric = '{metric}'")
        connection.execute(f"COPY m TO '{table}' (FORMAT parquet)")


def test_it_repeats_cells_with_a_frames_time_and_keeps_them_apart(checked: Fairc) -> None:
    run, check = (list(read_cells(folder)) for folder in (Path("one"), CHECK))
    assert len(run) == len(check) == 12
    # A full frame has 12,112 bits.
    times = {(c.bindings["rate"], c.processing_ns) for c in check}
    assert times == {("1Mbit/s", 12_112_000), ("2Mbit/s", 6_056_000)}
    assert {c.processing_ns for c in run} == {None}
    assert not {c.id for c in run} & {c.id for c in check}
    assert [(c.seed, c.repetition, c.flows) for c in run] == [
        (c.seed, c.repetition, c.flows) for c in check
    ]
    assert {folder.name for _, folder in finished(Store(Path("one")))} == {
        path.name for path in Path("one/cells").iterdir()
    }
    table = json.loads(checked("table", "one", "goodput", "--format", "json").out)
    assert {row["n"] for row in table} == {6}


def test_it_resumes_and_repeats_nothing(checked: Fairc) -> None:
    (gone,) = list((CHECK / "cells").iterdir())[:1]
    for path in gone.iterdir():
        path.unlink()
    gone.rmdir()
    times = {path.name: path.stat().st_mtime_ns for path in (CHECK / "cells").iterdir()}
    called = checked("run", "tiny.fexp", "-o", "one", "--phase-check").require(0)
    assert "phase check: rerunning 12 cells of 2 of 2 configurations\n1 cell" in called.err
    now = {path.name: path.stat().st_mtime_ns for path in (CHECK / "cells").iterdir()}
    assert now == times | {gone.name: now[gone.name]}


def test_equal_results_are_not_phase_sensitive(checked: Fairc) -> None:
    found = phase.findings(Path("one"))
    assert found is not None
    assert (found.cells, found.configurations, found.repetitions) == (12, 2, 6)
    assert {result.verdict for result in found.results} == {"no change found"}
    assert {result.metric for result in found.results} == {
        "fairness.F",
        "fairness.jain_session",
        "goodput",
    }


@pytest.mark.parametrize(
    ("metric", "change", "words"),
    [
        ("goodput", "value * 2", "stochastic dominance holds: the second is larger"),
        ("goodput", "470000 + value / 1e6", "the repetitions were more spread out"),
    ],
)
def test_a_result_that_changes_is_named(
    checked: Fairc, metric: str, change: str, words: str
) -> None:
    scale(metric, change)
    found = phase.findings(Path("one"))
    assert found is not None
    sensitive = found.having("phase-sensitive")
    assert {result.metric for result in sensitive} == {metric}
    assert any(words in result.text for result in sensitive)
    assert "rate = 1Mbit/s, flow = a" in " ".join(result.what for result in sensitive)


def test_the_first_undecided_result_says_why(checked: Fairc) -> None:
    found = phase.findings(Path("one"))
    assert found is not None
    assert not any("undecided," in line for line in phase_lines(found))
    first = replace(found.results[0], verdict="cannot tell", text="too few values")
    lines = [*phase_lines(replace(found, results=(first, *found.results[1:])))]
    assert lines[-1] == f"  undecided, for example: {first.what}: too few values"


def test_values_that_chance_spreads_are_no_phases(checked: Fairc) -> None:
    query = "SELECT median(value) FROM 'one/tables/metrics.parquet' WHERE metric = 'goodput'"
    ((middle,),) = duckdb.connect().execute(query).fetchall()
    scale("goodput", f"{middle} + (value - {middle}) * 20")
    found = phase.findings(Path("one"))
    assert found is not None
    assert not [r for r in found.having("phase-sensitive") if "more spread out" in r.text]


@pytest.mark.full
def test_another_session_that_dominates_is_a_change(checked: Fairc) -> None:
    """F between the same limits, the other way round: with few values no test sees that."""
    groups = phase._Dominance.__new__(phase._Dominance)
    run = measured(Path("one/tables"), read_plan(Path("one")))
    side = Side(samples(run, "fairness.F").groups[0], None)
    key = frozenset(side.present.by.items())
    one, other, open_ = (
        Estimate(6, middle, middle - 0.1, middle + 0.1) for middle in (-0.2, 0.2, 0.05)
    )
    below, above = (
        Estimate(6, sign * 0.002, *ends)
        for sign, ends in ((-1, (-0.003, -0.001)), (1, (0.001, 0.003)))
    )
    for found, verdict in (
        ([{key: one}, {key: other}], "phase-sensitive"),
        ([{key: one}, {key: open_}], "cannot tell"),
        ([{key: open_}, {key: other}], "no change found"),
        ([{key: one}, {key: one}], "no change found"),
        ([{key: below}, {key: above}], "no change found"),  # far from 0 by their intervals alone
    ):
        groups._found = found
        assert groups.judged(side, "no change found", "")[0] == verdict


def test_a_check_of_another_plan_says_nothing(checked: Fairc) -> None:
    text = Path("tiny.fexp").read_text()
    Path("tiny.fexp").write_text(text.replace("50ms", "60ms"))
    assert checked("run", "tiny.fexp", "-o", "one").status == 0
    assert phase.findings(Path("one")) is None


@pytest.mark.full
def test_cells_of_the_check_that_fail_are_told(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fairc("run", "tiny.fexp", "-o", "one").status == 0
    monkeypatch.setenv("FAIRC_FAKE", "fail:2")
    called = fairc("run", "tiny.fexp", "-o", "one", "--phase-check").require(1)
    assert "6 cells: 6 valid" in called.out
    assert "of these cells: 2 failed" in called.out


@pytest.mark.full
def test_few_repetitions_tell_nothing(fairc: Fairc) -> None:
    assert fairc("run", "tiny.fexp", "-o", "one", "--phase-check").status == 0
    scale("goodput", "value * 2")
    found = phase.findings(Path("one"))
    assert found is not None
    goodputs = [r for r in found.results if r.metric == "goodput"]
    assert {r.verdict for r in goodputs} == {"cannot tell"}
    assert all("too few values (3 and 3)" in r.text for r in goodputs)


@pytest.mark.full
def test_it_looks_at_what_is_asked_for(fairc: Fairc) -> None:
    where = ("--where", "rate == 1Mbit/s and repetition < 3")
    assert fairc("run", "tiny.fexp", "-o", "one", "--phase-check", *where).status == 0
    cells = list(read_cells(CHECK))
    assert {(c.bindings["rate"], c.repetition) for c in cells} == {("1Mbit/s", 1), ("1Mbit/s", 2)}


def test_collecting_checks_nothing(fairc: Fairc) -> None:
    called = fairc("run", ".", "--collect", "--phase-check").require(2)
    assert "--phase-check" in called.err


def test_of_many_configurations_a_part_is_drawn() -> None:
    class Fake:
        def __init__(self, configuration: str) -> None:
            self.configuration = configuration

    cells: Any = [Fake(f"{number:02}") for number in range(40)] * 3
    drawn = phase.chosen(cells, seed=1)
    assert len(drawn) == phase.CONFIGURATIONS
    assert drawn == phase.chosen(reversed(cells), seed=1)
    assert drawn != phase.chosen(cells, seed=2)
