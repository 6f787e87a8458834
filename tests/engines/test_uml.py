"""The uml engine: equal results whatever the host is and does, and guests that misbehave."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

import guests
import pytest
from guests import misbehave, run
from specs import dumbbell, only_cell_of
from waiting import completed, eventually

from fairc.compiler import Cell
from fairc.compiler.plan import cell_json
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.base import RawResult
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import bounds, supervisor
from fairc.runtime.host.faults import EngineUnavailable, MachineFault
from fairc.runtime.uml import confinement, kernel, machine, memory, trial
from fairc.runtime.uml.machine import ScriptRun
from fairc.runtime.vm import image, initramfs, recipe

ROOT = Path(__file__).parents[2]
KERNEL_ARGUMENT = b"\0mem="

# Random loss and seeded starts: whatever is random in a cell takes part in the comparison.
SPEC = """fexp 1
experiment determinism {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, loss: 1%, queue: fifo(1bdp))
  flow a { cca = cubic  workload = file(500kB) }
  flow b { cca = bbr    workload = file(500kB) }
  flow c { over = quic  cca = cubic  workload = file(500kB) }
  repeat  = 2
  measure = [goodput]
}
"""


@pytest.fixture(scope="module")
def golden(
    engine: UmlEngine, cells: tuple[Cell, ...], tmp_path_factory: pytest.TempPathFactory
) -> RawResult:
    """Return the first cell's result, run as it comes."""
    result = engine.run(cells[0], tmp_path_factory.mktemp("golden"))
    assert result.error == "", result.console
    return result


def test_the_clock_is_seen_from_outside(
    engine: UmlEngine, cells: tuple[Cell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By it alone an endless loop is told from a cell that takes long."""
    seen: list[int] = []
    close = machine.Machine.close

    def watch(guest: machine.Machine) -> None:
        seen.append(guest.virtual_ns)
        close(guest)

    monkeypatch.setattr(machine.Machine, "close", watch)
    result = run(engine, cells[0], tmp_path / "seen")
    assert result.error == ""
    assert seen[-1] > result.virtual_s * 1e9 > 0


@pytest.mark.full
@pytest.mark.usefixtures("hog")
def test_the_same_bytes_beside_cpu_hogs(
    engine: UmlEngine, cells: tuple[Cell, ...], golden: RawResult, tmp_path: Path
) -> None:
    loaded = run(engine, cells[0], tmp_path / "loaded")
    assert loaded.virtual_s == golden.virtual_s
    for path in golden.artefacts.iterdir():
        assert path.read_bytes() == (loaded.artefacts / path.name).read_bytes(), path.name
    assert loaded.sha256 == golden.sha256


# What a kernel tells of its network, but for its memory in pages and addresses that it draws.
TELL = """
import json, pathlib, sys
root = pathlib.Path("/proc/sys/net")
found = {}
for path in sorted(root.rglob("*")):
    try:
        found[str(path)] = path.read_text()
    except OSError:
        continue  # a folder, or to be written only
pathlib.Path(sys.argv[1], "told.json").write_text(json.dumps(found))
"""
# Linux derives these from memory on every machine. Neither matters: cells have few peers, and hosts
# set their buffers.
BY_MEMORY = {"/proc/sys/net/ipv4/inet_peer_threshold", "/proc/sys/net/ipv4/tcp_wmem"}
# What sockets may take together: more in a large machine, whose cell needs it (guest/agent.py).
BY_LARGE_MEMORY = {"/proc/sys/net/ipv4/tcp_mem", "/proc/sys/net/ipv4/udp_mem"}


def test_machines_with_more_and_less_memory_have_the_network_of_the_usual_one(
    engine: UmlEngine, cells: tuple[Cell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_job, "PROGRAM", TELL)
    told = []
    for mib in (1024, 256, 3072):
        monkeypatch.setattr(memory, "machine_bytes", lambda *_, mib=mib: mib << 20)
        result = run(engine, cells[0], tmp_path / str(mib))
        assert result.error == "", result.console
        told.append(json.loads((result.artefacts / "told.json").read_text()))
    usual, small, large = told
    for other, differs in ((small, BY_MEMORY), (large, BY_MEMORY | BY_LARGE_MEMORY)):
        assert {path for path in usual if other.get(path) != usual[path]} <= differs
    assert usual["/proc/sys/net/ipv4/tcp_rmem"].split() == ["4096", "131072", "8091616"]


def test_the_same_bytes_on_a_machine_with_less_memory(
    engine: UmlEngine,
    cells: tuple[Cell, ...],
    golden: RawResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cell's memory depends on what it needs; its result must not."""
    for mib in (256, 512, 1024):
        monkeypatch.setattr(memory, "machine_bytes", lambda *_, mib=mib: mib << 20)
        assert run(engine, cells[0], tmp_path / str(mib)).sha256 == golden.sha256, mib


def test_the_same_bytes_where_the_host_allows_no_confinement(
    engine: UmlEngine,
    cells: tuple[Cell, ...],
    golden: RawResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confinement, "missing", lambda: "forbidden")
    assert run(engine, cells[0], tmp_path / "open").sha256 == golden.sha256


# As Docker's seccomp profile does: personality() is denied, so addresses stay random.
DENY_PERSONALITY = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
code = ((0x20, 0, 0, 0), (0x15, 0, 1, 135), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000))
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = struct.pack("H6xP", len(code), ctypes.addressof(filter))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
assert libc.personality(0x40000) == -1
os.execvp(sys.argv[1], sys.argv[1:])
"""

# What a host may do differently: the words before the command that runs the cell.
HOSTS = {
    "no personality(): random addresses": [sys.executable, "-c", DENY_PERSONALITY],
    "in a namespace without rights": ["unshare", "--user", "--net"],
    "few files, a small stack, another environment": [
        *("prlimit", "--nofile=256", "--stack=1048576"),
        *("env", "-i", "PATH=/usr/bin:/bin", "X=" + "y" * 5000, "LANG=tr_TR"),
        f"XDG_CACHE_HOME={kernel.folder().parents[2]}",
    ],
}
PROGRAM = """
    import pathlib, sys
    from fairc.compiler.plan import parse_cell
    from fairc.runtime.engines.uml import UmlEngine
    cell = parse_cell({cell!r})
    engine = UmlEngine()
    engine.prepare()
    result = engine.run(cell, pathlib.Path({folder!r}))
    print(result.error or result.sha256)
"""


@pytest.mark.parametrize("host", HOSTS)
def test_the_same_bytes_on_another_host(
    cells: tuple[Cell, ...], golden: RawResult, tmp_path: Path, host: str
) -> None:
    program = PROGRAM.format(cell=cell_json(cells[0]), folder=str(tmp_path))
    command = [*HOSTS[host], sys.executable, "-c", textwrap.dedent(program)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(kernel.folder().parents[2])}
    done = completed(command, cwd=ROOT, env=environment)
    assert done.stdout.strip() == golden.sha256, done.stdout + done.stderr


def test_another_seed_gives_another_sample_path(
    engine: UmlEngine, cells: tuple[Cell, ...], golden: RawResult, tmp_path: Path
) -> None:
    other = run(engine, cells[1], tmp_path / "other")
    name = next(f"{c.name}.pcap" for c in cells[0].captures if c.point == "exit")
    assert (golden.artefacts / name).read_bytes() != (other.artefacts / name).read_bytes()


def test_all_of_many_links_carry_from_the_start(engine: UmlEngine, tmp_path: Path) -> None:
    """The kernel activates interfaces whose peers came up later a hundred a second, unless it is
    asked to.
    """
    cell = only_cell_of(dumbbell(pairs=40, processing="off"))
    pings = json.loads((run(engine, cell, tmp_path / "many").artefacts / "ping.json").read_text())
    assert [len(ping["rtts_ns"]) for ping in pings] == [10] * 40


OFF = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"
MISBEHAVIOUR = guests.MISBEHAVIOUR | {
    "computes for ever": ("while True: pass", 1.0, "its clock stopped", ""),
    "asks for ever": ("import os\nwhile True: os.getpid()", 1.0, "its clock stopped", ""),
    "switches itself off": (OFF, 1.0, "crashed", "Power down"),
}


@pytest.mark.parametrize("what", MISBEHAVIOUR)
def test_a_guest_that_misbehaves_is_a_failed_cell_with_its_console(
    engine: UmlEngine,
    cells: tuple[Cell, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    if MISBEHAVIOUR[what][2] == "its clock stopped":
        monkeypatch.setattr(bounds, "STANDSTILL_CPU_S", 1.0)
    result = misbehave(engine, cells[0], tmp_path / "cell", monkeypatch, MISBEHAVIOUR[what])
    assert result.console


@pytest.mark.parametrize("number", [11, 12])
def test_a_host_that_has_no_more_processes_is_at_fault_and_not_the_cell(
    engine: UmlEngine,
    cells: tuple[Cell, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    """What the kernel printed in a cgroup of 1500 processes; the guest's program only saw a failed
    fork(2). A machine of fairc's own is asked whether it is so: here that is told the same.
    """
    asked: list[str] = []

    def ask(kernel: object, image: object, script: str) -> ScriptRun:
        asked.append(script)
        return ScriptRun(f"start_userspace : clone failed, errno = {number}\n", "", b"")

    monkeypatch.setattr(trial, "ask", ask)

    def boot(_: UmlEngine, *arguments: object) -> tuple[str, int]:
        (folder,) = (each for each in arguments if isinstance(each, Path))
        text = f"[    1.016000] start_userspace : clone failed, errno = {number}\n"
        (folder / "console").write_text(text)
        return "", 0

    monkeypatch.setattr(UmlEngine, "_boot", boot)
    with pytest.raises(MachineFault, match="no more processes") as caught:
        run(engine, cells[0], tmp_path / "cell")
    assert "ulimit -u" in caught.value.remedy
    assert len(asked) == 1 and "-lt 32 ]" in asked[0]


def test_a_machine_that_gets_no_more_processes_says_so(
    engine: UmlEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real one, whose limit of processes is below what is asked for: its kernel's own words."""
    assert engine._kernel is not None
    root = image.require(recipe.UML)
    trial.require_processes(engine._kernel, root, 30)
    monkeypatch.setattr(bounds, "MOST_PROCESSES", 20)
    if not confinement.missing():
        with pytest.raises(MachineFault, match="no more processes"):
            trial.require_processes(engine._kernel, root, 30)


def test_what_a_guest_empties_ends_no_reader(tmp_path: Path, engine: UmlEngine) -> None:
    """Its clock becomes shorter while fairc reads it: a page that is mapped would be a SIGBUS."""
    assert engine._kernel is not None
    for name in (machine.INITRD, machine.EXCHANGE):
        (tmp_path / name).write_bytes(b"")
    guest = machine.Machine(engine._kernel, image.require(recipe.UML).root, tmp_path, None, [], 1)
    try:
        for size in (8, 5, 0):
            os.truncate(tmp_path / machine.CLOCK, size)
            assert guest.virtual_ns == 0
    finally:
        guest.close()


def test_a_guest_that_prints_as_if_a_host_had_no_more_processes_fails_alone(
    engine: UmlEngine, cells: tuple[Cell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine that is asked is a real one here, and gets all processes."""
    boot = UmlEngine._boot

    def printing(self: UmlEngine, *arguments: Any) -> tuple[str, int]:
        ended = boot(self, *arguments)
        (folder,) = (each for each in arguments if isinstance(each, Path))
        with (folder / "console").open("a") as console:
            console.write("clone failed, errno = 11\n")
        return ended

    monkeypatch.setattr(UmlEngine, "_boot", printing)
    result = run(engine, cells[0], tmp_path / "cell")
    assert "its console says `clone failed, errno = 11`" in result.error
    assert "this computer has enough" in result.error


def test_killed_at_any_moment_nothing_stays(tmp_path: Path) -> None:
    """fairc itself is killed; the kernel and the processes of its guest go with it."""
    endless = SPEC.replace("file(500kB)", "bulk").replace("repeat  = 2", "duration = 10000s")
    (tmp_path / "endless.fexp").write_text(endless)
    command = [sys.executable, "-m", "fairc", "run", str(tmp_path / "endless.fexp")]
    command += ["--engine", "uml", "-o", str(tmp_path / "run")]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    mark = f"{supervisor.MARK}={process.pid}:".encode()

    def marked() -> set[int]:
        """The processes that carry the mark; those of the guest do not."""
        found = set()
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
        return found

    def guest_runs() -> bool:
        return any(KERNEL_ARGUMENT in arguments(pid) for pid in bounds.family(process.pid))

    eventually(guest_runs, process=process)
    family = {pid: arguments(pid) for pid in bounds.family(process.pid)}
    process.kill()
    process.communicate()
    eventually(
        lambda: (
            not marked() and not any(has and arguments(pid) == has for pid, has in family.items())
        )
    )


def arguments(pid: int) -> bytes:
    """Return a process's command line; nothing if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def test_a_damaged_kernel_is_found_before_a_cell_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = kernel.require()
    place = tmp_path / "fairc" / "kernels" / built.folder.name
    place.mkdir(parents=True)
    for name in ("kernel", "manifest.json"):
        shutil.copy(built.folder / name, place / name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel.require().sha256 == built.sha256
    with (place / "kernel").open("r+b") as file:
        file.seek(100_000)
        file.write(b"x")
    with pytest.raises(EngineUnavailable, match="is damaged"):
        UmlEngine().prepare()
    (place / "manifest.json").write_text("[")
    with pytest.raises(EngineUnavailable, match="is damaged"):
        UmlEngine().prepare()


def test_a_kernel_that_was_not_built_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(EngineUnavailable) as lacking:
        UmlEngine().prepare()
    assert "fairc image build" in lacking.value.remedy


def test_the_same_bytes_where_memory_runs_short(
    engine: UmlEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux takes back what it can read again, programs too; there is no more to take than this."""
    cell = only_cell_of(CROWD)
    hashes = []
    for mib in (256, 92):
        monkeypatch.setattr(memory, "machine_bytes", lambda *_, mib=mib: mib << 20)
        result = run(engine, cell, tmp_path / str(mib))
        assert result.error == "", result.console
        hashes.append(result.sha256)
    assert hashes[0] == hashes[1]


CROWD = """fexp 1
experiment crowd {
  topology = bottleneck(rate: 50Mbit/s, rtt: 50ms, queue: fifo(1bdp))
  flow cubic { cca = cubic  count = 100  workload = bulk }
  duration = 10s
  measure = [goodput]
}
"""

# Files of an initramfs as the first program finds them, before and after their memory was taken
# back; what it may do with them.
READER = """#!/bin/busybox sh
b=/bin/busybox
$b mkdir /proc
$b mount -t proc none /proc
$b mount -t devtmpfs none /dev
sums() { for file in /fairc/*; do $b sha256sum $file; done; }
sums
echo 1 > /proc/sys/vm/drop_caches
sums
echo x >> /fairc/page || echo "not written"
$b cp /fairc/page /fairc/copy && echo x >> /fairc/copy && $b sha256sum /fairc/copy
$b rm /fairc/page && sums | $b grep -c page
$b poweroff -f
"""


def test_files_of_the_initramfs_are_read_where_they_are_used(engine: UmlEngine) -> None:
    """From a page on they stay in the archive: whole, read again, not to be written, removable."""
    assert engine._kernel is not None
    root, page = image.require(recipe.UML), initramfs.PAGE_BYTES
    sizes = {"empty": 0, "less": page - 1, "page": page, "more": page + 1, "large": 9 * page + 7}
    files = {name: random.Random(name).randbytes(size) for name, size in sizes.items()}
    ran = machine.run_script(
        engine._kernel,
        root,
        READER.encode(),
        trial.LIMITS,
        arguments=machine.kernel_arguments(root.variant),
        disk=root.root,
        files={f"fairc/{name}": content for name, content in files.items()},
    )
    sums = [f"{hashlib.sha256(files[name]).hexdigest()}  /fairc/{name}" for name in sorted(files)]
    copied = f"{hashlib.sha256(files['page'] + b'x' + bytes([10])).hexdigest()}  /fairc/copy"
    said = [line for line in ran.console.splitlines() if "/fairc/page: " not in line]
    assert said[: 2 * len(sums) + 3] == [*sums, *sums, "not written", copied, "0"], ran.console
