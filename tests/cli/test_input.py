"""Whatever is given instead of a right file: a diagnostic, exit status 2, and no traceback."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fairc = Callable[..., Any]  # conftest.py
PLACE = re.compile(r"\S+\.fexp:\d+:\d+")
COMMANDS = ("check", "plan", "run", "compile")


def arguments(command: str, file: str) -> list[str]:
    return [command, file, *(["-o", "out"] if command == "compile" else [])]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.fexp", None),
        ("empty.fexp", b""),
        ("rubbish.fexp", bytes(range(256)) * 40),
        ("nul.fexp", b"\0" * 100),
        ("long.fexp", b"# " + b"x" * 10_000_000),
        ("deep.fexp", b"fexp 1\nlet a = " + b"(" * 20_000),
        ("surrogate.fexp", b"fexp 1\n\xed\xa0\x80"),
    ],
)
def test_what_is_no_experiment(
    fairc: Fairc, command: str, name: str, content: bytes | None
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    called = fairc(*arguments(command, name)).require(2)
    assert called.err.startswith("error[")
    assert name in called.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_syntax_error_has_a_place(fairc: Fairc, command: str) -> None:
    Path("wrong.fexp").write_text("fexp 1\nexperiment e {\n  topology = = 1\n}\n")
    called = fairc(*arguments(command, "wrong.fexp")).require(2)
    assert "wrong.fexp:3:14" in called.err
    assert "topology = = 1" in called.err


def test_check_of_a_directory(fairc: Fairc) -> None:
    Path("folder").mkdir()
    called = fairc("check", "folder").require(2)
    assert "is a directory" in called.err


def test_check_takes_the_settings_of_run(fairc: Fairc) -> None:
    Path("two.fexp").write_text(
        "fexp 1\nlet over = tcp\nexperiment e {\n"
        "  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(20pkt))\n"
        "  flow a { cca = cubic  over = over  workload = file(1MB) }\n  measure = [fct]\n}\n"
    )
    assert fairc("check", "two.fexp", "--set", "over=quic").status == 0
    assert "`overt`" in fairc("check", "two.fexp", "--set", "overt=quic").err
    assert "sctp" in fairc("check", "two.fexp", "--set", "over=sctp").err


def test_run_of_a_directory_without_a_plan(fairc: Fairc) -> None:
    Path("folder").mkdir()
    called = fairc("run", "folder").require(2)
    assert "holds no plan" in called.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(fairc: Fairc) -> None:
    Path("secret.fexp").write_text("fexp 1\n")
    Path("secret.fexp").chmod(0)
    called = fairc("check", "secret.fexp").require(2)
    assert "cannot be read" in called.err


def test_concise_diagnostics_are_one_line_each(fairc: Fairc) -> None:
    Path("wrong.fexp").write_text(Path("tiny.fexp").read_text().replace("cubic", "cubik"))
    called = fairc("check", "--format", "concise", "--quiet", "wrong.fexp").require(2)
    assert called.out == ""
    assert PLACE.match(called.err)
    assert len(called.err.splitlines()) == 1


def test_json_diagnostics_are_the_result(fairc: Fairc) -> None:
    Path("wrong.fexp").write_text(Path("tiny.fexp").read_text().replace("cubic", "cubik"))
    called = fairc("check", "--format", "json", "wrong.fexp", "tiny.fexp").require(2)
    assert called.err == ""
    (found,) = json.loads(called.out)
    assert found["code"] == "unknown-cca"


def test_annotations_of_a_workflow(fairc: Fairc) -> None:
    """GitHub's escapes: line ends everywhere, commas and colons in keys."""
    Path("a,b.fexp").write_text(Path("tiny.fexp").read_text().replace("cubic", "cubik"))
    called = fairc("check", "--format", "github", "a,b.fexp")
    assert (called.status, called.err) == (2, "")
    (line,) = called.out.splitlines()
    assert line.startswith("::error title=unknown-cca,file=a%2Cb.fexp,line=")
    assert "::no CCA is called `cubik`%0Adid you mean `cubic`?%0Ahelp: " in line


def test_standard_input(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path("tiny.fexp").read_bytes()
    for given, status in ((text, 0), (text.replace(b"cubic", b"cubik"), 2), (b"\xff", 2), (b"", 2)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        called = fairc("check", "--format", "concise", "-")
        assert called.status == status
        assert ("<stdin>" in called.err or b"cubic" not in given) or status == 0


def test_a_right_file(fairc: Fairc) -> None:
    called = fairc("check", "tiny.fexp")
    assert (called.status, called.out) == (0, "")
    assert json.loads(fairc("check", "--format", "json", "tiny.fexp").out) == []


@pytest.mark.parametrize(
    "setting", ["repeat", "=3", "repeat=", "nobody=3", "repeat=(", "repeat=1ms"]
)
def test_a_wrong_setting(fairc: Fairc, setting: str) -> None:
    called = fairc("plan", "tiny.fexp", "--set", setting).require(2)
    assert called.err


@pytest.mark.parametrize("condition", ["", "(", "nobody == 1", "rate == 1ms"])
def test_a_wrong_condition(fairc: Fairc, condition: str) -> None:
    called = fairc("run", "tiny.fexp", "--where", condition).require(2)
    assert called.err


def test_a_run_directory_whose_name_is_no_text(fairc: Fairc) -> None:
    """DuckDB, which writes the tables, takes paths in UTF-8 alone."""
    called = fairc("run", "tiny.fexp", "-o", "x\udcff")
    assert called.status == 2 and "is not UTF-8" in called.err
    assert not Path("x\udcff").exists()
