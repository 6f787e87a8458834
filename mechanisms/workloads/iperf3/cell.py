"""The part of a plan that is `iperf3`, its command lines, and when they begin.

The flow's port is that of iperf3's server. With `--reverse` that is the flow's server, which sends,
so that a client asks for data as in every other flow; without, the flow's client.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fairc.cell.batch import word
from fairc.cell.document import Program
from fairc.cell.frames import TCP_IP_BYTES, UDP_IP_BYTES
from fairc.cell.model import Cell, Flow
from fairc.cell.numbers import MtuBytes, Range
from fairc.cell.workloads import NS, WORKLOAD_KINDS, Workload

PROGRAM = "iperf3"
COMPANION = "cell.timed"
"""What starts it, and stops it."""
MOST_STREAMS, MAX_TIME_S, MAX_TCP_BUFFER = 128, 86_400, 2**29
"""The most that iperf3 accepts (iperf.h): streams, `--time` in s, `--window` in bytes."""
INTERVAL_S = 0.1
"""What its reports are about, s: the shortest that it can do, and the length of a slot."""
BLOCK_BYTES = 4096
"""What it writes and reads at a time over TCP (`--length`); `--bytes` ends after a whole block.

A receiver of 3.18 counts only whole blocks: its default of 128 KiB takes a second at 1 Mbit/s.
"""
CONNECT_TIMEOUT_MS = 30_000
START_UP_NS = 6_000_000
"""From the start of the program to its first packet, in the virtual machine (5.9 ms once it is
cached).
"""
CONTROL_RTTS = 3
"""Round trips from iperf3's first packet to its first stream's: connect, parameters, "create
streams".
"""


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Iperf3Workload(Workload):
    """The program iperf3, with the flow's connections as parallel streams.

    time_s, bytes: when it ends, bytes counted over all streams; with neither it lasts as long as
    the flow.
    window_bytes: socket buffers of both ends; None: as the kernel tunes them. packet_bytes: IP
    bytes of a datagram; None over TCP. reverse: the flow's client is iperf3's client (`--reverse`),
    else its server.
    """

    transports = ("tcp", "udp")
    only_in_packets = True
    of_payload = True
    lead_ns = 1_000_000_000
    measures_itself = True
    kind: Literal["iperf3"] = "iperf3"
    time_s: Annotated[int, Range(1, MAX_TIME_S)] | None = None
    bytes: Annotated[int, Range(1, 10**15)] | None = None  # with 0 it would not end
    window_bytes: Annotated[int, Range(1, MAX_TCP_BUFFER)] | None = None
    packet_bytes: MtuBytes | None = None
    reverse: bool

    def __post_init__(self) -> None:
        """Raise ValueError where it would end twice."""
        if self.time_s is not None and self.bytes is not None:
            raise ValueError("iperf3 ends after a time or after a number of bytes, not after both")

    @property
    def programs(self) -> frozenset[str]:
        """The program itself."""
        return frozenset({PROGRAM})

    def spins(self, transport: str) -> bool:
        """Whether it has `bytes` over TCP: a thread that has written them all loops until another
        one has noticed (iperf 3.18, `iperf_send_mt`). Over UDP it reads the clock meanwhile.
        """
        return self.bytes is not None and transport == "tcp"

    @property
    def opened_by_sender(self) -> bool:
        """Whether the server, which sends, opens the connections: but with `--reverse`."""
        return not self.reverse

    def is_tuned(self, flow: Flow) -> bool:
        """Whether it has no window over TCP."""
        return flow.transport == "tcp" and self.window_bytes is None

    def program(self, flow: Flow, cell: Cell, side: str) -> Program:
        """Return iperf3's server, which serves one client and ends, or its client."""
        description: dict[str, Any] = {"name": f"{flow.name}.{side}"}
        if side == "server":
            command = [PROGRAM, "--server", "--one-off", *_both(flow)]
            description |= {"command": command, "begin_ns": None, "stop_ns": None}
        else:
            begin_ns, stop_ns = self.begin_ns(flow), flow.stop_ns
            description |= {"command": self._client(flow), "begin_ns": begin_ns, "stop_ns": stop_ns}
        listens = flow.server if self.reverse else flow.client
        asks = flow.client if self.reverse else flow.server
        return {
            "name": f"{flow.name}.{side}",
            "node": listens if side == "server" else asks,
            "role": COMPANION,
            "description": description,
        }

    def early_ns(self, flow: Flow) -> int:
        """Return how long before the epoch its client starts, ns."""
        return max(0, -self.begin_ns(flow))

    def begin_ns(self, flow: Flow) -> int:
        """Return when its client is started, ns after the epoch, so that its streams begin at the
        flow's start.

        On an idle path the last of its streams, opened one after the other, is opened at the flow's
        start, like a connection of any other flow; over UDP the first datagram leaves then.
        """
        half_rtts = 2 * (CONTROL_RTTS + flow.connections - 1)
        if flow.transport == "udp":
            half_rtts += 1 if self.reverse else 2
        return min(flow.starts_ns) - START_UP_NS - half_rtts * flow.base_rtt_ns // 2

    def _client(self, flow: Flow) -> list[str]:
        command = [PROGRAM, "--client", flow.address if self.reverse else flow.client_address]
        if self.reverse:
            command.append("--reverse")
        if flow.transport == "udp":
            assert flow.rate_bps is not None and self.packet_bytes is not None
            payload = self.packet_bytes - UDP_IP_BYTES
            rate_bps = max(1, flow.rate_bps * payload // self.packet_bytes)
            command += ["--udp", "--bitrate", str(rate_bps), "--length", str(payload)]
        else:
            assert flow.cca is not None
            command += ["--congestion", flow.cca, "--length", str(BLOCK_BYTES)]
            if flow.rate_bps is not None:
                payload_bps = flow.rate_bps * (flow.mtu - TCP_IP_BYTES) // flow.mtu
                command += ["--fq-rate", str(max(1, payload_bps))]
        if self.window_bytes is not None:
            command += ["--window", str(self.window_bytes)]
        if flow.connections > 1:
            command += ["--parallel", str(flow.connections)]
        if self.bytes is not None:
            command += ["--bytes", str(self.bytes)]
        else:
            command += ["--time", str(self.time_s or 0)]  # 0: until it is stopped
        command += ["--connect-timeout", str(CONNECT_TIMEOUT_MS), *_both(flow)]
        return [word(part) for part in command]

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Report what iperf3 does not support in a flow."""
        if flow.client_address == "":
            return f"the iperf3 of `{flow.name}` has no address to send to"
        if flow.connections > MOST_STREAMS:
            return f"the iperf3 of `{flow.name}` has more than {MOST_STREAMS} streams"
        over_udp = flow.transport == "udp"
        if over_udp != (self.packet_bytes is not None):
            return f"the iperf3 of `{flow.name}` has datagrams of a size over UDP, and only there"
        if over_udp and (flow.rate_bps is None or self.window_bytes is not None):
            return f"the iperf3 of `{flow.name}` needs a rate over UDP, and has no window"
        if not over_udp and flow.port in intercepted:
            return f"a proxy would split the control connection of the iperf3 of `{flow.name}`"
        return ""

    def total_bytes(self, connections: int) -> int | None:
        """Return the bytes of all streams together."""
        return self.bytes

    def own_time_ns(self, connections: int, rate_bps: int | None) -> int:
        """Return its time, or that of its bytes at the flow's own rate, ns."""
        if self.bytes is not None and rate_bps is not None:
            return self.bytes * 8 * NS // (rate_bps * connections)
        return (self.time_s or 0) * NS


def _both(flow: Flow) -> list[str]:
    return ["--version4", "--port", str(flow.port), "--interval", f"{INTERVAL_S:g}", "--json"]
