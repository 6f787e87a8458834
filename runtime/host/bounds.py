"""The limits of a machine, enforced from outside: its clock, CPU time, silence, wall time, and
output.

A guest ends its own cell at the cell's deadline; these limits apply to a guest that does not:
damaged, caught in a loop, or hostile. A busy host makes no difference: the last resort, wall time,
is days for a cell of minutes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairc.compiler.files import opened

# A machine that computes for this long while its clock stands still is stuck in a loop: no cell's
# programs compute for more than a fraction of a second at one instant.
STANDSTILL_CPU_S = 120.0
# The most CPU time of a cell, far above the most expensive known (1 Gbit/s on uml: 3 s of CPU per
# virtual second; vm executes at most 10^9 instructions per virtual second, 10 s of CPU).
CPU_S_FIXED, CPU_S_PER_VIRTUAL_S = 600.0, 60.0
# A machine whose threads have all slept for this long waits for something that never comes.
IDLE_S = 600.0
# The wait is shorter where one of its processes is dead and the others have not noticed.
KILLED_S = 20.0
# Beyond any slowness of a host: ten times the CPU time, plus a day.
WALL_S_FIXED, WALL_PER_CPU = 24 * 3600.0, 10.0
CONSOLE_LIMIT = 16 << 20
# As much of its end is read and kept: a guest may print anything, in any amount.
CONSOLE_KEPT = 256 << 10
# A guest's programs may be processes of the host, which often has no more than 32768 process IDs in
# all.
MOST_PROCESSES = 12_000
CHECK_EVERY_S = 1.0
# States of proc_pid_stat(5) in which a thread computes, waits for a core or a disk, or has been
# stopped. Not that of a traced thread (t): that is how a guest's programs wait for their kernel.
NOT_ASLEEP = frozenset("RDT")
# The state of a zombie: it has ended, and its parent has not reaped it.
DEAD = "Z"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a machine.

    virtual_s: of its clock. cpu_s: CPU time of all its processes. idle_s: wall time for
    which all of them sleep. console_bytes: of its output. processes: how many it has at once.
    standstill_s: how long it may compute, CPU time, while its clock advances by no more than
    standstill_ns.
    """

    virtual_s: float
    cpu_s: float
    idle_s: float = IDLE_S
    console_bytes: int = CONSOLE_LIMIT
    processes: int = MOST_PROCESSES
    standstill_s: float = STANDSTILL_CPU_S
    standstill_ns: int = 0

    @property
    def wall_s(self) -> float:
        """Wall time, s: the last resort."""
        return WALL_S_FIXED + WALL_PER_CPU * self.cpu_s


def limits(
    latest_s: float,
    lasts_s: float,
    idle_s: float = IDLE_S,
    console_bytes: int = CONSOLE_LIMIT,
    standstill_s: float | None = None,
    standstill_ns: int = 0,
) -> Limits:
    """Return the limits of a machine whose clock may show `latest_s`, and whose cell lasts
    `lasts_s`.

    standstill_s: None: `STANDSTILL_CPU_S`, as it is when this is called.
    """
    cpu_s = CPU_S_FIXED + CPU_S_PER_VIRTUAL_S * lasts_s
    return Limits(
        latest_s,
        cpu_s,
        idle_s,
        console_bytes,
        standstill_s=STANDSTILL_CPU_S if standstill_s is None else standstill_s,
        standstill_ns=standstill_ns,
    )


class Watch:
    """Watches a machine that runs as a process and its descendants.

    pid: the process. console: the file for its output.
    """

    def __init__(self, pid: int, console: Path) -> None:
        self._pid, self._console = pid, console
        self._began = self._checked = self._awake = time.monotonic()
        self._cpu_s = self._cpu_at_progress_s = 0.0
        self._virtual_at_progress_ns = 0

    @property
    def due(self) -> bool:
        """Whether it is time for the next check."""
        return time.monotonic() >= self._checked + CHECK_EVERY_S

    def overrun(self, limits: Limits, virtual_ns: int | None) -> str:
        """Return why the machine must be stopped; empty if it need not be.

        virtual_ns: its clock, ns after boot; None while that is not known.
        """
        now = self._checked = time.monotonic()
        members = family(self._pid)
        cpu_s = processor_s(members)
        if cpu_s > self._cpu_s or _awake(members):
            self._cpu_s, self._awake = cpu_s, now
        known_ns = self._virtual_at_progress_ns + limits.standstill_ns
        if virtual_ns is None or virtual_ns > known_ns:
            self._virtual_at_progress_ns = virtual_ns or self._virtual_at_progress_ns
            self._cpu_at_progress_s = cpu_s
        if virtual_ns is not None and cpu_s - self._cpu_at_progress_s > limits.standstill_s:
            hardly = f"advanced by at most {limits.standstill_ns / 1e9:g} s, to"
            return (
                f"its clock {hardly if limits.standstill_ns else 'stopped at'}"
                f" {virtual_ns / 1e9:.6f} s while it computed for"
                f" {limits.standstill_s:g} s: a program in it is in an endless loop"
            )
        if cpu_s > limits.cpu_s:
            return f"it has used more than {limits.cpu_s:.0f} s of processor time"
        if virtual_ns is not None and virtual_ns > limits.virtual_s * 1e9:
            return f"it was still running at its virtual deadline of {limits.virtual_s:g} s"
        if len(members) > limits.processes:
            return f"it had become more than {limits.processes} processes"
        killed = any(fields[0] == DEAD for fields in members.values())
        if killed and now > self._awake + min(KILLED_S, limits.idle_s):
            return "one of its processes was killed, by a signal or for want of memory"
        if now > self._awake + limits.idle_s:
            return f"it computed nothing for {limits.idle_s:g} s"
        if now > self._began + limits.wall_s:
            return f"it was still running after {limits.wall_s / 3600:.0f} h"
        return self.overprinted(limits)

    def overprinted(self, limits: Limits) -> str:
        """Return that it printed too much; empty if it did not. Cheap, and to be asked after its
        end as well: that may come before the next check.
        """
        if self._console.lstat().st_size > limits.console_bytes:
            return f"it printed more than {limits.console_bytes / (1 << 20):g} MiB"
        return ""


def last_printed(console: Path) -> str:
    """Return the end of what a machine printed, and how much came before it."""
    try:
        with opened(console) as file:
            before = max(0, os.fstat(file.fileno()).st_size - CONSOLE_KEPT)
            file.seek(before)
            text = file.read(CONSOLE_KEPT).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"[what it printed cannot be read: {error.strerror}]\n"
    return f"[{before:,} bytes before this are left out]\n{text}" if before else text


@contextmanager
def watched(
    pid: int, kill: Callable[[], None], console: Path, limits: Limits, found: list[str]
) -> Iterator[None]:
    """Kill a machine that exceeds its limits while its starter waits for it; `found` gets the
    reason.

    Its clock is not checked. A host too busy to run the machine is not a reason: a thread that
    waits for a core is not asleep, and apart from the last resort the other limits are in CPU time.
    """
    over = threading.Event()

    def look() -> None:
        watch = Watch(pid, console)
        while not over.wait(CHECK_EVERY_S):
            if console.exists() and (why := watch.overrun(limits, None)):
                found.append(why)
                kill()
                return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def family(root: int) -> dict[int, list[str]]:
    """Return a process and its descendants, each with its fields of proc_pid_stat(5) from the third
    on.

    A guest's programs are processes of the host, and leave the session of the process that was
    started.
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


def processor_s(members: Mapping[int, Sequence[str]]) -> float:
    """Return the CPU time of processes and of their ended children, s."""
    ticks = sum(sum(map(int, fields[11:15])) for fields in members.values())
    return ticks / os.sysconf("SC_CLK_TCK")


def _awake(members: Iterable[int]) -> bool:
    """Return whether any thread of some processes is not asleep: it works, or is kept from
    working.
    """
    for pid in members:
        try:
            threads = list(Path(f"/proc/{pid}/task").iterdir())
            states = [(t / "stat").read_text().rpartition(")")[2].split()[0] for t in threads]
        except OSError:  # it has just ended
            return True
        if NOT_ASLEEP.intersection(states):
            return True
    return False
