"""A guest that is root says what it likes of its clock, and prints as much as it can."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host import bounds, supervisor
from fairc.runtime.host.faults import EngineUnavailable, MachineFault
from fairc.runtime.vm import foreign, qemu, snapshot

DATE = {"tm_year": 120, "tm_mon": 0, "tm_mday": 1, "tm_hour": 0, "tm_min": 10, "tm_sec": 0}


class Answering:
    """A monitor that answers with a date."""

    date: dict[str, int]

    def __init__(self, *_: object) -> None: ...

    def command(self, *_: object, **__: object) -> dict[str, int]:
        return self.date

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("date", "clock_ns"),
    [
        (DATE, 600 * 10**9),
        (DATE | {"tm_mon": 164}, None),
        (DATE | {"tm_year": 10**9}, None),
        (DATE | {"tm_year": -2000}, None),
    ],
)
def test_a_clock_that_shows_no_date_is_one_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, date: dict[str, int], clock_ns: int | None
) -> None:
    monkeypatch.setattr(Answering, "date", date, raising=False)
    monkeypatch.setattr(qemu, "Monitor", Answering)
    assert qemu.clock_ns(Path("monitor"), 1.0) == clock_ns


@pytest.mark.parametrize("clock", [2**64 - 1, 2**63, 2**62, snapshot.LATEST_PAUSE_NS])
def test_a_clock_of_the_pause_that_no_booting_machine_shows_is_passed_over(
    tmp_path: Path, clock: int
) -> None:
    page = bytearray(1 << 14)
    for number, found in enumerate([clock, 10**9]):
        at = 4096 * number + snapshot.PAUSE_MARKER_OFFSET
        page[at : at + 40] = snapshot.PAUSE_MARKER + found.to_bytes(8, "little")
    (tmp_path / "memory").write_bytes(page)
    assert snapshot.pause_clock(tmp_path / "memory") == 10**9 + snapshot.INSTRUCTIONS_TO_PAUSE
    (tmp_path / "memory").write_bytes(page[:4096])
    with pytest.raises(EngineUnavailable, match="no clock"):
        snapshot.pause_clock(tmp_path / "memory")


PLENTY = bounds.Limits(virtual_s=1e9, cpu_s=1e9)
SLEEPS, COMPUTES = "import time; time.sleep(1000)", "while True: pass"
KILLED = "import os, time; os.fork() or os._exit(1); time.sleep(1000)"
BOOTS = {
    "waits for the dead": (KILLED, replace(PLENTY, idle_s=0.2), "one of its processes was killed"),
    "prints": (SLEEPS, replace(PLENTY, console_bytes=1), "it printed more than"),
    "computes": (COMPUTES, replace(PLENTY, cpu_s=0.2), "s of processor time"),
    "sleeps": (SLEEPS, replace(PLENTY, idle_s=0.2), "it computed nothing for 0.2 s"),
}


@pytest.mark.parametrize("what", BOOTS)
def test_a_machine_that_boots_without_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    program, limits, words = BOOTS[what]
    monkeypatch.setattr(bounds, "CHECK_EVERY_S", 0.01)
    console, found = tmp_path / "console", list[str]()
    console.write_bytes(b"booting")
    with (
        supervisor.start([sys.executable, "-c", program]) as process,
        bounds.watched(process.pid, process.kill, console, limits, found),
    ):
        process.wait()
    assert len(found) == 1 and words in found[0]


def test_a_machine_that_did_not_start_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match="QEMU ended"):
        qemu.Monitor(tmp_path / "monitor", 1000.0, lambda: False)


def test_a_machine_that_comes_up_is_not(tmp_path: Path) -> None:
    found = list[str]()
    with bounds.watched(1, _never, tmp_path / "console", PLENTY, found):
        pass
    assert found == []


def _never() -> None:
    raise AssertionError


OURS = foreign.Foreign(Path("endpoints"), {}, Path("home"))


@pytest.mark.parametrize(
    ("error", "whose", "raised"),
    [
        (EngineUnavailable, OURS, foreign.ProgramsFailed),
        (EngineUnavailable, None, EngineUnavailable),
        (MachineFault, OURS, MachineFault),
    ],
)
def test_what_a_machine_with_foreign_programs_lacks_is_theirs_but_for_faults_of_this_one(
    error: type[EngineUnavailable], whose: foreign.Foreign | None, raised: type[Exception]
) -> None:
    with pytest.raises(EngineUnavailable) as caught, foreign.blamed_on(whose):
        raise error(("x",), "y")
    assert type(caught.value) is raised and caught.value.missing == ("x",)


@pytest.mark.parametrize("whose", [OURS, None])
def test_foreign_programs_that_were_stopped_once_get_no_other_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: foreign.Foreign | None
) -> None:
    ran = []

    def run(engine: VmEngine, *_: object) -> Any:
        ran.append(1)
        stops: Callable[..., str] = lambda *_: "it computed for ever"
        monkeypatch.setattr(bounds.Watch, "overrun", stops)
        with supervisor.start([sys.executable, "-c", "import time; time.sleep(1000)"]) as process:
            (tmp_path / "console").touch()
            monkeypatch.setattr(bounds, "CHECK_EVERY_S", 0.0)
            return engine._watch(process, tmp_path, bounds.Limits(1.0, 1.0))

    monkeypatch.setattr(VmEngine, "_run", run)
    engine = VmEngine(foreign=whose)
    assert "it computed for ever" in str(engine.run(None, tmp_path))  # type: ignore[arg-type]
    second = engine.run(None, tmp_path)  # type: ignore[arg-type]
    assert len(ran) == (1 if whose else 2)
    if whose:
        assert second.error.startswith("not run") and "it computed for ever" in second.error


def test_the_last_that_a_machine_printed_is_read_alone(tmp_path: Path) -> None:
    console = tmp_path / "console"
    with console.open("wb") as file:
        file.truncate(1 << 32)
        file.seek(1 << 32)
        file.write(b"the end")
    assert snapshot._end(console).endswith("the end") and len(snapshot._end(console)) == 2000
