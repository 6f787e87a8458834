"""The virtual machine with Docker in it: for cells in containers on a kernel that has netem."""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path

from fairc.compiler import Compilation, emit
from fairc.compiler.binary import find_endpoints
from fairc.compiler.targets import runner
from fairc.runtime.engines.container_probe import TRY
from fairc.runtime.engines.host import QDISCS, trial
from fairc.runtime.host import supervisor
from fairc.runtime.vm import exchange, image, qemu, recipe, snapshot

VARIANT = recipe.Variant(
    name="docker",
    packages=(*recipe.PACKAGES, "docker.io", "docker-cli", "docker-compose"),
    security=False,
    hooks=("customize.sh",),
    blocks=250_000,
    inodes=40_000,
    memory_bytes=2 << 30,
    translation_cache_mb=512,
    # Containers turn IPv6 off themselves: Docker cannot set an option that the kernel does not
    # have.
    kernel_arguments="ipv6.disable=0",
)
GUEST = Path(__file__).with_name("docker_guest.py")
VIRTUAL_LIMIT_S = 300.0
WALL_LIMIT_S = 900.0
PAUSES = 2  # the agent asks for one when it is ready, and for one when it has ended


def run(compilation: Compilation, folder: Path) -> str:
    """Run the only cell of a compilation by its Compose file; return why that failed, or nothing.

    folder: receives the artefacts, `dockerd.log`, `console.txt` (what the programs printed) and
    `probe.json` (the queueing disciplines that containers have there). Builds the machine's image
    when it is not in the cache. Raises EngineUnavailable.
    """
    machine = image.build(VARIANT)
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("vm")) as temporary:
        scratch = Path(temporary)
        emit(compilation, scratch / "plan", ["containers"])
        (compose,) = (scratch / "plan/cells").glob("*/compose.yaml")
        device = scratch / "exchange"
        exchange.create(
            device,
            {"kind": "job", "script": GUEST.name, "seed": "00", "deadline_s": VIRTUAL_LIMIT_S},
            {
                GUEST.name: GUEST.read_bytes(),
                "compose.yaml": compose.read_bytes(),
                "experiment.py": (compose.parent / "results/experiment.py").read_bytes(),
                "probe.py": TRY.encode(),
                "probe.json": json.dumps(
                    [{kind: trial(kind) for kind in QDISCS}, [], [], [], []]
                ).encode(),
                **{Path(name).name: text for name, text in runner.mechanisms().items()},
            },
            exchange.SIZE,
        )
        console = _boot(machine, device, scratch)
        header = exchange.read_header(device)
        if header["kind"] != "result":
            return f"the machine ended without results: {console}"
        exchange.extract(device, folder)
        return f"{header['error']}: {console}" if header["error"] else ""


def _boot(machine: image.Image, device: Path, scratch: Path) -> str:
    """Boot the machine, which finds its job and begins; return what its console says in the end.

    There is no snapshot: it would be taken for one cell.
    """
    initrd, memory, console = scratch / "initrd", scratch / "memory", scratch / "console"
    initrd.write_bytes(snapshot.boot_archive(machine, find_endpoints()))
    with memory.open("wb") as file:
        file.truncate(VARIANT.memory_bytes)
    devices = qemu.Devices(memory, False, machine.root, device, console)
    command = [
        qemu.PROGRAM,
        *qemu.arguments(VARIANT, devices),
        *("-kernel", str(machine.vmlinuz), "-initrd", str(initrd)),
        *("-append", qemu.kernel_arguments(VARIANT)),
        *("-qmp", "unix:monitor,server=on,wait=off"),
        *("-action", "panic=none"),  # it goes on when it asks for a pause
    ]
    process = supervisor.start(command, cwd=scratch, deadline_s=WALL_LIMIT_S)
    ended = ""
    try:
        with closing(qemu.Monitor(scratch / "monitor", WALL_LIMIT_S)) as monitor:
            for _ in range(PAUSES):
                monitor.wait_for_event("GUEST_PANICKED")
    except OSError as problem:
        ended = f"{problem}\n"
    finally:
        process.kill()
        process.wait()
    return ended + (console.read_text(errors="replace") if console.exists() else "")
