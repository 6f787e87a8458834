"""The fast engine: the real kernel as a program of this host, in virtual time, booted for every
cell.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from fairc.compiler.plan import Cell
from fairc.compiler.targets import runner
from fairc.runtime.engines.base import endpoints, refuse_images, result
from fairc.runtime.host import bounds, cores, faults, supervisor
from fairc.runtime.uml import (
    bytecode,
    confinement,
    custom_kernel,
    image_roots,
    kernel,
    machine,
    memory,
    modules,
    own_programs,
    source,
    trial,
)
from fairc.runtime.vm import exchange, image, initramfs, recipe, shipped

from . import entering, guest_job
from .base import RawResult

# How often a running machine is looked at; its end is noticed at once.
CONFINED = {"bubblewrap": "yes", "namespaces": "yes", "container": "by its container"}
# Processes of a machine besides those of its cell's programs and nodes.
_OTHER_PROCESSES = 16


class Initrd(NamedTuple):
    """An initramfs and its hash."""

    content: bytes
    sha256: str


class Ended(NamedTuple):
    """The end of a machine: why the cell failed, or nothing; its console; the time that the cell
    took, s; whether the machine ended by itself before the cell began.
    """

    error: str
    console: str
    virtual_s: float
    at_boot: bool


class UmlEngine:
    """Runs a cell under User-Mode Linux in virtual time. Needs no root.

    pinned: keep each machine on its own core; wrong where other processes like this one share
    the cores, because all would choose the same. of_strangers: refuse to run without confinement.
    allow_modules: whether cells may load kernel modules, which are then confined in any case.
    allow_programs: the same of programs of the user's own. program_files: where their files are.
    """

    name = "uml"
    parallel = True
    pinned = True
    of_strangers = False
    allow_modules = False
    allow_programs = False

    def __init__(self, progress: Callable[[str], None] = lambda _: None) -> None:
        self._progress = progress
        self._waiting = partial(progress, cores.WAITING)
        self._endpoints = Path()
        self._kernel: kernel.Kernel | None = None
        self._tracing = ""  # as of `trial.boot`
        # By variant, whether with `cell/`, and the names of agents.
        self._initrds: dict[tuple[str, bool, tuple[str, ...]], Initrd] = {}
        # By variant, memory in bytes, kernel, and cost of a system call.
        self._identities: dict[tuple[str, int | None, str, int | None], str] = {}
        self._own: dict[str, kernel.Kernel] = {}  # by the hash of the program
        self._own_versions: dict[str, str] = {}
        self._roots: dict[str, Path] = {}  # file systems of images, by the hashes of their tars
        self.program_files: Path | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()

    @property
    def identity(self) -> str:
        """Hash of kernel, its command line, image, guest files, and `cell/`."""
        return self._identity(recipe.UML)

    def identity_for(self, cell: Cell) -> str:
        """Return the identity of the machine that the cell needs. Raises EngineUnavailable."""
        refuse_images(cell)
        variant = guest_job.variant_of(cell, recipe.UML)
        booted = self._kernel_of(cell)
        own_programs.require_allowed(cell, self.allow_programs)
        cost_ns = guest_job.default_cost_ns(cell, variant)
        own_programs.require_few_images(cell)
        identity = self._identity(variant, memory.machine_bytes(cell, variant), booted, cost_ns)
        identity = own_programs.identity(identity, cell)
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
                found = custom_kernel.require(cell.kernel.name, sha256)
                self._own_versions |= custom_kernel.versions(cell.kernel.name, found)
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
        cost_ns: int | None = None,
    ) -> str:
        """Return a machine's identity; its parts are verified at its first use, and at each
        boot.
        """
        assert self._kernel is not None, "prepare comes first"
        booted = own_kernel or self._kernel
        key = variant.name, memory_bytes, booted.sha256, cost_ns
        if key not in self._identities:
            parts = {
                "kernel": booted.sha256,
                "image": image.require(variant).digest,
                "initramfs": self._initrd(variant, runner=False).sha256,
                "arguments": machine.kernel_arguments(variant, cost_ns, memory_bytes),
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
            if any((name, ran) == (variant.name, True) for name, ran, _ in self._initrds):
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
        self._tracing = trial.boot(self._kernel, image.require(recipe.UML))
        self._initrd(recipe.UML)

    def _initrd(
        self,
        variant: recipe.Variant,
        runner: bool = True,
        agents: Mapping[str, bytes] = MappingProxyType({}),
    ) -> Initrd:
        """Return the initramfs of a variant; runner: with `cell/` in it, and with bytecode.

        agents: what `runner.agents` returns of the cell. The hash of the one without `cell/` is
        part of every cell's key.
        """
        key = variant.name, runner, tuple(agents)
        with self._lock:
            if key not in self._initrds:
                files = initramfs.guest_files(
                    variant, self._endpoints, "machine_uml.py", runner, agents=agents
                )
                booted = image.require(variant)
                if runner:
                    assert self._kernel is not None, "prepare comes first"
                    sources = {n: code for n, code in files.items() if n.endswith(".py")}
                    files |= bytecode.compiled(self._kernel, booted, sources)
                busybox = booted.busybox.read_bytes()
                content = initramfs.pack(initramfs.guest_entries("init-uml", busybox, [], files))
                digest = hashlib.sha256(content).hexdigest()
                self._initrds[key] = Initrd(content, digest)
            return self._initrds[key]

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Boot a machine, run the cell's program in it, and fetch its artefacts."""
        with cores.one(self._closed, self._waiting) as core:
            if core is None:
                return RawResult("interrupted", workdir, "", "", 0.0, 0.0)
            return self._run(cell, workdir, core if self.pinned else None)

    def _run(self, cell: Cell, workdir: Path, core: int | None) -> RawResult:
        variant = guest_job.variant_of(cell, recipe.UML)
        started = time.monotonic()
        artefacts = workdir / "artefacts"
        ended = self._boot_twice(entering.without(cell), variant, artefacts, core)
        error = ended.error
        if not error and entering.awaited(cell):
            error, ended = self._with_changes(cell, ended, artefacts, core)
        if error == guest_job.CRASHED:
            error = guest_job.crashed(ended.console, ended.at_boot)
        return result(error, artefacts, ended.console, started, ended.virtual_s)

    def _boot_twice(
        self, cell: Cell, variant: recipe.Variant, artefacts: Path, core: int | None
    ) -> Ended:
        """Run a machine, once more if it ended at its boot: the host may have lacked something for
        a moment.
        """
        artefacts.mkdir()
        ended = self._once(cell, variant, artefacts, core)
        return self._once(cell, variant, artefacts, core) if ended.at_boot else ended

    def _with_changes(
        self, cell: Cell, before: Ended, artefacts: Path, core: int | None
    ) -> tuple[str, Ended]:
        """Run a cell again with the changes that wait for states, at the times that its first run
        has shown; return why it failed, or nothing, and how it ended. before: how the first one
        did.

        Where no state was entered, the first run is the cell.
        """
        first = artefacts.with_name("first")
        try:
            timed = entering.resolved(cell, entering.left_in(artefacts))
            if timed == entering.without(cell):
                return "", before
            artefacts.rename(first)
            ended = self._boot_twice(timed, guest_job.variant_of(cell, recipe.UML), artefacts, core)
            logs = entering.left_in(first), entering.left_in(artefacts)
            return ended.error or entering.difference(cell, *logs), ended
        except entering.LogFault as fault:
            return str(fault), before

    def _once(
        self, cell: Cell, variant: recipe.Variant, artefacts: Path, core: int | None
    ) -> Ended:
        """Run a machine; what the cell left goes to `artefacts`."""
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
                files={**modules.files(loaded), **own_programs.files(cell, self.program_files)},
            )
            (folder / machine.INITRD).write_bytes(
                self._initrd(variant, agents=runner.agents(cell)).content
            )
            disks = self._disks_of(cell)
            cost_ns = cell.syscall_cost_ns or guest_job.default_cost_ns(cell, variant)
            arguments = machine.kernel_arguments(variant, cost_ns, memory_bytes, disks)
            limits = guest_job.limits(cell, **own_programs.standstill(cell))
            error, lasted_ns = self._boot(
                booted, variant, arguments, memory_bytes, folder, limits, core, disks
            )
            error = own_programs.explained(cell, error)
            error, virtual_s = guest_job.read(folder / machine.EXCHANGE, artefacts, error)
            console = machine.said(folder)
        if refused := trial.NO_PROCESS.search(console):
            self._require_processes(cell)
            error = (
                f"its console says `{refused[0]}`, so it may have lacked processes, but this"
                " computer has enough for a cell like it"
            )
        began = lasted_ns >= guest_job.EPOCH_S * 10**9
        return Ended(error, console, virtual_s, error == guest_job.CRASHED and not began)

    def _disks_of(self, cell: Cell) -> dict[str, Path]:
        """Return the file systems of the images of a cell's programs, by the names of disks."""
        assert self._kernel is not None, "prepare comes first"
        with self._lock:
            root = image.require(recipe.UML)
            made = partial(image_roots.made, self._kernel, root, progress=self._progress)
            return own_programs.disks(cell, self.program_files, self._roots, made)

    def _require_processes(self, cell: Cell) -> None:
        """Raise MachineFault where this host does not have the processes that the cell needs."""
        assert self._kernel is not None, "prepare comes first"
        number = memory.programs(cell) + len(cell.nodes) + _OTHER_PROCESSES
        trial.require_processes(self._kernel, image.require(recipe.UML), number)

    def _boot(
        self,
        booted: kernel.Kernel,
        variant: recipe.Variant,
        arguments: list[str],
        memory_bytes: int,
        folder: Path,
        limits: bounds.Limits,
        core: int | None,
        disks: Mapping[str, Path],
    ) -> tuple[str, int]:
        """Run a machine to its end; return why it had to be stopped, or nothing, and the last
        reading of its clock, ns after the boot.
        """
        guest = machine.Machine(
            booted, image.require(variant).root, folder, core, arguments, memory_bytes, disks
        )
        try:
            while True:
                ended = guest.ends_within(machine.LOOK_EVERY_S)
                if self._closed.is_set() and not ended:
                    return "interrupted", guest.virtual_ns
                if why := guest.overprinted(limits) if ended else guest.overrun(limits):
                    return f"the machine was stopped: {why}", guest.virtual_ns
                if ended:
                    return "", guest.virtual_ns
        finally:
            guest.close()

    def close(self) -> None:
        """Stop the machines that are running."""
        self._closed.set()
