"""A custom kernel on the emulated machine, under what only this machine runs: the first one that
has been built here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_modules import AIMD

from fairc.compiler import Cell, compile
from fairc.compiler.engine_choice import choose, of_cell
from fairc.dsl import load as load_experiment
from fairc.dsl import read
from fairc.runtime import validity
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.measurement import load
from fairc.words.ccas import own_kernels

GENTLE = Path(__file__).parents[2] / "examples" / "bpf" / "gentle.bpf.o"
SPEC = """fexp 1
experiment x {{
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(100ms))
  hosts {{ kernel = {kernel} }}
  flow bpf    {{ cca = bpf("gentle.bpf.o")  workload = file(200kB) }}
  flow module {{ cca = module("tcp_aimd.c")  start = 2s  workload = file(200kB) }}
  flow iperf3 {{ cca = reno  start = 4s  workload = iperf3(time: 1s) }}
  measure  = [goodput]
}}
"""


@pytest.fixture(scope="module")
def kernel() -> str:
    """The name of a kernel that has been built for vm here."""
    names = [kernel.name for kernel in own_kernels.built() if "vm" in kernel.builds]
    if not names:
        pytest.skip("no custom kernel has been built for vm")
    return names[0]


@pytest.fixture
def engine() -> Iterator[VmEngine]:
    """Return a prepared engine that may load modules."""
    made = VmEngine()
    made.allow_modules = True
    made.prepare()
    yield made
    made.close()


def cell_of(folder: Path, kernel: str) -> Cell:
    for file in (GENTLE, AIMD):
        shutil.copy(file, folder)
    (folder / "own.fexp").write_text(SPEC.format(kernel=kernel))
    experiment, found = load_experiment(read(folder / "own.fexp"))
    assert experiment is not None, found
    (cell,) = compile(experiment).cells()
    return cell


def test_it_runs_what_only_this_machine_can(engine: VmEngine, kernel: str, tmp_path: Path) -> None:
    cell = cell_of(tmp_path, kernel)
    assert choose(of_cell(cell)).engine == "vm"
    (tmp_path / "work").mkdir()
    raw = engine.run(cell, tmp_path / "work")
    assert raw.error == "", raw.console
    verdict, reasons = validity.judge(load(cell, raw.artefacts))
    assert verdict == "valid", reasons
    assert f"kernel {kernel} program" in engine.versions
    assert engine.identity_for(cell) != engine.identity
