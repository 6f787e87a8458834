"""What the flows of the workload `iperf3` run: its own command lines, and when.

The flow's port is that of iperf3's server. With `--reverse` that is the flow's server, which sends, so
that a client asks for data as in every other flow; without, the flow's client.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairc.compiler.passes.frames import segment_bytes
from fairc.compiler.plan import Cell, Flow, Iperf3Workload
from fairc.dsl.traffic.iperf3 import BLOCK_BYTES

from .lines import line, word

PROGRAM = "iperf3"
INTERVAL_S = 0.1
"""What its reports are about, s: the shortest that it can do, and the length of a slot."""
CONNECT_TIMEOUT_MS = 30_000
UDP_IP_BYTES = 20 + 8
START_UP_NS = 6_000_000
"""From the start of the program to its first packet, in the virtual machine (5.9 ms once it is cached)."""

LINUX_BUFFER_MAX = 212_992
"""net.core.wmem_max and rmem_max of an untouched kernel, bytes; a larger window is refused by iperf3."""

CONTROL_RTTS = 3
"""Round trips from iperf3's first packet to its first stream's: connect, parameters, "create streams"."""


@dataclass(frozen=True, slots=True)
class Test:
    """One end of a test: name (`flow.server`), node, command; `source`: `file:line`.

    begin_ns, stop_ns: of a client, when it is started and ended, ns after the epoch; stop_ns None:
    with the cell at the latest.
    """

    source: str
    name: str
    node: str
    command: str
    begin_ns: int = 0
    stop_ns: int | None = None


def uses(flow: Flow) -> bool:
    """Whether a flow's programs are iperf3."""
    return isinstance(flow.workload, Iperf3Workload)


def servers(cell: Cell) -> Iterator[Test]:
    """Yield the servers of a cell; each serves one client and ends."""
    for flow in cell.flows:
        if isinstance(flow.workload, Iperf3Workload):
            node = flow.server if flow.workload.reverse else flow.client
            yield Test(flow.source, f"{flow.name}.server", node, _command(_server(flow)))


def clients(cell: Cell) -> Iterator[Test]:
    """Yield the clients of a cell."""
    for flow in cell.flows:
        workload = flow.workload
        if isinstance(workload, Iperf3Workload):
            node = flow.client if workload.reverse else flow.server
            yield Test(
                flow.source,
                f"{flow.name}.client",
                node,
                _command(_client(flow, workload)),
                begin_ns(flow),
                flow.stop_ns,
            )


def begin_ns(flow: Flow) -> int:
    """Return when a client is started, ns after the epoch, so that its streams begin at the flow's start.

    On an idle path the last of its streams, opened one after the other, is opened at the flow's start,
    like a connection of any other flow; over UDP the first datagram leaves then.
    """
    assert isinstance(flow.workload, Iperf3Workload)
    half_rtts = 2 * (CONTROL_RTTS + flow.connections - 1)
    if flow.transport == "udp":
        half_rtts += 1 if flow.workload.reverse else 2
    return flow.start_ns - START_UP_NS - half_rtts * flow.base_rtt_ns // 2


def early_ns(cell: Cell) -> int:
    """Return how long before the epoch the first client of a cell is started, ns."""
    return max([0, *(-begin_ns(flow) for flow in cell.flows if uses(flow))])


def window_bytes(cell: Cell) -> int:
    """Return the largest window of a cell that the kernel has to allow first, bytes; 0: none."""
    workloads = (flow.workload for flow in cell.flows)
    wanted = (w.window_bytes or 0 for w in workloads if isinstance(w, Iperf3Workload))
    return max((size for size in wanted if size > LINUX_BUFFER_MAX), default=0)


def _command(words: list[str]) -> str:
    return line(" ".join(map(word, words)))


def _server(flow: Flow) -> list[str]:
    return [PROGRAM, "--server", "--one-off", *_both(flow)]


def _client(flow: Flow, workload: Iperf3Workload) -> list[str]:
    address = flow.address if workload.reverse else flow.client_address
    command = [PROGRAM, "--client", address]
    if workload.reverse:
        command.append("--reverse")
    if flow.transport == "udp":
        assert workload.packet_bytes is not None and flow.rate_bps is not None
        payload = workload.packet_bytes - UDP_IP_BYTES
        rate_bps = max(1, flow.rate_bps * payload // workload.packet_bytes)
        command += ["--udp", "--bitrate", str(rate_bps), "--length", str(payload)]
    else:
        assert flow.cca is not None
        command += ["--congestion", flow.cca, "--length", str(BLOCK_BYTES)]
        if flow.rate_bps is not None:
            command += [
                "--fq-rate",
                str(max(1, flow.rate_bps * segment_bytes(flow.mtu) // flow.mtu)),
            ]
    if workload.window_bytes is not None:
        command += ["--window", str(workload.window_bytes)]
    if flow.connections > 1:
        command += ["--parallel", str(flow.connections)]
    if workload.bytes is not None:
        command += ["--bytes", str(workload.bytes)]
    else:
        command += ["--time", str(workload.time_s or 0)]  # 0: until it is stopped
    return [*command, "--connect-timeout", str(CONNECT_TIMEOUT_MS), *_both(flow)]


def _both(flow: Flow) -> list[str]:
    return ["--version4", "--port", str(flow.port), "--interval", f"{INTERVAL_S:g}", "--json"]
