"""Flows: who sends what to whom, and over which transport."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fairc.cell.experiment import TransportOptions
from fairc.cell.frames import MTU, frame_bytes
from fairc.cell.numbers import Buffer, Many, Port, Rate, Setting, TimeNs
from fairc.cell.part import absent
from fairc.cell.text import (
    Address,
    Base64,
    CcaName,
    FlowName,
    ImageName,
    Line,
    NodeName,
    Nothing,
    ParameterName,
    Place,
    Word,
)
from fairc.cell.workloads import VideoWorkload, Workload
from fairc.dsl.model.base import Model

from .base import SAMPLE_EVERY_NS, Mtu, SampleEvery


class Flow(Model):
    """A flow: one session of `connections` parallel connections.

    starts_ns: of each connection. starts_ns, stop_ns: after the cell's epoch.
    base_rtt_ns: propagation both ways, no queueing.
    bottleneck: (node, interface) of its data path's slowest egress.
    mtu: the smallest MTU on the paths of its data and acknowledgements; left out where it is 1500.
    buffer_bytes: send and receive buffer of each connection.
    declared: the name in the file, `name` unless it is one of several users' flows; users: their
    group. Neither is part of the cell's identity.
    cca: None over UDP, and where an image brings its own. cca_parameters: over TCP those that the
    file sets, named as under /sys/module/tcp_<cca>/parameters, for the whole kernel; over QUIC all
    of them.
    rate_bps: limit of the sending rate at the source, bit/s of IP.
    send_buffer_bytes, receive_buffer_bytes: instead of buffer_bytes, where the file sets them.
    transport: `web`: HTTP over TCP, over QUIC, or over both, as the loads of a page require.
    qlog: whether a QUIC server writes one. cca_object: the BPF struct_ops
    object that registers the CCA, compressed (zlib), in base64.
    image: the container image of a third-party QUIC stack, both server and client; left out where
    there is none.
    sample_every_ns: interval at which the sender samples a connection's state; left out where it is
    100 ms.
    """

    name: FlowName
    server: NodeName
    client: NodeName
    address: Address
    port: Port
    transport: Literal["tcp", "quic", "udp", "web"] = "tcp"
    cca: CcaName | None
    connections: Many
    workload: Annotated[Workload, Field(discriminator="kind")]
    starts_ns: Annotated[tuple[TimeNs, ...], Field(min_length=1, max_length=10_000)]
    stop_ns: TimeNs | None
    base_rtt_ns: TimeNs
    bottleneck: Place
    mtu: Mtu = MTU
    buffer_bytes: Buffer
    source: Line
    declared: Word | Nothing = ""
    users: Word | None = None
    client_address: Address | Nothing = ""
    cca_parameters: dict[ParameterName, Setting] = {}
    options: TransportOptions = TransportOptions()
    rate_bps: Rate | None = None
    send_buffer_bytes: Buffer | None = None
    receive_buffer_bytes: Buffer | None = None
    qlog: bool = False
    cca_object: Base64 | None = None
    image: Annotated[ImageName | None, Field(exclude_if=absent)] = None
    sample_every_ns: SampleEvery = SAMPLE_EVERY_NS

    @property
    def frame_bytes(self) -> int:
        """A full packet of this flow in its Ethernet frame, without preamble, bytes."""
        return frame_bytes(self.mtu)

    @property
    def sender_bytes(self) -> int:
        """The send buffer of each connection; a video server brings its own."""
        if isinstance(self.workload, VideoWorkload):
            return self.workload.send_buffer_bytes
        return self.buffer_bytes if self.send_buffer_bytes is None else self.send_buffer_bytes

    @property
    def receiver_bytes(self) -> int:
        """The receive buffer of each connection."""
        wanted = self.receive_buffer_bytes
        return self.buffer_bytes if wanted is None else wanted

    @property
    def start_ns(self) -> int:
        """When its first connection starts, ns after the cell's epoch."""
        return min(self.starts_ns)
