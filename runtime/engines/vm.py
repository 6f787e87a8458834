"""The engine vm: a Linux machine whose clock counts instructions, restored for every cell."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from fairc.cell.model import KernelModule, OwnKernel
from fairc.compiler.plan import Cell
from fairc.compiler.targets import runner
from fairc.runtime.engines.base import endpoints, refuse_images, result
from fairc.runtime.host import bounds, faults, supervisor
from fairc.runtime.uml import kernel, modules, own, source
from fairc.runtime.vm import exchange, image, qemu, recipe, shipped, snapshot
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
    one share the cores, because all would choose the same. allow_modules: whether cells may load
    kernel modules: QEMU confines them, as it does all of the guest.
    """

    name = "vm"
    parallel = True
    shift = 0
    pinned = True
    allow_modules = False

    def __init__(
        self, progress: Callable[[str], None] = lambda _: None, foreign: Foreign | None = None
    ) -> None:
        self._progress = progress
        self._foreign = foreign
        self._endpoints = Path()
        # By the name of their variant and the hash of their custom kernel, if any.
        self._snapshots: dict[tuple[str, str], snapshot.Snapshot] = {}
        self._own: dict[str, kernel.Kernel] = {}  # by the hash of the program
        self._own_versions: dict[str, str] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._given_up = ""
        self._running = supervisor.Group()
        self._cores = guest_job.Cores()

    @property
    def identity(self) -> str:
        """Hash of image, kernel arguments, guest files, QEMU version, and `cell/`."""
        return self._identity(self._snapshot(recipe.PLAIN))

    def identity_for(self, cell: Cell) -> str:
        """Return the identity of the machine that the cell needs. Raises EngineUnavailable."""
        refuse_images(cell)
        saved = self._snapshot_for(cell)
        return modules.identity(self._identity(saved), self._loaded(cell, saved.image))

    def _snapshot_for(self, cell: Cell) -> snapshot.Snapshot:
        """Return the snapshot of the machine that the cell needs. Raises EngineUnavailable."""
        variant = guest_job.variant_of(cell, recipe.PLAIN)
        return self._snapshot(variant, self._kernel_of(cell.kernel) if cell.kernel else None)

    def _kernel_of(self, wanted: OwnKernel) -> kernel.Kernel:
        """Return a custom kernel, verified when it is asked for the first time."""
        with self._lock:
            if wanted.sha256 not in self._own:
                found = own.require(wanted.name, wanted.sha256, source.VM.engine)
                self._own_versions |= own.versions(wanted.name, found)
                self._own[wanted.sha256] = found
            return self._own[wanted.sha256]

    def _loaded(self, cell: Cell, built: image.Image) -> dict[str, modules.Module]:
        """Return every module that the cell loads, by name: the user's own, and the one that
        charges for system calls. Raises EngineUnavailable, CompileError.
        """
        if cell.kernel is not None:
            own.require_options(self._kernel_of(cell.kernel), cell)
        found = self._modules_of(cell, built)
        if cell.syscall_cost_ns is not None:
            found |= self._compiled({modules.SYSCALL_COST: modules.syscall_cost()}, built)
        return found

    def _modules_of(self, cell: Cell, built: image.Image) -> dict[str, modules.Module]:
        """Return the modules that the cell loads, compiled for the kernel of its image in a machine
        of the engine `uml`, by the names that they register.

        Raises EngineUnavailable where they may not run, or nothing can compile them, CompileError.
        """
        wanted = cell.modules
        modules.require_allowed(wanted, self.allow_modules, self.name)
        return self._compiled(wanted, built)

    def _compiled(
        self, wanted: Mapping[str, KernelModule], built: image.Image
    ) -> dict[str, modules.Module]:
        """Compile modules for the kernel of an image; none: nothing is needed for that."""
        if not wanted:
            return {}
        with self._lock:
            shipped.install(source.recipe_hash(), self._progress)
            target, compiles = self._target(built), kernel.require()
            root = image.require(recipe.UML)
            found = {
                name: modules.compiled(target, compiles, root, name, module, self._progress)
                for name, module in wanted.items()
            }
            self._own_versions |= modules.versions(target, found)
        return found

    def _target(self, built: image.Image) -> modules.Target:
        """Return the kernel of an image as a target of modules. Raises EngineUnavailable."""
        if built.custom:
            return modules.target_of(self._own[built.custom.sha256])
        return modules.target_of_image(built)

    def emitted(self, cell: Cell) -> str:
        """Return the hash of the input of the guest's conductor."""
        return guest_job.emitted(cell, computing_is_free=False)

    @property
    def versions(self) -> dict[str, str]:
        """The versions for the lock, of every machine in use."""
        found = {
            "qemu": qemu.version(),
            "programs": runner.identity(),
            **self._own_versions,
        }
        for variant in recipe.VARIANTS:
            if saved := self._snapshots.get((variant.name, "")):
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

    def _snapshot(
        self, variant: recipe.Variant, custom: kernel.Kernel | None = None
    ) -> snapshot.Snapshot:
        """Return the snapshot of a variant under its kernel or a custom one; take it when it is
        asked for the first time.
        """
        with self._lock:
            key = variant.name, custom.sha256 if custom else ""
            if key not in self._snapshots:
                root = image.require(variant)
                self._snapshots[key] = snapshot.obtain(
                    own.with_kernel(root, custom) if custom else root,
                    self._endpoints,
                    self._progress,
                    self.shift,
                    self._foreign,
                )
            return self._snapshots[key]

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
        with self._cores.one() as core:
            return self._run(cell, workdir, core)

    def _run(self, cell: Cell, workdir: Path, core: int) -> RawResult:
        saved = self._snapshot_for(cell)
        started = time.monotonic()
        artefacts = workdir / "artefacts"
        artefacts.mkdir()
        with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("vm")) as scratch:
            device, console = Path(scratch, "exchange"), Path(scratch, "console")
            loaded = self._loaded(cell, saved.image)
            charges = modules.SYSCALL_COST if modules.SYSCALL_COST in loaded else ""
            guest_job.write(cell, device, files=modules.files(loaded), charges=charges)
            limits = guest_job.limits(cell, idle_s=STALL_S, console_bytes=CONSOLE_LIMIT)
            error = self._restore(saved, Path(scratch), limits, core)
            text = console.read_text(errors="replace") if console.exists() else ""
            error, virtual_s = guest_job.read(device, artefacts, error)
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
                printed = (scratch / "errors").read_text(errors="replace").strip()
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
        return ""

    def close(self) -> None:
        """Stop the machines that are running."""
        self._closed.set()
        self._running.end()


class HalfSpeedVmEngine(VmEngine):
    """The same machine with instructions of 2 ns: its computation takes twice as long."""

    name = "vm-half"
    shift = 1
