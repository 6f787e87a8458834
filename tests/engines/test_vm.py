"""The vm engine: equal results whatever the host does, and guests that misbehave."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import guests
import pytest
from guests import misbehave, run
from torture import tree
from waiting import completed

from fairc.compiler import Cell
from fairc.compiler.plan import cell_json
from fairc.dsl.core.cache import cache_directory
from fairc.runtime.engines import guest_job, vm
from fairc.runtime.engines.base import RawResult
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host import bounds, supervisor
from fairc.runtime.measurement import load
from fairc.runtime.vm import qemu

ROOT = Path(__file__).parents[2]

# Random loss and a seeded start: whatever is random in a cell takes part in the comparison.
SPEC = """fexp 1
experiment determinism {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, loss: 1%, queue: fifo(1bdp))
  flow a { cca = cubic  workload = file(500kB) }
  flow b { cca = bbr    workload = file(500kB) }
  repeat  = 2
  measure = [goodput]
}
"""

Run = Callable[..., RawResult]


@pytest.fixture
def engine() -> Iterator[VmEngine]:
    """Return a prepared engine."""
    made = VmEngine()
    made.prepare()
    yield made
    made.close()


def test_the_same_cell_gives_the_same_bytes_beside_a_cpu_hog(
    engine: VmEngine, cells: tuple[Cell, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    quiet = run(engine, cells[0], tmp_path / "quiet")
    request.getfixturevalue("hog")
    loaded = run(engine, cells[0], tmp_path / "loaded")

    assert quiet.error == ""
    assert quiet.sha256 == loaded.sha256
    assert quiet.virtual_s == loaded.virtual_s
    for path in quiet.artefacts.iterdir():
        assert path.read_bytes() == (loaded.artefacts / path.name).read_bytes()


def test_the_same_cell_gives_the_same_bytes_from_a_snapshot_taken_anew(
    engine: VmEngine, cells: tuple[Cell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(engine, cells[0], tmp_path / "first")
    cache = cache_directory()
    (tmp_path / "cache" / "fairc").mkdir(parents=True)
    (tmp_path / "cache" / "fairc" / "images").symlink_to(cache / "images")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    other = VmEngine()
    other.prepare()
    second = run(other, cells[0], tmp_path / "second")

    assert (tmp_path / "cache" / "fairc" / "snapshots").is_dir()
    assert engine.identity == other.identity
    assert first.sha256 == second.sha256


def test_a_cells_first_handshake_takes_a_round_trip(
    engine: VmEngine, cells: tuple[Cell, ...], tmp_path: Path
) -> None:
    """A kernel's first connection costs an emulated processor 6 ms: it is made before the epoch."""
    measurement = load(cells[0], run(engine, cells[0], tmp_path / "one").artefacts)
    for flow in measurement.flows:
        (connected,) = flow.endpoints.reports["connected"]
        took_s = connected["t_ns"] / 1e9 - flow.endpoints.opened_s[0]
        assert 20e-3 < took_s < 20.5e-3, flow.name


def test_another_seed_gives_another_sample_path(
    engine: VmEngine, cells: tuple[Cell, ...], tmp_path: Path
) -> None:
    first, second = (run(engine, cell, tmp_path / cell.id) for cell in cells)

    assert cells[0].seed != cells[1].seed
    name = next(f"{c.name}.pcap" for c in cells[0].captures if c.point == "exit")
    assert (first.artefacts / name).read_bytes() != (second.artefacts / name).read_bytes()


def test_a_cell_runs_without_any_privilege(
    engine: VmEngine, cells: tuple[Cell, ...], tmp_path: Path
) -> None:
    """In a user namespace of its own, root has no more rights on this machine than anybody."""
    del engine  # the snapshot is there
    program = f"""
        import pathlib, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from fairc.compiler.plan import parse_cell
        from fairc.runtime.engines.vm import VmEngine
        cell = parse_cell({cell_json(cells[0])!r})
        engine = VmEngine()
        engine.prepare()
        result = engine.run(cell, pathlib.Path({str(tmp_path)!r}))
        print(result.error or result.sha256)
    """
    command = ["unshare", "--user", "--net", sys.executable, "-c", textwrap.dedent(program)]
    done = completed(command, cwd=ROOT)

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.strip()) == 64, done.stdout


MISBEHAVIOUR = guests.MISBEHAVIOUR | {
    "computes for ever": ("while True: pass", 1.0, "virtual deadline", ""),
    "crashes": ("open('/proc/sysrq-trigger', 'w').write('c')", 1.0, "crashed", "Kernel panic"),
}


@pytest.mark.parametrize("what", MISBEHAVIOUR)
def test_a_guest_that_misbehaves_is_a_failed_cell_with_its_console(
    engine: VmEngine,
    cells: tuple[Cell, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    misbehave(engine, cells[0], tmp_path / "cell", monkeypatch, MISBEHAVIOUR[what])


FORKS = "import os, time; [os.fork() for _ in range(3)]; time.sleep(1000)"
ASLEEP, BUSY = ["sleep", "1000"], [sys.executable, "-c", "while True: pass"]
PLENTY = bounds.Limits(virtual_s=1e9, cpu_s=1e9)
BOUNDS = {
    "sleeps": (ASLEEP, replace(PLENTY, idle_s=1.0), "computed nothing for 1 s"),
    "computes": (BUSY, replace(PLENTY, cpu_s=0.5), "more than 0 s of processor time"),
    "forks": ([sys.executable, "-c", FORKS], replace(PLENTY, processes=5), "more than 5 processes"),
    "prints": (BUSY, replace(PLENTY, console_bytes=10), "printed more than"),
    "is beyond its deadline": (BUSY, replace(PLENTY, virtual_s=602), "virtual deadline of 602 s"),
    "lasts": (BUSY, replace(PLENTY, cpu_s=-bounds.WALL_S_FIXED), "was stopped"),
}


@pytest.mark.parametrize("what", BOUNDS)
def test_a_machine_is_bounded_from_outside(
    engine: VmEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    command, limits, expected = BOUNDS[what]
    monkeypatch.setattr(bounds, "CHECK_EVERY_S", 0.1)
    monkeypatch.setattr(vm, "CLOCK_EVERY_S", 0.1)
    monkeypatch.setattr(qemu, "clock_ns", lambda *_: 603 * 10**9)
    (tmp_path / "console").write_text("x" * 100)
    process = supervisor.start(command)

    error = engine._watch(process, tmp_path, limits)
    process.kill()
    process.wait()

    assert expected in error


def test_a_guest_that_does_not_end_by_itself_is_stopped_at_its_deadline(
    engine: VmEngine, cells: tuple[Cell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real machine spins; what should end it in the guest has been told another deadline."""
    monkeypatch.setattr(guest_job, "PROGRAM", "while True: pass")
    monkeypatch.setattr(guest_job, "EPOCH_S", 0.0)
    monkeypatch.setattr(guest_job, "DEADLINE_MARGIN_S", 1e6)
    monkeypatch.setattr(guest_job, "OUTSIDE_MARGIN_S", 2.0 - 1e6)
    monkeypatch.setattr(vm, "CLOCK_EVERY_S", 0.5)
    cell = replace(cells[0], deadline_ns=0)

    result = run(engine, cell, tmp_path / "cell")

    assert "the machine was stopped: it was still running at its virtual deadline" in result.error


def test_asking_for_the_clock_changes_no_byte(
    engine: VmEngine, cells: tuple[Cell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run(engine, cells[0], tmp_path / "plain")
    asked: list[int | None] = []
    ask = qemu.clock_ns

    def note(*arguments: Any) -> int | None:
        asked.append(ask(*arguments))
        return asked[-1]

    monkeypatch.setattr(qemu, "clock_ns", note)
    monkeypatch.setattr(bounds, "CHECK_EVERY_S", 0.0)
    monkeypatch.setattr(vm, "CLOCK_EVERY_S", 0.0)
    watched = run(engine, cells[0], tmp_path / "watched")
    assert any(found and found >= 600 * 10**9 for found in asked)
    assert plain.error == "" and watched.sha256 == plain.sha256


def test_qemu_runs_under_a_filter_of_system_calls(
    engine: VmEngine, cells: tuple[Cell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """proc(5): `Seccomp: 2` is a filter; every thread has it, that of the processor first of
    all.
    """
    found: list[str] = []
    watch = VmEngine._watch

    def look(self: VmEngine, process: supervisor.Child, *others: Any) -> str:
        machines = [pid for pid, name in tree.descendants(process.pid).items() if "qemu" in name]
        for path in Path("/proc", str(machines[0]), "task").glob("*/status"):
            found.extend(x for x in path.read_text().splitlines() if x.startswith("Seccomp:"))
        return watch(self, process, *others)

    monkeypatch.setattr(VmEngine, "_watch", look)
    assert run(engine, cells[0], tmp_path / "cell").error == ""
    assert len(found) >= 2 and set(found) == {"Seccomp:\t2"}
