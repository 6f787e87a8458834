"""The part of a plan that is `program`, and what its ends run; the same for images that follow the
contract of quic-interop-runner.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fairc.cell.document import Program
from fairc.cell.image import ENTRY_POINT, SERVER_NAME, WAITED_FOR, variables
from fairc.cell.model import Cell, Flow
from fairc.cell.numbers import Range, SpanNs
from fairc.cell.part import UNLESS_ABSENT
from fairc.cell.seeds import stream_seed
from fairc.cell.text import CommandWord
from fairc.cell.workloads import (
    IMAGE_USER,
    WORKLOAD_KINDS,
    OwnCode,
    ProgramFile,
    ProgramImage,
    Workload,
    image_disks,
)

FILES = "/program"
"""Where a program finds the experiment's files."""
AGENT = "cell.workloads_program_agent"
"""What runs beside a program: `agent.py`."""
FIRST_USER = 10_001

PLACEHOLDERS = ("client", "duration", "port", "seed", "server")
"""What stands in braces in a command of a program (docs/learn/programs.md)."""

BRACES = re.compile(r"\{\{|\}\}|\{(\w+)\}")
"""A brace that is written twice, or a placeholder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs(Workload):
    """Two programs of the user's own (docs/learn/programs.md).

    server, client: their commands; a word that begins with `./` is one of `files`, and what is in
    braces is replaced when they start. ready: what the server prints once it is ready; empty: it
    listens on its port. compute_ns: the longest time of the host's processor that one of them may
    compute at one instant of the virtual clock. server_image, client_image: where they find their
    file system; None: in the guest's.
    """

    only_in_packets = True
    lead_ns = 10_000_000_000
    server: Annotated[tuple[CommandWord, ...], Range(1, 100)]
    client: Annotated[tuple[CommandWord, ...], Range(1, 100)]
    files: Annotated[tuple[ProgramFile, ...], Range(0, 100)] = ()
    ready: CommandWord = ""
    compute_ns: SpanNs
    server_image: ProgramImage | None = field(default=None, metadata=UNLESS_ABSENT)
    client_image: ProgramImage | None = field(default=None, metadata=UNLESS_ABSENT)

    def __post_init__(self) -> None:
        """Raise ValueError for a name in braces that stands for nothing."""
        for word in (*self.server, *self.client):
            for found in BRACES.finditer(word):
                if found[1] and found[1] not in PLACEHOLDERS:
                    raise ValueError(f"`{found[0]}` is no placeholder")

    @property
    def own_code(self) -> OwnCode:
        """Its programs."""
        return OwnCode(
            name=self.server[0], files=self.files, images=self.images, compute_ns=self.compute_ns
        )

    @property
    def images(self) -> tuple[ProgramImage, ...]:
        """The images of its programs."""
        return tuple(each for each in (self.server_image, self.client_image) if each is not None)

    def program(self, flow: Flow, cell: Cell, side: str) -> Program:
        """Return its server or its client as the conductor starts it."""
        number = 2 * [each.name for each in cell.flows].index(flow.name) + (side == "client")
        ends = [ns for ns in (flow.stop_ns, cell.duration_ns) if ns is not None]
        lasts_ns = max(0, min(ends) - flow.start_ns) if ends else 0
        values = {
            "server": flow.address,
            "client": flow.client_address,
            "port": str(flow.port),
            "seed": str(stream_seed(cell.seed, "program", flow.name)),
            "duration": f"{lasts_ns / 1e9:.9f}".rstrip("0").rstrip("."),
        }
        hosts = {"server": flow.address, "client": flow.client_address, **self.names(flow)}
        for node in cell.nodes:
            if node.kind == "host" and node.interfaces:
                hosts.setdefault(node.name, node.interfaces[0].ip)
        description: dict[str, Any] = {
            "flow": flow.name,
            "side": side,
            "command": _command(self.server if side == "server" else self.client, values),
            "environment": {f"FAIRC_{name.upper()}": value for name, value in values.items()},
            "files": [[file.path, file.sha256] for file in self.files],
            "hosts": sorted(hosts.items()),
            "user": FIRST_USER + number,
            "transport": "tcp" if flow.transport == "tcp" else "udp",
            "port": flow.port,
            "ready": self.ready,
            "start_ns": flow.start_ns,
            "stop_ns": flow.stop_ns,
            **self.contract(),
        }
        image = self.server_image if side == "server" else self.client_image
        if image is not None:
            description["user"] = IMAGE_USER
            description["disk"] = image_disks(cell)[image.sha256]
            own = dict(image.environment) | self.variables(flow, side)
            description["environment"] = own | description["environment"]
        return {
            "name": f"{flow.name}.{side}",
            "node": flow.server if side == "server" else flow.client,
            "role": AGENT,
            "description": description,
        }

    def variables(self, flow: Flow, side: str) -> dict[str, str]:
        """Return what else is in the environment of a program of an image."""
        return {}

    def names(self, flow: Flow) -> dict[str, str]:
        """Return the addresses of further names."""
        return {}

    def contract(self) -> dict[str, Any]:
        """Return what else its agent has to know."""
        return {}

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Report what programs cannot have in a flow."""
        if flow.client_address == "":
            return f"the programs of `{flow.name}` have no address to send to"
        if flow.connections != 1:
            return f"the programs of `{flow.name}` open their connections themselves"
        return ""


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramWorkload(Programs):
    """Two programs, with commands that the experiment gives."""

    transports = ("tcp", "udp")
    adapts = True
    kind: Literal["program"] = "program"


CCAS_OFFERED, CCA = "FAIRC_CCAS", "FAIRC_CCA"
"""An image's variable with the CCAs that it offers, and the one with which it is told which."""
MOST_MOVED_BYTES = 256 << 20
"""Of a file: it is in the memory of the cell's machine twice."""


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class InteropWorkload(Programs):
    """A file that an image moves by the contract of quic-interop-runner.

    folder: in which its entry point begins.
    """

    transports = ("quic",)
    by_images = True
    greedy = True
    records = "transfers"
    kind: Literal["interop"] = "interop"
    bytes: Annotated[int, Range(1, MOST_MOVED_BYTES)]
    folder: CommandWord

    @property
    def word(self) -> str:
        """Its name in the language: whoever moves it, it is a file."""
        return "file"

    @property
    def own_code(self) -> OwnCode:
        """Its programs."""
        return OwnCode(
            name=ENTRY_POINT,
            files=(),
            images=self.images,
            compute_ns=self.compute_ns,
            memory_bytes=2 * self.bytes,
        )

    def total_bytes(self, connections: int) -> int:
        """Return the file's bytes."""
        return self.bytes

    def variables(self, flow: Flow, side: str) -> dict[str, str]:
        """Return what the contract has in the environment, and the CCA."""
        own = {} if flow.cca is None else {CCA: flow.cca}
        return variables(side, flow.port, "/logs/") | own

    def names(self, flow: Flow) -> dict[str, str]:
        """Return the addresses that an image asks for."""
        return {SERVER_NAME: flow.address, "sim": WAITED_FOR[0]}

    def contract(self) -> dict[str, Any]:
        """Return the file's bytes, and the folder."""
        return {"contract": {"bytes": self.bytes, "folder": self.folder}}


def _command(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Return the words of a command, with the values of what is in braces."""

    def value(found: re.Match[str]) -> str:
        return values[found[1]] if found[1] else found[0][0]

    return [
        BRACES.sub(value, f"{FILES}/{word[2:]}" if word.startswith("./") else word)
        for word in words
    ]
