"""What the report says of the time that hosts take, and of the phase check."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from fairc.compiler.plan import LoadWorkload
from fairc.runtime import engines
from fairc.runtime.formatting import Number
from fairc.runtime.report import phases
from fairc.runtime.run.phase import Findings, Result
from fairc.runtime.statistics import Estimate


def run(engine: str, *bounds_ns: int | None, cost_ns: int | None = None, client: str = "") -> Any:
    load = Mock(LoadWorkload, client=client or "plain")
    scenes = {
        str(n): SimpleNamespace(
            processing_ns=ns, syscall_cost_ns=cost_ns, flows=[SimpleNamespace(workload=load)]
        )
        for n, ns in enumerate(bounds_ns)
    }
    return SimpleNamespace(rows=lambda _: [(engine,)], scenes=scenes)


@pytest.fixture
def _free(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose computing takes no time."""
    kind = engines.EngineKind("free", "for a test", "no:Engine", computing_is_free=True)
    monkeypatch.setattr(phases, "ENGINES", [*engines.ENGINES, kind])


def test_no_engine_whose_computing_takes_time_says_that_it_is_free() -> None:
    kinds = {kind.name: kind.computing_is_free for kind in engines.ENGINES}
    assert not any(kinds[name] for name in ("vm", "mininet", "docker", "fake"))


@pytest.mark.usefixtures("_free")
@pytest.mark.parametrize(
    ("engine", "bounds_ns", "words"),
    [
        ("vm", (None,), "only its computing time to each packet it sends (the engine's default)"),
        ("vm", (0,), "only its computing time to each packet it sends (as set in the file)"),
        ("free", (None,), "uniform from 0 to 10 µs, without reordering"),
        ("free", (0, 0), "A host adds no delay to each packet it sends (as set in the file)"),
        ("vm", (2_000_000,), "uniform from 0 to 2 ms, without reordering"),
        ("vm", (0, 10_000), "depends on the configuration. In some there is no delay."),
        ("vm", (10_000, 20_000), "uniform from 0 to 10 µs or 20 µs"),
    ],
)
def test_what_hosts_take(engine: str, bounds_ns: tuple[int | None, ...], words: str) -> None:
    assert words in phases.processing(run(engine, *bounds_ns))


@pytest.mark.usefixtures("_free")
def test_where_computing_is_free_the_report_says_so_and_what_it_means_for_pages() -> None:
    assert "Computing is free" not in phases.processing(run("vm", None))
    plain = phases.processing(run("free", None))
    assert "Computing is free" in plain
    assert "system call" not in plain
    assert "page load" not in plain
    charged = phases.processing(run("free", None, cost_ns=8000))
    assert "each system call takes 8 µs" in charged
    browser = phases.processing(run("free", None, client="chromium"))
    assert "each system call takes 1 µs" in browser
    assert "not scripts and painting" in browser


def test_the_phase_check_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    by: dict[str, str | None] = {"queue": "fifo(4pkt)", "flow": "a"}
    before, after = Estimate(6, 588e3, 384e3, 588e3), Estimate(6, 484e3)
    made = [
        Result("goodput", "bit/s", by, verdict, before, after, "why")
        for verdict in ("no change found", "cannot tell", "phase-sensitive")
    ]
    found = Findings(1, 3, 6, (12_112_000, 12_112_000), {"valid": 5, "failed": 1}, tuple(made))
    monkeypatch.setattr("fairc.runtime.report.phases.findings", lambda _: found)
    one = run("vm", None)
    one.path = None
    told = phases.phases(one)
    assert told.sentences[0].startswith("6 cells of 1 of 3 configurations were run again")
    assert told.sentences[0].endswith("Of these cells: 1 failed.")
    assert "1 of 3 results is phase-sensitive" in told.sentences[1]
    assert told.sentences[1].endswith("1 cannot be decided.")
    assert told.sensitive == ("goodput (queue = fifo(4pkt), flow = a)",)
    assert [row[1] for row in told.sheet.rows] == ["phase-sensitive", "cannot tell"]
    what, _, value, ends, again, none, _ = told.sheet.rows[0]
    assert what == "goodput (queue = fifo(4pkt), flow = a) (Mbit/s)"
    assert isinstance(value, Number) and isinstance(again, Number) and isinstance(ends, tuple)
    assert [x.text for x in (value, *ends, again)] == ["0.588", "0.384", "0.588", "0.484"]
    assert none == ""
