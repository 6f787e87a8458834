"""What the commands promise: results, formats, exit statuses."""

from __future__ import annotations

import csv
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from waiting import completed

from fairc.cli.commands import fairc as group
from fairc.cli.options import Command
from fairc.runtime.host.faults import EngineUnavailable
from fairc_fake.engine import FakeEngine

Fairc = Callable[..., Any]  # conftest.py


IMPORTS_OF_HELP = """
import sys
before = set(sys.modules)
from fairc.__main__ import fairc as group
for words in ["--help"], *([name, "--help"] for name in group.list_commands(None)):
    try:
        group.main(words, prog_name="fairc")
    except SystemExit as ended:
        assert ended.code == 0, words
print(*sorted(sys.modules.keys() - before), sep="\\n", file=sys.stderr)
"""


def test_help_imports_the_command_line_and_click_alone() -> None:
    done = completed([sys.executable, "-c", IMPORTS_OF_HELP], check=True)
    for name in group.commands:
        assert f"Usage: fairc {name} " in done.stdout
    names = done.stderr.split()
    assert {name.split(".")[0] for name in names} - sys.stdlib_module_names == {"click", "fairc"}
    shared = {"commands", "console", "failures", "interruption", "options"}
    ours = {".".join(name.split(".")[:3]) for name in names if name.startswith("fairc.")}
    assert ours == {"fairc.__main__", "fairc.cli", *(f"fairc.cli.{name}" for name in shared)}


def declared(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command that does something, or those of a group, with how each is called."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from declared(inner, f"{words} {name}")
    else:
        yield words, command


@pytest.mark.parametrize("name", group.commands)
def test_a_command_is_called_with_what_is_declared(name: str) -> None:
    for words, command in declared(group.commands[name], name):
        given = {param.name for param in command.params if param.expose_value}
        assert isinstance(command, Command), words
        assert given == inspect.signature(command.work()).parameters.keys(), words


def test_plan_as_json(fairc: Fairc) -> None:
    called = fairc("plan", "tiny.fexp", "--format", "json")
    assert (called.status, called.err) == (0, "")
    plan = json.loads(called.out)
    assert list(plan) == [
        *("experiment", "configurations", "excluded", "cells"),
        *(
            "virtual_s",
            "wall_s",
            "disk_bytes",
            "kept_bytes",
            "warnings",
            "engine",
            "engine_reasons",
        ),
        *("comparisons", "settling"),
    ]
    assert (plan["experiment"], plan["configurations"], plan["cells"]) == ("tiny", 2, 6)
    # Two files of 100 kB take 1.673 s at 1 Mbit/s, with their headers; half of it at 2 Mbit/s. Two
    # round trips of 50 ms go by before.
    assert plan["virtual_s"] == pytest.approx(3 * (1.5 * 1.673 + 2 * 0.1), rel=0.05)
    assert not Path("results").exists()


def test_set_changes_the_plan(fairc: Fairc) -> None:
    called = fairc(
        *("plan", "tiny.fexp", "--format", "json", "--set", "repeat=2", "--set", "rate=[3Mbit/s]")
    )
    plan = json.loads(called.out)
    assert (plan["configurations"], plan["cells"]) == (1, 2)


def test_compiling_twice_gives_the_same_bytes(fairc: Fairc) -> None:
    for folder in ("one", "two"):
        assert fairc("compile", "tiny.fexp", "-o", folder, "--target", "json").status == 0
    for name in ("plan.json", "cells.jsonl"):
        assert (Path("one") / name).read_bytes() == (Path("two") / name).read_bytes()


def test_compile_does_not_overwrite_other_things(fairc: Fairc) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("x")
    called = fairc("compile", "tiny.fexp", "-o", "mine", "--target", "json").require(2)
    assert "mine already exists and is not a compiled plan" in called.err
    assert Path("mine/thesis.tex").read_text() == "x"


def test_compile_refuses_targets(fairc: Fairc) -> None:
    called = fairc("compile", "tiny.fexp", "-o", "out", "--target", "minimet").require(2)
    assert "minimet" in called.err


@pytest.mark.usefixtures("without_report")
def test_run_reports_and_runs_only_what_is_missing(fairc: Fairc) -> None:
    first = fairc("run", "tiny.fexp").require(0)
    assert "6 cells: 6 valid, 0 flagged, 0 invalid, 0 failed" in first.out
    assert "goodput" in first.out and "fairness.F" in first.out
    assert Path("results/tiny/report.html").is_file()
    lock = json.loads(Path("results/tiny/lock.json").read_text())
    assert lock["engine"]["name"] == "fake"
    again = fairc("run", "tiny.fexp").require(0)
    assert "to run" not in again.err
    assert again.out == first.out
    more = fairc("run", "tiny.fexp", "--set", "repeat=4")
    assert "2 cells to run; 6 already done" in more.err
    assert "8 cells: 8 valid" in more.out
    back = fairc("run", "tiny.fexp")  # the cells of repetition 4 stay, but do not count
    assert back.out == first.out
    assert len(list(Path("results/tiny/cells").iterdir())) == 8
    fresh = fairc("run", "tiny.fexp", "--fresh")
    assert "6 cells to run" in fresh.err


@pytest.mark.usefixtures("without_report")
def test_where_runs_a_part_of_the_same_plan(fairc: Fairc) -> None:
    called = fairc("run", "tiny.fexp", "--where", "rate == 2Mbit/s and repetition < 3").require(0)
    assert "2 cells: 2 valid" in called.out
    whole = fairc("run", "tiny.fexp")
    assert "4 cells to run; 2 already done" in whole.err
    none = fairc("run", "tiny.fexp", "--where", "repetition > 99").require(2)
    assert "no cell of the plan meets the --where condition `repetition > 99`" in none.err
    rate = fairc("run", "tiny.fexp", "--where", "rate == 7Mbit/s")
    assert (rate.status, "help: rate: 1Mbit/s, 2Mbit/s" in rate.err) == (2, True)


@pytest.mark.usefixtures("without_report")
def test_run_of_a_compiled_plan(fairc: Fairc) -> None:
    fairc("compile", "tiny.fexp", "-o", "plan", "--target", "json")
    called = fairc("run", "plan", "-o", "there").require(0)
    assert Path("there/plan.json").read_bytes() == Path("plan/plan.json").read_bytes()
    assert fairc("run", "there", "-o", "there").status == 0  # a run directory is a plan, too
    called = fairc("run", "plan", "--set", "repeat=2").require(2)
    assert "--set applies to a file, but plan is a compiled plan" in called.err


@pytest.mark.usefixtures("without_report")
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("fail", "2 failed"),
        pytest.param("crash", "2 failed", marks=pytest.mark.full),
        pytest.param("garble", "2 failed", marks=pytest.mark.full),
        ("note", "2 flagged"),
    ],
)
def test_not_all_valid_is_exit_status_1(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    monkeypatch.setenv("FAIRC_FAKE", f"{fault}:2")
    called = fairc("run", "tiny.fexp").require(1)
    assert words in called.out
    assert "4 valid" in called.out
    assert any(line.startswith(f"  {words}: ") for line in called.out.splitlines())
    part = fairc("run", "tiny.fexp", "--where", "repetition == 3")
    if "flagged" in words:  # of cells that this command did not run
        assert "2 cells: 2 valid" in part.out
        assert "of all 6 cells of results/tiny, without baselines:\n  2 flagged: " in part.out
    monkeypatch.delenv("FAIRC_FAKE")
    again = fairc("run", "tiny.fexp")
    if "failed" in words:  # such a cell runs again
        assert again.status == 0
    else:
        assert "to run" not in again.err


def test_table(ran: Fairc) -> None:
    rows = json.loads(ran("table", "results/tiny", "goodput", "--format", "json").out)
    assert [row["by"] for row in rows] == [
        {"rate": rate, "flow": flow} for rate in ("1Mbit/s", "2Mbit/s") for flow in ("a", "b")
    ]
    for row in rows:
        assert list(row) == [
            *("metric", "unit", "stat", "by", "n", "invalid", "censored"),
            *("value", "ci_low", "ci_high", "reason", "no_interval", "remark"),
        ]
        assert (row["metric"], row["unit"], row["stat"]) == ("goodput", "bit/s", "median")
        assert (row["n"], row["invalid"], row["ci_low"]) == (3, 0, None)
        assert 0.3e6 < row["value"] < 2e6
    filtered = ran(
        *("table", "results/tiny", "goodput", "--by", "flow", "--where", "rate == 1Mbit/s"),
        *("--stat", "mean", "--format", "csv"),
    )
    (head, *lines) = csv.reader(filtered.out.splitlines())
    assert head[:4] == ["metric", "unit", "stat", "flow"]
    assert [line[3:5] for line in lines] == [["a", "3"], ["b", "3"]]
    text = ran("table", "results/tiny", "fairness.F").require(0)
    assert "2Mbit/s" in text.out


@pytest.mark.parametrize("group", ["suite", "image"])
def test_groups_describe_their_commands_in_whole_sentences(fairc: Fairc, group: str) -> None:
    described = fairc(group, "--help").out.partition("Commands:")[2]
    assert described.count(".\n") >= 4 and "..." not in described


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("results/tiny", "gootput"), "did you mean `goodput`? known: "),
        (("results/tiny", "goodput", "--by", "flwo"), "did you mean `flow`? known: "),
        (("results/tiny", "goodput", "--stat", "mode"), "known: "),
        (("results/tiny", "goodput", "--where", "nobody == 1"), "names: "),
        (("results/tiny", "goodput", "--where", "rate == 7Mbit/s"), "rate: 1Mbit/s, 2Mbit/s"),
        (("tiny", "goodput"), "did you mean results/tiny?"),
        (("nowhere", "goodput"), "holds no plan: it has no plan.json\n"),
        (("tiny.fexp", "goodput"), "tiny.fexp is an experiment, not a run"),
    ],
)
def test_table_of_nothing(ran: Fairc, arguments: tuple[str, ...], hint: str) -> None:
    called = ran("table", *arguments)
    assert (called.status, called.out) == (2, "")
    assert hint in called.err
    assert not Path("nowhere").exists()


@pytest.mark.parametrize(
    ("word", "command"),
    [("explain", "show"), ("validate", "check"), ("plot", "report"), ("tabel", "table")],
)
def test_commands_of_other_tools(fairc: Fairc, word: str, command: str) -> None:
    called = fairc(word, "tiny.fexp")
    assert (called.status, f"did you mean `{command}`?" in called.err) == (2, True)


def test_report(fairc: Fairc, finished: Path) -> None:
    shutil.copytree(finished / "run", ".", dirs_exist_ok=True)
    page = Path("results/tiny/report.html")
    page.unlink()
    called = fairc("report", "results/tiny", "--format", "html", "--format", "md").require(0)
    assert called.out.split() == ["results/tiny/report.html", "results/tiny/report.md"]
    assert page.is_file()
    assert fairc("report", "nowhere").status == 2


def test_clean_raw_keeps_results(ran: Fairc) -> None:
    ran("clean", "--raw", "results/tiny").require(0)
    assert not list(Path("results/tiny/cells").glob("*/raw.tar.zst"))
    assert "to run" not in ran("run", "tiny.fexp").err


def test_a_machine_that_lacks_something(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(self: FakeEngine) -> None:
        raise EngineUnavailable(("there is no flux capacitor",), "apt-get install flux")

    monkeypatch.setattr(FakeEngine, "prepare", lacks)
    called = fairc("run", "tiny.fexp").require(3)
    assert "no flux capacitor" in called.err
    assert "apt-get install flux" in called.err


def test_without_a_docker_engine(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    called = fairc("run", "tiny.fexp", "--engine", "docker").require(3)
    assert f"error: no Docker engine runs at {tmp_path}/docker.sock" in called.err
    assert "help: sudo apt-get install" in called.err


def test_the_fake_engine_is_not_offered(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRC_ENGINE")
    called = fairc("run", "tiny.fexp", "--engine", "fake").require(2)
    assert "no engine is called `fake`" in called.err


@pytest.mark.parametrize("arguments", [("rum",), ("run",), ("run", "--cluster", "x", "tiny.fexp")])
def test_wrong_use(fairc: Fairc, arguments: tuple[str, ...]) -> None:
    called = fairc(*arguments)
    assert (called.status, called.out) == (2, "")


def test_an_internal_error_is_one_line_and_a_log(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: FakeEngine) -> None:
        raise ZeroDivisionError("of the test")

    monkeypatch.setattr(FakeEngine, "prepare", broken)
    called = fairc("run", "tiny.fexp", "--quiet").require(70)
    assert len(called.err.splitlines()) == 1
    assert "ZeroDivisionError: of the test" in called.err
    (log,) = Path("state/fairc").iterdir()
    assert str(log) in called.err
    assert "Traceback" in log.read_text()


@pytest.mark.usefixtures("without_report")
def test_quiet_says_nothing(fairc: Fairc) -> None:
    called = fairc("run", "--quiet", "tiny.fexp")
    assert (called.status, called.err) == (0, "")
    assert fairc("--quiet", "check", "tiny.fexp").err == ""


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    example = Path(__file__).parents[2] / "examples/quickstart.fexp"
    done = subprocess.run(
        [sys.executable, "-m", "fairc", "plan", str(example)],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        cwd=tmp_path,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.usefixtures("without_report")
def test_a_run_ends_with_what_was_asked_for(fairc: Fairc) -> None:
    asked = "measure=[rtt, cwnd, utilization, loss_rate, goodput, retransmissions]"
    out = fairc("run", "tiny.fexp", "--set", asked).out
    heads = [line for line in out.splitlines() if "95 % CI" in line]
    shown = ("rtt.mean", "cwnd.mean", "utilization", "loss_rate")
    assert [h for h, m in zip(heads, shown, strict=True) if f"median {m}" not in h] == []
    assert "also measured: goodput, retransmissions (fairc table results/tiny METRIC)" in out
