"""Containers on this machine's Docker engine, in real time: a host, router or hop each."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fairc.cell.expansion import expand, most_preparation_s
from fairc.compiler.binary import EndpointsMissing
from fairc.compiler.plan import Cell
from fairc.compiler.targets import containers as target
from fairc.compiler.targets import images, runner
from fairc.runtime.containers import foreign, image, job, leftovers
from fairc.runtime.containers.client import INSTEAD, Client, connect, translated
from fairc.runtime.containers.janitor import Janitor
from fairc.runtime.host.faults import EngineUnavailable

from . import host
from .base import RawResult, result
from .container_probe import probe
from .script import MOST_ENDING_S, ending

# From the first container to the epoch, draining queues and statistics after the end.
MARGIN_S = 70.0 + MOST_ENDING_S
POLL_S = 0.05
INSPECT_S = 2.0
HASH_OPTION = Path("/proc/sys/net/core/txrehash")


class DockerEngine:
    """Runs the program of the target `containers`, one cell at a time: they share the CPU."""

    name = "docker"
    parallel = False

    def __init__(self, report: Callable[[str], None] = lambda _: None) -> None:
        self._report = report
        self._closed = threading.Event()
        self._running = threading.Lock()
        self._client: Client = None
        self._image: image.Image | None = None
        self._janitor: Janitor | None = None
        self._found: dict[str, bool] = {}
        self._versions: dict[str, str] = {}
        self._identity = ""
        self.allow_images = False
        self._images: dict[str, foreign.ThirdPartyImage] = {}

    @property
    def identity(self) -> str:
        """Hash of the kernel, the Docker engine, the image with the endpoints, and `cell/`."""
        return self._identity

    def identity_for(self, cell: Cell) -> str:
        """Return the identity: all cells run in one image, unless flows have their own.

        Raises EngineUnavailable when such an image is not there, or not allowed.
        """
        names = images.names(cell)
        if not names:
            return self._identity
        if not self.allow_images:
            raise EngineUnavailable(
                (f"the image `{names[0]}` is code, and has not been allowed",),
                "`fairc run --engine docker --allow-image` runs it",
            )
        for name in set(names) - self._images.keys():  # what a name means stays for the whole run
            self._images[name] = foreign.require(self._client, name)
            self._versions[f"image {name}"] = self._images[name].id
        digests = [self._images[name].id for name in names]
        return hashlib.sha256(" ".join([self._identity, *digests]).encode()).hexdigest()

    def emitted(self, cell: Cell) -> str:
        """Return the hash of what the conductor's program makes of itself."""
        document = json.dumps(expand(cell), sort_keys=True, separators=(",", ":"))
        return runner.digest(document, cell)[:16]

    @property
    def versions(self) -> dict[str, str]:
        """The versions that the lock records."""
        assert self._versions, "prepare comes first"
        return self._versions

    def prepare(self) -> None:
        """Find the Docker engine and the image; remove what killed runs left.

        Raises EngineUnavailable.
        """
        if not HASH_OPTION.exists():
            raise EngineUnavailable(
                ("this kernel has no option net.core.txrehash",),
                f"boot Linux 5.18 or newer; or {INSTEAD}",
            )
        self._client = connect()
        with translated():
            about = self._client.version()
        kernel = os.uname()
        if about["KernelVersion"] != kernel.release:
            raise EngineUnavailable(
                (f"the Docker engine runs on another kernel, {about['KernelVersion']}",),
                f"use an engine without a virtual machine of its own; or {INSTEAD}",
            )
        for what in leftovers.sweep(self._client):
            self._report(f"removed {what} of a run that was killed")
        try:
            self._image = image.require(self._client)
        except EndpointsMissing as error:
            raise EngineUnavailable((str(error),), "make setup") from None
        self._versions = {
            "kernel": kernel.release,
            "build": kernel.version,
            "docker": about["Version"],
            "image": self._image.digest,
            "programs": runner.identity(),
        }
        known = json.dumps(self._versions, sort_keys=True)
        self._identity = hashlib.sha256(known.encode()).hexdigest()
        self._janitor = Janitor()

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Run the cell's containers.

        Raises EngineUnavailable when this machine lacks what it needs.
        """
        self.identity_for(cell)  # refuses images that are not there
        self._refuse(cell)
        started_s = time.monotonic()
        artefacts = workdir / "artefacts"
        workdir.chmod(0o700)  # all containers write there, whoever they run as: no other user may
        artefacts.mkdir()
        with self._running:
            error, console = self._run(cell, artefacts)
        return result(error, artefacts, console, started_s)

    def close(self) -> None:
        """Stop the cell that is running, and wait until nothing of it is left."""
        self._closed.set()
        with self._running:
            if self._janitor is not None:
                self._janitor.dismiss()
            if self._client is not None:
                self._client.close()

    def _run(self, cell: Cell, artefacts: Path) -> tuple[str, str]:
        """Run a cell, leave nothing but its artefacts; return why it failed, and what was
        printed.
        """
        assert self._image is not None, "prepare comes first"
        console, third_party = "", list[foreign.ThirdPartyContainer]()
        try:
            started = job.start(self._client, cell, self._image, artefacts)
            third_party = foreign.make(
                self._client, cell, started.containers, self._images, artefacts
            )
            error = self._await(started, cell, artefacts, third_party)
            if error or ending(artefacts, ""):
                console = job.last_lines(started)
        finally:
            foreign.finish(third_party)
            leftovers.remove(self._client, leftovers.label()[leftovers.LABEL].__eq__)
        excess = foreign.tidy(cell, artefacts)
        (artefacts / target.PROGRAM).unlink()
        artefacts.chmod(0o755)
        return error or excess or ending(artefacts, console), console

    def _await(
        self,
        started: job.Started,
        cell: Cell,
        artefacts: Path,
        third_party: Sequence[foreign.ThirdPartyContainer],
    ) -> str:
        """Wait for the end of the cell; return why it had to be stopped, or nothing."""
        deadline_s = cell.deadline_ns / 1e9 + MARGIN_S + most_preparation_s(cell)
        give_up = time.monotonic() + deadline_s
        inspect = time.monotonic() + INSPECT_S
        while not (artefacts / "cell.json").exists():
            if self._closed.wait(POLL_S):
                return "interrupted"
            if time.monotonic() > give_up:
                return f"it did not end within {deadline_s:.0f} s"
            for container in third_party:
                container.attend()
            if time.monotonic() > inspect:
                inspect = time.monotonic() + INSPECT_S
                if job.has_ended(started.conductor):
                    return ""  # without cell.json, unless that came this very moment
        return ""

    def _refuse(self, cell: Cell) -> None:
        """Raise EngineUnavailable for what this kernel or containers cannot do."""
        missing = [diagnostic.message for diagnostic in target.obstacles(cell)]
        qdiscs, ccas, devices = host.qdiscs(cell), host.ccas(cell), host.devices(cell)
        filters = host.filters_of(cell)
        asked = (*qdiscs, *ccas, *devices, *filters, host.ACCURATE_ECN)
        new = [name for name in asked if name not in self._found]
        if new and not missing:
            assert self._image is not None, "prepare comes first"
            there = probe(self._client, self._image, qdiscs, ccas, devices, filters)
            self._found |= {name: name in there for name in asked}
        has = self._found.__getitem__
        kernel = host.Kernel(lambda: True, has, has, has, lambda: has(host.ACCURATE_ECN), has)
        missing = missing or [
            f"this kernel lacks {what}" for what, there in host.needs(cell, kernel) if not there
        ]
        if missing:
            raise EngineUnavailable(tuple(missing), f"use another engine: {INSTEAD}")
