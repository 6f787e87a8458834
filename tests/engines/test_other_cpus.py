"""The uml engine on CPUs that this machine does not have, emulated: a cell gives the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import cpu_machine
import pytest
from specs import only_cell_of
from twice import cells_of, equal_artefacts

from fairc.compiler import Cell
from fairc.compiler.targets import runner
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.base import RawResult
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import archive
from fairc.runtime.uml import own_programs
from fairc.runtime.vm import recipe

# Short, for emulation is slow: TCP and QUIC, random losses, controllers that compute in floating
# point.
SPEC = """fexp 1
experiment other_cpus {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, loss: 1%, queue: fifo(1bdp))
  flow a { cca = bbr    workload = file(100kB) }
  flow b { over = quic  cca = cubic  workload = file(100kB) }
  repeat  = 1
  measure = [goodput]
}
"""

# Run before the cell's program: what a program can see of its CPU, and functions of the C library
# that have other code for other CPUs.
PROBE = """
import ctypes, math, mmap, os, sys
os.chdir(sys.argv[1])
with open("libm.txt", "w") as file:
    for step in range(1, 5000):
        x = step * 0.137
        for function in (math.exp, math.log, math.sin, math.cos, math.tan, math.atan):
            print(function(x).hex(), file=file)
        print(math.pow(x, 1 / 3).hex(), math.exp2(x).hex(), math.log2(x).hex(), file=file)
page = mmap.mmap(-1, mmap.PAGESIZE, prot=7)
page.write(bytes.fromhex("0f3148c1e2204809d0c3"))  # rdtsc; shl rdx, 32; or rax, rdx; ret
clock = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
libc.getauxval.argtypes = [ctypes.c_ulong]
with open("cpu.txt", "w") as file:
    print(clock(), libc.getauxval(16), libc.getauxval(26), os.uname(), file=file)  # AT_HWCAP, AT_HWCAP2
    file.write(open("/proc/cpuinfo").read())
"""

# By QEMU's name; whether it has FMA, for which libm has other code; and XSAVE, without which
# programs are followed by ptrace.
CPUS = {"Haswell-noTSX": (True, True), "Nehalem": (False, False)}


PROGRAMS = """fexp 1
experiment other_cpus {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  FLOWS
  duration = 2s
  measure  = [goodput]
}
"""
PROGRAM_FLOW = """flow NAME {
    cca = cubic  start = 0s
    workload = program(
      server: ["sh", "-c", "head -c 100000 /dev/zero | nc -l -p {port}"],
      client: ["sh", "-c", "/program/NAME > work; nc {server} {port} | sha256sum"],
      files: ["NAME"],
    )
  }"""
COMPILERS = {
    "work.c": ["gcc", "-O2", "-static", "-pthread", "-o", "c", "work.c", "-lm"],
    "work.go": ["go", "build", "-o", "go", "work.go"],
    "work.py": ["cp", "work.py", "py"],
}


@pytest.fixture(scope="module", autouse=True)
def probed() -> Iterator[None]:
    """Have the probe in front of every cell's program."""
    patch = pytest.MonkeyPatch()
    patch.setattr(guest_job, "PROGRAM", f"{PROBE}\n{guest_job.PROGRAM}")
    yield
    patch.undo()


@pytest.fixture(scope="module")
def only() -> Cell:
    """Return the cell."""
    return only_cell_of(SPEC)


@pytest.fixture(scope="module")
def native(only: Cell, tmp_path_factory: pytest.TempPathFactory) -> RawResult:
    """Return the cell's result on this machine's CPU."""
    engine = UmlEngine()
    engine.prepare()
    result = engine.run(only, tmp_path_factory.mktemp("native"))
    assert result.error == "", result.console
    return result


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a program in each of three languages, and their experiment."""
    folder = tmp_path_factory.mktemp("programs")
    for source, command in COMPILERS.items():
        if shutil.which(command[0]) is None:
            pytest.skip(f"no {command[0]} here")
        shutil.copy(Path(__file__).parent / "cpus" / source, folder)
        environment = {**os.environ, "CGO_ENABLED": "0"}
        subprocess.run(command, cwd=folder, check=True, env=environment)
    flows = "\n  ".join(PROGRAM_FLOW.replace("NAME", name) for name in ("c", "go", "py"))
    (folder / "x.fexp").write_text(PROGRAMS.replace("FLOWS", flows))
    return folder


@pytest.mark.parametrize("cpu", CPUS)
def test_programs_have_the_same_bytes_on_another_cpu(
    programs: Path, tmp_path: Path, cpu: str
) -> None:
    (cell,) = cells_of(programs / "x.fexp")
    native = equal_artefacts(cell, programs, tmp_path)
    engine = UmlEngine()
    engine.prepare()
    device, artefacts = tmp_path / "exchange", tmp_path / "artefacts"
    artefacts.mkdir()
    files = own_programs.files(cell, programs)
    guest_job.write(cell, device, computing_is_free=True, files=files)
    initrd = engine._initrd(recipe.UML, agents=runner.agents(cell)).content
    console = cpu_machine.run(cpu, device, initrd, tmp_path, guest_job.PROGRAM_COST_NS)
    error, _ = guest_job.read(device, artefacts, "")
    assert error == "", console
    assert all(native[f"{name}.client.file.work"] for name in ("c", "go", "py"))
    differ = [
        name for name, content in native.items() if (artefacts / name).read_bytes() != content
    ]
    assert not differ


@pytest.mark.parametrize("cpu", CPUS)
def test_the_same_bytes_on_another_cpu(
    only: Cell, native: RawResult, tmp_path: Path, cpu: str
) -> None:
    engine = UmlEngine()
    engine.prepare()
    device, artefacts = tmp_path / "exchange", tmp_path / "artefacts"
    artefacts.mkdir()
    guest_job.write(only, device, computing_is_free=True)

    console = cpu_machine.run(cpu, device, engine._initrd(recipe.UML).content, tmp_path)

    error, virtual_s = guest_job.read(device, artefacts, "")
    assert error == "", console
    flags = next(line.split() for line in console.splitlines() if line.startswith("flags"))
    assert ("fma" in flags, "xsave" in flags) == CPUS[cpu], console
    assert virtual_s == native.virtual_s
    for path in native.artefacts.iterdir():
        assert (artefacts / path.name).read_bytes() == path.read_bytes(), path.name
    assert archive.digest(artefacts) == native.sha256
