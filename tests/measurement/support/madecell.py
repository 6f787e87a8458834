"""A made-up cell on a dumbbell: two servers, a router with the bottleneck, a delay hop, two
clients.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from fairc.compiler.plan import (
    Cable,
    Capture,
    Cell,
    Change,
    Flow,
    Impairment,
    Interface,
    Node,
    Route,
    Shaper,
)
from fairc.mechanisms.queues.fifo.cell import Fifo
from fairc.mechanisms.workloads.bulk.cell import BulkWorkload
from fairc.mechanisms.workloads.file.cell import FileWorkload
from fairc.mechanisms.workloads.video.cell import VideoWorkload

EPOCH_NS = 1_600_000_000_000_000_000
MS = 1_000_000
TICK_NS = 100 * MS
HEADERS, PAYLOAD, UDP_HEADERS = 66, 1448, 42
FULL = HEADERS + PAYLOAD
QUEUE = ("r1", "r1-eth2")
NAMES = ("a", "b", "c")
# Numbers of the hosts of each flow; the third shares both.
SERVERS, CLIENTS = (1, 2, 1), (1, 2, 2)
Transport = Literal["tcp", "quic", "udp"]


def made_cell(
    *,
    rate_bps: int = 1_000_000,
    limit_bytes: int | None = 11_250,
    limit_packets: int | None = None,
    delay_ns: int = 25 * MS,
    loss: float = 0.0,
    flows: int = 2,
    transports: tuple[Transport, ...] = ("tcp", "tcp", "tcp"),
    connections: int | tuple[int, ...] = 1,
    file_bytes: int | None = None,
    warmup_ns: int = 0,
    bindings: Mapping[str, str] | None = None,
    repetition: int = 1,
    id: str = "0123456789abcdef",
) -> Cell:
    """A cell; file_bytes None: bulk flows. transports, connections: of each flow."""
    counts = connections if isinstance(connections, tuple) else (connections,) * flows
    points: list[tuple[str, str, Literal["in", "out"], Literal["entry", "exit", "delivered"]]] = [
        *(("r1", f"r1-eth{n}", "in", "entry") for n in range(min(flows, 2))),
        ("r1", "r1-eth2", "out", "exit"),
        ("h", "h-eth1", "out", "delivered"),
    ]
    bottleneck = Interface(
        name="r1-eth2",
        address="10.0.3.1/24",
        shaper=Shaper(rate_bps=rate_bps, transmitter=None),
        queue=Fifo(limit_bytes=limit_bytes, limit_packets=limit_packets),
        bottleneck=True,
        source="made.fexp:2",
    )
    return Cell(
        id=id,
        experiment="made",
        configuration=hashlib.sha256(repr(bindings).encode()).hexdigest()[:16],
        bindings=dict(bindings or {}),
        repetition=repetition,
        seed=1,
        nodes=_nodes(bottleneck, delay_ns, loss),
        cables=_cables(),
        flows=tuple(
            _flow(n, transports[n], counts[n], file_bytes, 2 * delay_ns) for n in range(flows)
        ),
        captures=tuple(
            Capture(f"{point}-{interface}", node, interface, direction, point, QUEUE)
            for node, interface, direction, point in points
        ),
        warmup_ns=warmup_ns,
        duration_ns=None,
        deadline_ns=600_000 * MS,
        stop="all",
    )


def _nodes(bottleneck: Interface, delay_ns: int, loss: float) -> tuple[Node, ...]:
    def plain(name: str, address: str) -> Interface:
        return Interface(name=name, address=address, source="made.fexp:1")

    def hop(name: str, address: str, loss: float) -> Interface:
        impairment = Impairment(
            delay_ns=delay_ns, loss=loss, limit_packets=1000, seed=7 if loss else None
        )
        return replace(plain(name, address), impairment=impairment)

    def routes(*pairs: tuple[str, str]) -> tuple[Route, ...]:
        return tuple(Route(destination=d, via=v) for d, v in pairs)

    everything = "0.0.0.0/0"
    hosts = [
        Node(
            name=f"{kind}{n}",
            kind="host",
            interfaces=(plain(f"{kind}{n}-eth0", f"10.0.{base + n}.1/24"),),
            routes=routes((everything, f"10.0.{base + n}.2")),
        )
        for kind, base in (("s", 0), ("c", 10))
        for n in (1, 2)
    ]
    r1 = (plain("r1-eth0", "10.0.1.2/24"), plain("r1-eth1", "10.0.2.2/24"), bottleneck)
    h = (hop("h-eth0", "10.0.3.2/24", 0.0), hop("h-eth1", "10.0.4.1/24", loss))
    r2 = tuple(
        plain(f"r2-eth{n}", address)
        for n, address in enumerate(("10.0.11.2/24", "10.0.12.2/24", "10.0.4.2/24"))
    )
    back = (("10.0.1.0/24", "10.0.3.1"), ("10.0.2.0/24", "10.0.3.1"))
    return (
        *hosts,
        Node(name="r1", kind="router", interfaces=r1, routes=routes((everything, "10.0.3.2"))),
        Node(name="h", kind="hop", interfaces=h, routes=routes((everything, "10.0.4.2"), *back)),
        Node(name="r2", kind="router", interfaces=r2, routes=routes((everything, "10.0.4.1"))),
    )


def _cables() -> tuple[Cable, ...]:
    ends = [
        *((f"s{n}", f"s{n}-eth0", "r1", f"r1-eth{n - 1}") for n in (1, 2)),
        *((f"c{n}", f"c{n}-eth0", "r2", f"r2-eth{n - 1}") for n in (1, 2)),
        ("r1", "r1-eth2", "h", "h-eth0"),
        ("h", "h-eth1", "r2", "r2-eth2"),
    ]
    return tuple(Cable(a=(a, i), b=(b, j)) for a, i, b, j in ends)


def _flow(
    n: int, transport: Transport, connections: int, file_bytes: int | None, base_rtt_ns: int
) -> Flow:
    return Flow(
        name=NAMES[n],
        server=f"s{SERVERS[n]}",
        client=f"c{CLIENTS[n]}",
        address=f"10.0.{SERVERS[n]}.1",
        port=5001 + n,
        transport=transport,
        cca=None if transport == "udp" else "cubic",
        connections=connections,
        workload=BulkWorkload() if file_bytes is None else FileWorkload(bytes=file_bytes),
        starts_ns=(0,) * connections,
        stop_ns=None,
        base_rtt_ns=base_rtt_ns,
        bottleneck=QUEUE,
        buffer_bytes=1_000_000,
        source="made.fexp:3",
    )


VIDEO = VideoWorkload(
    bitrate_bps=10**6,
    length_ns=10**9,
    burst_ns=0,
    chunk_bytes=65_536,
    factor=1.25,
    play_ns=10**8,
    stall_ns=10**8,
    send_buffer_bytes=10**6,
)


def with_change(cell: Cell, change: Change) -> Cell:
    """Return a cell whose bottlenecks change once."""
    nodes = tuple(
        replace(
            node,
            interfaces=tuple(
                replace(end, changes=(change,)) if end.bottleneck else end
                for end in node.interfaces
            ),
        )
        for node in cell.nodes
    )
    return replace(cell, nodes=nodes)
