"""The snapshot: a machine that has booted and waits for its job. Taken once, restored per cell."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairc.runtime import supervisor
from fairc.runtime.engines.base import EngineUnavailable

from . import exchange, initramfs, qemu, recipe
from .image import Image

BOOT_LIMIT_S = 300.0
RESTORE_LIMIT_S = 60.0
IGNORE_SHARED = [{"capability": "x-ignore-shared", "state": True}]


@dataclass(frozen=True)
class Snapshot:
    """A saved machine.

    folder: holds `memory` and `state`. identity: hash of everything that decides what the machine
    does: image, kernel arguments, guest files, QEMU version. image: the root file system's image.
    """

    folder: Path
    identity: str
    image: Image

    @property
    def memory(self) -> Path:
        """The main memory, mapped copy-on-write by every cell."""
        return self.folder / "memory"

    @property
    def state(self) -> Path:
        """The devices' state."""
        return self.folder / "state"


def guest_files(endpoints: Path) -> dict[str, bytes]:
    """Return what the initramfs brings along, by plain name."""
    here = Path(__file__).parent
    return {
        "agent.py": (recipe.GUEST / "agent.py").read_bytes(),
        "exchange.py": (here / "exchange.py").read_bytes(),
        "fairc-endpoints": endpoints.read_bytes(),
        "modules": ("\n".join(recipe.MODULES) + "\n").encode(),
    }


def obtain(image: Image, endpoints: Path, progress: Callable[[str], None]) -> Snapshot:
    """Return the snapshot for an image and an endpoints binary; take it if there is none.

    progress: called with a line of text when there is something to wait for. Raises
    EngineUnavailable when QEMU is missing or the machine does not come up.
    """
    entries = initramfs.guest_entries(
        image.busybox.read_bytes(), image.root_modules(), guest_files(endpoints)
    )
    archive = initramfs.pack(entries)
    identity = _identity(image, archive)
    home = recipe.cache_directory() / "snapshots"
    home.mkdir(parents=True, exist_ok=True)
    snapshot = Snapshot(home / identity[:16], identity, image)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not snapshot.state.exists():
            progress("booting the virtual machine once, to take its snapshot")
            _take(snapshot, archive)
    return snapshot


def _identity(image: Image, archive: bytes) -> str:
    blank = Path("/dev/null")
    parts = {
        "image": image.digest,
        "initramfs": hashlib.sha256(archive).hexdigest(),
        "kernel": qemu.KERNEL_ARGUMENTS,
        "machine": qemu.arguments(qemu.Devices(blank, True, blank, blank, blank)),
        "qemu": qemu.version(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _take(snapshot: Snapshot, archive: bytes) -> None:
    work = Path(tempfile.mkdtemp(dir=snapshot.folder.parent, prefix="taking-"))
    try:
        _boot_and_save(snapshot.image, archive, work)
        shutil.rmtree(snapshot.folder, ignore_errors=True)
        work.rename(snapshot.folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _boot_and_save(image: Image, archive: bytes, work: Path) -> None:
    initrd, console, job = work / "initrd", work / "console", work / "exchange"
    initrd.write_bytes(archive)
    memory = work / "memory"
    with memory.open("wb") as file:
        file.truncate(qemu.MEMORY)
    exchange.create(job, {"kind": "none"}, {}, qemu.EXCHANGE_SIZE)
    devices = qemu.Devices(memory, True, image.root, job, console)
    command = [
        qemu.PROGRAM,
        *qemu.arguments(devices),
        *("-kernel", str(image.vmlinuz), "-initrd", str(initrd)),
        *("-append", qemu.KERNEL_ARGUMENTS),
        *("-qmp", f"unix:{work / 'monitor'},server=on,wait=off"),
        *("-action", "panic=pause"),
    ]
    process = supervisor.start(command, cwd=work, deadline_s=BOOT_LIMIT_S)
    try:
        monitor = qemu.Monitor(work / "monitor", BOOT_LIMIT_S)
        monitor.wait_for_event("GUEST_PANICKED")
        monitor.command("stop")
        if "fairc: ready" not in console.read_text(errors="replace"):
            raise ConnectionError("the guest stopped before it was ready")
        monitor.command("migrate-set-capabilities", capabilities=IGNORE_SHARED)
        monitor.command("migrate", uri=f"exec:cat > {shlex.quote(str(work / 'state'))}")
        while (status := monitor.command("query-migrate").get("status")) != "completed":
            if status == "failed":
                raise ConnectionError("QEMU could not save the machine's state")
            time.sleep(0.01)
        monitor.command("quit")
        monitor.close()
        process.wait()
    except (OSError, RuntimeError) as problem:
        text = console.read_text(errors="replace")[-2000:] if console.exists() else ""
        raise EngineUnavailable(
            (f"the virtual machine did not come up: {problem}\n{text}",), "fairc doctor"
        ) from problem
    finally:
        process.kill()
        process.wait()
    for name in ("initrd", "exchange", "monitor"):
        (work / name).unlink(missing_ok=True)


def resume(snapshot: Snapshot, socket: Path) -> None:
    """Load the snapshot into a machine that waits for it, and let it go on.

    socket: the monitor of a QEMU started with `-incoming defer -S`. Raises OSError, RuntimeError.
    """
    monitor = qemu.Monitor(socket, RESTORE_LIMIT_S)
    monitor.command("migrate-set-capabilities", capabilities=IGNORE_SHARED)
    monitor.command("migrate-incoming", uri=f"exec:cat {shlex.quote(str(snapshot.state))}")
    while (status := monitor.command("query-migrate").get("status")) != "completed":
        if status == "failed":
            raise RuntimeError("QEMU refused the saved state")
        time.sleep(0.002)
    monitor.command("cont")
    monitor.close()
