"""Artefacts of a made-up cell, which follow docs/reference/artefacts.md exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from frames import Frame, pcap
from madecell import (
    EPOCH_NS,
    FULL,
    HEADERS,
    MS,
    NAMES,
    PAYLOAD,
    SERVERS,
    TICK_NS,
    Transport,
    made_cell,
)
from madepackets import Passed, Sent, steady, through_queue

from fairc.compiler.plan import Capture, Cell, Flow
from fairc.mechanisms.devices.pep.cell import Pep
from fairc.mechanisms.workloads.bulk.cell import BulkWorkload


def _transport(flow: Flow) -> Transport:
    """Return a flow's transport; page loads are not made here."""
    assert flow.transport != "web"
    return flow.transport


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
            frames = self.frames(capture)
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
        for pep in self.cell.devices:
            if not isinstance(pep, Pep):
                continue
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

    def frames(self, capture: Capture) -> list[Frame]:
        """Return what a capture holds."""

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
    "bytes_lost": 0,
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

    A letter is a frame of that flow, `.` is none; frames wait 5 ms in the queue; no delay behind
    it.
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


def cut_short(made: Made, waiting: int, folder: Path) -> Path:
    """Write a cell whose captures end while this many packets wait in the queue; return its
    folder.
    """
    went = [n for n, p in enumerate(made.packets) if p.left_ns is not None][-waiting:]
    packets = [
        replace(p, left_ns=None, delivered_ns=None) if n in went else p
        for n, p in enumerate(made.packets)
    ]
    Made(made.cell, packets, made.ended_ns).write(folder)
    file = folder / "qdisc-after.json"
    counters = json.loads(file.read_text())
    for row in counters["r1"]:
        row.update(drops=row["drops"] - waiting, qlen=waiting)
    write_json(file, counters)
    return folder


def lossy(loss: float, every: int, **options: Any) -> Made:
    """As `crowded`, with each every-th packet of flow a lost behind the queue."""
    made = crowded(loss=loss, **options)
    packets = [p.sent for p in made.packets]
    ours = [i for i, p in enumerate(packets) if p.flow == 0 and p.frame_bytes == FULL]
    for i in ours[::every]:
        packets[i] = replace(packets[i], lost=True)
    return Made(made.cell, through_queue(made.cell, packets), made.ended_ns)
