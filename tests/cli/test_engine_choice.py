"""One experiment, one engine: chosen by the plan, recorded, and kept by a run directory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from representatives import few

from fairc.runtime.engines import ENGINES
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.store.folder import Store
from fairc_fake.engine import FakeEngine

Fairc = Callable[..., Any]  # conftest.py
ROOT = Path(__file__).parents[2]
OBJECT = ROOT / "tests/engines/bpf/refused.bpf.o"
SMALL = """fexp 1
experiment small {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  FLOW
  measure = [goodput]
}
"""
PLAIN = "flow a { cca = cubic  workload = file(50kB) }"
OWN = 'flow own { cca = bpf("refused.bpf.o")  workload = file(50kB) }'
IMAGE = 'flow other { over = quic(image: "localhost/quic:1")  workload = file(50kB) }'
WHY = "flow `own` uses a BPF congestion controller (line 4), which uml cannot load"


class FakeUml(FakeEngine):
    """The fake engine under the name of the fast one."""

    name = "uml"


class FakeVm(FakeEngine):
    """The fake engine under the name of the emulated machine."""

    name = "vm"


class FakeMininet(FakeEngine):
    """The fake engine under the name of the host's kernel."""

    name = "mininet"


@pytest.fixture
def small(
    fairc: Fairc, without_report: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Fairc:
    """`plain.fexp`, `own.fexp`, `other.fexp`; all engines but docker invent, and no report is
    written.
    """
    monkeypatch.delenv("FAIRC_ENGINE")
    for name, flow in (("plain", PLAIN), ("own", OWN), ("other", IMAGE)):
        (tmp_path / f"{name}.fexp").write_text(SMALL.replace("FLOW", flow))
    shutil.copy(OBJECT, tmp_path)
    for engine in (FakeUml, FakeVm, FakeMininet):
        monkeypatch.setattr(f"fairc_fake.engine.{engine.__name__}", engine, raising=False)
        kind = next(kind for kind in ENGINES if kind.name == engine.name)
        fake = replace(kind, factory=f"fairc_fake.engine:{engine.__name__}")
        monkeypatch.setitem(ENGINES._entries, engine.name, fake)
    return fairc


def engines(run: str) -> tuple[str, str | None]:
    """Return the engine of a run's plan and of its lock."""
    plan = json.loads(Path(run, "plan.json").read_text())
    return plan["engine"], Store(Path(run)).engine


def test_plan_names_the_engine_and_the_word(small: Fairc) -> None:
    text = small("plan", "own.fexp").out
    assert "\nengine            vm\n" in text and f"engine vm: {WHY}\n" in text
    document = json.loads(small("plan", "own.fexp", "--format", "json").out)
    assert (document["engine"], document["engine_reasons"]) == ("vm", [WHY])
    plain = json.loads(small("plan", "plain.fexp", "--format", "json").out)
    assert (plain["engine"], plain["engine_reasons"]) == ("uml", [])
    slower = json.loads(small("plan", "plain.fexp", "--format", "json", "--engine", "vm").out)
    assert slower["engine"] == "vm" and slower["wall_s"] > plain["wall_s"]


def test_a_run_has_the_engine_of_its_plan(small: Fairc) -> None:
    called = small("run", "plain.fexp")
    assert (called.status, "engine" in called.err) == (0, False)
    assert engines("results/small") == ("uml", "uml")
    called = small("run", "own.fexp", "-o", "own").require(0)
    assert f"engine vm: {WHY}\n" in called.err
    assert engines("own") == ("vm", "vm")


SUITE = """title = "One"
source = "none"
cost = "seconds"
[member.small]
spec = "plain.fexp"
[criterion.1]
title = "Text"
reason = "it is a text"
"""


def test_a_suite_runs_on_the_engine_that_is_named(small: Fairc) -> None:
    Path("mine").mkdir()
    shutil.copy("plain.fexp", "mine")
    Path("mine/suite.toml").write_text(SUITE)
    assert small("suite", "run", "mine", "--engine", "vm").status == 0
    (plan,) = Path("results/suites/mine").rglob("plan.json")
    assert engines(str(plan.parent)) == ("vm", "vm")


def test_neither_where_nor_what_is_missing_changes_it(small: Fairc, tmp_path: Path) -> None:
    text = SMALL.replace("FLOW", PLAIN.replace("cubic", "cca"))
    sweep = 'sweep { cca = [cubic, bpf("refused.bpf.o")] }\n  flow'
    (tmp_path / "swept.fexp").write_text(text.replace("flow", sweep, 1))
    assert small("run", "swept.fexp", "--where", "cca == cubic").status == 0
    assert engines("results/small") == ("vm", "vm")


def test_a_run_directory_keeps_its_engine(small: Fairc) -> None:
    here = ("-o", "results/small")
    assert small("run", "plain.fexp", "--engine", "vm").status == 0
    refused = small("run", "plain.fexp", "--engine", "uml", *here).require(2)
    assert "results/small holds results of the engine vm" in refused.err
    assert "-o, such as results/small-uml" in refused.err
    again = small("run", "plain.fexp")
    assert (again.status, "to run" in again.err) == (0, False)  # nothing is run twice
    assert "engine vm: results/small has its results, and a run directory keeps" in again.err
    assert engines("results/small") == ("vm", "vm")


def test_another_engine_runs_in_a_folder_of_its_own(small: Fairc) -> None:
    assert small("run", "plain.fexp").status == 0
    moved = small("run", "plain.fexp", "--engine", "mininet")
    said = "results/small has results of another engine: this run goes to results/small-mininet"
    assert moved.status == 0 and said in moved.err
    assert engines("results/small") == ("uml", "uml")
    assert engines("results/small-mininet") == ("mininet", "mininet")
    again = small("run", "results/small", "--engine", "mininet")  # its plan, the same place
    assert again.status == 0 and "1 cell to run" not in again.err
    assert small("run", "plain.fexp", "--engine", "uml").status == 0
    assert sorted(path.name for path in Path("results").iterdir()) == ["small", "small-mininet"]


def test_compile_says_how_to_go_on(small: Fairc) -> None:
    def steps(*options: str) -> list[str]:
        told = small("compile", "plain.fexp", *options, "-o", "my plan")
        shutil.rmtree("my plan")
        return [line.partition("  #")[0].strip() for line in told.out.splitlines()]

    program = "cd 'my plan' && sudo python3 cells/small.py"
    said = "my plan: 1 cell for the engine {}; index.md lists them"
    assert steps() == [said.format("uml"), "fairc run 'my plan'", program]
    asked = "fairc run 'my plan' --engine mininet"
    assert steps("--engine", "mininet") == [said.format("mininet"), asked, program]
    assert steps("--target", "json") == [said.format("uml"), "fairc run 'my plan'"]
    compose = "cells/small_repetition=1/compose.yaml"
    up = f"cd 'my plan' && docker compose --file {compose} up"
    assert steps("--engine", "docker") == [said.format("docker"), "fairc run 'my plan'", up]


def test_a_file_that_outgrew_the_engine_of_its_run_directory(small: Fairc) -> None:
    assert small("run", "plain.fexp").status == 0
    refused = small("run", "own.fexp").require(2)
    assert "the engine uml cannot run every cell" in refused.err and WHY in refused.err
    assert "the run directory has results of uml and keeps its engine" in refused.err
    assert engines("results/small") == ("uml", "uml")


@pytest.mark.parametrize("engine", few(["vm", "mininet"], "mininet"))
def test_a_run_of_an_earlier_version_goes_on(small: Fairc, engine: str) -> None:
    """Its plan names no engine, and its lock does."""
    assert small("run", "plain.fexp", "--engine", engine).status == 0
    plan = Path("results/small/plan.json")
    document = json.loads(plan.read_text())
    del document["engine"], document["engine_reasons"]
    plan.write_text(json.dumps(document))
    assert small("table", "results/small", "goodput").status == 0
    assert small("compare", "results/small", "results/small").status == 0
    for again in ("results/small", "plain.fexp"):
        assert small("run", again, "--engine", "uml", "-o", "results/small").status == 2
        called = small("run", again, *(("--engine", engine) if engine == "mininet" else ()))
        assert (called.status, "to run" in called.err) == (0, False)
        assert Store(Path("results/small")).engine == engine
    assert engines("results/small") == (engine, engine)
    plan.write_text(json.dumps(document))
    copied = small("run", "results/small", "-o", "copy")
    if engine == "mininet":  # a folder from somebody else does not choose what runs as root
        assert copied.status == 2 and "runs as root" in copied.err
        copied = small("run", "results/small", "-o", "copy", "--engine", engine)
    assert copied.status == 0
    assert Store(Path("copy")).engine == engine


def test_root_is_asked_for_by_name(small: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the lock of a run directory nor a plan gets it, wherever a stranger has put them."""
    assert small("run", "plain.fexp", "--engine", "mininet", "-o", "asked").status == 0
    Path("results").mkdir()
    Path("asked").rename("results/small")
    ran: list[object] = []
    monkeypatch.setattr(FakeMininet, "prepare", lambda self: ran.append(self))
    Path("plain.fexp").write_text(Path("plain.fexp").read_text().replace("50kB", "60kB"))
    for target in ("plain.fexp", "results/small"):
        called = small("run", target)
        assert called.status == 2 and "names the engine mininet" in called.err
        assert "help: `--engine mininet` allows it" in called.err
    assert small("compile", "plain.fexp", "-o", "plan", "--engine", "mininet").status == 0
    for command in (("run", "plan"), ("cell", "plan", "--index", "0")):
        called = small(*command)
        assert called.status == 2 and "names the engine mininet" in called.err
    monkeypatch.setenv("FAIRC_ENGINE", "mininet")  # which is for files
    assert small("run", "results/small").status == 2
    assert not ran
    assert small("run", "plain.fexp").status == 0
    monkeypatch.delenv("FAIRC_ENGINE")
    assert small("cell", "plan", "--index", "0", "--engine", "mininet").status == 0
    assert len(ran) == 2


def test_a_compiled_plan_runs_on_its_engine(small: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = ("compile", "plain.fexp", "--target", "json", "-o")
    assert small(*compiled, "fast").status == 0
    assert small(*compiled, "slow", "--engine", "vm").status == 0
    monkeypatch.setenv("FAIRC_ENGINE", "mininet")  # for files: these have an engine
    for plan, engine in (("fast", "uml"), ("slow", "vm")):
        assert small("run", plan, "-o", f"{plan}-run").status == 0
        assert engines(f"{plan}-run") == (engine, engine)
        copy, original = Path(f"{plan}-run/plan.json"), Path(plan, "plan.json")
        assert copy.read_bytes() == original.read_bytes()
    assert small("run", "fast", "--engine", "vm", "-o", "other").status == 0
    assert engines("other") == ("vm", "vm")


def test_a_compiled_plan_is_refused_by_an_engine_that_cannot(small: Fairc) -> None:
    compiled = small("compile", "own.fexp", "--target", "json", "-o", "own")
    assert compiled.status == 0 and f"engine vm: {WHY}" in compiled.err
    refused = small("run", "own", "--engine", "uml").require(2)
    assert "the engine uml cannot run every cell" in refused.err and WHY in refused.err
    plan = Path("own/plan.json")  # by another hand
    plan.write_text(plan.read_text().replace('"engine": "vm"', '"engine": "uml"'))
    refused = small("run", "own")
    assert refused.status == 2 and WHY in refused.err


def test_a_cell_never_chooses(small: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    small("compile", "plain.fexp", "--target", "slurm", "-o", "plan", "--engine", "vm")
    monkeypatch.setenv("FAIRC_ENGINE", "mininet")
    refused = small("cell", "plan", "--index", "0", "--engine", "uml").require(2)
    assert "plan is a plan for the engine vm" in refused.err
    assert "fairc compile FILE -o DIR --engine uml" in refused.err
    assert small("cell", "plan", "--index", "0").status == 0
    (result,) = Path("plan/results").glob("*/result.json")
    assert json.loads(result.read_text())["engine"] == "vm"
    monkeypatch.delenv("FAIRC_ENGINE")
    assert small("run", "plain.fexp", "-o", "run").status == 0
    assert small("run", "plan", "--collect", "-o", "run").status == 2  # a run of uml
    assert small("run", "plan", "--collect").status == 0
    assert engines("results/small") == ("vm", "vm")


def test_a_machine_that_cannot_run_the_chosen_engine(
    small: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(self: FakeEngine) -> None:
        raise EngineUnavailable(("the kernel forbids it",), "ask for leave")

    monkeypatch.setattr(FakeUml, "prepare", lacks)
    called = small("run", "plain.fexp").require(3)
    assert "error: the kernel forbids it\nhelp: ask for leave\n" in called.err
    assert "help: or `--engine vm`: that engine can run it, too" in called.err
    assert small("run", "plain.fexp", "--engine", "vm").status == 0  # nothing was there
    assert small("compile", "plain.fexp", "--target", "json", "-o", "plan").status == 0
    called = small("cell", "plan", "--index", "0").require(3)
    assert "compile it again, into another folder, with `--engine vm`" in called.err


def test_a_machine_that_lost_the_engine_of_a_run(
    small: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert small("run", "plain.fexp").status == 0
    text = Path("plain.fexp").read_text().replace("50kB", "60kB")
    Path("plain.fexp").write_text(text)

    def lacks(self: FakeEngine, cell: object, workdir: object) -> None:
        raise EngineUnavailable(("the kernel forbids it",), "ask for leave")

    monkeypatch.setattr(FakeUml, "run", lacks)
    called = small("run", "plain.fexp").require(3)
    assert "help: or `--engine vm`: that engine can run it, too" in called.err
    called = small("run", "plain.fexp", "-o", "results/small")
    assert "`--engine vm` with `-o results/small-vm`: that engine can run it, too" in called.err


def test_no_other_engine_is_named_where_none_can(
    small: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(self: FakeEngine) -> None:
        raise EngineUnavailable(("there is no emulator",), "install it")

    monkeypatch.setattr(FakeVm, "prepare", lacks)
    called = small("run", "own.fexp").require(3)
    assert called.err.endswith("error: there is no emulator\nhelp: install it\n")


def test_images_are_not_run_unasked(small: Fairc) -> None:
    called = small("run", "other.fexp").require(2)
    assert "engine docker: flow `other` runs the image `localhost/quic:1` (line 4)" in called.err
    assert "error: flows use third-party images, which are code: `localhost/quic:1`" in called.err
    assert not Path("results/small/plan.json").exists()


def test_a_damaged_lock_is_said(small: Fairc) -> None:
    assert small("run", "plain.fexp").status == 0
    Path("results/small/lock.json").write_text('{"engine": ')
    called = small("run", "plain.fexp").require(2)
    assert "results/small/lock.json cannot be read" in called.err
