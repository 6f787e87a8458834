"""A cell's networks and containers: how they are created and watched, and their output."""

from __future__ import annotations

import random
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from docker.types import EndpointConfig, IPAMConfig, IPAMPool, LogConfig, Mount, NetworkingConfig

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
    """The identifiers of a cell's containers, by the name of their node; the conductor has its
    own.
    """

    containers: dict[str, str]

    @property
    def conductor(self) -> str:
        """The identifier of the conductor's container, which ends last."""
        return self.containers[target.CONDUCTOR]


def free_range(client: Client, links: int) -> IPv4Address:
    """Return the first address of a range for `links` links that no network of the engine uses.

    Raises EngineUnavailable if there is none.
    """
    with translated():
        networks = client.api.networks()
    taken = [
        IPv4Network(pool["Subnet"], strict=False)
        for network in networks
        for pool in (network["IPAM"].get("Config") or ())
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
        job = _networked(making, cell, pool)
        (folder / target.PROGRAM).write_text(target.render(cell, job), encoding="utf-8")
        names = [c.name for c in job.containers]
        ids = list(pool.map(making.container, [None, *job.containers]))
    return Started(dict(zip((target.CONDUCTOR, *names), ids, strict=True)))


def _networked(making: _Making, cell: Cell, pool: ThreadPoolExecutor) -> target.Job:
    """Create the networks of a cell in a free range, or another if a run takes it meanwhile.

    Raises APIError.
    """
    for patience_s in (*PATIENCES_S, None):
        job = target.describe(cell, free_range(making.client, len(cell.cables)))
        made = [pool.submit(making.network, network) for network in job.networks]
        refused = [error for network in made if (error := network.exception()) is not None]
        if not refused:
            return job
        taken = [error for error in refused if REFUSALS[0][0][0] in str(error).lower()]
        if patience_s is None or len(taken) < len(refused):
            raise refused[0]
        for network, future in zip(job.networks, made, strict=True):
            if future.exception() is None:
                making.remove_network(network)
        time.sleep(random.uniform(0, patience_s))  # otherwise both would try the next one at once
    raise AssertionError


def has_ended(client: Client, container: str) -> bool:
    """Return whether a container no longer runs. Raises EngineUnavailable."""
    with translated():
        return not client.api.inspect_container(container)["State"]["Running"]


def last_lines(client: Client, started: Started) -> str:
    """Return the last lines of every container, the conductor's last. Raises EngineUnavailable."""
    lines = []
    for name, container in reversed(started.containers.items()):
        with translated():
            text = client.api.logs(container, tail=LOG_LINES).decode(errors="replace")
            if client.api.inspect_container(container)["State"].get("OOMKilled"):
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

    def network(self, network: target.Network) -> None:
        """Create the bridge of a link."""
        self.client.api.create_network(
            f"{self.prefix}-{network.name}",
            driver="bridge",
            ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=network.subnet)]),
            options=network.options,
            labels=label(),
        )

    def remove_network(self, network: target.Network) -> None:
        """Remove the bridge of a link."""
        self.client.api.remove_network(f"{self.prefix}-{network.name}")

    def container(self, container: target.Container | None) -> str:
        """Create and start a node's container, or (None) the conductor's; return its identifier."""
        api = self.client.api
        attachments = container.attachments if container else ()
        name = container.name if container else target.CONDUCTOR
        first: Any = self._endpoint(attachments[0]) if attachments else {}
        created: str = api.create_container(
            self.image.name,
            name=f"{self.prefix}-{name}",
            command=target.command(container.name if container else None),
            working_dir=target.RESULTS,
            environment={"PYTHONDONTWRITEBYTECODE": "1"},
            labels=label(),
            host_config=api.create_host_config(
                network_mode=next(iter(first), "none"),
                mounts=[Mount(target.RESULTS, str(self.folder.absolute()), type="bind")],
                cap_drop=["ALL"],
                cap_add=list(target.CAPABILITIES) if container else [],
                read_only=True,
                security_opt=["no-new-privileges:true"],
                mem_limit=target.MEMORY_BYTES,
                pids_limit=target.PIDS,
                sysctls=container.sysctls if container else {},
                log_config=LogConfig(type="json-file", config={"max-size": "1m"}),
            ),
            networking_config=NetworkingConfig(first) if first else None,
        )["Id"]
        for attachment in attachments[1:]:
            ((network, _),) = self._endpoint(attachment).items()
            api.connect_container_to_network(created, network, ipv4_address=attachment.address)
        api.start(created)
        return created

    def _endpoint(self, attachment: target.Attachment) -> dict[str, Any]:
        version = self.client.api.api_version
        config = EndpointConfig(version, ipv4_address=attachment.address)
        return {f"{self.prefix}-{attachment.network}": config}
