"""Third-party images: found on this machine, run as containers next to a cell's nodes, and
watched.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker.errors import ImageNotFound
from docker.types import LogConfig
from docker.types import Mount as BindMount

from fairc.compiler.plan import Cell
from fairc.compiler.targets import containers as target
from fairc.compiler.targets import images
from fairc.runtime.host.faults import EngineUnavailable

from .client import Client, translated
from .job import LOG_LINES
from .leftovers import AT_ONCE, label

STOP_S = 2
MOST_CHARACTERS = 300
"""Characters kept of a container's last output."""
MOST_LOG_BYTES, MOST_LOG_FILES = 4 << 30, 100_000
"""What a container may leave in its logs: a sparse file takes no room there, and its zeros would be
packed for hours.
"""


@dataclass(frozen=True, slots=True)
class ThirdPartyImage:
    """A third-party image. id: the digest of its configuration, which names its layers."""

    name: str
    id: str


def require(client: Client, name: str) -> ThirdPartyImage:
    """Return an image on this machine.

    Raises EngineUnavailable if it is not there: it is never pulled.
    """
    with translated():
        try:
            return ThirdPartyImage(name, client.images.get(name).id)
        except ImageNotFound:
            pass
    raise EngineUnavailable(
        (f"the image `{name}` is not on this machine, and images are never pulled",),
        f"docker pull {name}, or docker load, or docker build --tag {name}",
    )


@dataclass(slots=True)
class ThirdPartyContainer:
    """A third-party container that has been created. Files request its start and record its end.

    created: the container of the Docker SDK.
    """

    container: images.ImageContainer
    created: Any
    folder: Path
    thread: threading.Thread | None = field(default=None)

    def attend(self) -> None:
        """Start the container in the background if its time has come."""
        if self.thread is None and (self.folder / self.container.begin).exists():
            self.thread = threading.Thread(target=self._run, daemon=True)
            self.thread.start()

    def finish(self) -> None:
        """Stop the container, so that it writes its last logs, and wait until its end has been
        recorded.
        """
        if self.thread is not None:
            with suppress(EngineUnavailable), translated():
                self.created.stop(timeout=STOP_S)
            self.thread.join()

    def _run(self) -> None:
        """Run the container to its end, which is the cell's at the latest, and record how it
        ended.
        """
        try:
            with translated():
                self.created.start()
                status = self.created.wait(timeout=None)["StatusCode"]
                log = self.created.logs(tail=LOG_LINES).decode(errors="replace")
                self.created.reload()
            memory = self.created.attrs["State"].get("OOMKilled")
        except EngineUnavailable as error:
            status, log, memory = -1, str(error), False
        if memory:
            log = f"out of memory: {target.MEMORY_BYTES} bytes are allowed"
        last = " ".join(log.split())[-MOST_CHARACTERS:] or "it printed nothing"
        ended = self.folder / self.container.ended
        with suppress(OSError):  # the cell has been given up
            ended.with_suffix(".new").write_text(json.dumps({"status": status, "said": last}))
            ended.with_suffix(".new").rename(ended)
            (self.folder / f"{self.container.name}.log").write_text(log, encoding="utf-8")


def make(
    client: Client,
    cell: Cell,
    nodes: Mapping[str, Any],
    found: Mapping[str, ThirdPartyImage],
    folder: Path,
) -> list[ThirdPartyContainer]:
    """Create the containers of a cell's images; none is started.

    nodes: the nodes' containers. found: images by name.
    Raises EngineUnavailable.
    """
    return [
        ThirdPartyContainer(container, _make(client, container, nodes, found, folder), folder)
        for container in images.containers(cell.flows)
    ]


def _make(
    client: Client,
    container: images.ImageContainer,
    nodes: Mapping[str, Any],
    found: Mapping[str, ThirdPartyImage],
    folder: Path,
) -> Any:
    mounts = [
        BindMount(
            mount.inside,
            str((folder / mount.path).absolute()),
            type="bind",
            read_only=mount.read_only,
        )
        for mount in container.mounts
    ]
    with translated():
        return client.containers.create(
            found[container.image].id,
            name=f"fairc-{secrets.token_hex(4)}-{container.name}",
            environment=container.environment,
            labels=label(),
            network_mode=f"container:{nodes[container.node].id}",
            mounts=mounts,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            mem_limit=target.MEMORY_BYTES,
            memswap_limit=target.MEMORY_BYTES,
            pids_limit=target.PIDS,
            log_config=LogConfig(type="json-file", config={"max-size": "1m"}),
        )


def finish(running: Sequence[ThirdPartyContainer]) -> None:
    """Stop the containers that still run, all at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(ThirdPartyContainer.finish, running))


def tidy(cell: Cell, folder: Path) -> str:
    """Remove what was created for third-party containers; keep their logs.

    Logs that are too much are moved out of the artefacts, beside `folder`: return whose, or
    nothing.
    """
    excess = ""
    for container in images.containers(cell.flows):
        for name in (container.begin, container.ended):
            (folder / name).unlink(missing_ok=True)
        base = folder / container.name
        for mount in container.mounts:
            if mount.inside != "/logs":
                path = folder / mount.path
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        with suppress(OSError):
            base.chmod(0o755)
        if _is_excessive(base):
            base.rename(folder.parent / container.name)
            excess = excess or (
                f"{container.name} left more than {MOST_LOG_BYTES >> 30} GiB or"
                f" {MOST_LOG_FILES:,} files in /logs"
            )
    return excess


def _is_excessive(folder: Path) -> bool:
    """Return whether the files in a folder are too many or too large, holes included."""
    count = size = 0
    for place, _, names in os.walk(folder):
        count += len(names)
        for name in names:
            with suppress(OSError):
                size += Path(place, name).lstat().st_size
        if count > MOST_LOG_FILES or size > MOST_LOG_BYTES:
            return True
    return False
