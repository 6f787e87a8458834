"""The engine vm: a Linux machine whose clock counts instructions, restored for every cell."""

from __future__ import annotations

import hashlib
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from fairc.compiler.plan import Cell
from fairc.compiler.targets.binary import EndpointsMissing, find_endpoints
from fairc.runtime.engines.base import EngineUnavailable, programs_identity, refuse_images
from fairc.runtime.host import supervisor
from fairc.runtime.store import archive
from fairc.runtime.store.results import RawResult
from fairc.runtime.vm import image, qemu, recipe, snapshot

from . import guest_job

# A machine that computes nothing for so long (wall clock) waits for something that never comes.
STALL_S = 30.0
CONSOLE_LIMIT = 16 << 20
POLL_S = 0.02


class VmEngine:
    """Runs the emitted Mininet script of a cell in virtual time. Needs no root.

    pinned: keep each machine on a core of its own, which makes it a fifth faster; wrong where other
    processes like this one share the cores, for all would choose the same.
    """

    name = "vm"
    parallel = True
    shift = 0
    pinned = True

    def __init__(self, progress: Callable[[str], None] = lambda _: None) -> None:
        self._progress = progress
        self._endpoints = Path()
        self._snapshots: dict[str, snapshot.Snapshot] = {}  # by the name of their variant
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._cores: queue.SimpleQueue[int] = queue.SimpleQueue()
        for core in sorted(os.sched_getaffinity(0)):
            self._cores.put(core)

    @property
    def identity(self) -> str:
        """Hash of image, kernel arguments, guest files, QEMU version, and what writes programs."""
        return _identity(self._snapshot(recipe.PLAIN))

    def identity_for(self, cell: Cell) -> str:
        """Return the identity of the machine that the cell needs. Raises EngineUnavailable."""
        refuse_images(cell)
        return _identity(self._snapshot(guest_job.variant_of(cell)))

    @property
    def versions(self) -> dict[str, str]:
        """What the lock records, of every machine that is in use."""
        found = {"qemu": qemu.version(), "programs": programs_identity()}
        for variant in recipe.VARIANTS:
            if variant.name in self._snapshots:
                saved, of = self._snapshots[variant.name], recipe.suffix(variant)
                found |= {
                    f"kernel{of}": saved.image.kernel,
                    f"image{of}": saved.image.digest,
                    f"machine{of}": _identity(saved),
                }
        return found

    def prepare(self) -> None:
        """Find the image and take the snapshot. Raises EngineUnavailable."""
        qemu.version()
        try:
            self._endpoints = find_endpoints()
        except EndpointsMissing as problem:
            raise EngineUnavailable((str(problem),), "make setup") from problem
        self._snapshot(recipe.PLAIN)

    def _snapshot(self, variant: recipe.Variant) -> snapshot.Snapshot:
        """Return the snapshot of a variant; take it when it is asked for the first time."""
        with self._lock:
            if variant.name not in self._snapshots:
                self._snapshots[variant.name] = snapshot.obtain(
                    image.require(variant), self._endpoints, self._progress, self.shift
                )
            return self._snapshots[variant.name]

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Restore the snapshot, run the cell's script, and fetch what it left."""
        core = self._cores.get()
        try:
            return self._run(cell, workdir, core)
        finally:
            self._cores.put(core)

    def _run(self, cell: Cell, workdir: Path, core: int) -> RawResult:
        saved = self._snapshot(guest_job.variant_of(cell))
        started = time.monotonic()
        artefacts = workdir / "artefacts"
        artefacts.mkdir()
        with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("vm")) as scratch:
            device, console = Path(scratch, "exchange"), Path(scratch, "console")
            guest_job.write(cell, device)
            error = self._restore(saved, Path(scratch), device, console, core)
            text = console.read_text(errors="replace") if console.exists() else ""
            error, virtual_s = guest_job.read(device, artefacts, error)
        return RawResult(
            error=error,
            artefacts=artefacts,
            sha256="" if error else archive.digest(artefacts),
            console=text,
            virtual_s=virtual_s,
            wall_s=time.monotonic() - started,
        )

    def _restore(
        self, saved: snapshot.Snapshot, scratch: Path, device: Path, console: Path, core: int
    ) -> str:
        """Run the machine to its end; return why it had to be stopped, or nothing."""
        devices = qemu.Devices(saved.memory_for(scratch), False, saved.image.root, device, console)
        command = [
            *(("taskset", "--cpu-list", str(core)) if self.pinned else ()),
            qemu.PROGRAM,
            *qemu.arguments(saved.image.variant, devices, self.shift),
            *("-qmp", "unix:monitor,server=on,wait=off"),
            *("-action", "panic=shutdown", "-incoming", "defer", "-S"),
        ]
        with (scratch / "errors").open("wb") as errors:
            process = supervisor.start(command, cwd=scratch, stderr=errors)
        try:
            snapshot.resume(saved, scratch / "monitor")
        except (OSError, RuntimeError) as problem:
            process.kill()
            process.wait()
            printed = (scratch / "errors").read_text(errors="replace").strip()
            return f"QEMU could not restore the snapshot: {printed or problem}"
        try:
            return self._watch(process, console)
        finally:
            process.kill()
            process.wait()

    def _watch(self, process: supervisor.Child, console: Path) -> str:
        """Wait for the machine's end, and see that it gets there."""
        busy_until, used = time.monotonic(), -1.0
        checked = 0.0
        while process.poll() is None:
            if self._closed.wait(POLL_S):
                return "interrupted"
            now = time.monotonic()
            if now < checked + 1:
                continue
            checked = now
            if (cpu := _cpu_s(process.pid)) != used:
                used, busy_until = cpu, now
            elif now > busy_until + STALL_S:
                return f"the virtual machine stood still for {STALL_S:g} s"
            if console.stat().st_size > CONSOLE_LIMIT:
                return f"the virtual machine printed more than {CONSOLE_LIMIT >> 20} MiB"
        return ""

    def close(self) -> None:
        """Stop the machines that are running."""
        self._closed.set()


class HalfSpeedVmEngine(VmEngine):
    """The same machine, whose instructions take 2 ns: what it computes takes twice as long."""

    name = "vm-half"
    shift = 1


def _identity(saved: snapshot.Snapshot) -> str:
    return hashlib.sha256(f"{saved.identity} {programs_identity()}".encode()).hexdigest()


def _cpu_s(pid: int) -> float:
    """Return the CPU time that a process tree rooted at a session leader has used, in ticks."""
    total = 0.0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == pid:  # its session
            total += int(fields[11]) + int(fields[12])
    return total
