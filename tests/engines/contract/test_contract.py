"""What every engine promises (runtime/engines/base.py)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_time import TRIES, undisturbed
from waiting import eventually

from fairc.compiler.plan import Requests
from fairc.runtime.engines.base import Engine, RawResult
from fairc.runtime.host import bounds
from fairc.runtime.host.clean import marked
from fairc.runtime.host.supervisor import mark

Subject = Any  # conftest.py
PARENT, START_TIME = 1, 19  # of the fields that `bounds.family` returns


@pytest.fixture(autouse=True)
def nothing_left() -> Any:
    """See that a test leaves no process of ours behind."""
    yield
    eventually(lambda: not list(marked(mark())))


def test_a_cell_has_a_result(
    subject: Subject, engine: Engine, tmp_path: Path, ended: Callable[[Path], str]
) -> None:
    raw = engine.run(subject.short, tmp_path)
    assert raw.error == ""
    assert len(raw.sha256) == 64
    assert raw.artefacts.is_relative_to(tmp_path)
    assert raw.virtual_s > 0
    assert raw.wall_s > 0
    assert ended(raw.artefacts) == "finished"


def test_the_working_folder_may_be_a_relative_path(
    subject: Subject, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`results/NAME`, where runs go by default, is one."""
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    assert engine.run(subject.short, Path("run")).error == ""


def test_the_result_can_be_analysed(subject: Subject, engine: Engine, tmp_path: Path) -> None:
    tries = 1 if subject.exact else TRIES
    _, analysis = undisturbed(engine, subject.short, Requests(), tmp_path, tries)
    (flow,) = analysis.flows
    assert flow.completed
    assert flow.bytes == 100_000
    assert analysis.verdict != "invalid", analysis.reasons


def test_the_same_cell_gives_the_same_bytes(
    subject: Subject, engine: Engine, tmp_path: Path
) -> None:
    if not subject.exact:
        pytest.skip("this engine runs in real time")
    hashes = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        hashes.add(engine.run(subject.short, tmp_path / name).sha256)
    assert len(hashes) == 1


def test_close_stops_a_running_cell(subject: Subject, engine: Engine, tmp_path: Path) -> None:
    """Also the processes of a guest, which do not carry the mark.

    A daemon that was there before may start others meanwhile, for another test.
    """
    before = bounds.family(os.getpid())
    results: list[RawResult] = []
    thread = threading.Thread(target=lambda: results.append(engine.run(subject.endless, tmp_path)))

    def started() -> dict[int, list[str]]:
        found = bounds.family(os.getpid())
        others, members = before.keys() - {os.getpid()}, {os.getpid()}
        while more := {p for p, f in found.items() if int(f[PARENT]) in members} - others - members:
            members |= more
        return {pid: found[pid] for pid in members - {os.getpid()}}

    thread.start()
    eventually(lambda: bounds.processor_s(started()) >= subject.computes_s or not thread.is_alive())
    assert thread.is_alive(), results
    running = {(pid, fields[START_TIME]) for pid, fields in started().items()}
    engine.close()
    thread.join(60.0)
    assert not thread.is_alive()
    assert results[0].error
    eventually(
        lambda: (
            not running & {(pid, fields[START_TIME]) for pid, fields in bounds.family(1).items()}
        )
    )


def test_identity_and_versions_are_stable(subject: Subject, engine: Engine) -> None:
    other = subject.make()
    other.prepare()
    assert (other.name, other.identity, other.versions) == (
        *(engine.name, engine.identity),
        engine.versions,
    )
    assert engine.identity
    other.close()


def test_closing_twice_is_fine(subject: Subject) -> None:
    made = subject.make()
    made.prepare()
    made.close()
    made.close()
