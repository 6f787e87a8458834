"""One machine: the command line of its kernel, its files, and what bounds it from outside."""

from __future__ import annotations

import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path

from fairc.runtime.host import supervisor
from fairc.runtime.vm import recipe

from . import confinement
from .kernel import Kernel

# Names in the machine's folder; the kernel's command line is the same for every cell, because the
# kernel mixes it into its random numbers.
INITRD, IMAGE, EXCHANGE, CLOCK = "initrd", "image", "exchange", "clock"
START_NS = 1_577_836_800 * 10**9  # 2020-01-01: the guest's clock when it boots

# A machine that computes for so long while its clock stands still is caught in a loop: no cell's
# programs compute for more than a fraction of a second at one instant.
STANDSTILL_CPU_S = 120.0
# What a cell may compute at most: far above the dearest known (1 Gbit/s: 3 s of CPU per virtual second).
CPU_S_FIXED, CPU_S_PER_VIRTUAL_S = 600.0, 60.0
# A machine that computes nothing waits for something that never comes; a busy host may keep it from
# computing for long.
IDLE_WALL_S = 600.0
CONSOLE_LIMIT = 16 << 20
CHECK_EVERY_S = 1.0


def kernel_arguments(variant: recipe.Variant, syscall_cost_ns: int | None = None) -> list[str]:
    """Return the kernel's command line.

    syscall_cost_ns: the virtual time of each system call; None: the variant's.
    """
    cost_ns = variant.syscall_cost_ns if syscall_cost_ns is None else syscall_cost_ns
    return [
        f"mem={variant.memory_bytes >> 20}M",
        f"initrd={INITRD}",
        "rdinit=/init",
        f"filedisk={IMAGE},{IMAGE},ro",
        f"filedisk={EXCHANGE},{EXCHANGE}",
        f"time-travel-clock={CLOCK}",
        "time-travel=inf-cpu",
        f"time-travel-start={START_NS}",
        "random-seed=1",  # until the agent reseeds
        f"time-travel-syscall={cost_ns}",
        # Programs are followed by seccomp filters where the host and its CPU (XSAVE) allow that, else by
        # ptrace: results are the same.
        *("seccomp=auto", "con=null", "con0=null,fd:1", "umid=cell", "uml_dir=."),
        *("quiet", "panic=-1", "noreboot"),
    ]


@dataclass
class Limits:
    """What bounds a machine, so that a busy host decides nothing.

    virtual_s: its clock at the latest. Processor time is that of all its processes.
    """

    virtual_s: float

    @property
    def cpu_s(self) -> float:
        """The processor time that it may use at most."""
        return CPU_S_FIXED + CPU_S_PER_VIRTUAL_S * self.virtual_s


class Machine:
    """A running guest.

    folder: its own, with INITRD, EXCHANGE and CLOCK in it. core: where it runs, or None for anywhere.
    arguments: another command line than `kernel_arguments`.
    """

    def __init__(
        self,
        kernel: Kernel,
        variant: recipe.Variant,
        image: Path,
        folder: Path,
        core: int | None,
        arguments: list[str] | None = None,
    ) -> None:
        (folder / CLOCK).write_bytes(bytes(mmap.PAGESIZE))
        self._console = folder / "console"
        command = confinement.wrap(
            kernel.program, arguments or kernel_arguments(variant), folder, {IMAGE: image}
        )
        if core is not None:
            command = ["taskset", "--cpu-list", str(core), *command]
        with self._console.open("wb") as console:
            self._process = supervisor.start(
                command, cwd=folder, stdout=console, stderr=console, env={"PATH": "/usr/bin:/bin"}
            )
        with (folder / CLOCK).open("rb") as clock:
            self._clock = mmap.mmap(clock.fileno(), mmap.PAGESIZE, access=mmap.ACCESS_READ)
        self._checked = self._computing = time.monotonic()
        self._cpu_s = self._cpu_at_progress_s = 0.0
        self._virtual_at_progress_ns = 0

    @property
    def virtual_ns(self) -> int:
        """How far its clock is, ns after the boot."""
        return int.from_bytes(self._clock[:8], "little")

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self._process.poll() is not None

    def overrun(self, limits: Limits) -> str:
        """Return why it must be stopped, or nothing. Cheap: looks once a second."""
        now = time.monotonic()
        if now < self._checked + CHECK_EVERY_S:
            return ""
        self._checked = now
        cpu_s = tree_cpu_s(self._process.pid)
        if cpu_s > self._cpu_s:
            self._cpu_s, self._computing = cpu_s, now
        virtual_ns = self.virtual_ns
        if virtual_ns > self._virtual_at_progress_ns:
            self._virtual_at_progress_ns, self._cpu_at_progress_s = virtual_ns, cpu_s
        if cpu_s - self._cpu_at_progress_s > STANDSTILL_CPU_S:
            return (
                f"its clock stood at {virtual_ns / 1e9:.6f} s while it computed for"
                f" {STANDSTILL_CPU_S:g} s: a program in it is caught in a loop"
            )
        if cpu_s > limits.cpu_s:
            return f"it has used more than {limits.cpu_s:.0f} s of processor time"
        if virtual_ns > limits.virtual_s * 1e9:
            return f"it was still running at its virtual deadline of {limits.virtual_s:g} s"
        if now > self._computing + IDLE_WALL_S:
            return f"it computed nothing for {IDLE_WALL_S:g} s"
        if self._console.stat().st_size > CONSOLE_LIMIT:
            return f"it printed more than {CONSOLE_LIMIT >> 20} MiB"
        return ""

    def close(self) -> None:
        """End it, and everything that it started."""
        self._process.kill()
        self._process.wait()
        self._clock.close()


def family(root: int) -> dict[int, list[str]]:
    """Return a process and its descendants, each with its fields of proc_pid_stat(5) from the third on.

    A guest's programs are processes of the host, which leave the session of the one that was started.
    """
    found: dict[int, list[str]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            found[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
    members = {root}
    while added := {p for p, f in found.items() if int(f[1]) in members and p not in members}:
        members |= added
    return {pid: found[pid] for pid in members if pid in found}


def tree_cpu_s(root: int) -> float:
    """Return the processor time of a process, its descendants, and those of them that have ended, s."""
    ticks = sum(sum(map(int, fields[11:15])) for fields in family(root).values())
    return ticks / os.sysconf("SC_CLK_TCK")
