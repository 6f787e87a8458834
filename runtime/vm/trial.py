"""A machine that boots a kernel for a script of busybox, to its end: what the kernel says."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from fairc.runtime.host import bounds, supervisor

from . import exchange, initramfs, qemu
from .image import Image

LIMITS = bounds.Limits(virtual_s=math.inf, cpu_s=120.0)
LIMIT_S = 1800.0
POLL_S = 0.05


def ask(booted: Image, script: str) -> tuple[str, str]:
    """Run a script as the first program of a machine; return its console, and why it was stopped.

    booted: the image with its kernel. Why: empty where it ended by itself. Raises EngineUnavailable
    without QEMU.
    """
    qemu.version()
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("vm")) as scratch:
        folder = Path(scratch)
        memory, console, job = folder / "memory", folder / "console", folder / "exchange"
        with memory.open("wb") as file:
            file.truncate(booted.variant.memory_bytes)
        exchange.create(job, {"kind": "none"}, {}, exchange.SIZE)
        entries = initramfs.script_entries(script.encode(), booted.busybox.read_bytes(), {})
        (folder / "initrd").write_bytes(initramfs.pack(entries))
        devices = qemu.Devices(memory, True, booted.root, job, console)
        command = [
            qemu.PROGRAM,
            *qemu.SANDBOX,
            *qemu.arguments(booted.variant, devices),
            *("-kernel", str(booted.vmlinuz), "-initrd", "initrd"),
            *("-append", qemu.kernel_arguments(booted.variant)),
            *("-action", "panic=shutdown"),
        ]
        too_much: list[str] = []
        with (
            (folder / "errors").open("wb") as errors,
            supervisor.start(command, cwd=folder, stderr=errors, deadline_s=LIMIT_S) as process,
            bounds.watched(process.pid, process.kill, console, LIMITS, too_much),
        ):
            process.wait()
        said = console.read_text(errors="replace") if console.exists() else ""
        refused = (folder / "errors").read_text(errors="replace").strip()
        return said, (too_much or [refused if process.returncode else ""])[0]
