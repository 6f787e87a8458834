"""What flows of the workload `iperf3` run: its own command lines, and when.

The flow's port is that of iperf3's server. With `--reverse` that is the flow's server, which sends,
so that a client asks for data as in every other flow; without, the flow's client.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .batch import word
from .document import Iperf3Test
from .model import Flow
from .workloads import Iperf3Workload

PROGRAM = "iperf3"
INTERVAL_S = 0.1
"""What its reports are about, s: the shortest that it can do, and the length of a slot."""
BLOCK_BYTES = 4096
"""What it writes and reads at a time over TCP (`--length`); `--bytes` ends after one.

A receiver of 3.18 counts whole blocks only: its own 128 KiB are a second at 1 Mbit/s.
"""
CONNECT_TIMEOUT_MS = 30_000
UDP_IP_BYTES = 20 + 8
TCP_IP_BYTES = 20 + 20 + 12  # headers of IPv4 and TCP, with timestamps
START_UP_NS = 6_000_000
"""From the start of the program to its first packet, in the virtual machine (5.9 ms once it is
cached).
"""

LINUX_BUFFER_MAX = 212_992
"""net.core.wmem_max and rmem_max of an untouched kernel, bytes; a larger window is refused by
iperf3.
"""

CONTROL_RTTS = 3
"""Round trips from iperf3's first packet to its first stream's: connect, parameters, "create
streams".
"""


def uses(flow: Flow) -> bool:
    """Whether a flow's programs are iperf3."""
    return isinstance(flow.workload, Iperf3Workload)


def tests(flows: Sequence[Flow]) -> Iterator[Iperf3Test]:
    """Yield the servers, each of which serves one client and ends, then the clients."""
    tested = [(flow, _test(flow)) for flow in flows if uses(flow)]
    for flow, test in tested:
        node = flow.server if test.reverse else flow.client
        yield Iperf3Test(
            name=f"{flow.name}.server",
            node=node,
            command=[PROGRAM, "--server", "--one-off", *_both(flow)],
            begin_ns=None,
            stop_ns=None,
        )
    for flow, test in tested:
        node = flow.client if test.reverse else flow.server
        yield Iperf3Test(
            name=f"{flow.name}.client",
            node=node,
            command=_client(flow),
            begin_ns=begin_ns(flow),
            stop_ns=flow.stop_ns,
        )


def is_opened_by_its_sender(flow: Flow) -> bool:
    """Whether the flow's server opens its connections: iperf3's does, but with `--reverse`."""
    return uses(flow) and not _test(flow).reverse


def begin_ns(flow: Flow) -> int:
    """Return when a client is started, ns after the epoch, so that its streams begin at the flow's
    start.

    On an idle path the last of its streams, opened one after the other, is opened at the flow's
    start, like a connection of any other flow; over UDP the first datagram leaves then.
    """
    half_rtts = 2 * (CONTROL_RTTS + flow.connections - 1)
    if flow.transport == "udp":
        half_rtts += 1 if _test(flow).reverse else 2
    return min(flow.starts_ns) - START_UP_NS - half_rtts * flow.base_rtt_ns // 2


def early_ns(flows: Sequence[Flow]) -> int:
    """Return how long before the epoch the first client is started, ns."""
    return max([0, *(-begin_ns(flow) for flow in flows if uses(flow))])


def window_bytes(flows: Sequence[Flow]) -> int:
    """Return the largest window that the kernel has to allow first, bytes; 0: none."""
    wanted = (_test(flow).window_bytes or 0 for flow in flows if uses(flow))
    return max((size for size in wanted if size > LINUX_BUFFER_MAX), default=0)


def _test(flow: Flow) -> Iperf3Workload:
    assert isinstance(flow.workload, Iperf3Workload), "a flow that uses iperf3"
    return flow.workload


def _client(flow: Flow) -> list[str]:
    test = _test(flow)
    command = [PROGRAM, "--client", flow.address if test.reverse else flow.client_address]
    if test.reverse:
        command.append("--reverse")
    if flow.transport == "udp":
        assert flow.rate_bps is not None and test.packet_bytes is not None
        payload = test.packet_bytes - UDP_IP_BYTES
        rate_bps = max(1, flow.rate_bps * payload // test.packet_bytes)
        command += ["--udp", "--bitrate", str(rate_bps), "--length", str(payload)]
    else:
        assert flow.cca is not None
        command += ["--congestion", flow.cca, "--length", str(BLOCK_BYTES)]
        if flow.rate_bps is not None:
            payload_bps = flow.rate_bps * (flow.mtu - TCP_IP_BYTES) // flow.mtu
            command += ["--fq-rate", str(max(1, payload_bps))]
    if test.window_bytes is not None:
        command += ["--window", str(test.window_bytes)]
    if flow.connections > 1:
        command += ["--parallel", str(flow.connections)]
    if test.bytes is not None:
        command += ["--bytes", str(test.bytes)]
    else:
        command += ["--time", str(test.time_s or 0)]  # 0: until it is stopped
    command += ["--connect-timeout", str(CONNECT_TIMEOUT_MS), *_both(flow)]
    return [word(part) for part in command]


def _both(flow: Flow) -> list[str]:
    return ["--version4", "--port", str(flow.port), "--interval", f"{INTERVAL_S:g}", "--json"]
