"""The policy of a machine's process on the host, as data: what it may see, write and do;
`confinement` puts it into practice.
"""

from __future__ import annotations

import itertools
import os
import resource
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairc.runtime.host import bounds, seccomp

from . import syscalls

PROGRAM, FOLDER = "/kernel", "/cell"
# Whom root becomes: numbers that neither Debian nor systemd gives to anybody, another one for each
# machine in turn. Some of what Linux counts for a user has no limit of its own and is not counted
# for each namespace, such as open files on their way between processes.
NOBODYS_IDS = range(61_000, 61_184)
_TURN = itertools.count(secrets.randbelow(len(NOBODYS_IDS)))
# Python has no names for these (asm-generic/resource.h).
RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE = 11, 12
# Signals and timers, each of which takes one of its user's pending signals; its kernel has a timer.
PENDING_SIGNALS = 256
IDS = Path("/proc/self/uid_map")


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder of the host. device: it may be used as the device that it is."""

    at: str
    source: Path
    writable: bool = False
    device: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link."""

    at: str
    target: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The rights of a program and its children: what they may see, write and do.

    All of them have namespaces of their own for files, processes, network, IPC and the host's name;
    no capability, no way to new privileges, no variable of the environment; and folders in which
    nothing can be made. They end with fairc.

    program: a static program in the view. folder: where it starts. view: everything that it sees,
    in the order in which it is made. user: the user and group that it runs as on the host; None:
    those of this process.
    file_bytes: the largest file that it can write. processes: how many it can be at once.
    calls: the system calls that it can make.
    """

    program: str
    folder: str
    view: tuple[Bind | Link, ...]
    user: int | None
    file_bytes: int
    processes: int
    calls: seccomp.Calls

    @property
    def own_limits(self) -> dict[int, int]:
        """Its limits of what Linux counts for a user, by the numbers of setrlimit(2).

        They are set in its user namespace, where Linux counts for that namespace alone (from 5.14
        on): one machine cannot take what others of the same user need. Set before, they would hold
        for all machines of the user together.
        """
        wanted = {
            RLIMIT_SIGPENDING: PENDING_SIGNALS,
            resource.RLIMIT_NPROC: self.processes,
            RLIMIT_MSGQUEUE: 0,
            resource.RLIMIT_MEMLOCK: 0,
        }
        return {number: _at_most(number, value) for number, value in wanted.items()}

    @property
    def limits(self) -> dict[int, int]:
        """Its limits, by the numbers of setrlimit(2): as low as the policy says, and no higher than
        those of this process.
        """
        return {
            resource.RLIMIT_FSIZE: _at_most(resource.RLIMIT_FSIZE, self.file_bytes),
            # Unlike 0, 1 byte also keeps the kernel from handing a core to a program of the host
            # (core(5)).
            resource.RLIMIT_CORE: _at_most(resource.RLIMIT_CORE, 1),
        }


def of_machine(
    kernel: Path,
    reads: Mapping[str, Path],
    writes: Mapping[str, Path],
    largest_bytes: int,
) -> Policy:
    """Return the policy of User-Mode Linux.

    kernel: its program. reads, writes: name in its folder -> file of the host. largest_bytes: of
    the files that it writes and of its guest's memory.
    """
    return Policy(
        program=PROGRAM,
        folder=FOLDER,
        view=(
            Bind(PROGRAM, kernel),
            # All that it wants of /proc: where addresses are random, it starts itself again.
            Link("/proc/self/exe", PROGRAM),
            Bind("/dev/null", Path("/dev/null"), writable=True, device=True),
            *(Bind(f"{FOLDER}/{name}", path) for name, path in reads.items()),
            *(Bind(f"{FOLDER}/{name}", path, writable=True) for name, path in writes.items()),
        ),
        user=unprivileged_id(),
        file_bytes=largest_bytes,
        # One more than its watcher allows, who then says why it ends it.
        processes=bounds.MOST_PROCESSES + 1,
        calls=syscalls.CALLS,
    )


def unprivileged_id() -> int | None:
    """Return an ID that a program gets in place of root's; None where this process is not the
    host's root.

    Root of a user namespace without these IDs is somebody else outside, or cannot become anybody
    else.
    """
    if os.geteuid() != 0:
        return None
    spans = (map(int, line.split()) for line in IDS.read_text().splitlines())
    first, last = NOBODYS_IDS[0], NOBODYS_IDS[-1]
    if not any(a <= first and last < a + many for a, _, many in spans):
        return None
    return NOBODYS_IDS[next(_TURN) % len(NOBODYS_IDS)]


def _at_most(limit: int, value: int) -> int:
    """Return a value for a limit that this process may set."""
    hard = resource.getrlimit(limit)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
