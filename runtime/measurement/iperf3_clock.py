"""When a test of iperf3 began, according to the packets at its bottleneck.

iperf3 counts its times from the start of its test, and gives the start itself only to the second.
The captures show when that was (states of iperf_api.h, the same in 3.12 and 3.18: the server sends
them on the control connection, a byte each: parameters, create streams, TEST_START, running):

- `reverse` (the server sends): the server's test began when TEST_START reached the bottleneck, less
  the delay before it; the client's when that byte was delivered, plus the delay behind.
- else (the client sends): the client's test began when its first data reached the bottleneck, less
  the delay before it; the server's one propagation delay from server to client earlier, that of
  TEST_START.

Over TCP a stream begins with a cookie of 37 bytes from its client, over UDP with 4 bytes each way:
neither is data.
"""

from __future__ import annotations

from ipaddress import IPv4Address

import numpy as np
from numpy.typing import NDArray

from fairc.cell.iperf3 import UDP_IP_BYTES
from fairc.compiler.plan import Flow, Iperf3Workload

from .artefacts import NS
from .paths import Paths
from .pcap import ACK, SYN, TCP, UDP, Packets
from .queues import QueueRecord

Bools = NDArray[np.bool_]

COOKIE_BYTES = 37
START_BYTE = 2
"""TEST_START is the server's third byte on the control connection."""


class Clock:
    """Times of a test, s after the epoch.

    ports: of iperf3's client, for each stream. sender_s, receiver_s: when the test began at the
    sending end and at the other; as planned where that was not seen.
    """

    def __init__(
        self,
        flow: Flow,
        workload: Iperf3Workload,
        paths: Paths,
        queue: QueueRecord,
        ports: tuple[int, ...],
    ) -> None:
        self._flow, self._workload, self._queue, self._ports = flow, workload, queue, ports
        came = queue.left if queue.blind else queue.entered
        before_s = paths.delay_s(paths.before(queue.place, flow))
        self._before_s, self._back_s = before_s, paths.delay_s(paths.back(flow))
        behind = paths.behind(queue.place, flow)
        delivery = paths.delivery(queue.place)
        if delivery in behind:
            behind = behind[behind.index(delivery) + 1 :]
        self._behind_s = paths.delay_s(behind)
        if workload.reverse:
            byte = self._start_byte(came)
            begun = None if byte is None else self._first(came, self._carries(came, byte))
            there = queue.delivered
            arrived = None if byte is None else self._first(there, self._carries(there, byte))
            self.sender_s = flow.start_ns * NS if begun is None else begun - before_s
            self.receiver_s = self.sender_s if arrived is None else arrived + self._behind_s
        else:
            begun = self._first(came, self._data(came, None))
            self.sender_s = flow.start_ns * NS if begun is None else begun - before_s
            self.receiver_s = self.sender_s - self._back_s

    def opened_s(self) -> dict[int, float]:
        """Return when each stream was opened, as far as that was seen; for datagrams, when they
        began.

        A connection is dated by its handshake: its client's SYN, or its server's answer.
        """
        if self._flow.transport == "udp":
            return dict.fromkeys(range(len(self._ports)), self.sender_s)
        came = self._queue.left if self._queue.blind else self._queue.entered
        asked_s = self._before_s + (self._back_s if self._workload.reverse else 0.0)
        opening = self._forth(came) & (came.protocol == TCP) & (came.flags & SYN > 0)
        found = {
            stream: self._first(came, opening & (self._port(came) == port))
            for stream, port in enumerate(self._ports)
        }
        return {stream: at - asked_s for stream, at in found.items() if at is not None}

    def first_data_s(self, stream: int) -> float | None:
        """Return when the first data of a stream reached the flow's client; None if none did."""
        delivered = self._queue.delivered
        first = self._first(delivered, self._data(delivered, stream))
        return None if first is None else first + self._behind_s

    def _first(self, packets: Packets, which: Bools) -> float | None:
        found = np.flatnonzero(which)
        return float(self._queue.seconds(packets)[found[0]]) if len(found) else None

    def _forth(self, packets: Packets) -> Bools:
        """Return which packets go from the flow's server to its client, streams and control
        alike.
        """
        flow = self._flow
        if self._workload.reverse:
            which = (packets.source == int(IPv4Address(flow.address))) & (
                packets.source_port == flow.port
            )
        else:
            which = (packets.destination == int(IPv4Address(flow.client_address))) & (
                packets.destination_port == flow.port
            )
        return np.asarray(which, np.bool_)

    def _port(self, packets: Packets) -> NDArray[np.int64]:
        """Return the port of iperf3's client in each packet."""
        return packets.destination_port if self._workload.reverse else packets.source_port

    def _data(self, packets: Packets, stream: int | None) -> Bools:
        """Return which packets hold data of a stream, or of any for None."""
        ports = self._ports if stream is None else self._ports[stream : stream + 1]
        which = self._forth(packets) & np.isin(self._port(packets), ports)
        if self._flow.transport == "udp":
            assert self._workload.packet_bytes is not None
            payload = self._workload.packet_bytes - UDP_IP_BYTES
            which &= (packets.protocol == UDP) & (packets.payload_bytes == payload)
            return which
        which &= (packets.protocol == TCP) & (packets.payload_bytes > 0)
        if not self._workload.reverse:
            which &= packets.payload_bytes != COOKIE_BYTES
        return which

    def _control(self, packets: Packets) -> Bools:
        which = self._forth(packets) & (packets.protocol == TCP)
        if self._flow.transport == "tcp":
            which &= ~np.isin(self._port(packets), self._ports)
        return np.asarray(which, np.bool_)

    def _start_byte(self, packets: Packets) -> int | None:
        """Return the sequence number of TEST_START, by the handshake of the control connection."""
        opening = self._control(packets) & (packets.flags & (SYN | ACK) == SYN | ACK)
        found = np.flatnonzero(opening)
        if not len(found):
            return None
        return (int(packets.sequence[found[0]]) + 1 + START_BYTE) % 2**32

    def _carries(self, packets: Packets, byte: int) -> Bools:
        """Return which packets of the control connection carry a byte."""
        before = (byte - packets.sequence) % 2**32
        return np.asarray(self._control(packets) & (before < packets.payload_bytes), np.bool_)
