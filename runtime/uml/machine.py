"""One machine: the command line of its kernel, its files, its clock seen from outside."""

from __future__ import annotations

import io
import mmap
import os
import re
import select
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fairc.compiler.files import opened
from fairc.dsl.core import tars
from fairc.runtime.host import bounds, supervisor
from fairc.runtime.host.archive import UNREADABLE
from fairc.runtime.vm import initramfs, recipe
from fairc.runtime.vm.image import Image

from . import confinement, memory, policy
from .kernel import Kernel

# Names in the machine's folder; the kernel's command line is the same for every cell, because the
# kernel mixes it into its random numbers.
INITRD, IMAGE, EXCHANGE, CLOCK = "initrd", "image", "exchange", "clock"
START_NS = 1_577_836_800 * 10**9  # 2020-01-01: the guest's clock when it boots
LOOK_EVERY_S = 0.05


def kernel_arguments(
    variant: recipe.Variant,
    syscall_cost_ns: int | None = None,
    memory_bytes: int | None = None,
    disks: Iterable[str] = (),
) -> list[str]:
    """Return the kernel's command line.

    syscall_cost_ns: the virtual time of each system call; None: the variant's. disks: the names of
    further ones that it reads; the kernel takes two.
    """
    cost_ns = variant.syscall_cost_ns if syscall_cost_ns is None else syscall_cost_ns
    return [
        *memory.arguments(memory_bytes or variant.memory_bytes, variant),
        f"initrd={INITRD}",
        "rdinit=/init",
        f"filedisk={IMAGE},{IMAGE},ro",
        f"filedisk={EXCHANGE},{EXCHANGE}",
        *(f"filedisk={name},{name},ro" for name in disks),
        f"virtual-clock={CLOCK}",
        "time-travel=inf-cpu",
        f"time-travel-start={START_NS}",
        "random-seed=1",  # until the agent reseeds
        f"time-travel-syscall={cost_ns}",
        # Programs are traced with seccomp filters where the host and its CPU (XSAVE) allow that,
        # else with
        # ptrace: results are the same.
        *("seccomp=auto", "con=null", "con0=null,fd:1", "umid=cell", "uml_dir=."),
        *("quiet", "panic=-1", "noreboot"),
    ]


class Machine:
    """A running guest.

    image: its root file system. folder: its own, with INITRD and EXCHANGE in it. core: where it
    runs, or None for anywhere. arguments: the kernel's command line. memory_bytes: its memory.
    disks: further ones that it reads, by name. exchange: instead of the one in `folder`.
    """

    def __init__(
        self,
        kernel: Kernel,
        image: Path,
        folder: Path,
        core: int | None,
        arguments: list[str],
        memory_bytes: int,
        disks: Mapping[str, Path] = MappingProxyType({}),
        exchange: Path | None = None,
    ) -> None:
        exchange = exchange or folder / EXCHANGE
        (folder / CLOCK).write_bytes(bytes(mmap.PAGESIZE))
        # Read, never mapped: the guest can make the file shorter. Opened before it can do anything.
        self._clock = os.open(folder / CLOCK, os.O_RDONLY)
        console = folder / "console"
        within = policy.of_machine(
            kernel.program,
            reads={INITRD: folder / INITRD, IMAGE: image, **disks},
            writes={EXCHANGE: exchange, CLOCK: folder / CLOCK},
            largest_bytes=max(memory_bytes, exchange.stat().st_size),
        )
        try:
            with (
                console.open("ab") as out,
                confinement.command(within, arguments, folder) as (command, files),
            ):
                self._process = supervisor.start(
                    command,
                    cwd=folder,
                    stdout=out,
                    stderr=out,
                    env={"PATH": "/usr/bin:/bin"},
                    pass_fds=files,
                    core=core,
                    limits=within.limits,
                )
        except BaseException:
            os.close(self._clock)
            raise
        self._end = os.pidfd_open(self._process.pid)
        self._ends = select.poll()
        self._ends.register(self._end, select.POLLIN)
        self._watch = bounds.Watch(self._process.pid, console)

    @property
    def virtual_ns(self) -> int:
        """The reading of its clock, ns after the boot; 0 where the guest has emptied its file."""
        return int.from_bytes(os.pread(self._clock, 8, 0), "little")

    def ends_within(self, seconds: float) -> bool:
        """Wait until it has ended by itself, at most for some time; return whether it has."""
        self._ends.poll(seconds * 1000)
        return self._process.poll() is not None

    def overrun(self, limits: bounds.Limits) -> str:
        """Return why it must be stopped, or nothing. Cheap: most checks are made once per
        second.
        """
        if self._watch.due:
            return self._watch.overrun(limits, self.virtual_ns)
        return self._watch.overprinted(limits)

    def overprinted(self, limits: bounds.Limits) -> str:
        """Return that it printed too much, or nothing; also of one that has ended."""
        return self._watch.overprinted(limits)

    def close(self) -> None:
        """End it and everything that it started."""
        self._process.kill()
        self._process.wait()
        os.close(self._clock)
        os.close(self._end)


# What the kernel says because it finds no folder in which it could keep its process ID.
_NO_FOLDER = re.compile(r"^.*(?:make_umid|umid \"cell\"|remove_umid_dir).*\n", re.MULTILINE)


def said(folder: Path) -> str:
    """Return the end of what the machine of a folder printed."""
    return _NO_FOLDER.sub("", bounds.last_printed(folder / "console"))


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """The end of a script in a machine.

    console: what it said. stopped: why it was stopped; empty: it ended by itself.
    exchange: what it left there.
    """

    console: str
    stopped: str
    exchange: bytes

    @property
    def reason(self) -> str:
        """Why it left nothing, as far as it says so."""
        last = " ".join(self.console[-300:].split())
        return self.stopped or last or "the machine ended without a word"

    def files(self, is_wanted: Callable[[str, int], bool]) -> dict[str, bytes]:
        """Return the files of the archive that it left, which may be anything: those wanted by
        their name and size.
        """
        return {} if self.stopped else files_in(self.exchange, is_wanted)


def files_in(exchange: bytes, is_wanted: Callable[[str, int], bool]) -> dict[str, bytes]:
    """Return the files of an archive that are wanted; nothing where it is none.

    A guest may have written it: sparse files, whose holes nothing bounds, are no files of ours.
    """
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(exchange), mode="r:") as archive:
            for member in tars.members(archive):
                name = member.name.removeprefix("./")
                is_plain = member.isfile() and not member.sparse
                if is_plain and is_wanted(name, member.size):
                    file = archive.extractfile(member)
                    found[name] = b"" if file is None else file.read()
    except (OSError, *UNREADABLE):
        return {}
    return found


def run_script(
    kernel: Kernel,
    image: Image,
    script: bytes,
    limits: bounds.Limits,
    *,
    arguments: list[str],
    disk: Path,
    files: Mapping[str, bytes],
    room_bytes: int = mmap.PAGESIZE,
    exchange: Path | None = None,
) -> ScriptRun:
    """Run a script of busybox as the first program of a machine, to its end.

    image: whose busybox runs it, with the memory that its variant has. arguments: the kernel's
    command line. disk: what it reads. files: what the initramfs holds besides, by path.
    room_bytes: the size of the exchange. exchange: a file that is the exchange instead and stays,
    so that nothing of it is returned; the machine's user gets it.
    """
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("uml")) as scratch:
        folder = Path(scratch)
        entries = initramfs.script_entries(script, image.busybox.read_bytes(), files)
        (folder / INITRD).write_bytes(initramfs.pack(entries))
        device = exchange or folder / EXCHANGE
        if exchange is None:
            with device.open("wb") as file:
                file.truncate(room_bytes)
        guest = Machine(
            kernel,
            disk,
            folder,
            None,
            arguments,
            image.variant.memory_bytes,
            exchange=device,
        )
        stopped = ""
        try:
            while not stopped:
                ended = guest.ends_within(LOOK_EVERY_S)
                stopped = guest.overprinted(limits) if ended else guest.overrun(limits)
                if ended:
                    break
        finally:
            guest.close()
        console = said(folder)
        if exchange is not None:
            return ScriptRun(console, stopped, b"")
        with opened(device) as left:
            return ScriptRun(console, stopped, left.read(room_bytes))
