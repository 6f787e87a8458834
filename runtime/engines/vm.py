"""The engine vm: a Linux machine whose clock counts instructions, restored for every cell."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fairc.compiler.plan import Cell
from fairc.compiler.targets import runner
from fairc.runtime.engines.base import endpoints, refuse_images, result
from fairc.runtime.host import bounds, cores, faults, supervisor
from fairc.runtime.vm import exchange, image, qemu, recipe, snapshot
from fairc.runtime.vm.foreign import Foreign

from . import guest_job
from .base import RawResult

# All of an emulated machine's threads sleep when it waits for something that never comes.
STALL_S = 30.0
CONSOLE_LIMIT = 16 << 20
POLL_S = 0.02
# How often the machine's clock is asked for, wall seconds, and how long it may take to answer.
CLOCK_EVERY_S, CLOCK_LIMIT_S = 5.0, 1.0


class VmEngine:
    """Runs a cell in an emulated machine in virtual time. Needs no root.

    foreign: somebody else's programs, run in place of this installation's. pinned: keep each
    machine on its own core, which makes it a fifth faster; wrong where other processes like this
    one share the cores, because all would choose the same.
    """

    name = "vm"
    parallel = True
    shift = 0
    pinned = True

    def __init__(
        self, progress: Callable[[str], None] = lambda _: None, foreign: Foreign | None = None
    ) -> None:
        self._progress = progress
        self._waiting = partial(progress, cores.WAITING)
        self._foreign = foreign
        self._endpoints = Path()
        self._snapshots: dict[str, snapshot.Snapshot] = {}  # by the name of their variant
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._given_up = ""
        self._running = supervisor.Group()

    @property
    def identity(self) -> str:
        """Hash of image, kernel arguments, guest files, QEMU version, and `cell/`."""
        return self._identity(self._snapshot(recipe.PLAIN))

    def identity_for(self, cell: Cell) -> str:
        """Return the identity of the machine that the cell needs. Raises EngineUnavailable."""
        refuse_images(cell)
        return self._identity(self._snapshot(guest_job.variant_of(cell, recipe.PLAIN)))

    def emitted(self, cell: Cell) -> str:
        """Return the hash of the input of the guest's conductor."""
        return guest_job.emitted(cell, computing_is_free=False)

    @property
    def versions(self) -> dict[str, str]:
        """The versions for the lock, of every machine in use."""
        found = {
            "qemu": qemu.version(),
            "programs": runner.identity(),
        }
        for variant in recipe.VARIANTS:
            if saved := self._snapshots.get(variant.name):
                of = recipe.suffix(variant)
                found |= {
                    f"kernel{of}": saved.image.kernel,
                    f"image{of}": saved.image.digest,
                    f"machine{of}": self._identity(saved),
                }
        return found

    def prepare(self) -> None:
        """Find the image and take the snapshot. Raises EngineUnavailable."""
        qemu.version()
        memory = recipe.PLAIN.memory_bytes
        faults.require(
            max(exchange.SIZE, memory), memory + exchange.SIZE + 4096 * recipe.PLAIN.blocks
        )
        self._endpoints = self._foreign.endpoints if self._foreign else endpoints()
        self._snapshot(recipe.PLAIN)

    def _snapshot(self, variant: recipe.Variant) -> snapshot.Snapshot:
        """Return the snapshot of a variant; take it when it is asked for the first time."""
        with self._lock:
            if variant.name not in self._snapshots:
                self._snapshots[variant.name] = snapshot.obtain(
                    image.require(variant),
                    self._endpoints,
                    self._progress,
                    self.shift,
                    self._foreign,
                )
            return self._snapshots[variant.name]

    def _identity(self, saved: snapshot.Snapshot) -> str:
        programs = self._foreign.identity if self._foreign else runner.identity()
        return hashlib.sha256(f"{saved.machine} {programs}".encode()).hexdigest()

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Restore the snapshot, run the cell's script, and fetch its artefacts.

        Foreign programs that had to be stopped once get no other cell: each could cost as much time
        as its limits allow.
        """
        if self._given_up:
            error = f"not run, since the programs were stopped in another cell: {self._given_up}"
            return RawResult(error, workdir, "", "", 0.0, 0.0)
        with cores.one(self._closed, self._waiting) as core:
            if core is None:
                return RawResult("interrupted", workdir, "", "", 0.0, 0.0)
            return self._run(cell, workdir, core)

    def _run(self, cell: Cell, workdir: Path, core: int) -> RawResult:
        saved = self._snapshot(guest_job.variant_of(cell, recipe.PLAIN))
        started = time.monotonic()
        artefacts = workdir / "artefacts"
        artefacts.mkdir()
        with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("vm")) as scratch:
            device, console = Path(scratch, "exchange"), Path(scratch, "console")
            guest_job.write(cell, device)
            limits = guest_job.limits(cell, idle_s=STALL_S, console_bytes=CONSOLE_LIMIT)
            error = self._restore(saved, Path(scratch), limits, core)
            text = bounds.last_printed(console)
            error, virtual_s = guest_job.read(device, artefacts, error)
            if error == guest_job.CRASHED:
                error = guest_job.crashed(text)
        return result(error, artefacts, text, started, virtual_s)

    def _restore(
        self, saved: snapshot.Snapshot, scratch: Path, limits: bounds.Limits, core: int
    ) -> str:
        """Run the machine to its end; return why it had to be stopped, or nothing."""
        memory = saved.memory_for(scratch)
        device, console = scratch / "exchange", scratch / "console"
        devices = qemu.Devices(memory, False, saved.image.root, device, console)
        command = [
            qemu.PROGRAM,
            *qemu.SANDBOX,
            *qemu.arguments(saved.image.variant, devices, self.shift),
            *("-qmp", "unix:monitor,server=on,wait=off"),
            *("-action", "panic=shutdown", "-incoming", "defer", "-S"),
        ]
        with (
            (scratch / "errors").open("wb") as errors,
            self._running.start(
                command, cwd=scratch, stderr=errors, core=core if self.pinned else None
            ) as process,
        ):
            try:
                snapshot.resume(saved, scratch / "monitor")
            except (OSError, RuntimeError) as problem:
                if self._closed.is_set():
                    return "interrupted"
                process.kill()
                process.wait()
                printed = bounds.last_printed(scratch / "errors").strip()
                return f"QEMU could not restore the snapshot: {printed or problem}"
            return self._watch(process, scratch, limits)

    def _watch(self, process: supervisor.Child, scratch: Path, limits: bounds.Limits) -> str:
        """Wait for the machine's end, and see that it gets there."""
        watch = bounds.Watch(process.pid, scratch / "console")
        asked, virtual_ns = time.monotonic(), None
        while process.poll() is None:
            if self._closed.wait(POLL_S):
                return "interrupted"
            if not watch.due:
                continue
            if time.monotonic() > asked + CLOCK_EVERY_S:
                virtual_ns, asked = (
                    qemu.clock_ns(scratch / "monitor", CLOCK_LIMIT_S),
                    time.monotonic(),
                )
            if why := watch.overrun(limits, virtual_ns):
                self._given_up = why if self._foreign else ""
                return f"the machine was stopped: {why}"
        return f"the machine was stopped: {why}" if (why := watch.overprinted(limits)) else ""

    def close(self) -> None:
        """Stop the machines that are running."""
        self._closed.set()
        self._running.end()


class HalfSpeedVmEngine(VmEngine):
    """The same machine with instructions of 2 ns: its computation takes twice as long."""

    name = "vm-half"
    shift = 1
