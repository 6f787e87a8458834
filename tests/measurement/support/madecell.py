"""A made-up cell on a dumbbell, and artefacts for it that follow docs/artefacts.md exactly.

Two servers, a router with the bottleneck, a delay hop, two clients. The queue is worked out
packet by packet in integers, so that tests can compare with numbers found another way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from frames import Frame, ethernet, ipv4, pcap, tcp, timestamps, udp

from fairc.compiler.plan import (
    BulkWorkload,
    Cable,
    Capture,
    Cell,
    Fifo,
    FileWorkload,
    Flow,
    Impairment,
    Interface,
    Node,
    Route,
    Shaper,
)

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


def _transport(flow: Flow) -> Transport:
    """Return a flow's transport; page loads are not made here."""
    assert flow.transport != "web"
    return flow.transport


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

    def plain(name: str, address: str) -> Interface:
        return Interface(name=name, address=address, source="made.fexp:1")

    def hop(name: str, address: str, loss: float) -> Interface:
        impairment = Impairment(
            delay_ns=delay_ns, loss=loss, limit_packets=1000, seed=7 if loss else None
        )
        return plain(name, address).model_copy(update={"impairment": impairment})

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
    bottleneck = Interface(
        name="r1-eth2",
        address="10.0.3.1/24",
        shaper=Shaper(rate_bps=rate_bps, burst_bytes=FULL),
        queue=Fifo(limit_bytes=limit_bytes, limit_packets=limit_packets),
        bottleneck=True,
        source="made.fexp:2",
    )
    r1 = (plain("r1-eth0", "10.0.1.2/24"), plain("r1-eth1", "10.0.2.2/24"), bottleneck)
    h = (hop("h-eth0", "10.0.3.2/24", 0.0), hop("h-eth1", "10.0.4.1/24", loss))
    r2 = tuple(
        plain(f"r2-eth{n}", address)
        for n, address in enumerate(("10.0.11.2/24", "10.0.12.2/24", "10.0.4.2/24"))
    )
    back = (("10.0.1.0/24", "10.0.3.1"), ("10.0.2.0/24", "10.0.3.1"))
    nodes = (
        *hosts,
        Node(name="r1", kind="router", interfaces=r1, routes=routes((everything, "10.0.3.2"))),
        Node(name="h", kind="hop", interfaces=h, routes=routes((everything, "10.0.4.2"), *back)),
        Node(name="r2", kind="router", interfaces=r2, routes=routes((everything, "10.0.4.1"))),
    )
    ends = [
        *((f"s{n}", f"s{n}-eth0", "r1", f"r1-eth{n - 1}") for n in (1, 2)),
        *((f"c{n}", f"c{n}-eth0", "r2", f"r2-eth{n - 1}") for n in (1, 2)),
        ("r1", "r1-eth2", "h", "h-eth0"),
        ("h", "h-eth1", "r2", "r2-eth2"),
    ]
    points = [("r1", f"r1-eth{n}", "in", "entry") for n in range(min(flows, 2))]
    points += [("r1", "r1-eth2", "out", "exit"), ("h", "h-eth1", "out", "delivered")]
    workload = BulkWorkload() if file_bytes is None else FileWorkload(bytes=file_bytes)
    return Cell(
        id=id,
        experiment="made",
        configuration=hashlib.sha256(repr(bindings).encode()).hexdigest()[:16],
        bindings=dict(bindings or {}),
        repetition=repetition,
        seed=1,
        nodes=nodes,
        cables=tuple(Cable(a=(a, i), b=(b, j)) for a, i, b, j in ends),
        flows=tuple(
            Flow(
                name=NAMES[n],
                server=f"s{SERVERS[n]}",
                client=f"c{CLIENTS[n]}",
                address=f"10.0.{SERVERS[n]}.1",
                port=5001 + n,
                transport=transports[n],
                cca=None if transports[n] == "udp" else "cubic",
                connections=counts[n],
                workload=workload,
                starts_ns=(0,) * counts[n],
                stop_ns=None,
                base_rtt_ns=2 * delay_ns,
                bottleneck=QUEUE,
                buffer_bytes=1_000_000,
                source="made.fexp:3",
            )
            for n in range(flows)
        ),
        captures=tuple(
            Capture.model_validate(
                {
                    "name": f"{point}-{interface}",
                    "node": node,
                    "interface": interface,
                    "direction": direction,
                    "point": point,
                    "queue": QUEUE,
                }
            )
            for node, interface, direction, point in points
        ),
        warmup_ns=warmup_ns,
        duration_ns=None,
        deadline_ns=600_000 * MS,
        stop="all",
    )


@dataclass(frozen=True)
class Sent:
    """A packet of a flow (by number) that comes to the queue at entered_ns after the epoch."""

    entered_ns: int
    flow: int
    connection: int = 0
    frame_bytes: int = FULL
    flags: int = 16
    lost: bool = False


@dataclass(frozen=True)
class Passed:
    """What became of a packet; left_ns, delivered_ns: None where it got no further."""

    sent: Sent
    number: int
    left_ns: int | None
    delivered_ns: int | None

    def frame(self, transport: Transport) -> bytes:
        return ethernet(_PACKETS[transport](self))


def _tcp(packet: Passed) -> bytes:
    s = packet.sent
    segment = tcp(
        5001 + s.flow,
        40_000 + s.connection,
        bytes(s.frame_bytes - HEADERS),
        sequence=packet.number * PAYLOAD % 2**32,
        flags=s.flags,
        options=timestamps(s.entered_ns // MS % 2**32, 1),
    )
    return ipv4(*_hosts(s), 6, segment, ip_id=packet.number)


def _udp(packet: Passed) -> bytes:
    """As Linux sends it, with the id 0; like QUIC's short header, it begins alike in each packet."""
    s = packet.sent
    payload = b"@connects" + packet.number.to_bytes(4, "big")
    payload = payload.ljust(s.frame_bytes - UDP_HEADERS, b"\0")
    return ipv4(*_hosts(s), 17, udp(5001 + s.flow, 40_000 + s.connection, payload))


def _hosts(s: Sent) -> tuple[str, str]:
    return f"10.0.{SERVERS[s.flow]}.1", f"10.0.{CLIENTS[s.flow] + 10}.1"


_PACKETS: Mapping[Transport, Callable[[Passed], bytes]] = {"tcp": _tcp, "quic": _udp, "udp": _udp}


def through_queue(cell: Cell, packets: Sequence[Sent]) -> list[Passed]:
    """Send packets through the bottleneck: a FIFO with a byte limit, tokens for one frame."""
    bottleneck = next(i for n in cell.nodes for i in n.interfaces if i.bottleneck)
    assert bottleneck.shaper and bottleneck.queue
    rate, delay_ns = bottleneck.shaper.rate_bps, cell.flows[0].base_rtt_ns // 2
    limit, most = bottleneck.queue.limit_bytes, bottleneck.queue.limit_packets
    waiting: list[tuple[int, int]] = []  # (leaves at, bytes)
    passed: list[Passed] = []
    free_ns = 0
    for number, sent in enumerate(sorted(packets, key=lambda p: p.entered_ns)):
        waiting = [(at, size) for at, size in waiting if at > sent.entered_ns]
        backlog = sum(size for _, size in waiting)
        full = limit is not None and backlog + sent.frame_bytes > limit
        full |= most is not None and len(waiting) + 1 > most
        if full:
            passed.append(Passed(sent, number, None, None))
            continue
        left_ns = max(sent.entered_ns, free_ns)
        free_ns = left_ns + sent.frame_bytes * 8 * 10**9 // rate
        waiting.append((left_ns, sent.frame_bytes))
        passed.append(Passed(sent, number, left_ns, None if sent.lost else left_ns + delay_ns))
    return passed


def steady(
    until_ns: int, every_ns: int, flow: int, start_ns: int = 50 * MS, connection: int = 0
) -> list[Sent]:
    """A flow's handshake, then full frames at fixed intervals."""
    answer = Sent(start_ns - 25 * MS, flow, connection, 74, flags=18)
    return [answer, *(Sent(t, flow, connection) for t in range(start_ns, until_ns, every_ns))]


@dataclass
class Made:
    """A cell and what it leaves behind; `write` puts it into a folder."""

    cell: Cell
    packets: list[Passed]
    ended_ns: int
    ended_by: str = "finished"
    notes: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        """Write every artefact; returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for capture in self.cell.captures:
            frames = self._frames(capture)
            (folder / f"{capture.name}.pcap").write_bytes(pcap(frames))
            counts = {"event": "captured", "packets": len(frames), "dropped": 0}
            write_lines(folder / f"{capture.name}.ndjson", [{"t_ns": self.ended_ns, **counts}])
        for number, flow in enumerate(self.cell.flows):
            write_lines(folder / f"{flow.name}.client.ndjson", self._client(number))
            write_lines(folder / f"{flow.name}.server.ndjson", self._server(number))
        ticks = range(TICK_NS, self.ended_ns + TICK_NS, TICK_NS)
        write_lines(
            folder / "monitor.ndjson",
            [{"t_ns": t, "busy_ns": TICK_NS // 10, "total_ns": TICK_NS} for t in ticks],
        )
        pings = [
            {
                "flow": flow.name,
                "client": flow.client,
                "server": flow.server,
                "sent": 10,
                "rtts_ns": [flow.base_rtt_ns + 50_000] * 10,
            }
            for flow in self.cell.flows
        ]
        write_json(folder / "ping.json", pings)
        write_json(folder / "qdisc-before.json", self._qdiscs(after=False))
        write_json(folder / "qdisc-after.json", self._qdiscs(after=True))
        names = [f"{f.name}.{side}" for f in self.cell.flows for side in ("server", "client")]
        for pep in self.cell.peps:
            packets = -(-pep.window_bytes // 1500)
            ready = {"connections": pep.pool, "cca": pep.cca, "window_packets": packets}
            joined = [{"t_ns": 0, "event": "joined", "connection": n} for n in range(20)]
            for end in ("terminal", "gateway"):
                lines = [{"t_ns": -1, "event": "ready", **ready}, *joined]
                write_lines(folder / f"{pep.name}.{end}.ndjson", lines)
                names.append(f"{pep.name}.{end}")
        ending = {
            "id": self.cell.id,
            "epoch_ns": EPOCH_NS,
            "ended_ns": self.ended_ns,
            "ended_by": self.ended_by,
            "processes": dict.fromkeys([*names, "monitor"], 0),
            "notes": self.notes,
        }
        write_json(folder / "cell.json", ending)
        return folder

    def _frames(self, capture: Capture) -> list[Frame]:
        def time(p: Passed) -> int | None:
            if capture.point == "entry":
                ours = capture.interface == f"r1-eth{SERVERS[p.sent.flow] - 1}"
                return p.sent.entered_ns if ours else None
            return p.left_ns if capture.point == "exit" else p.delivered_ns

        found = [(t, p) for p in self.packets if (t := time(p)) is not None]
        found.sort(key=lambda x: x[0])
        over: dict[int, Transport] = {n: _transport(flow) for n, flow in enumerate(self.cell.flows)}
        return [Frame(EPOCH_NS + t, p.frame(over.get(p.sent.flow, "tcp"))) for t, p in found]

    def _arrivals(self, flow: int) -> list[tuple[int, int, int]]:
        return sorted(
            (p.delivered_ns, p.sent.connection, p.sent.frame_bytes - HEADERS)
            for p in self.packets
            if p.delivered_ns is not None and p.sent.flow == flow and p.sent.frame_bytes == FULL
        )

    def _client(self, flow: int) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        for connection in range(self.cell.flows[flow].connections):
            at = {"connection": connection}
            start_ns = self.cell.flows[flow].starts_ns[connection]
            lines.append({"t_ns": start_ns, "event": "opened", **at})
            arrivals = [(t, size) for t, c, size in self._arrivals(flow) if c == connection]
            end_ns = min(arrivals[-1][0], self.ended_ns) if arrivals else self.ended_ns
            if arrivals:
                lines.append({"t_ns": arrivals[0][0], "event": "first-byte", **at})

            def received(until_ns: int, arrivals: list[tuple[int, int]] = arrivals) -> int:
                return sum(size for t, size in arrivals if t <= until_ns)

            for t in range(TICK_NS, end_ns, TICK_NS):
                lines.append({"t_ns": t, "event": "progress", "bytes": received(t), **at})
            bulk = isinstance(self.cell.flows[flow].workload, BulkWorkload)
            event = "stopped" if bulk else "done"
            lines.append({"t_ns": end_ns, "event": event, "bytes": received(end_ns), **at})
        return sorted(lines, key=lambda line: line["t_ns"])

    def _server(self, flow: int) -> list[dict[str, Any]]:
        plan = self.cell.flows[flow]
        sample = SAMPLES[_transport(plan)]
        used = {} if plan.cca is None else {"cca": plan.cca}
        lines: list[dict[str, Any]] = [{"t_ns": -TICK_NS, "event": "listening", **used}]
        for connection in range(plan.connections):
            at = {"connection": connection}
            lines.append({"t_ns": 50 * MS, "event": "accepted", **used, **at})
            for t in [*range(TICK_NS, self.ended_ns, TICK_NS), self.ended_ns]:
                if sample:
                    lines.append({"t_ns": t, "event": "sample", **at, **sample})
        return sorted(lines, key=lambda line: line["t_ns"])

    def _qdiscs(self, *, after: bool) -> dict[str, list[dict[str, Any]]]:
        left = [p for p in self.packets if p.left_ns is not None] if after else []
        dropped = len(self.packets) - len(left) if after else 0
        lost = sum(p.delivered_ns is None for p in left)

        def counters(kind: str, dev: str, sent: int, drops: int, **more: Any) -> dict[str, Any]:
            size = sum(p.sent.frame_bytes for p in left) if sent else 0
            row = {"kind": kind, "handle": "1:", "dev": dev, "options": {}, "bytes": size}
            return {**row, "packets": sent, "drops": drops, "backlog": 0, "qlen": 0, **more}

        return {
            "r1": [
                counters("tbf", "r1-eth2", len(left), dropped, root=True),
                counters("bfifo", "r1-eth2", len(left), dropped, handle="2:", parent="1:1"),
            ],
            "h": [
                counters("netem", "h-eth0", 0, 0, root=True),
                counters("netem", "h-eth1", len(left) - lost, lost, root=True),
            ],
        }


TCP_SAMPLE = {
    "cwnd": 10,
    "ssthresh": 2147483647,
    "rtt_us": 80_000,
    "rttvar_us": 1000,
    "min_rtt_us": 51_000,
    "mss": PAYLOAD,
    "unacked": 9,
    "sacked": 3,
    "lost": 2,
    "retrans_out": 1,
    "retransmits": 0,
    "bytes_sent": 0,
    "bytes_acked": 0,
    "bytes_retransmitted": 0,
    "delivered": 0,
    "pacing_bps": None,
    "delivery_bps": 0,
    "busy_us": 0,
    "rwnd_limited_us": 0,
    "sndbuf_limited_us": 0,
}
QUIC_SAMPLE = {
    "cwnd_bytes": 14_520,
    "ssthresh_bytes": None,
    "rtt_us": 80_000,
    "min_rtt_us": 51_000,
    "mtu": 1452,
    "in_flight_bytes": 7_260,
    "bytes_sent": 0,
    "packets_sent": 0,
    "packets_lost": 0,
    "bytes_lost": None,
    "congestion_events": 0,
    "pacing_bps": None,
    "flow_limited_us": 0,
    "app_limited": None,
}
SAMPLES: Mapping[Transport, Mapping[str, int | None]] = {
    "tcp": TCP_SAMPLE,
    "quic": QUIC_SAMPLE,
    "udp": {},
}


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value))


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


# A full frame takes 10 ms at this rate, so that a slot of 100 ms holds ten of them.
RATE_BPS = FULL * 8 * 100


def hand_made(plan: str, **options: Any) -> Made:
    """A cell in which slot k of the exit carries the frames that the k-th word says, 10 ms each.

    A letter is a frame of that flow, `.` is none; frames wait 5 ms in the queue; no delay behind it.
    """
    cell = made_cell(rate_bps=RATE_BPS, delay_ns=0, **options)
    packets: list[Passed] = []
    for at, letter in enumerate(plan.replace(" ", "")):
        if letter != ".":
            left_ns = at * 10 * MS
            sent = Sent(left_ns - 5 * MS, NAMES.index(letter))
            packets.append(Passed(sent, len(packets), left_ns, left_ns))
    return Made(cell, packets, len(plan.replace(" ", "")) * 10 * MS)


def crowded(**options: Any) -> Made:
    """4 s in which both flows send more than their half: a queue that is nearly always full."""
    cell = made_cell(**options)
    # Datagrams come without being asked for, about half a round trip earlier.
    starts_ns = [26 * MS if f.transport == "udp" else 50 * MS for f in (*cell.flows, *cell.flows)]
    packets = [
        *steady(4_000 * MS, 20 * MS, 0, starts_ns[0]),
        *steady(4_000 * MS, 18 * MS, 1, starts_ns[1]),
    ]
    return Made(cell, through_queue(cell, packets), 4_300 * MS)


def lossy(loss: float, every: int, **options: Any) -> Made:
    """As `crowded`, with each every-th packet of flow a lost behind the queue."""
    made = crowded(loss=loss, **options)
    packets = [p.sent for p in made.packets]
    ours = [i for i, p in enumerate(packets) if p.flow == 0 and p.frame_bytes == FULL]
    for i in ours[::every]:
        packets[i] = replace(packets[i], lost=True)
    return Made(made.cell, through_queue(made.cell, packets), made.ended_ns)
