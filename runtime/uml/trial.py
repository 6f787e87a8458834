"""A machine that boots and ends at once: checks that this host can run the kernel, before any cell
does.
"""

from __future__ import annotations

import mmap
import tempfile
from pathlib import Path

from fairc.runtime.host import bounds, supervisor
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm import initramfs
from fairc.runtime.vm.image import Image

from . import machine
from .kernel import Kernel

BOOTED = "fairc: booted"
INIT = f"#!/bin/busybox sh\necho {BOOTED}\n/bin/busybox poweroff -f\n"
NULL = Path("/dev/null")
LOOK_EVERY_S = 0.05
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
    console, why = ask(kernel, image, INIT)
    if BOOTED in console:
        return "seccomp" if FOLLOWED_BY_SECCOMP in console else "ptrace"
    if not is_open_to_all(NULL):
        raise EngineUnavailable(
            (f"{NULL} cannot be read and written by every user, as a machine has to",),
            f"chmod 666 {NULL}",
        )
    reason = why or _reason(console)
    raise EngineUnavailable(
        (f"the kernel of the engine `uml` does not start here: {reason}",),
        next((help for signs, help in REASONS if any(w in reason for w in signs)), "fairc doctor"),
    )


def ask(kernel: Kernel, image: Image, init: str) -> tuple[str, str]:
    """Boot a machine whose first program is a script of busybox; return its console, and why it had
    to be stopped, or nothing.
    """
    talkative = [word for word in machine.kernel_arguments(image.variant) if word != "quiet"]
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("uml")) as scratch:
        folder = Path(scratch)
        (folder / machine.INITRD).write_bytes(initramfs.pack(_entries(image, init)))
        (folder / machine.EXCHANGE).write_bytes(bytes(mmap.PAGESIZE))
        guest = machine.Machine(
            kernel, image.root, folder, None, talkative, image.variant.memory_bytes
        )
        why = ""
        try:
            while not guest.ends_within(LOOK_EVERY_S) and not why:
                why = guest.overrun(LIMITS)
        finally:
            guest.close()
        return (folder / "console").read_text(errors="replace"), why


def is_open_to_all(device: Path) -> bool:
    """Return whether every user may read and write a device."""
    return device.stat().st_mode & 0o666 == 0o666


def _entries(image: Image, init: str) -> list[initramfs.Entry]:
    directory, file = initramfs.DIRECTORY | 0o755, initramfs.FILE | 0o755
    console = initramfs.CHARACTER_DEVICE | 0o600
    return [
        initramfs.Entry("bin", directory),
        initramfs.Entry("dev", directory),
        initramfs.Entry("dev/console", console, device=(5, 1)),
        initramfs.Entry("init", file, init.encode()),
        initramfs.Entry("bin/busybox", file, image.busybox.read_bytes()),
    ]


def _reason(console: str) -> str:
    """Return the reason for a machine's end from its console, in one line."""
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line.lower() for word in TELLING)]
    if telling:
        return telling[0]
    return f"it ends after saying `{lines[-1]}`" if lines else "it ends without a word"
