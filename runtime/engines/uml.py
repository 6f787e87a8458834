"""The fast engine: the real kernel as a program of this host, in virtual time, booted for every
cell.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fairc.compiler.plan import Cell
from fairc.compiler.targets import runner
from fairc.runtime.engines.base import endpoints, refuse_images, result
from fairc.runtime.host import bounds, faults, supervisor
from fairc.runtime.uml import confinement, kernel, machine, memory, modules, own, source, trial
from fairc.runtime.vm import exchange, image, initramfs, recipe, shipped

from . import guest_job
from .base import RawResult

# How often a running machine is looked at; its end is noticed at once.
CONFINED = {"bubblewrap": "yes", "namespaces": "yes", "container": "by its container"}
# What the kernel prints when the host refuses it a process (EAGAIN, ENOMEM); the guest goes on with
# a failed fork(2).
_NO_PROCESS = re.compile(r"clone failed, errno = (11|12)\b")


class Initrd(NamedTuple):
    """An initramfs and its hash."""

    content: bytes
    sha256: str


class UmlEngine:
    """Runs a cell under User-Mode Linux in virtual time. Needs no root.

    pinned: keep each machine on its own core; wrong where other processes like this one share
    the cores, because all would choose the same. of_strangers: refuse to run without confinement.
    allow_modules: whether cells may load kernel modules, which are then confined in any case.
    """

    name = "uml"
    parallel = True
    pinned = True
    of_strangers = False
    allow_modules = False

    def __init__(self, progress: Callable[[str], None] = lambda _: None) -> None:
        self._progress = progress
        self._endpoints = Path()
        self._kernel: kernel.Kernel | None = None
        self._tracing = ""  # as of `trial.boot`
        self._initrds: dict[tuple[str, bool], Initrd] = {}  # by variant, and whether with `cell/`
        # By variant, memory in bytes, and kernel.
        self._identities: dict[tuple[str, int | None, str], str] = {}
        self._own: dict[str, kernel.Kernel] = {}  # by the hash of the program
        self._own_versions: dict[str, str] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._cores = guest_job.Cores()

    @property
    def identity(self) -> str:
        """Hash of kernel, its command line, image, guest files, and `cell/`."""
        return self._identity(recipe.UML)

    def identity_for(self, cell: Cell) -> str:
        """Return the identity of the machine that the cell needs. Raises EngineUnavailable."""
        refuse_images(cell)
        variant = guest_job.variant_of(cell, recipe.UML)
        booted = self._kernel_of(cell)
        identity = self._identity(variant, memory.machine_bytes(cell, variant), booted)
        return modules.identity(identity, self._modules_of(cell, booted))

    def emitted(self, cell: Cell) -> str:
        """Return the hash of the input of the guest's conductor."""
        return guest_job.emitted(cell, computing_is_free=True)

    def _kernel_of(self, cell: Cell) -> kernel.Kernel:
        """Return the verified kernel that the cell needs. Raises EngineUnavailable."""
        assert self._kernel is not None, "prepare comes first"
        if cell.kernel is None:
            return self._kernel
        with self._lock:
            sha256 = cell.kernel.sha256
            if sha256 not in self._own:
                found = own.require(cell.kernel.name, sha256)
                self._own_versions |= own.versions(cell.kernel.name, found)
                self._own[sha256] = found
            return self._own[sha256]

    def _modules_of(self, cell: Cell, booted: kernel.Kernel) -> dict[str, modules.Module]:
        """Return the compiled modules that the cell loads, by the names that they register.

        Raises EngineUnavailable where they may not run or would not be confined, CompileError.
        """
        wanted = cell.modules
        modules.require_allowed(wanted, self.allow_modules, self.name)
        modules.require_confined(wanted)
        if not wanted:
            return {}
        with self._lock:
            target, root = modules.target_of(booted), image.require(recipe.UML)
            found = {
                name: modules.compiled(target, booted, root, name, module, self._progress)
                for name, module in wanted.items()
            }
            self._own_versions |= modules.versions(target, found)
        return found

    def _identity(
        self,
        variant: recipe.Variant,
        memory_bytes: int | None = None,
        own_kernel: kernel.Kernel | None = None,
    ) -> str:
        """Return a machine's identity; its parts are verified at its first use, and at each
        boot.
        """
        assert self._kernel is not None, "prepare comes first"
        booted = own_kernel or self._kernel
        key = variant.name, memory_bytes, booted.sha256
        if key not in self._identities:
            parts = {
                "kernel": booted.sha256,
                "image": image.require(variant).digest,
                "initramfs": self._initrd(variant, runner=False).sha256,
                "arguments": machine.kernel_arguments(variant, memory_bytes=memory_bytes),
                "programs": runner.identity(),
            }
            text = json.dumps(parts, sort_keys=True)
            self._identities[key] = hashlib.sha256(text.encode()).hexdigest()
        return self._identities[key]

    @property
    def versions(self) -> dict[str, str]:
        """The versions for the lock, of every machine in use."""
        assert self._kernel is not None, "prepare comes first"
        found = {
            "kernel": self._kernel.version,
            "kernel program": self._kernel.sha256,
            "tracing": self._tracing,
            "confined": CONFINED.get(confinement.name()) or f"no: {confinement.missing()}",
            "programs": runner.identity(),
            **self._own_versions,
        }
        for variant in recipe.VARIANTS:
            if (variant.name, True) in self._initrds:
                of = recipe.suffix(variant)
                found |= {
                    f"image{of}": image.require(variant).digest,
                    f"machine{of}": self._identity(variant),
                }
        return found

    def prepare(self) -> None:
        """Find the kernel and the image, verify them, and boot once. Raises EngineUnavailable."""
        if self.of_strangers:
            confinement.require("what a stranger made")
        memory = recipe.UML.memory_bytes
        faults.require(max(exchange.SIZE, memory), memory)
        shipped.install(source.recipe_hash(), self._progress)
        self._kernel = kernel.require()
        self._endpoints = endpoints()
        self._initrd(recipe.UML)
        self._tracing = trial.boot(self._kernel, image.require(recipe.UML))

    def _initrd(self, variant: recipe.Variant, runner: bool = True) -> Initrd:
        """Return the initramfs of a variant; runner: with `cell/` in it.

        The hash of the one without is part of every cell's key.
        """
        with self._lock:
            if (variant.name, runner) not in self._initrds:
                files = initramfs.guest_files(variant, self._endpoints, "machine_uml.py", runner)
                busybox = image.require(variant).busybox.read_bytes()
                content = initramfs.pack(initramfs.guest_entries("init-uml", busybox, [], files))
                digest = hashlib.sha256(content).hexdigest()
                self._initrds[variant.name, runner] = Initrd(content, digest)
            return self._initrds[variant.name, runner]

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Boot a machine, run the cell's program in it, and fetch its artefacts."""
        with self._cores.one() as core:
            return self._run(cell, workdir, core if self.pinned else None)

    def _run(self, cell: Cell, workdir: Path, core: int | None) -> RawResult:
        variant = guest_job.variant_of(cell, recipe.UML)
        started = time.monotonic()
        artefacts = workdir / "artefacts"
        artefacts.mkdir()
        with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("uml")) as scratch:
            folder = Path(scratch)
            memory_bytes = memory.machine_bytes(cell, variant)
            memory.require(cell)
            device = folder / machine.EXCHANGE
            booted = self._kernel_of(cell)
            loaded = self._modules_of(cell, booted)
            guest_job.write(
                cell,
                device,
                computing_is_free=True,
                memory_bytes=memory_bytes,
                files=modules.files(loaded),
            )
            (folder / machine.INITRD).write_bytes(self._initrd(variant).content)
            arguments = machine.kernel_arguments(variant, cell.syscall_cost_ns, memory_bytes)
            limits = guest_job.limits(cell)
            error = self._boot(booted, variant, arguments, memory_bytes, folder, limits, core)
            error, virtual_s = guest_job.read(folder / machine.EXCHANGE, artefacts, error)
            console = (folder / "console").read_text(errors="replace")
        if _NO_PROCESS.search(console):
            raise faults.no_process()
        return result(error, artefacts, console, started, virtual_s)

    def _boot(
        self,
        booted: kernel.Kernel,
        variant: recipe.Variant,
        arguments: list[str],
        memory_bytes: int,
        folder: Path,
        limits: bounds.Limits,
        core: int | None,
    ) -> str:
        """Run a machine to its end; return why it had to be stopped, or nothing."""
        guest = machine.Machine(
            booted, image.require(variant).root, folder, core, arguments, memory_bytes
        )
        try:
            while not guest.ends_within(machine.LOOK_EVERY_S):
                if self._closed.is_set():
                    return "interrupted"
                if why := guest.overrun(limits):
                    return f"the machine was stopped: {why}"
            return ""
        finally:
            guest.close()

    def close(self) -> None:
        """Stop the machines that are running."""
        self._closed.set()
