"""A cell's networks and containers: how they are created and watched, and their output."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from docker.types import EndpointConfig, IPAMConfig, IPAMPool, LogConfig, Mount

from fairc.compiler.plan import Cell
from fairc.compiler.targets import containers as target
from fairc.compiler.targets import images
from fairc.runtime.host.faults import EngineUnavailable

from .client import REFUSALS, Client, translated
from .image import Image
from .leftovers import AT_ONCE, label

LOG_LINES = 50
# The longest that two runs that want the same addresses wait before they look for others, s.
PATIENCES_S = (0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True, slots=True)
class Started:
    """A cell's containers (of the Docker SDK), by the name of their node; the conductor has its
    own.
    """

    containers: dict[str, Any]

    @property
    def conductor(self) -> Any:
        """The conductor's container, which ends last."""
        return self.containers[target.CONDUCTOR]


def free_range(client: Client, links: int) -> IPv4Address:
    """Return the first address of a range for `links` links that no network of the engine uses.

    Raises EngineUnavailable if there is none.
    """
    with translated():
        networks = client.networks.list()
    taken = [
        IPv4Network(pool["Subnet"], strict=False)
        for network in networks
        for pool in (network.attrs["IPAM"].get("Config") or ())
        if ":" not in pool.get("Subnet", ":")
    ]
    size = max(target.LINK_ADDRESSES, 1 << (links * target.LINK_ADDRESSES - 1).bit_length())
    for wanted in target.ADDRESSES.subnets(new_prefix=33 - size.bit_length()):
        if not any(wanted.overlaps(other) for other in taken):
            return wanted.network_address
    _, meaning, remedy = REFUSALS[0]
    raise EngineUnavailable(
        (f"{meaning}: {target.ADDRESSES} has no room for {links} links",), remedy
    )


def start(client: Client, cell: Cell, image: Image, folder: Path) -> Started:
    """Create the networks and containers of a cell, and start them; all carry this fairc's label.

    folder: empty; receives the program and then the artefacts.
    Raises EngineUnavailable; what has been created by then is left to `leftovers.remove`.
    """
    folder.chmod(0o777)  # root in a container is not the root that owns it
    for container in images.containers(cell.flows):
        images.make_folders(folder, container)
    making = _Making(client, image, folder, f"fairc-{secrets.token_hex(4)}")
    with ThreadPoolExecutor(AT_ONCE) as pool, translated():
        job, networks = _networked(making, cell, pool)
        (folder / target.PROGRAM).write_text(target.render(cell, job), encoding="utf-8")
        (folder / target.PROGRAM).chmod(0o644)  # whatever this process's umask is
        names = [c.name for c in job.containers]
        started = [pool.submit(making.container, c, networks) for c in (None, *job.containers)]
        containers = [container.result() for container in started]
    return Started(dict(zip((target.CONDUCTOR, *names), containers, strict=True)))


def _networked(
    making: _Making, cell: Cell, pool: ThreadPoolExecutor
) -> tuple[target.Job, dict[str, Any]]:
    """Create the networks of a cell in a free range, or another if a run takes it meanwhile;
    return them by name.

    Raises APIError.
    """
    for patience_s in (*PATIENCES_S, None):
        job = target.describe(cell, free_range(making.client, len(cell.cables)))
        made = [pool.submit(making.network, network) for network in job.networks]
        refused = [error for network in made if (error := network.exception()) is not None]
        if not refused:
            networks = [network.result() for network in made]
            return job, dict(zip((n.name for n in job.networks), networks, strict=True))
        taken = [error for error in refused if REFUSALS[0][0][0] in str(error).lower()]
        if patience_s is None or len(taken) < len(refused):
            raise refused[0]
        for future in made:
            if future.exception() is None:
                future.result().remove()
        time.sleep(random.uniform(0, patience_s))  # otherwise both would try the next one at once
    raise AssertionError


def has_ended(container: Any) -> bool:
    """Return whether a container of the Docker SDK no longer runs. Raises EngineUnavailable."""
    with translated():
        container.reload()
    return not container.attrs["State"]["Running"]


def last_lines(started: Started) -> str:
    """Return the last lines of every container, the conductor's last. Raises EngineUnavailable."""
    lines = []
    for name, container in reversed(started.containers.items()):
        with translated():
            text = container.logs(tail=LOG_LINES).decode(errors="replace")
            container.reload()
        if container.attrs["State"].get("OOMKilled"):
            lines.append(f"{name}: out of memory: {target.MEMORY_BYTES} bytes are allowed")
        lines += [f"{name}: {line}" for line in text.splitlines()]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Making:
    """Creates the parts of one cell. prefix: of their names."""

    client: Client
    image: Image
    folder: Path
    prefix: str

    def network(self, network: target.Network) -> Any:
        """Create the bridge of a link, and return it."""
        return self.client.networks.create(
            f"{self.prefix}-{network.name}",
            driver="bridge",
            ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=network.subnet)]),
            options=network.options,
            labels=label(),
        )

    def container(self, container: target.Container | None, networks: Mapping[str, Any]) -> Any:
        """Create and start a node's container, or (None) the conductor's, and return it."""
        attachments = container.attachments if container else ()
        name = container.name if container else target.CONDUCTOR
        created = self.client.containers.create(
            self.image.name,
            name=f"{self.prefix}-{name}",
            command=target.command(container.name if container else None),
            working_dir=target.RESULTS,
            environment={"PYTHONDONTWRITEBYTECODE": "1"},
            labels=label(),
            mounts=[Mount(target.RESULTS, str(self.folder.absolute()), type="bind")],
            cap_drop=["ALL"],
            cap_add=list(target.CAPABILITIES) if container else [],
            read_only=True,
            security_opt=["no-new-privileges:true"],
            mem_limit=target.MEMORY_BYTES,
            pids_limit=target.PIDS,
            sysctls=container.sysctls if container else {},
            log_config=LogConfig(type="json-file", config={"max-size": "1m"}),
            **(self._first(attachments[0]) if attachments else {"network_mode": "none"}),
        )
        for attachment in attachments[1:]:
            network = networks[attachment.network]
            network.connect(created, ipv4_address=attachment.address)
        created.start()
        return created

    def _first(self, attachment: target.Attachment) -> dict[str, Any]:
        """The arguments that attach a container to its first network, with its address there."""
        name = f"{self.prefix}-{attachment.network}"
        version = self.client.api.api_version
        address = EndpointConfig(version, ipv4_address=attachment.address)
        return {"network": name, "networking_config": {name: address}}
