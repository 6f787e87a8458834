"""Target `containers`: a Compose file per cell, and the program that its conductor runs.

Templates: `compose.yaml.j2`, `containers.py.j2`, `Dockerfile`. What all containers run is in their
image: `cell/`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from fairc.cell.expansion import expand
from fairc.cell.frames import MTU
from fairc.cell.hosts import LINUX_BUFFER_MAX, modules, window_bytes
from fairc.compiler.binary import NAME, find_endpoints
from fairc.compiler.plan import Cell, interfaces_of
from fairc.dsl.core.diagnostics import CompileError, Diagnostic

from . import images, runner
from .code import CellWriter, code
from .index import Emitted
from .rendering import header, template

# Addresses reserved for network tests (RFC 2544, RFC 6890) are not used otherwise on a machine.
ADDRESSES = IPv4Network("198.18.0.0/15")
LINK_PREFIX = 29
LINK_ADDRESSES = 8  # the network, its gateway (which no bridge has here), two ends, rest unused

REPOSITORY = "localhost/fairc-cell"  # in a registry that does not exist: never pulled
RESULTS = "/results"
PROGRAM = "experiment.py"
CELL = ["python3", "-P", "-m", "cell"]
CONDUCTOR = "cell.conductor"  # no node has a dot in its name
DOCKERFILE = Path(__file__).with_name("templates") / "Dockerfile"

# The bridge has no address, so it takes no route of the host, and what is sent to it goes nowhere.
BRIDGE_OPTIONS = {
    "com.docker.network.bridge.inhibit_ipv4": "true",
    "com.docker.network.bridge.enable_ip_masquerade": "false",
    "com.docker.network.bridge.enable_icc": "true",
}
BRIDGE_MTU = "com.docker.network.driver.mtu"
# ip and tc, and sockets that see packets: captures and pings.
CAPABILITIES = ("NET_ADMIN", "NET_RAW")
MEMORY_BYTES = 1 << 30
PIDS = 1024

FOLDER = "{name}_repetition={repetition}"
"""Of a cell, below `cells`; no name of a configuration ends so and is `image`."""
EMITTED = Emitted(f"cells/{FOLDER}/compose.yaml", "docker compose --file {file} up")
README = "README.md"


@dataclass(frozen=True, slots=True)
class Network:
    """A link: a separate bridge. ends: what is connected, as text. source: `file:line`."""

    name: str
    subnet: str
    ends: str
    source: str
    options: dict[str, str]


@dataclass(frozen=True, slots=True)
class Attachment:
    """An interface of a container: its address on a network, then its name and MAC address."""

    network: str
    address: str
    name: str
    mac: str


@dataclass(frozen=True, slots=True)
class Container:
    """A node of the plan; kind: host, router or hop."""

    name: str
    kind: str
    attachments: tuple[Attachment, ...]
    sysctls: dict[str, str]


@dataclass(frozen=True, slots=True)
class Job:
    """A cell as networks and containers; the conductor, without a network, is a container too."""

    networks: tuple[Network, ...]
    containers: tuple[Container, ...]


@contextmanager
def begin(directory: Path) -> Iterator[Callable[[Cell, str], None]]:
    """Write the sources of images; give the function that writes the folder of a cell.

    Raises EndpointsMissing.
    """
    cells = directory / "cells"
    context = cells / "image"
    context.mkdir(parents=True, exist_ok=True)
    shutil.copy(find_endpoints(), context / NAME)
    runner.copy(context)
    shutil.copyfile(DOCKERFILE, context / "Dockerfile")
    shutil.copyfile(DOCKERFILE.with_name("containers.md"), cells / README)
    image = image_name(context / NAME)

    def write(cell: Cell, name: str) -> None:
        found = list(obstacles(cell))
        if found:
            raise CompileError(found)
        job = describe(cell)
        folder = FOLDER.format(name=name, repetition=cell.repetition)
        results = cells / folder / "results"
        results.mkdir(parents=True)
        results.chmod(0o777)  # root in a container is not the root that owns it
        for container in images.containers(cell.flows):
            images.make_folders(results, container)
        (results / PROGRAM).write_bytes(render(cell, job).encode())
        compose = render_compose(cell, job, image)
        (results.parent / "compose.yaml").write_bytes(compose.encode())

    yield write


def obstacles(cell: Cell) -> Iterator[Diagnostic]:
    """Yield what a cell requires that containers cannot have, because they share the host's
    kernel.
    """
    for module, name, _ in modules(cell.flows, cell.devices):
        yield Diagnostic(
            code="not-in-containers",
            message=f"`{name}` of {module.removeprefix('tcp_')} is set for a whole kernel,"
            " and containers may not change the host's",
            help="run it with `--engine uml`, or compile it with `--target mininet`",
        )
    if any(flow.browser for flow in cell.flows):
        yield Diagnostic(
            code="not-in-containers",
            message="containers have no browser to load pages",
            help="run it with `--engine uml`",
        )
    if size := window_bytes(cell.flows):
        yield Diagnostic(
            code="not-in-containers",
            message=f"a window of {size} bytes is more than a kernel allows a program by default,"
            " and containers may not change the host's",
            help=f"use {LINUX_BUFFER_MAX}B or less, or run it in virtual time: without `--engine`",
        )
    for cca in cell.objects:
        yield Diagnostic(
            code="not-in-containers",
            message=f"containers cannot load the BPF program of the CCA `{cca}`",
            help="run it with `--engine vm`",
        )


def image_name(endpoints: Path) -> str:
    """Return the name of the image that holds these endpoints, and `cell/` as it is."""
    with endpoints.open("rb") as program:
        digest = hashlib.file_digest(program, "sha256")
    for name, content in runner.files().items():
        digest.update(f"{name}\n".encode() + content)
    return f"{REPOSITORY}:{digest.hexdigest()[:12]}"


def describe(cell: Cell, first: IPv4Address = ADDRESSES.network_address) -> Job:
    """Lay a cell out as containers.

    first: first of the temporary addresses by which containers identify their interfaces; they
    are removed before anything is measured.
    """
    sources = {place: each.source for place, each in interfaces_of(cell).items()}
    options = bridge_options(cell)
    net = expand(cell)["network"]
    networks = []
    attachments: dict[str, list[Attachment]] = {node.name: [] for node in cell.nodes}
    for number, (cable, ends) in enumerate(zip(cell.cables, net["cables"], strict=True), 1):
        base = first + LINK_ADDRESSES * (number - 1)
        link = Network(
            f"link{number}",
            f"{base}/{LINK_PREFIX}",
            f"{' '.join(cable.a)} -- {' '.join(cable.b)}",
            sources[cable.a],
            options,
        )
        networks.append(link)
        for end, address in zip(ends, (base + 2, base + 3), strict=True):
            attached = Attachment(link.name, str(address), end["interface"], end["mac"])
            attachments[end["node"]].append(attached)
    return Job(
        tuple(networks),
        tuple(
            Container(node.name, node.kind, tuple(attachments[node.name]), given["sysctls"])
            for node, given in zip(cell.nodes, net["nodes"], strict=True)
        ),
    )


def bridge_options(cell: Cell) -> dict[str, str]:
    """Return the options of a cell's bridges: each has the largest MTU of the cell's links.

    The MTU of a single link is set at its two ends, inside the containers.
    """
    mtus = (interface.mtu for interface in interfaces_of(cell).values())
    return BRIDGE_OPTIONS | {BRIDGE_MTU: str(max(MTU, *mtus))}


def command(node: str | None) -> list[str]:
    """Return what a container runs in its working folder; node: None for the conductor."""
    return ["python3", PROGRAM] if node is None else [*CELL, "node", node]


def render(cell: Cell, job: Job) -> str:
    """Write the program of a cell's conductor: equal text for equal arguments."""
    written = CellWriter("containers")(cell)
    addresses = {c.name: [a.address for a in c.attachments] for c in job.containers}
    return template("containers.py.j2").render(
        header=list(header(cell)),
        addresses=code(addresses).text(),
        imports=written.imports,
        arguments=written.arguments,
    )


def render_compose(cell: Cell, job: Job, image: str) -> str:
    """Write the Compose file of a cell."""
    return template("compose.yaml.j2").render(
        header=list(header(cell)),
        image=image,
        results=RESULTS,
        cell=json.dumps(CELL)[1:-1],
        conductor=CONDUCTOR,
        conduct=json.dumps(command(None)),
        capabilities=json.dumps(CAPABILITIES),
        memory=str(MEMORY_BYTES),
        pids=PIDS,
        options=bridge_options(cell).items(),
        networks=job.networks,
        containers=[(c, json.dumps(command(c.name))) for c in job.containers],
        images=images.containers(cell.flows),
    )
