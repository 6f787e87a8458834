"""A machine that boots and ends at once: checks that this host can run the kernel, before any cell
does.
"""

from __future__ import annotations

import re
from pathlib import Path

from fairc.runtime.host import bounds, faults
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm.image import Image

from . import machine
from .kernel import Kernel

BOOTED = "fairc: booted"
INIT = f"#!/bin/busybox sh\necho {BOOTED}\n/bin/busybox poweroff -f\n"
# Starts processes that stay until the end.
SLEEPERS = """#!/bin/busybox sh
n=0
while [ $n -lt {number} ]; do
    /bin/busybox sleep 1000 &
    n=$((n + 1))
done
/bin/busybox poweroff -f
"""
# What the kernel prints when the host refuses it a process (EAGAIN, ENOMEM); the guest goes on with
# a failed fork(2).
NO_PROCESS = re.compile(r"clone failed, errno = -?(11|12)\b")
NULL = Path("/dev/null")
LIMITS = bounds.limits(latest_s=1.0, lasts_s=1.0)
TELLING = ("panic", "errno", "not permitted", "cannot", "denied", "failed", "bwrap:")
FOLLOWED_BY_SECCOMP = "seccomp filters can be installed...OK"
# The kernel's messages when the host refuses it something, and the remedies.
REASONS = (
    (("errno = -12", "Cannot allocate memory"), "a higher limit of memory (ulimit -v)"),
    (
        ("ptrace", "PROT_EXEC"),
        "a host that allows ptrace or seccomp filters, and executable memory",
    ),
)


def boot(kernel: Kernel, image: Image) -> str:
    """Boot a machine like those of cells; return how it traces programs: `seccomp` or `ptrace`.

    Raises EngineUnavailable when it does not boot.
    """
    ran = ask(kernel, image, INIT)
    if BOOTED in ran.console:
        return "seccomp" if FOLLOWED_BY_SECCOMP in ran.console else "ptrace"
    if not is_open_to_all(NULL):
        raise EngineUnavailable(
            (f"{NULL} cannot be read and written by every user, as a machine has to",),
            f"chmod 666 {NULL}",
        )
    reason = ran.stopped or _reason(ran.console)
    raise EngineUnavailable(
        (f"the kernel of the engine `uml` does not start here: {reason}",),
        next((help for signs, help in REASONS if any(w in reason for w in signs)), "fairc doctor"),
    )


def ask(kernel: Kernel, image: Image, script: str) -> machine.ScriptRun:
    """Run a script in a machine like those of cells, whose kernel says on the console what it
    does.
    """
    talkative = [word for word in machine.kernel_arguments(image.variant) if word != "quiet"]
    return machine.run_script(
        kernel, image, script.encode(), LIMITS, arguments=talkative, disk=image.root, files={}
    )


def require_processes(kernel: Kernel, image: Image, number: int) -> None:
    """Raise MachineFault where a machine gets fewer processes of this host than `number`.

    Asked where a cell's console says that the host refused one: a guest can print anything, and
    what it prints is not believed about the other cells.
    """
    ran = ask(kernel, image, SLEEPERS.format(number=number))
    if NO_PROCESS.search(ran.console):
        raise faults.no_process()


def is_open_to_all(device: Path) -> bool:
    """Return whether every user may read and write a device."""
    return device.stat().st_mode & 0o666 == 0o666


def _reason(console: str) -> str:
    """Return the reason for a machine's end from its console, in one line."""
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line.lower() for word in TELLING)]
    if telling:
        return telling[0]
    return f"it ends after saying `{lines[-1]}`" if lines else "it ends without a word"
