"""The emitted Mininet programs on this machine's kernel, in real time, as root."""

from __future__ import annotations

import hashlib
import json
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairc.cell.expansion import most_preparation_s
from fairc.compiler.binary import NAME, find_endpoints
from fairc.compiler.files import sha256_of
from fairc.compiler.plan import Cell
from fairc.compiler.targets import runner
from fairc.compiler.targets.mininet import render
from fairc.runtime.host import bounds, supervisor
from fairc.runtime.host.faults import EngineUnavailable, to_install
from fairc.runtime.vm import recipe

from . import host
from .base import RawResult, endpoints, refuse_images, result
from .script import MOST_ENDING_S, ending

# Namespaces, pings and captures before the epoch, draining queues and statistics after the end.
MARGIN_S = 40.0 + MOST_ENDING_S
POLL_S = 0.05
PROGRAM = "experiment.py"
PIP = "Selenium, of fairc's extra `browser` (`pip install -e '.[browser]'` in a clone)"
INSTEAD = "`--engine uml` needs neither root nor this kernel's modules"


class MininetEngine:
    """Runs the Mininet programs of cells on the host, one at a time: they share its CPU.

    Those of a compiled plan are the ones in its folder; others are written here in the same way.
    """

    name = "mininet"
    parallel = False

    def __init__(self, report: Callable[[str], None] = lambda _: None) -> None:
        self._closed = threading.Event()
        self.programs: Mapping[str, tuple[str, bytes]] = {}

    @property
    def identity(self) -> str:
        """Hash of the kernel, iproute2, Mininet, the endpoints, and `cell/`."""
        text = json.dumps(self.versions, sort_keys=True)
        return hashlib.sha256(f"{text} {sha256_of(find_endpoints())}".encode()).hexdigest()

    def identity_for(self, cell: Cell) -> str:
        """Return the identity: all cells run on this host."""
        refuse_images(cell)
        return self.identity

    def emitted(self, cell: Cell) -> str:
        """Return the hash of the cell's program; comments do not count."""
        text = runner.meaning(render(cell).encode())
        return runner.digest(text, cell)[:16]

    @property
    def versions(self) -> dict[str, str]:
        """The versions that the lock records."""
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
        """Run the cell's program. Raises EngineUnavailable when the kernel lacks what it needs."""
        _require(host.missing_of(cell))
        missing = tuple(
            f"this kernel lacks {what}" for what, there in host.needs(cell) if not there
        )
        if missing:
            raise EngineUnavailable(missing, f"use another engine: {INSTEAD}")
        started = time.monotonic()
        workdir = workdir.absolute()  # the script has it as its own working directory
        artefacts = workdir / "artefacts"
        artefacts.mkdir()
        name, content = self.programs.get(cell.id) or (PROGRAM, render(cell).encode())
        (workdir / name).write_bytes(content)
        runner.copy(workdir)
        (workdir / NAME).symlink_to(find_endpoints())
        if any(flow.browser for flow in cell.flows):
            browser = workdir / "fairc-browser"
            called = shlex.join([str(host.selenium()), str(recipe.GUEST / "browser.py")])
            browser.write_text(f'#!/bin/sh\nexec {called} "$@"\n')
            browser.chmod(0o755)
        console = workdir / "console"
        command = [
            *(_mininet()[0], str(workdir / name), str(artefacts)),
            *("--repetition", str(cell.repetition)),
        ]
        error = self._supervise(cell, command, workdir, console)
        text = bounds.last_printed(console)
        return result(error or ending(artefacts, text), artefacts, text, started)

    def _supervise(self, cell: Cell, command: Sequence[str], workdir: Path, console: Path) -> str:
        """Run a program to its end; return why it had to be stopped, or nothing."""
        deadline_s = cell.deadline_ns / 1e9 + MARGIN_S + most_preparation_s(cell)
        with console.open("wb") as output:
            child = supervisor.start(
                command,
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
            to_install(*packages)
            + (f" (or {PIP})" if host.SELENIUM_PACKAGE in packages else "")
            + f"; or {INSTEAD}",
        )


def _mininet() -> tuple[str, str]:
    found = host.mininet()
    assert found is not None, "prepare comes first"
    return found
