"""Guests of several processes share the cores of a machine."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from madecell import made_cell
from waiting import eventually

from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host import cores

TAKES_ALL = """
import os
import sys
import threading
from contextlib import ExitStack
from fairc.runtime.host import cores
with ExitStack() as held:
    for _ in os.sched_getaffinity(0):
        held.enter_context(cores.{})
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of the test's own, and a process that has taken no core yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cores._cores.cache_clear()
    yield
    cores._cores.cache_clear()


@contextmanager
def another_process(what: str = "one(threading.Event())") -> Iterator[subprocess.Popen[str]]:
    """A process that holds all cores until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", TAKES_ALL.replace("{}", what)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def free() -> bool:
    """Whether this process would get a core at once."""
    taken = cores._cores()
    core = taken._free.get()
    got = taken._is_mine(core)
    if got and (file := taken._files[core]) is not None:
        fcntl.lockf(file, fcntl.LOCK_UN)
    taken._free.put(core)
    return got


def test_a_core_of_another_process_is_free_when_that_ends() -> None:
    assert free()
    with another_process() as process:
        assert not free()
        assert process.stdin is not None
        process.stdin.close()
        began = time.monotonic()
        with cores.one(threading.Event()) as core:
            assert core in os.sched_getaffinity(0)
        assert time.monotonic() - began < 30


TAKES_EACH_AGAIN = """
import os
import threading
import time
from fairc.runtime.host import cores
def run():
    while True:
        with cores.one(threading.Event()):
            os.write(1, b"held\\n")  # at once, where print writes twice
            time.sleep(0.2)
for _ in os.sched_getaffinity(0):
    threading.Thread(target=run).start()
"""


def test_a_run_with_many_cells_gives_way_after_each() -> None:
    """In place of taking each core again that it has just left, until it ends."""
    with subprocess.Popen(
        [sys.executable, "-c", TAKES_EACH_AGAIN], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "held\n"
            for _ in range(5):
                began = time.monotonic()
                with cores.one(threading.Event()) as core:
                    assert core in os.sched_getaffinity(0)
                assert time.monotonic() - began < 5
            before = time.monotonic()
            while process.stdout.readline() and time.monotonic() - before < 1:
                pass  # it goes on
            assert process.poll() is None
        finally:
            process.kill()


def test_whoever_is_interrupted_waits_no_longer() -> None:
    """As Ctrl-C does while another command has all the cores."""
    closed = threading.Event()
    with another_process():
        threading.Timer(0.1, closed.set).start()
        with cores.one(closed) as core:
            assert core is None
    with cores.one(threading.Event()) as core:
        assert core is not None


def test_reports_wait_for_reports_alone() -> None:
    with another_process("for_report(print)") as process:
        assert free()
        slots = cores._cores("report-")
        assert not any(map(slots._is_mine, os.sched_getaffinity(0)))
        assert process.stdin is not None
        process.stdin.close()
        with cores.for_report(print) as core:
            assert core in os.sched_getaffinity(0)
    with another_process(), cores.for_report(print) as core:
        assert core in os.sched_getaffinity(0)


def test_a_long_wait_for_a_report_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "SILENCE_S", 0.05)
    told: list[str] = []
    with another_process("for_report(print)") as process:
        assert process.stdin is not None
        frees = threading.Timer(0.5, process.stdin.close)

        def tell() -> None:
            told.append("waiting")
            if len(told) == 1:
                frees.start()

        with cores.for_report(tell):
            assert told == ["waiting"]
    with cores.for_report(lambda: told.append("again")):
        assert told == ["waiting"]


@pytest.mark.parametrize("engine", [UmlEngine, VmEngine])
def test_a_long_wait_for_cores_is_told_once(
    engine: type[UmlEngine | VmEngine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a run beside another one shows no sign of life for as long as that takes."""
    monkeypatch.setattr(cores, "SILENCE_S", 0.05)
    told: list[str] = []
    waits = engine(told.append)
    with another_process():
        threads = [
            threading.Thread(target=waits.run, args=(made_cell(), tmp_path)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: told)
        time.sleep(0.5)  # the other one has waited as long
        waits.close()
        for thread in threads:
            thread.join()
    assert told == [cores.WAITING]


def test_a_process_that_was_killed_holds_nothing() -> None:
    with another_process() as process:
        assert not free()
        process.kill()
        process.wait()
        assert free()


def test_nobody_waits_for_a_process_that_is_stopped() -> None:
    with another_process() as process:
        stat = Path(f"/proc/{process.pid}/stat")

        def stopped() -> bool:
            return stat.read_text().rpartition(")")[2].split()[0] == "T"

        process.send_signal(signal.SIGSTOP)
        eventually(stopped)
        assert free()
        process.send_signal(signal.SIGCONT)
        eventually(lambda: not stopped())
        assert not free()


def test_a_cache_that_cannot_be_used_leaves_each_process_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with cores.one(threading.Event()), another_process():
        assert free() or len(os.sched_getaffinity(0)) == 1
