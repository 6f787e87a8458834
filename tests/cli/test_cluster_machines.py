"""Cells that ran on several computers: whose results belong together."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster_runs import BUT_TIME, CELLS, lock_but_time, table

from fairc_fake.engine import FakeEngine

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Make the fake engine one with two machines: cells 2 and 3 need the second one.

    As the virtual machine has one with a browser, and it is got ready where a cell needs it.
    """

    def of(first: str, second: str) -> None:
        used: set[str] = set()

        def identity_for(self: FakeEngine, cell: Any) -> str:
            if cell.repetition != 2:
                return first
            used.add(second)
            return second

        def versions(self: FakeEngine) -> dict[str, str]:
            return {"machine": first} | ({"machine (second)": second} if used else {})

        monkeypatch.setattr(FakeEngine, "identity", first)
        monkeypatch.setattr(FakeEngine, "identity_for", identity_for)
        monkeypatch.setattr(FakeEngine, "versions", property(versions))

    return of


def test_cells_of_an_engine_with_two_machines(
    plan: Fairc, build: Callable[[str, str], None]
) -> None:
    """Its jobs ran on several computers, of which not all had the second machine in use."""
    for indices in ("0-1", "2-3", "4-5"):
        build("first", "second")
        assert plan("cell", "plan", "--index", indices).status == 0
    collected = plan("run", "plan", "--collect")
    assert (collected.status, collected.err) == (0, "")
    assert "6 cells: 6 valid" in collected.out
    whole = plan("run", "tiny.fexp", "-o", "whole")
    assert len(table("whole", "cells")) == CELLS
    assert lock_but_time("results/tiny") == lock_but_time("whole")
    assert table("results/tiny", "cells", BUT_TIME) == table("whole", "cells", BUT_TIME)
    assert whole.out.replace("whole", "results/tiny") == collected.out


@pytest.mark.full
def test_builds_of_one_of_two_machines(plan: Fairc, build: Callable[[str, str], None]) -> None:
    """The second machine is another one on some computers; the first one's cells belong to both."""
    build("first", "second")
    assert plan("cell", "plan", "--index", "0-2").status == 0
    build("first", "other")
    assert plan("cell", "plan", "--index", "3-4").status == 0
    refused = plan("run", "plan", "--collect").require(2)
    assert "fake first and second (" in refused.err and "fake first and other (" in refused.err
    assert refused.err.count(": 4 cells") == 2
    assert plan("run", "plan", "--collect", "--machine", "first").status == 2  # both have it
    told = plan("run", "plan", "--collect", "--machine", "oth").require(1)
    assert "missing: 2 of 6: 2,5" in told.err
    engine = json.loads(Path("results/tiny/lock.json").read_text())["engine"]
    assert engine["identities"] == ["first", "other"]
    assert engine["versions"] == {"machine": "first", "machine (second)": "other"}
    assert plan("cell", "plan", "--index", "2,5").status == 0
    assert plan("run", "plan", "--collect").status == 0  # one of them has run everything
    assert len(table("results/tiny", "cells")) == CELLS


def test_machines_of_two_builds_are_not_put_together(
    plan: Fairc, build: Callable[[str, str], None]
) -> None:
    """Nothing has ever run beside both: who knows what else differs."""
    build("old", "unused")
    assert plan("cell", "plan", "--index", "0-1").status == 0
    build("new", "second")
    assert plan("cell", "plan", "--index", "2-3").status == 0
    refused = plan("run", "plan", "--collect").require(2)
    assert "fake old (" in refused.err and "fake second (" in refused.err


@pytest.mark.full
def test_a_machine_that_two_builds_share(plan: Fairc, build: Callable[[str, str], None]) -> None:
    """What another machine beside it would be does not matter where no cell needs that one."""
    build("old", "second")
    assert plan("cell", "plan", "--index", "2").status == 0
    build("new", "second")
    assert plan("cell", "plan", "--index", "3").status == 0
    told = plan("run", "plan", "--collect").require(1)
    assert "2 cells: 2 valid" in told.out and "missing: 4 of 6: 0-1,4-5" in told.err
    assert plan("cell", "plan", "--index", "0-1,4-5").status == 0
    assert plan("run", "plan", "--collect").status == 0
    engine = json.loads(Path("results/tiny/lock.json").read_text())["engine"]
    assert engine["versions"] == {"machine": "new", "machine (second)": "second"}


@pytest.mark.full
def test_results_of_another_machine(plan: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    plan("cell", "plan", "--index", "0-3")
    monkeypatch.setattr(FakeEngine, "identity", "0ther")
    plan("cell", "plan", "--index", "4-5")
    refused = plan("run", "plan", "--collect").require(2)
    assert "come from different machines" in refused.err
    assert "fake invented (" in refused.err and ": 4 cells" in refused.err
    assert "fake 0ther (" in refused.err and ": 2 cells" in refused.err
    told = plan("run", "plan", "--collect", "--machine", "0th").require(1)
    assert "missing: 4 of 6: 0-3" in told.err
    assert json.loads(Path("results/tiny/lock.json").read_text())["engine"]["identity"] == "0ther"
    plan("cell", "plan", "--index", "0-3")
    assert plan("run", "plan", "--collect").status == 0  # one machine has them all


def test_hosts_that_differ_are_in_the_lock(plan: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    plan("cell", "plan", "--index", "0-4")
    monkeypatch.setattr("fairc.runtime.run.lock.host", lambda: {"cpu": "another"})
    monkeypatch.setattr("fairc.__version__", "9.9")
    plan("cell", "plan", "--index", "5")
    told = plan("run", "plan", "--collect")
    lock = json.loads(Path("results/tiny/lock.json").read_text())
    assert [host["cpu"] == "another" for host in lock["hosts"]] == [False, True]
    assert lock["host"] == lock["hosts"][0]
    assert "warning: the cells were run by different versions of fairc" in told.err
