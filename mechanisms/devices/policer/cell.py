"""The parts of a plan that are policers: of congestion (`policer`), of bytes (`token_bucket`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fairc.cell.devices import DEVICE_KINDS, FrontDevice, Site
from fairc.cell.document import Forwarder
from fairc.cell.frames import ETHERNET_BYTES
from fairc.cell.model import Cell, Flow, Node
from fairc.cell.numbers import Buffer, PacketRate, Range, Rate, Seed, Small, Tokens
from fairc.cell.part import Part
from fairc.cell.seeds import stream_seed
from fairc.cell.text import FlowName, NodeName


@dataclass(frozen=True, slots=True)
class Policed(Part):
    """A flow that is policed: all packets of its TCP connections from its server's port.

    bucket: number of its bucket.
    """

    flow: FlowName
    bucket: Small


@DEVICE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Policer(FrontDevice):
    """A congestion policer with a token bucket for each user (definition: docs/learn/links.md).

    name: of its artefact, `NAME.policer.ndjson`. rate: fill rate, packets/s; depth: packets.
    buckets: the host of each bucket. seed: of its random numbers.
    """

    record_bytes = 40
    computes = True
    kind: Literal["policer"] = "policer"
    rate: PacketRate
    depth: Tokens
    harshness: Literal["soft", "mild", "strict"]
    feedback: Literal["none", "classic", "accurate"]
    charge: Literal["forwarded", "arrived"]
    buckets: Annotated[tuple[NodeName, ...], Range(0, 10_000)]
    policed: Annotated[tuple[Policed, ...], Range(0, 10_000)]
    seed: Seed = 0

    @property
    def programs(self) -> tuple[str, ...]:
        """The name of its program."""
        return (f"{self.name}.policer",)

    def forwarders(self, cell: Cell, site: Site) -> Iterator[Forwarder]:
        """Yield its program."""
        flows = {flow.name: flow for flow in cell.flows}
        macs = site.macs((self.node, self.egress))
        description = {
            "policer": self.name,
            "ingress": self.ingress,
            "egress": self.egress,
            "next_mac": macs[0],
            "own_mac": macs[1],
            "mtu": site.interfaces[self.node, self.ingress].mtu,
            "buckets": max(1, len(self.buckets)),
            "policed": [
                {
                    "address": flows[each.flow].address,
                    "port": flows[each.flow].port,
                    "bucket": each.bucket,
                }
                for each in self.policed
            ],
            "rate": self.rate,
            "depth": self.depth,
            "harshness": self.harshness,
            "charge": self.charge,
            "feedback": self.feedback,
            "seed": self.seed,
            "times": f"{self.name}.policer.times",
            "read_every_ns": site.read.every_ns,
        }
        yield Forwarder(
            name=f"{self.name}.policer",
            node=self.node,
            role="policer",
            description=description,
            ingress=self.ingress,
        )

    def reads(self, flow: str) -> bool:
        """Whether it polices a flow."""
        return any(each.flow == flow for each in self.policed)

    def seeded(self, seed: int) -> Policer:
        """Return it with its random numbers of a cell with this seed."""
        return replace(self, seed=stream_seed(seed, "policer", self.name))

    def of_flows(self, flows: Sequence[Flow]) -> Policer:
        """Return it where some flows are alone; it keeps the buckets of all."""
        names = {flow.name for flow in flows}
        return replace(self, policed=tuple(each for each in self.policed if each.flow in names))

    def contradiction(self, cell: Cell, nodes: Mapping[str, Node]) -> str:
        """Report what is wrong with it: it forwards one way between two cables, for TCP."""
        if why := FrontDevice.contradiction(self, cell, nodes):
            return why
        if not set(self.buckets) <= nodes.keys():
            return f"a bucket of the policer `{self.name}` belongs to no node"
        flows = {flow.name: flow for flow in cell.flows}
        senders = set()
        for each in self.policed:
            flow = flows.get(each.flow)
            if flow is None or flow.transport not in ("tcp", "web"):
                return f"the policer `{self.name}` reads no flow over TCP called `{each.flow}`"
            if each.bucket >= len(self.buckets):
                return f"the policer `{self.name}` has no bucket for `{each.flow}`"
            senders.add((flow.address, flow.port))
        if len(senders) != len(self.policed):
            return f"the policer `{self.name}` cannot tell its flows apart"
        return ""


@DEVICE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucket(FrontDevice):
    """A frame passes if the bucket has as many bytes, which it takes, or is dropped.

    rate_bps: fill rate, bit/s of frames. burst_bytes: depth; full at first.
    """

    trait = "a policer"
    kind: Literal["token_bucket"] = "token_bucket"
    rate_bps: Rate
    burst_bytes: Buffer

    @property
    def actions(self) -> str:
        """The action of tc.

        A frame is the IP packet and its 14 bytes of Ethernet, which are off where packets arrive.
        """
        return (
            f"police rate {self.rate_bps}bit burst {self.burst_bytes} mtu 65535"
            f" overhead {ETHERNET_BYTES} conform-exceed drop/ok"
        )

    @property
    def limit_bps(self) -> int | None:
        """Its fill rate."""
        return self.rate_bps
