"""What is code runs only where the user says so, and only on an engine that confines it: images of
others, kernel modules, programs of the user's own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairc.dsl import CompileError, load, read
from fairc.dsl.core.diagnostics import Diagnostic

Fairc = Callable[..., Any]  # conftest.py

AIMD = Path(__file__).parents[2] / "examples" / "module" / "tcp_aimd.c"
SPEC = """fexp 1
experiment mine {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  flow a {{ {flow} }}
  duration = 5s
  measure = [goodput]
}}
"""
OWN = 'workload = program(server: ["./server"], client: ["./server", "{server}", "{port}"])'
FLOWS = {
    "image": 'over = quic(image: "localhost/quic:1")  workload = file(100kB)',
    "module": 'cca = module("tcp_aimd.c", gain: 2)  workload = file(100kB)',
    "program": f"cca = cubic  {OWN}",
}


def written(flow: str, folder: Path = Path()) -> Path:
    """Write an experiment with a flow, and what it may name."""
    shutil.copy(AIMD, folder)
    (folder / "server").write_text("#!/bin/sh\n")
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little")
    (folder / "arm").write_bytes(header + (183).to_bytes(2, "little") + bytes(44))
    (folder / "mine.fexp").write_text(SPEC.format(flow=flow))
    return folder / "mine.fexp"


@pytest.mark.parametrize(
    ("what", "engine", "said"),
    [
        ("image", "docker", "flows use third-party images, which are code: `localhost/quic:1`"),
        ("module", "uml", "flows load kernel modules, which are code: `tcp_aimd.c`"),
        ("program", "uml", "these flows run programs, which are code: `a`"),
    ],
)
def test_without_leave(fairc: Fairc, what: str, engine: str, said: str) -> None:
    called = fairc("run", written(FLOWS[what]), "--engine", engine).require(2)
    assert f"error: {said}" in called.err
    does = "compiles them" if what == "module" else "lets them run"
    assert f"`--allow-{what}` {does}" in called.err
    assert not Path("results/mine/plan.json").exists()


@pytest.mark.parametrize("target", ["slurm", "kubernetes"])
@pytest.mark.parametrize(
    ("what", "said"),
    [("module", "flows load kernel modules"), ("program", "these flows run programs")],
)
def test_jobs_without_leave(fairc: Fairc, what: str, said: str, target: str) -> None:
    """A job runs code without asking, so its author is asked."""
    spec = written(FLOWS[what])
    called = fairc("compile", spec, "-o", "plan", "--target", target)
    assert (called.status, Path("plan").exists()) == (2, False)
    assert f"error: {said}, which are code: " in called.err
    assert f"`--allow-{what}` " in called.err
    option = f"--allow-{what}"
    assert fairc("compile", spec, "-o", "plan", "--target", target, option).status == 0
    name = "slurm.sh" if target == "slurm" else "job.yaml"
    (job,) = Path("plan").rglob(name)
    assert option in job.read_text()


@pytest.mark.parametrize(
    ("what", "engine", "said"),
    [
        *(
            ("image", engine, f"the engine {engine} cannot run images: `localhost/quic:1`")
            for engine in ("vm", "mininet", "fake")
        ),
        ("module", "mininet", "loads a kernel module (line 4), which mininet cannot load"),
        ("module", "docker", "loads a kernel module (line 4), which docker cannot load"),
        ("program", "vm", "flow `a` runs programs of your own (line 4), which vm cannot run"),
    ],
)
def test_on_an_engine_that_does_not_confine_it(
    fairc: Fairc, what: str, engine: str, said: str
) -> None:
    called = fairc("run", written(FLOWS[what]), "--engine", engine, f"--allow-{what}").require(2)
    assert said in called.err
    assert ("--engine docker --allow-image" in called.err) == (what == "image")


def test_an_image_in_a_cell_of_a_cluster(fairc: Fairc) -> None:
    spec = written(FLOWS["image"])
    assert fairc("compile", spec, "-o", "plan", "--target", "json").status == 0
    called = fairc("cell", "plan", "--index", "0").require(3)
    assert "this engine cannot run the image `localhost/quic:1` of the flow `a`" in called.err


@pytest.mark.parametrize("what", ["module", "program"])
def test_of_a_run_directory_there_is_nothing_to_allow(fairc: Fairc, what: str) -> None:
    Path("run").mkdir()
    assert "are for packs" in fairc("verify", "run", f"--allow-{what}").err


def refused(flow: str, folder: Path) -> Diagnostic:
    experiment, found = load(read(written(flow, folder)))
    assert experiment is None
    return CompileError(found).diagnostics[0]


@pytest.mark.parametrize(
    ("cca", "code", "message"),
    [
        ('module("tcp_aimd.c", gian: 2)', "unknown-argument", "the module has no parameter `gian`"),
        ('module("tcp_aimd.c", gain: 1.5)', "wrong-type", "must be a whole number"),
        ('module("tcp_aimd.c", gain: 2ms)', "wrong-type", "must be a whole number"),
        ('module("tcp_aimd.c", gain: 1, gain: 2)', "duplicate-argument", "`gain` is given twice"),
        ('module("tcp_aimd.c", "aimd", 3)', "too-many-arguments", "without a name"),
        ('module("tcp_aimd.c", name: "Aimd")', "bad-module", "`Aimd` is not a CCA name"),
        ('module("../tcp_aimd.c")', "file-path", "in the experiment's folder"),
        ('module("tcp_none.c")', "unreadable", "cannot be read"),
        ("module()", "missing-argument", "needs its argument `source`"),
    ],
)
def test_words_that_are_none_of_a_module(tmp_path: Path, cca: str, code: str, message: str) -> None:
    found = refused(f"cca = {cca}  workload = file(100kB)", tmp_path)
    assert (found.code, message in found.message) == (code, True), found.message


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (f"over = quic  cca = cubic  {OWN}", "a program brings its own QUIC"),
        (f"cca = cubic  count = 2  {OWN}", "`count` does not apply to a program"),
        (f"over = udp  rate = 1Mbit/s  {OWN}", "`rate` does not apply to a program"),
        (
            'cca = cubic  workload = program(server: ["../server"], client: ["./../server"])',
            "a file of an experiment must be in the experiment's folder or below it",
        ),
        (
            'cca = cubic  workload = program(server: ["./none"], client: ["true"])',
            "`./none` cannot be read: no such file or directory",
        ),
        (
            'cca = cubic  workload = program(server: ["./arm"], client: ["true"])',
            "`./arm` is for 64-bit ARM, and the hosts are x86-64",
        ),
    ],
)
def test_what_a_flow_with_a_program_cannot_have(flow: str, message: str, tmp_path: Path) -> None:
    assert refused(flow, tmp_path).message == message
