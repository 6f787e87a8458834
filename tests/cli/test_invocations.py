"""What a command asks for beyond the file leaves a trace, and another experiment's folder is left
alone.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairc.runtime.host import cores
from fairc.runtime.run import history

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py


def report(run: str) -> str:
    return Path(run, "report.md").read_text(encoding="utf-8")


def printed(run: str) -> list[list[str]]:
    """Return the commands that a report says to run again, but `--fresh`."""
    found = re.findall(r"`(fairc run [^`]+)`", report(run))
    return [shlex.split(command) for command in found if "--fresh" not in command]


def test_without_options_a_plan_has_no_trace_of_them(fairc: Fairc) -> None:
    fairc("compile", "tiny.fexp", "-o", "out", "--target", "json", "--engine", "uml")
    plan = json.loads(Path("out/plan.json").read_text())
    assert not {"settings", "engine_asked"} & plan.keys()


def test_the_plan_has_what_was_set_and_what_it_replaced(fairc: Fairc) -> None:
    options = ("--set", "repeat=2", "--set", "duration=9s", "--set", "rate=[ 3Mbit/s ]")
    fairc("compile", "tiny.fexp", "-o", "out", "--target", "json", "--engine", "vm", *options)
    plan = json.loads(Path("out/plan.json").read_text())
    assert plan["engine_asked"] is True
    assert plan["settings"] == [
        {"name": "duration", "value": "9s", "instead": ""},
        {"name": "rate", "value": "[ 3Mbit/s ]", "instead": "[1Mbit/s, 2Mbit/s]"},
        {"name": "repeat", "value": "2", "instead": "3"},
    ]


def test_reports_share_the_cores(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of `fairc report` and those at the end of a run."""
    taken = 0

    @contextmanager
    def slot(waiting: Callable[[], None]) -> Iterator[None]:
        nonlocal taken
        taken += 1
        yield

    fairc("run", "tiny.fexp", "-o", "x", "--set", "repeat=1")
    monkeypatch.setattr(cores, "for_report", slot)
    assert fairc("report", "x", "--format", "md").status == 0 and taken == 1
    fairc("run", "tiny.fexp", "-o", "x", "--set", "repeat=2")
    assert taken == 2


def test_what_is_set_to_the_file_s_own_value_changes_no_cell(fairc: Fairc) -> None:
    fairc("compile", "tiny.fexp", "-o", "one", "--target", "json")
    fairc("compile", "tiny.fexp", "-o", "two", "--target", "json", "--set", "repeat=3")
    assert Path("one/cells.jsonl").read_bytes() == Path("two/cells.jsonl").read_bytes()


def test_the_printed_command_repeats_the_run(fairc: Fairc) -> None:
    fairc("run", "tiny.fexp", "-o", "x", "--set", "repeat=2", "--set", "rate=[3Mbit/s]")
    fairc("report", "x", "--format", "md")
    assert "repeat = 2\\` (in the file \\`3\\`)" in report("x")
    assert "| repeat | 3 | 2 |" in report("x")
    (command,) = printed("x")
    assert fairc(*command[1:]).status == 0
    for name in ("plan.json", "cells.jsonl"):
        assert Path("x", name).read_bytes() == Path("results/tiny", name).read_bytes()


@pytest.mark.full
def test_parts_are_repeated_by_their_commands(fairc: Fairc) -> None:
    """As long as no command ran the whole plan, all that ran parts are needed."""
    conditions = ("rate == 1Mbit/s", "repetition < 2")
    for condition in conditions:
        fairc("run", "tiny.fexp", "-o", "x", "--where", condition)
    fairc("report", "x", "--format", "md")
    assert "Cells were selected with \\`--where\\`" in report("x")
    commands = printed("x")
    assert [command[command.index("--where") + 1] for command in commands] == [*conditions]
    for command in commands:
        fairc(*command[1:])
    there, again = (
        sorted(p.name for p in Path(r, "cells").iterdir()) for r in ("x", "results/tiny")
    )
    assert len(there) == 4 and there == again
    fairc("run", "tiny.fexp", "-o", "x")
    fairc("report", "x", "--format", "md")
    assert "--where" not in report("x").partition("### Versions")[0]


def test_a_condition_that_chooses_nothing_is_no_part_of_a_run(ran: Fairc) -> None:
    before = Path("results/tiny/lock.json").read_bytes()
    called = ran("run", "tiny.fexp", "--where", "repetition > 9")
    assert called.status == 2 and "no cell of the plan meets the --where condition" in called.err
    assert Path("results/tiny/lock.json").read_bytes() == before


@pytest.mark.parametrize("option", [("--set", 'title="a\nb"'), ("--where", "repetition\n> 1")])
def test_what_is_no_line_is_refused(fairc: Fairc, option: tuple[str, str]) -> None:
    refused = fairc("run", "tiny.fexp", *option).require(2)
    assert "is not one line of text" in refused.err


def named(run: str) -> dict[str, int]:
    declared = json.loads(Path(run, "lock.json").read_text())["declared"]
    return {entry["request"]["name"]: entry["results"] for entry in declared}


def measure(*metrics: str) -> None:
    text = re.sub(
        r"measure = \[.*\]", f"measure = [{', '.join(metrics)}]", Path("tiny.fexp").read_text()
    )
    Path("tiny.fexp").write_text(text)


@pytest.mark.full
def test_what_is_measured_after_results_were_there_is_exploratory(fairc: Fairc) -> None:
    fairc("run", "tiny.fexp", "--where", "repetition == 1")
    measure("fairness", "goodput", "queue_delay")
    fairc("run", "tiny.fexp")
    assert named("results/tiny") == {"fairness": 0, "goodput": 0, "queue_delay": 2}
    measure("fairness", "queue_delay")
    fairc("run", "tiny.fexp")
    measure("fairness", "goodput", "queue_delay")
    fairc("run", "tiny.fexp", "--set", "repeat=4")  # more repetitions cure nothing
    assert named("results/tiny") == {"fairness": 0, "goodput": 0, "queue_delay": 2}
    fairc("report", "results/tiny", "--format", "md")
    answer = report("results/tiny").partition("## Over time")[0]
    assert (
        "Exploratory, because added to \\`measure\\` after results existed: queue\\_delay (on"
        in answer
    )
    rows = [line for line in report("results/tiny").splitlines() if "| exploratory |" in line]
    assert any("queue\\_delay.p95" in row for row in rows)
    floor = [line for line in report("results/tiny").splitlines() if "| fairness.floor |" in line]
    assert floor and all("| confirmatory |" in line for line in floor)


def test_what_is_added_before_there_is_a_result_is_confirmatory(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRC_FAKE", "fail:1,fail:2,fail:3")
    assert "0 valid, 0 flagged, 0 invalid, 6 failed" in fairc("run", "tiny.fexp").out
    monkeypatch.delenv("FAIRC_FAKE")
    measure("fairness", "queue_delay")
    fairc("run", "tiny.fexp")
    assert named("results/tiny")["queue_delay"] == 0


def test_a_run_of_an_earlier_version_has_kept_no_record(ran: Fairc) -> None:
    path = Path("results/tiny/lock.json")
    lock = json.loads(path.read_text())
    del lock[history.DECLARED], lock[history.INVOCATIONS]
    path.write_text(json.dumps(lock))
    ran("report", "results/tiny", "--format", "md")
    assert "because an earlier version of fairc kept no record" in report("results/tiny")
    assert "| confirmatory |" not in report("results/tiny")
    ran("run", "tiny.fexp")
    assert named("results/tiny") == {"fairness": 6, "goodput": 6}


@pytest.mark.full
def test_cells_of_a_cluster_know_what_was_named(fairc: Fairc) -> None:
    fairc("compile", "tiny.fexp", "-o", "plan", "--target", "json", "--engine", "fake")
    fairc("cell", "plan", "--index", "0-3")
    measure("fairness", "goodput", "queue_delay")
    fairc("compile", "tiny.fexp", "-o", "plan", "--target", "json", "--engine", "fake")
    fairc("cell", "plan", "--index", "4-5")
    assert fairc("run", "plan", "--collect").status == 0
    assert named("results/tiny") == {"fairness": 0, "goodput": 0, "queue_delay": 4}


OTHER = ("experiment tiny", "experiment other")


def test_another_experiment_is_refused(fairc: Fairc) -> None:
    fairc("run", "tiny.fexp", "-o", "x")
    before = {p: p.read_bytes() for p in Path("x").iterdir() if p.is_file() and p.name != ".lock"}
    Path("other.fexp").write_text(Path("tiny.fexp").read_text().replace(*OTHER))
    fairc("compile", "other.fexp", "-o", "plan", "--target", "json", "--engine", "fake")
    fairc("cell", "plan", "--index", "0")
    for command in (
        ("run", "other.fexp", "-o", "x"),
        ("run", "other.fexp", "-o", "x", "--engine", "uml"),
        ("run", "plan", "-o", "x"),
        ("run", "plan", "--collect", "-o", "x"),
    ):
        refused = fairc(*command).require(2)
        assert "x holds 6 results of the experiment tiny (tiny.fexp)" in refused.err
        assert "give other its own directory with -o" in refused.err
        assert before == {path: path.read_bytes() for path in before}


def test_the_same_name_in_another_file_is_another_experiment(ran: Fairc) -> None:
    text = Path("tiny.fexp").read_text()
    Path("mine.fexp").write_text(text.replace("50ms", "60ms"))
    refused = ran("run", "mine.fexp")
    assert refused.status == 2 and "no cell in common" in refused.err
    Path("renamed.fexp").write_text(text.replace("repeat  = 3", "repeat  = 4"))
    assert ran("run", "renamed.fexp").status == 0
    Path("renamed.fexp").write_text(text.replace("50ms", "60ms"))
    assert ran("run", "renamed.fexp").status == 0  # a file may be edited


def test_compiling_removes_no_results_and_no_other_plan(fairc: Fairc) -> None:
    fairc("run", "tiny.fexp", "-o", "x")
    refused = fairc("compile", "tiny.fexp", "-o", "x", "--target", "json")
    assert (
        refused.status == 2 and "x is a run directory: its results would be removed" in refused.err
    )
    Path("other.fexp").write_text(Path("tiny.fexp").read_text().replace(*OTHER))
    fairc("compile", "tiny.fexp", "-o", "plan", "--target", "json")
    refused = fairc("compile", "other.fexp", "-o", "plan", "--target", "json")
    assert refused.status == 2 and "plan holds the plan of another experiment, tiny" in refused.err
    assert len(list(Path("x/cells").iterdir())) == 6


def test_an_option_of_one_value_is_given_once(fairc: Fairc) -> None:
    twice = ("--where", "rate == 1Mbit/s", "--where", "rate == 2Mbit/s")
    for called in (
        fairc("run", "tiny.fexp", *twice),
        fairc("image", "build", "--engine", "vm", "--engine=uml"),
    ):
        assert called.status == 2
        assert "is given more than once; give one " in called.err
    assert not Path("results").exists()
    assert fairc("check", "-q", "-q", "tiny.fexp").status == 0
