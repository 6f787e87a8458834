"""The same scripts on this machine's kernel, in real time, as root."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fairc.cell.expansion import expand
from fairc.compiler.plan import Cell
from fairc.compiler.targets import runner
from fairc.compiler.targets.binary import NAME, find_endpoints
from fairc.compiler.targets.mininet import render
from fairc.runtime.host import supervisor
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm import recipe

from . import host
from .base import RawResult, digest_of, endpoints, refuse_images, result
from .script import ending

# Namespaces, pings and captures before the epoch, draining queues and statistics after the end.
MARGIN_S = 60.0
POLL_S = 0.05
PROGRAM = "experiment.py"
INSTEAD = "`--engine vm` needs neither root nor this kernel's modules"


class MininetEngine:
    """Runs the emitted Mininet script of a cell on the host, one at a time: they share its CPU."""

    name = "mininet"
    parallel = False

    def __init__(self, report: Callable[[str], None] = lambda _: None) -> None:
        self._closed = threading.Event()

    @property
    def identity(self) -> str:
        """Hash of the kernel, iproute2, Mininet, the endpoints, and `cell/`."""
        text = json.dumps(self.versions, sort_keys=True)
        with find_endpoints().open("rb") as program:
            digest = hashlib.file_digest(program, "sha256").hexdigest()
        return hashlib.sha256(f"{text} {digest}".encode()).hexdigest()

    def identity_for(self, cell: Cell) -> str:
        """Return the identity: all cells run on this host."""
        refuse_images(cell)
        return self.identity

    def emitted(self, cell: Cell) -> str:
        """Return the hash of what the cell's program makes of itself."""
        return digest_of(expand(cell))

    @property
    def versions(self) -> dict[str, str]:
        """What the lock records."""
        return {
            "kernel": Path("/proc/sys/kernel/osrelease").read_text().strip(),
            "build": Path("/proc/sys/kernel/version").read_text().strip(),
            "tc": host.program_version("tc", "-V") or "unknown",
            "mininet": _mininet()[1],
            "programs": runner.identity(),
        }

    def prepare(self) -> None:
        """See that programs and rights are there. Raises EngineUnavailable."""
        if not host.is_root():
            raise EngineUnavailable(
                ("the engine `mininet` makes network namespaces, and needs root for that",),
                f"run it with sudo, or use another engine: {INSTEAD}",
            )
        packages = host.missing_programs()
        if host.mininet() is None:
            packages.append(host.MININET_PACKAGE)
        _require(packages)
        endpoints()

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Run the cell's script. Raises EngineUnavailable when the kernel lacks what it needs."""
        _require(host.missing_tests(cell))
        missing = tuple(
            f"this kernel lacks {what}" for what, there in host.needs(cell) if not there
        )
        if missing:
            raise EngineUnavailable(missing, f"use another engine: {INSTEAD}")
        started = time.monotonic()
        workdir = workdir.absolute()  # the script has it as its own working directory
        artefacts = workdir / "artefacts"
        artefacts.mkdir()
        (workdir / PROGRAM).write_text(render(cell), encoding="utf-8")
        runner.copy(workdir)
        (workdir / NAME).symlink_to(find_endpoints())
        (workdir / "fairc-browser").symlink_to(recipe.GUEST / "browser.py")
        console = workdir / "console"
        error = self._supervise(cell, workdir, artefacts, console)
        text = console.read_text(errors="replace")
        return result(error or ending(artefacts, text), artefacts, text, started)

    def _supervise(self, cell: Cell, workdir: Path, artefacts: Path, console: Path) -> str:
        """Run the script to its end; return why it had to be stopped, or nothing."""
        deadline_s = cell.deadline_ns / 1e9 + MARGIN_S
        with console.open("wb") as output:
            child = supervisor.start(
                [_mininet()[0], str(workdir / PROGRAM), str(artefacts)],
                cwd=workdir,
                stdout=output,
                stderr=output,
                deadline_s=deadline_s,
            )
        try:
            while child.poll() is None:
                if self._closed.wait(POLL_S):
                    return "interrupted"
        finally:
            child.kill()
            child.wait()
        return f"it did not end within {deadline_s:.0f} s" if child.timed_out else ""

    def close(self) -> None:
        """Stop the cell that is running."""
        self._closed.set()


def _require(packages: Sequence[str]) -> None:
    """Raise EngineUnavailable where packages are missing."""
    if packages:
        raise EngineUnavailable(
            tuple(f"{name} is not installed" for name in packages),
            f"apt-get install --no-install-recommends {' '.join(packages)}; or {INSTEAD}",
        )


def _mininet() -> tuple[str, str]:
    found = host.mininet()
    assert found is not None, "prepare comes first"
    return found
