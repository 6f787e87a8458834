"""The snapshot: a machine that has booted and waits for its job. Taken once, restored per cell."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import mmap
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fairc.compiler.files import sha256_of
from fairc.dsl.core.cache import cache_directory
from fairc.runtime.host import bounds, supervisor
from fairc.runtime.host.faults import EngineUnavailable, to_install

from . import exchange, initramfs, qemu, recipe, verified
from .foreign import Foreign, blamed_on
from .image import Image

# CPU time; a boot takes about 20 s. Wall time is the last resort, for machines that a busy host
# starves.
BOOT_LIMITS = bounds.Limits(virtual_s=math.inf, cpu_s=300.0)
BOOT_LIMIT_S = 3600.0
MAX_BOOTS = 8
UNUSED_S = 7 * 24 * 3600
RESTORE_LIMIT_S = 60.0
DIGEST = "digest"
TAKING = "taking-"  # how the names of unfinished ones begin
# What `Pause` in guest/agent.py leaves in its page, and the instructions that follow its RDTSC.
PAUSE_MARKER = hashlib.sha256(b"fairc pause").digest()
PAUSE_MARKER_OFFSET = 256
INSTRUCTIONS_TO_PAUSE = 6
MEMORY_STEP_BYTES = 4 << 20
LATEST_PAUSE_NS = 10**12
IGNORE_SHARED = [{"capability": "x-ignore-shared", "state": True}]


@dataclass(frozen=True)
class Snapshot:
    """A saved machine.

    folder: holds `memory`, `state` and `digest`, the SHA-256 of both. identity: hash of everything
    that determines what the machine
    does: image, kernel arguments, guest files, QEMU version. image: the root file system's image.
    machine: the same hash without `cell/`, whose comments do not count for results.
    """

    folder: Path
    identity: str
    image: Image
    machine: str = ""

    @property
    def memory(self) -> Path:
        """The main memory, mapped copy-on-write by every cell."""
        return self.folder / "memory"

    def memory_for(self, scratch: Path) -> Path:
        """Return the memory for a machine: itself, or a copy in `scratch` if it cannot be written.

        A machine maps it privately and changes nothing, but QEMU 7.2 still opens it for writing.
        """
        if os.access(self.memory, os.W_OK):
            return self.memory
        copy = scratch / "memory"
        subprocess.run(["cp", "--sparse=always", str(self.memory), str(copy)], check=True)
        copy.chmod(0o600)
        return copy

    @property
    def state(self) -> Path:
        """The devices' state."""
        return self.folder / "state"

    @property
    def there(self) -> bool:
        """Whether there is a snapshot, damaged or not."""
        return self.state.exists()

    def whole(self, again: bool = False) -> bool:
        """Whether it is undamaged.

        It is read once, and again when a file has changed or with `again`.
        """
        return intact(self.folder, again)


def intact(folder: Path, again: bool) -> bool:
    """Whether a folder holds a snapshot with the hashes that were recorded with it."""

    def found_well() -> bool:
        try:
            return (folder / DIGEST).read_bytes() == digest(folder).encode()
        except OSError:
            return False

    parts = (folder / "memory", folder / "state", folder / DIGEST)
    if not all(path.is_file() for path in parts):
        return False
    return verified.known_or(folder / "verified", parts, found_well, whole=again)


def digest(folder: Path) -> str:
    """Return the hashes of a snapshot's memory and state. Raises OSError."""
    found = ""
    for name in ("memory", "state"):
        found += sha256_of(folder / name)
    return found


def boot_archive(
    image: Image, endpoints: Path, runner: bool = True, foreign: Foreign | None = None
) -> bytes:
    """Return the initramfs that the machine boots from; runner: with `cell/` in it, or that of
    `foreign`.
    """
    modules = foreign.modules if foreign else None
    files = initramfs.guest_files(image.variant, endpoints, "machine_qemu.py", runner, modules)
    files["modules"] = ("\n".join(recipe.MODULES) + "\n").encode()
    if image.variant is recipe.BROWSER:
        files["warm_browser.py"] = (recipe.GUEST / "warm_browser.py").read_bytes()
    entries = initramfs.guest_entries(
        "init-qemu", image.busybox.read_bytes(), image.root_modules(), files
    )
    return initramfs.pack(entries)


def obtain(
    image: Image,
    endpoints: Path,
    progress: Callable[[str], None],
    shift: int = 0,
    foreign: Foreign | None = None,
) -> Snapshot:
    """Return the snapshot for an image and an endpoints binary; take it if there is none.

    A damaged one is taken again. progress: called with a line of text when there is something to
    wait for. shift: an instruction takes 2^shift ns. An existing snapshot is used without a lock,
    also from a read-only
    folder: in a container, or on a disk that many machines share. foreign: the programs that run
    in it; its snapshot is kept in their folder. Raises
    EngineUnavailable when QEMU is missing, the machine does not boot, or it cannot be saved;
    ProgramsFailed where foreign programs are the cause.
    """
    archive = boot_archive(image, endpoints, foreign=foreign)
    identity = _identity(image, archive, shift)
    home = foreign.home if foreign else cache_directory() / "snapshots"
    machine = _identity(image, boot_archive(image, endpoints, runner=False), shift)
    snapshot = Snapshot(home / identity[:16], identity, image, machine)
    if not snapshot.whole():
        try:
            home.mkdir(parents=True, exist_ok=True)
            lock = (home / "lock").open("w")
        except OSError as problem:
            raise EngineUnavailable(
                (
                    (
                        f"there is no intact snapshot, and none can be stored in {home}:"
                        f" {problem.strerror}"
                    ),
                ),
                "`fairc image load FILE --snapshot` where it can be written, or another"
                " XDG_CACHE_HOME",
            ) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not snapshot.whole():
                if snapshot.there:
                    progress(
                        f"the snapshot in {snapshot.folder} does not match its record: it is"
                        " taken again"
                    )
                progress("booting the virtual machine once, to take its snapshot")
                _forget_unused(home)
                with blamed_on(foreign):
                    _take(snapshot, archive, shift)
    with suppress(OSError):  # somebody else's, or read-only: whoever made it keeps it
        os.utime(snapshot.folder)  # in use
    return snapshot


def _forget_unused(home: Path) -> None:
    """Remove snapshots that nobody has used for a week; each occupies about 200 MB.

    Also remove those that a killed fairc did not finish: the caller holds the lock and is taking
    none.
    """
    for folder in home.iterdir():
        unused = folder.is_dir() and time.time() - folder.stat().st_mtime > UNUSED_S
        if unused or folder.name.startswith(TAKING):
            shutil.rmtree(folder, ignore_errors=True)


def _identity(image: Image, archive: bytes, shift: int) -> str:
    blank = Path("/dev/null")
    parts = {
        "image": image.digest,
        "initramfs": hashlib.sha256(archive).hexdigest(),
        "kernel": qemu.kernel_arguments(image.variant),
        "machine": qemu.arguments(
            image.variant, qemu.Devices(blank, True, blank, blank, blank), shift
        ),
        "qemu": qemu.version(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _take(snapshot: Snapshot, archive: bytes, shift: int) -> None:
    """Boot until two machines have reached the same state, byte for byte.

    Whether a clock jump while idle was exact depends on the host (see `qemu.RECORD`), and a
    snapshot that nobody else can reproduce would break the guarantee of equal results.
    """
    boots = _Boots(snapshot.image, archive, shift)
    with (
        tempfile.TemporaryDirectory(dir=snapshot.folder.parent, prefix=TAKING) as temporary,
        ThreadPoolExecutor(2) as pool,
    ):
        works = [Path(temporary, str(number)) for number in range(MAX_BOOTS)]
        seen: dict[str, Path] = {}
        try:
            for number in range(0, MAX_BOOTS, 2):
                for work, found in pool.map(boots.boot_and_save, works[number : number + 2]):
                    if found in seen:
                        with suppress(FileNotFoundError):  # others restore from it at this moment
                            snapshot.folder.rename(Path(temporary, "replaced"))
                        work.rename(snapshot.folder)
                        return
                    seen[found] = work
        except BaseException:
            boots.end()  # before the pool waits for its threads
            raise
    raise EngineUnavailable(
        (f"no two of {MAX_BOOTS} boots of the virtual machine came to the same state",),
        "close what else uses the processor, and try again",
    )


class _Boots:
    """Machines that boot in parallel, to be saved; all of them can be ended from another thread."""

    def __init__(self, image: Image, archive: bytes, shift: int) -> None:
        self._image, self._archive, self._shift = image, archive, shift
        self._running = supervisor.Group()

    def end(self) -> None:
        """End those that run, and prevent others from starting."""
        self._running.end()

    def boot_and_save(self, work: Path) -> tuple[Path, str]:
        """Boot a machine until it waits for its job; return the folder where it is saved, and its
        digest.
        """
        work.mkdir()
        initrd, console, job = work / "initrd", work / "console", work / "exchange"
        initrd.write_bytes(self._archive)
        memory = work / "memory"
        with memory.open("wb") as file:
            file.truncate(self._image.variant.memory_bytes)
        exchange.create(job, {"kind": "none"}, {}, exchange.SIZE)
        devices = qemu.Devices(memory, True, self._image.root, job, console)
        command = [
            qemu.PROGRAM,
            *qemu.SANDBOX,
            *qemu.arguments(self._image.variant, devices, self._shift),
            *("-kernel", str(self._image.vmlinuz), "-initrd", str(initrd)),
            *("-append", qemu.kernel_arguments(self._image.variant)),
            *("-qmp", "unix:monitor,server=on,wait=off"),
            *("-action", "panic=pause"),
        ]
        too_much: list[str] = []
        try:
            with (
                self._running.start(command, cwd=work, deadline_s=BOOT_LIMIT_S) as process,
                bounds.watched(process.pid, process.kill, console, BOOT_LIMITS, too_much),
            ):
                _save_when_ready(process, work)
        except (OSError, RuntimeError) as problem:
            why = too_much[0] if too_much else problem
            raise EngineUnavailable(
                (f"the virtual machine did not come up: {why}\n{_end(console)}",), "fairc doctor"
            ) from problem
        for name in ("initrd", "exchange", "monitor"):
            (work / name).unlink(missing_ok=True)
        clock = pause_clock(memory, self._shift)
        state = normalise_clock((work / "state").read_bytes(), clock)
        (work / "state").write_bytes(state)
        found = digest(work)
        (work / DIGEST).write_text(found)
        return work, found


def _save_when_ready(process: supervisor.Child, work: Path) -> None:
    """Wait until a booting machine is ready, and save it into `work`.

    Raises OSError, RuntimeError.
    """
    monitor = qemu.Monitor(work / "monitor", BOOT_LIMIT_S, lambda: process.poll() is None)
    monitor.wait_for_event("GUEST_PANICKED")
    monitor.command("stop")
    if "fairc: ready" not in bounds.last_printed(work / "console"):
        raise ConnectionError("the guest stopped before it was ready")
    monitor.command("migrate-set-capabilities", capabilities=IGNORE_SHARED)
    with (work / "state").open("wb") as state:
        monitor.give("state", state.fileno())
        monitor.command("migrate", uri="fd:state")
        _await_migration(monitor, "QEMU could not save the machine's state")
    monitor.command("quit")
    monitor.close()
    process.wait()


def _end(console: Path) -> str:
    """Return the last lines that a machine has printed."""
    if not console.exists():
        return ""
    with console.open("rb") as file:
        file.seek(max(0, console.stat().st_size - 2000))
        return file.read().decode(errors="replace")


def _await_migration(monitor: qemu.Monitor, failure: str) -> None:
    """Wait for a state's end on its way out or in. Raises RuntimeError, OSError."""
    limit = time.monotonic() + RESTORE_LIMIT_S
    while (status := monitor.command("query-migrate").get("status")) != "completed":
        if status == "failed" or time.monotonic() > limit:
            raise RuntimeError(failure)
        time.sleep(0.002)


def pause_clock(memory: Path, shift: int = 0) -> int:
    """Return the virtual clock, ns, at which the guest asked for its pause.

    The guest leaves it in its memory after a marker (`Pause` in guest/machine_qemu.py). Raises
    EngineUnavailable where there is none, or an impossible one.
    """
    with memory.open("rb") as file:
        # Whole pages, and what is looked for is inside of one. Read, not mapped, as all that a
        # guest writes.
        while content := file.read(MEMORY_STEP_BYTES):
            position = content.find(PAUSE_MARKER)
            while position >= 0:
                found = int.from_bytes(content[position + 32 : position + 40], "little")
                if position % mmap.PAGESIZE == PAUSE_MARKER_OFFSET and 0 < found < LATEST_PAUSE_NS:
                    return found + (INSTRUCTIONS_TO_PAUSE << shift)
                position = content.find(PAUSE_MARKER, position + 1)
    raise EngineUnavailable(("the guest left no clock in its memory",), "fairc doctor")


def normalise_clock(state: bytes, clock: int) -> bytes:
    """Return a saved state whose virtual clock, ns, is exactly the given one.

    Between the pause and the save QEMU's main loop may or may not let the clock jump to the next
    timer, so the saved clock is not a function of the guest's actions; this makes it one. In QEMU's
    migration stream the section `timer` holds two offsets against the host's clocks (meaningless
    here, so zero) and its subsection `timer/icount` a bias and the number of counted instructions
    (zero: a recording machine, see `qemu.RECORD`, refuses to begin with more than 2^31).
    """
    section, subsection = b"\x05timer", b"\x0ctimer/icount"
    start = state.find(section) + len(section) + 8  # the section's instance and version
    inner = state.find(subsection) + len(subsection) + 4  # the subsection's version
    if state.count(subsection) != 1 or inner - start != 24 + 1 + len(subsection) + 4:
        raise EngineUnavailable(
            (f"QEMU {qemu.version()} saves its clock in a form that fairc does not know",),
            f"install Debian 12's QEMU: {to_install(qemu.PACKAGE)}",
        )
    patched = bytearray(state)
    struct.pack_into(">qqq", patched, start, 0, 0, 0)
    struct.pack_into(">qq", patched, inner, clock, 0)
    return bytes(patched)


def resume(snapshot: Snapshot, socket: Path) -> None:
    """Load the snapshot into a machine that waits for it, and let it continue.

    socket: the monitor of a QEMU started with `-incoming defer -S`. Raises OSError, RuntimeError.
    """
    monitor = qemu.Monitor(socket, RESTORE_LIMIT_S)
    monitor.command("migrate-set-capabilities", capabilities=IGNORE_SHARED)
    with snapshot.state.open("rb") as state:
        monitor.give("state", state.fileno())
        monitor.command("migrate-incoming", uri="fd:state")
        _await_migration(monitor, "QEMU refused the saved state")
    monitor.command("cont")
    monitor.close()
