"""What a system call costs on the emulated machine where the file says so: in a program that does
nothing but call, and in cells with what only this machine runs.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairc.compiler import Cell, compile
from fairc.compiler.engine_choice import choose, of_cell
from fairc.dsl import Source
from fairc.dsl import load as read
from fairc.runtime import validity
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.measurement import load

EXAMPLE = Path(__file__).parents[2] / "examples" / "bpf" / "x.fexp"
CALLS = 5000
COUNT = f"""
import json, os, sys, time

begin = time.monotonic_ns()
for _ in range({CALLS}):
    os.getppid()
with open(sys.argv[1] + "/took.json", "w") as file:
    json.dump(time.monotonic_ns() - begin, file)
"""
SPEC = """fexp 1
experiment x {
  topology = bottleneck(rate: 1Mbit/s, rtt: 20ms, queue: fifo(100ms))
  hosts { syscall_cost = 2us }
  flow a { cca = bpf("gentle.bpf.o")  workload = file(200kB) }
  flow b { over = udp  rate = 800kbit/s  start = 4s  workload = iperf3(time: 1s) }
  measure  = [goodput]
}
"""


@pytest.fixture(scope="module")
def cell() -> Cell:
    """A cell that only this machine runs, with 2 us for a system call."""
    experiment, found = read(Source(str(EXAMPLE), SPEC))
    assert experiment is not None, found
    (cell,) = compile(experiment).cells()
    assert choose(of_cell(cell)).engine == "vm"
    return cell


@pytest.fixture(scope="module")
def engine() -> Iterator[VmEngine]:
    """Return a prepared engine."""
    made = VmEngine()
    made.prepare()
    yield made
    made.close()


def test_each_call_takes_so_much_more(
    engine: VmEngine, cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the cost, the way into it takes some hundred instructions, whatever the cost."""
    monkeypatch.setattr(guest_job, "PROGRAM", COUNT)
    took_ns = {}
    for cost_ns in (None, 1000, 8000, 100_000):
        (tmp_path / str(cost_ns)).mkdir()
        raw = engine.run(
            dataclasses.replace(cell, syscall_cost_ns=cost_ns), tmp_path / str(cost_ns)
        )
        assert raw.error == "", raw.console
        took_ns[cost_ns] = json.loads((raw.artefacts / "took.json").read_text()) / CALLS
    assert took_ns[8000] - took_ns[1000] == pytest.approx(7000, rel=0.01)
    assert took_ns[100_000] - took_ns[1000] == pytest.approx(99_000, rel=0.01)
    assert 1000 <= took_ns[1000] - took_ns[None] < 1500


def test_a_cell_with_it_is_valid_and_another_one(
    engine: VmEngine, cell: Cell, tmp_path: Path
) -> None:
    raw = engine.run(cell, tmp_path)
    assert raw.error == "", raw.console
    verdict, reasons = validity.judge(load(cell, raw.artefacts))
    assert verdict == "valid", reasons
    without = dataclasses.replace(cell, syscall_cost_ns=None)
    assert engine.identity_for(cell) != engine.identity_for(without)
    assert "module syscall-cost" in engine.versions
