"""`fairc cell` and `fairc run --collect`: what a cluster does with a compiled plan."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster_runs import BUT_TIME, CELLS, lock_but_time, results, started, table
from representatives import few
from waiting import ended, eventually

from fairc.compiler.record import of_file, recorded
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.run import cluster
from fairc.runtime.store import folder
from fairc_fake.engine import FakeEngine

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py


def test_cells_one_by_one_are_the_run(plan: Fairc) -> None:
    """Every file of the run is the same to the byte, but for the wall time of cells in `cells`."""
    for index in (3, 0, 5):
        assert plan("cell", "plan", "--index", index).status == 0
    rest = plan("cell", "plan", "--index", "1-2,4").require(0)
    assert [line.split()[1] for line in rest.out.splitlines()] == ["1", "2", "4"]
    collected = plan("run", "plan", "--collect").require(0)
    assert collected.err == ""
    whole = plan("run", "tiny.fexp", "-o", "whole")
    assert collected.out.replace("results/tiny", "whole") == whole.out
    for name in ("plan.json", "cells.jsonl"):
        assert Path("results/tiny", name).read_bytes() == Path("whole", name).read_bytes()
    assert lock_but_time("results/tiny") == lock_but_time("whole")
    tables = sorted(path.name for path in Path("whole/tables").iterdir())
    assert tables == sorted(path.name for path in Path("results/tiny/tables").iterdir())
    for name in tables:
        if name != "cells.parquet":
            one, other = (Path(run, "tables", name) for run in ("results/tiny", "whole"))
            assert one.read_bytes() == other.read_bytes(), name
    assert table("results/tiny", "cells", BUT_TIME) == table("whole", "cells", BUT_TIME)
    assert {p.name for p in Path("results/tiny/cells").iterdir()} == results()
    assert list(Path("scratch").iterdir()) == []
    assert plan("run", "tiny.fexp", "-o", "results/tiny").err == ""  # nothing is left to be run


def test_claims_are_collected_with_the_cells(plan: Fairc) -> None:
    claim = 'claim "all get something" { holds = median(goodput, flow: a) > 1kbit/s }\n}'
    file = Path("claimed.fexp")
    file.write_text(Path("tiny.fexp").read_text().rstrip().removesuffix("}") + claim)
    assert plan("compile", file, "-o", "claimed", "--target", "json").status == 0
    assert plan("cell", "claimed", "--index", "0-5").status == 0
    plan("run", "claimed", "--collect", "-o", "run").require(0)
    assert json.loads(Path("run/lock.json").read_text())["claimed"][0]["results"] == 0
    (found,) = json.loads(plan("verdict", "run", "--format", "json").out)["claims"]
    assert found["kind"] == "confirmatory"


def test_a_cell_that_is_there_is_not_run_again(plan: Fairc) -> None:
    plan("cell", "plan", "--index", "2")
    (folder,) = results()
    file = Path("plan/results", folder, "result.json")
    before = file.stat().st_ino
    assert "already done" in plan("cell", "plan", "--index", "2").out
    assert file.stat().st_ino == before
    assert "already done" not in plan("cell", "plan", "--index", "2", "--fresh").out
    assert file.stat().st_ino != before


def test_a_cell_that_another_job_finishes_meanwhile_is_not_run(
    plan: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cell 1 is stored by somebody else while this command runs cell 0."""
    assert plan("cell", "plan", "--index", "1").status == 0
    (other,) = results()
    Path("plan/results", other).rename("other")
    run, ran = FakeEngine.run, list[str]()

    def meanwhile(self: FakeEngine, cell: Any, workdir: Path) -> Any:
        ran.append(cell.id)
        if len(ran) == 1:
            Path("other").rename(Path("plan/results", other))
        return run(self, cell, workdir)

    monkeypatch.setattr(FakeEngine, "run", meanwhile)
    called = plan("cell", "plan", "--index", "0-2").require(0)
    told = [line.partition(": ")[2] for line in called.out.splitlines()]
    assert told == ["valid", "valid", "valid, already done"]
    assert len(ran) == 2 and len(results()) == 3


def test_the_plan_is_read_once_for_all_cells(plan: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work for a hundred thousand cells would grow with their square otherwise."""
    read, lines = folder.read_cell, list[int]()

    def counted(where: Path, header: Any, line: bytes, number: int) -> Any:
        lines.append(number)
        return read(where, header, line, number)

    monkeypatch.setattr(cluster, "read_cell", counted)
    assert plan("cell", "plan", "--index", "5,0-3").status == 0
    assert lines == [4, 1, 2, 3, 4, 6]  # one of them first, before anything is prepared


def test_chunks(plan: Fairc) -> None:
    """Chunk 1 of 4 cells each is 4 and 5: the plan has six."""
    called = plan("cell", "plan", "--index", "1", "--chunk", "4")
    assert [line.split()[1] for line in called.out.splitlines()] == ["4", "5"]
    none = plan("cell", "plan", "--index", "2", "--chunk", "4").require(2)
    assert "there is no index 2: the plan has 6 cells in chunks of 4, 0 to 1" in none.err


@pytest.mark.full
def test_the_emitted_jobs_run_an_index_as_it_stands(plan: Fairc, tmp_path: Path) -> None:
    """The script of Slurm with its variable set; the command of a pod as the kubelet expands it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "fairc").write_text(f'#!/bin/sh\nexec {sys.executable} -m fairc "$@"\n')
    (programs / "fairc").chmod(0o755)
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(
        ["./slurm.sh"],
        cwd="plan",
        env={**os.environ, **path, "SLURM_ARRAY_TASK_ID": "4"},
        check=True,
    )
    assert len(results()) == 1
    job = yaml.safe_load(Path("plan/kubernetes/job.yaml").read_text())
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    there = {"/plan": "plan", "$(JOB_COMPLETION_INDEX)": "5"}
    command = [there.get(word, word) for word in command]
    subprocess.run(command, env={**os.environ, **path}, check=True)
    assert len(results()) == 2
    told = plan("run", "plan", "--collect")
    assert "missing: 4 of 6: 0-3" in told.err


def test_what_is_missing_failed_or_damaged_is_said(
    plan: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRC_FAKE", "fail:2")  # cells 2 and 3
    failed = plan("cell", "plan", "--index", "0-3").require(1)
    assert "cell 2" in failed.out and "failed" in failed.out
    assert "the fake engine was told to fail" in failed.err
    monkeypatch.delenv("FAIRC_FAKE")
    first = json.loads(Path("plan/cells.jsonl").read_text().splitlines()[0])["id"]
    for result in Path("plan/results").glob("*/result.json"):
        if json.loads(result.read_text())["cell"] == first:
            (result.parent / "slots.parquet").write_bytes(b"PAR1 cut off")
    told = plan("run", "plan", "--collect").require(1)
    assert "3 cells: 1 valid, 0 flagged, 0 invalid, 2 failed" in told.out
    assert "missing: 2 of 6: 4-5" in told.err
    assert "failed: 2: the fake engine was told to fail" in told.err
    assert "damaged: 0: " in told.err
    assert told.err.rstrip().endswith("help: fairc cell plan --index 0,2-5 --fresh")
    command = told.err.rstrip().partition("help: fairc ")[2].split()
    assert plan(*command).status == 0
    again = plan("run", "plan", "--collect")
    assert (again.status, again.err) == (0, "")
    assert "6 cells: 6 valid" in again.out


def test_what_is_half_written_does_not_count(plan: Fairc) -> None:
    """A process that was killed while it copied leaves a folder in `.writing`, and nothing else."""
    plan("cell", "plan", "--index", "0")
    (key,) = results()
    shutil.move(f"plan/results/{key}", f"plan/results/{cluster.WRITING}/{key}.0123")
    none = plan("run", "plan", "--collect").require(2)
    assert "plan/results holds no result of this plan" in none.err
    assert "fairc cell plan --index 0" in none.err
    assert plan("cell", "plan", "--index", "0").status == 0
    Path(f"plan/results/{key}/result.json").write_text('{"cell": "cut o')
    Path("plan/results/stray").mkdir()
    assert plan("cell", "plan", "--index", "1").status == 0
    told = plan("run", "plan", "--collect").require(1)
    assert "damaged: 0: its result.json is not of this version of fairc" in told.err
    # The same of a run directory that was collected by an earlier version.
    Path(f"results/tiny/cells/{key}").mkdir()
    Path(f"results/tiny/cells/{key}/result.json").write_text('{"cell": "of an older version"}')
    again = plan("run", "plan", "--collect")
    assert (again.status, again.err) == (told.status, told.err)


@pytest.mark.full
def test_results_of_an_older_version(plan: Fairc) -> None:
    """Fields that came later have defaults; what is read of such a result is computed anew."""
    plan("cell", "plan", "--index", "0-5")
    for file in Path("plan/results").glob("*/result.json"):
        document = json.loads(file.read_text())
        for condition in document["conditions"]:
            del condition["transport"]
        for metric in document["metrics"]:
            del metric["load"]
        file.write_text(json.dumps(document | {"analysis": "of an older version"}))
        known = recorded(file.parent)
        assert known
        files = {name: of_file(file.parent / name) for name in known.files}
        known.model_copy(update={"files": files}).write(file.parent, file.parent)
    collected = plan("run", "plan", "--collect").require(0)
    assert "damaged" not in collected.err and "6 cells to analyse again" in collected.err
    transports = table("results/tiny", "conditions", "DISTINCT transport")
    assert transports == [("tcp",)]


def test_no_result_can_be_read(plan: Fairc) -> None:
    plan("cell", "plan", "--index", "1-2,4")
    for file in Path("plan/results").glob("*/result.json"):
        document = json.loads(file.read_text())
        file.write_text(json.dumps(document | {"of a later version": 1}))
    refused = plan("run", "plan", "--collect").require(2)
    words = "to rerun cells 1-2,4: fairc cell plan --index 1-2,4 --fresh"
    assert words in refused.err
    assert plan("cell", "plan", "--index", "1-2,4", "--fresh").status == 0
    told = plan("run", "plan", "--collect")
    assert "missing: 3 of 6: 0,3,5" in told.err


def test_a_result_that_does_not_say_what_made_it(plan: Fairc) -> None:
    plan("cell", "plan", "--index", "0")
    (key,) = results()
    Path(f"plan/results/{key}/made.json").write_text('{"cut o')
    assert plan("run", "plan", "--collect").status == 2  # nothing else is there
    plan("cell", "plan", "--index", "1")
    told = plan("run", "plan", "--collect").require(1)
    assert "damaged: 0: " in told.err and "made.json cannot be read" in told.err


@pytest.mark.full
def test_a_metric_that_came_later_is_computed_here(plan: Fairc) -> None:
    plan("cell", "plan", "--index", "0-5")
    text = Path("tiny.fexp").read_text().replace("goodput]", "goodput, throughput]")
    Path("tiny.fexp").write_text(text)
    assert plan("compile", "tiny.fexp", "-o", "plan", "--target", "json").status == 0
    assert plan("run", "plan", "--collect").status == 0  # results survive a compilation
    assert ("throughput",) in table("results/tiny", "metrics", "metric")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cell", "nowhere", "--index", "0"), "nowhere is not the folder of a compiled plan"),
        (("cell", "tiny.fexp", "--index", "0"), "tiny.fexp is not the folder of a compiled plan"),
        (("cell", "scratch", "--index", "0"), "scratch holds no plan: it has no plan.json"),
        (("cell", "plan", "--index", "6"), "there is no index 6: the plan has 6 cells, 0 to 5"),
        (("cell", "plan", "--index", "5-4"), "'5-4' in --index is neither"),
        (("cell", "plan", "--index", "-1"), "'-1' in --index is neither"),
        (("cell", "plan", "--index", "one"), "'one' in --index is neither"),
        (("cell", "plan", "--index", "0", "--engine", "wm"), "did you mean `vm`"),
        (("cell", "plan"), "--index"),
        (("run", "tiny.fexp", "--collect"), "--collect takes the folder of a compiled plan"),
        (("run", "plan", "--collect", "--fresh"), "--collect runs nothing"),
        (("run", "plan", "--machine", "0"), "--machine needs --collect"),
        (("run", "plan", "--collect", "-o", "plan"), "the run needs a separate directory"),
    ],
)
def test_bad_input(plan: Fairc, arguments: tuple[str, ...], words: str) -> None:
    if arguments[-1] == "plan" and "-o" in arguments:
        plan("cell", "plan", "--index", "0")
    called = plan(*arguments).require(2)
    assert words in called.err


def test_a_plan_of_another_version(plan: Fairc) -> None:
    text = Path("plan/plan.json").read_text()
    Path("plan/plan.json").write_text(text.replace('"version": 1', '"version": 2'))
    for arguments in (("cell", "plan", "--index", "0"), ("run", "plan", "--collect")):
        called = plan(*arguments).require(2)
        assert "is not a plan of this version" in called.err
    Path("plan/plan.json").write_text(text)
    lines = Path("plan/cells.jsonl").read_text().splitlines(keepends=True)
    Path("plan/cells.jsonl").write_text("".join(lines[:2]) + '{"id": "cut o')
    for index, words in ((2, "is not a cell of this version"), (3, "the plan is incomplete")):
        called = plan("cell", "plan", "--index", index).require(2)
        assert f"plan/cells.jsonl:{index + 1}" in called.err and words in called.err


def test_an_engine_that_lacks_something(plan: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(self: FakeEngine, cell: object, workdir: object) -> None:
        raise EngineUnavailable(("this kernel lacks it",), "another engine")

    monkeypatch.setattr(FakeEngine, "run", run)
    called = plan("cell", "plan", "--index", "0").require(3)
    assert "this kernel lacks it" in called.err
    assert results() == set()


@pytest.mark.full
def test_processes_that_write_at_once(plan: Fairc) -> None:
    """Five at the same folder, each cell in two of them or more."""
    processes = [
        started("cell", "plan", "--index", indices) for indices in ("0", "0", "1,0", "1-5", "0,2-5")
    ]
    for process in processes:
        _, err = ended(process)
        assert process.returncode == 0, err
    assert len(results()) == CELLS
    assert list(Path("plan/results", cluster.WRITING).iterdir()) == []
    assert plan("run", "plan", "--collect").status == 0


@pytest.mark.parametrize("sent", few([signal.SIGTERM, signal.SIGKILL], signal.SIGTERM))
def test_a_preempted_cell_is_not_done(plan: Fairc, sent: signal.Signals) -> None:
    process = started("cell", "plan", "--index", "0-5", fake="hang:2")  # cells 0 and 1 end
    eventually(lambda: len(results()) == 2, process=process)
    work = "fairc-cell-*/run/.partial/*.work"
    eventually(lambda: list(Path("scratch").glob(work)), process=process)
    process.send_signal(sent)
    _, err = ended(process)
    if sent == signal.SIGTERM:
        assert process.returncode == 130
        assert "the cell is not finished" in err and "Traceback" not in err
        assert list(Path("scratch").iterdir()) == []
    else:
        assert process.returncode == -signal.SIGKILL, err
    assert len(results()) == 2
    assert plan("cell", "plan", "--index", "0-5").status == 0
    assert plan("run", "plan", "--collect").status == 0
