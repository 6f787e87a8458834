"""Write the artefacts of docs/reference/artefacts.md from a trace of the fluid model."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np

from fairc.api import (
    PING_BYTES,
    Capture,
    Cell,
    Flow,
    Paths,
    Pep,
    Policer,
    headers,
    pcap,
    policed_packets,
    round_trips,
    segment_bytes,
)

from . import iperf3, pages, qdiscs
from .fluid import HEADER_BYTES, Frame, Trace

EPOCH_NS = 1_577_836_800_000_000_000
EVERY_NS = 100_000_000
SNAPLEN = 96


def write(cell: Cell, trace: Trace, folder: Path, notes: tuple[str, ...] = ()) -> None:
    """Write every file of a cell; cell.json, with the notes, last."""
    for capture in cell.captures:
        write_one = _sent if capture.point == "sender" else _capture
        write_one(cell, capture, trace, folder)
    for flow in cell.flows:
        _ends(flow, trace, folder)
    for device in cell.devices:
        if isinstance(device, Pep):
            for name in device.programs:
                _lines(folder / f"{name}.ndjson", _proxy(cell, device))
                (folder / f"{name}.err").write_bytes(b"")
        if isinstance(device, Policer):
            _policer(cell, device, folder)
    ticks = _every(trace.ended_ns)
    busy = EVERY_NS // 20
    _lines(
        folder / "monitor.ndjson",
        ({"t_ns": t, "event": "cpu", "busy_ns": busy, "total_ns": EVERY_NS} for t in ticks),
    )
    _json(folder / "qdisc-before.json", qdiscs.shown(cell, trace, after=False))
    _json(folder / "qdisc-after.json", qdiscs.shown(cell, trace, after=True))
    _json(
        folder / "ping.json",
        [
            {
                "flow": flow.name,
                "client": flow.client,
                "server": flow.server,
                "sent": 10,
                "rtts_ns": [_ping_ns(cell, flow)] * 10,
            }
            for flow in cell.flows
        ],
    )
    _json(
        folder / "system.json",
        {
            "kernel": "none: invented by the fake engine",
            "tc": "none",
            "mininet": "none",
            "sysctl": {},
            "offloads": {},
            "ccas": sorted({flow.cca for flow in cell.flows if flow.cca}),
        }
        | ({"processing": {"bound_ns": cell.processing_ns}} if cell.processing_ns else {}),
    )
    names = [f"{flow.name}.{side}" for flow in cell.flows for side in ("server", "client")]
    names += [name for device in cell.devices for name in device.programs]
    _json(
        folder / "cell.json",
        {
            "id": cell.id,
            "epoch_ns": EPOCH_NS,
            "ended_ns": trace.ended_ns,
            "ended_by": trace.ended_by,
            "processes": dict.fromkeys([*names, *(c.name for c in cell.captures), "monitor"], 0),
            "notes": list(notes),
        },
    )


def _ends(flow: Flow, trace: Trace, folder: Path) -> None:
    """Write what the programs of a flow leave behind."""
    mine = [f for f in trace.frames[flow.bottleneck] if f.flow.name == flow.name]
    if flow.workload.measures_itself:
        reports = iperf3.documents(flow, mine, trace.ended_ns)
        for side, document in reports.items():
            _json(folder / f"{flow.name}.{side}.json", document)
            for kind in ("err", "ndjson"):
                (folder / f"{flow.name}.{side}.{kind}").write_bytes(b"")
        return
    for side, events in _programs(flow, mine, trace.ended_ns).items():
        _lines(folder / f"{flow.name}.{side}.ndjson", events)
    for side in ("server", "client"):
        (folder / f"{flow.name}.{side}.err").write_bytes(b"")
    if flow.transport == "quic":
        (folder / f"{flow.name}.server.packets").write_bytes(_log(flow, mine))


def _ping_ns(cell: Cell, flow: Flow) -> int:
    """Return a ping's round trip: propagation, transmission, and what hosts need."""
    paths = Paths(cell)
    ways = (*paths.of(flow), *paths.back(flow))
    sending_ns = round(paths.transmission_s(ways, PING_BYTES) * 1e9)
    return flow.base_rtt_ns + sending_ns + 40_000 + (cell.processing_ns or 0)


def _programs(
    flow: Flow, frames: list[Frame], end_ns: int
) -> Mapping[str, Iterable[dict[str, Any]]]:
    """Return what server and client of a flow would have written."""
    if flow.workload.http_versions:
        server, client = pages.events(flow, frames, end_ns)
        return {"server": server, "client": client}
    return {"server": _server(flow, frames, end_ns), "client": _client(flow, frames, end_ns)}


def _proxy(cell: Cell, pep: Pep) -> Iterator[dict[str, Any]]:
    """Return what each end of a pair of proxies would have written."""
    packets = -(-pep.window_bytes // pep.mtu)
    ready = {"connections": pep.pool, "cca": pep.cca, "window_packets": packets}
    yield {"t_ns": -1, "event": "ready", **ready}
    split = [flow for flow in cell.flows if flow.port in pep.ports]
    count = sum(len(flow.workload.http_versions) + flow.connections for flow in split)
    for number in range(count):
        yield {"t_ns": 0, "event": "joined", "connection": number, "window_packets": packets}


def _policer(cell: Cell, policer: Policer, folder: Path) -> None:
    """Write what a policer would have: here nothing is sent again or marked, so it drops
    nothing.
    """
    (name,) = (
        c.name
        for c in cell.captures
        if (c.node, c.interface, c.direction) == (policer.node, policer.ingress, "in")
    )
    packets = pcap.read(folder / f"{name}.pcap").packets
    times_ns = packets.time_ns[policed_packets(policer, cell, packets)[0]] - EPOCH_NS
    (folder / f"{policer.name}.policer.times").write_bytes(times_ns.astype("<i8").tobytes())
    counts = {"packets": len(times_ns), "dropped": 0, "refused": 0, "late_us": 0, "missed": 0}
    events = [{"t_ns": -1, "event": "ready"}, {"t_ns": 0, "event": "policed", **counts}]
    _lines(folder / f"{policer.name}.policer.ndjson", events)
    (folder / f"{policer.name}.policer.err").write_bytes(b"")


def _every(end_ns: int, every_ns: int = EVERY_NS) -> range:
    return range(0, end_ns + 1, every_ns)


def _server(flow: Flow, frames: list[Frame], end_ns: int) -> Iterator[dict[str, Any]]:
    """Yield what the server of a flow would have written."""
    used = {"cca": flow.cca} if flow.cca else {}
    yield {"t_ns": -EVERY_NS, "event": "listening", **used}
    wanted = flow.workload.total_bytes(1) if flow.workload.greedy else None
    for number in range(flow.connections):
        at = {"t_ns": flow.starts_ns[number] + flow.base_rtt_ns, "connection": number}
        yield {**at, "event": "accepted", **used}
        yield {**at, "event": "request", "bytes": wanted}
    if flow.transport == "quic":
        records = len(_log(flow, frames)) // round_trips.RECORD.itemsize
        yield {"t_ns": end_ns, "event": "logged", "records": records}
    for number in range(flow.connections):
        mine = [f for f in frames if f.connection == number]
        sent = lost = 0
        following = iter(mine)
        frame = next(following, None)
        last_ns = mine[-1].sent_ns + flow.base_rtt_ns if mine else 0
        for t in _every(min(end_ns, last_ns), flow.sample_every_ns):
            rtt_ns = flow.base_rtt_ns
            while frame is not None and frame.left_ns <= t:
                sent += frame.payload
                lost += frame.lost
                rtt_ns = flow.base_rtt_ns + frame.left_ns - frame.entered_ns
                frame = next(following, None)
            if sent == 0:
                continue
            sample = _SAMPLES[flow.transport](flow, rtt_ns, sent, lost)
            if flow.transport == "tcp":
                sample["busy_us"] = max(0, t - flow.starts_ns[number] - flow.base_rtt_ns) // 1000
            if sample:
                yield {"t_ns": t, "event": "sample", "connection": number, **sample}


def _log(flow: Flow, frames: list[Frame]) -> bytes:
    """Return the log of a QUIC server's packets: each that was not lost is acknowledged by
    itself.
    """
    ordered = sorted(frames, key=lambda frame: frame.entered_ns)
    return np.array(
        [
            (f.entered_ns, f.sent_ns + flow.base_rtt_ns, number, _datagram_bytes(f))
            for number, f in enumerate(ordered)
            if not f.lost
        ],
        round_trips.RECORD,
    ).tobytes()


def _tcp_sample(flow: Flow, rtt_ns: int, sent: int, lost: int) -> dict[str, Any]:
    return {
        "cwnd": 10,
        "ssthresh": 10,
        "rtt_us": rtt_ns // 1000,
        "rttvar_us": 1000,
        "min_rtt_us": flow.base_rtt_ns // 1000,
        "mss": segment_bytes(flow.mtu),
        "unacked": 10,
        "sacked": 0,
        "lost": 0,
        "retrans_out": 0,
        "retransmits": lost,
        "bytes_sent": sent,
        "bytes_acked": sent,
        "bytes_retransmitted": lost * segment_bytes(flow.mtu),
        "delivered": sent // segment_bytes(flow.mtu),
        "pacing_bps": 0,
        "delivery_bps": 0,
        "busy_us": 0,
        "rwnd_limited_us": 0,
        "sndbuf_limited_us": 0,
        "ca_state": 0,
    }


def _quic_sample(flow: Flow, rtt_ns: int, sent: int, lost: int) -> dict[str, Any]:
    return {
        "cwnd_bytes": 10 * segment_bytes(flow.mtu),
        "ssthresh_bytes": None,
        "rtt_us": rtt_ns // 1000,
        "min_rtt_us": flow.base_rtt_ns // 1000,
        "mtu": segment_bytes(flow.mtu),
        "in_flight_bytes": 10 * segment_bytes(flow.mtu),
        "bytes_sent": sent,
        "packets_sent": sent // segment_bytes(flow.mtu),
        "packets_lost": lost,
        "bytes_lost": lost * segment_bytes(flow.mtu),
        "congestion_events": 0,
        "pacing_bps": None,
        "flow_limited_us": None,
        "app_limited": False,
        "app_limited_us": 0,
    }


def _no_sample(flow: Flow, rtt_ns: int, sent: int, lost: int) -> dict[str, Any]:
    del flow, rtt_ns, sent, lost
    return {}


_SAMPLES: Mapping[str, Callable[[Flow, int, int, int], dict[str, Any]]] = {
    "tcp": _tcp_sample,
    "quic": _quic_sample,
    "udp": _no_sample,
}


def _client(flow: Flow, frames: list[Frame], end_ns: int) -> Iterator[dict[str, Any]]:
    """Yield what the client of a flow would have written."""
    wanted = flow.workload.total_bytes(1) if flow.workload.greedy else None
    for number in range(flow.connections):
        at = {"connection": number}
        yield {"t_ns": flow.starts_ns[number], "event": "opened", **at}
        yield {"t_ns": flow.starts_ns[number] + flow.base_rtt_ns, "event": "connected", **at}
        arrivals = [
            (f.sent_ns + flow.base_rtt_ns // 2, f.payload)
            for f in frames
            if f.connection == number and not f.lost
        ]
        arrivals = [a for a in arrivals if a[0] <= end_ns]
        received, done = 0, 0
        if arrivals:
            yield {"t_ns": arrivals[0][0], "event": "first-byte", **at}
        for t in _every(end_ns):
            while done < len(arrivals) and arrivals[done][0] <= t:
                received += arrivals[done][1]
                done += 1
            if t >= flow.starts_ns[number] and received != wanted:
                yield {"t_ns": t, "event": "progress", "bytes": received, **at}
        received = sum(payload for _, payload in arrivals)
        if received == wanted:
            yield {"t_ns": arrivals[-1][0], "event": "done", "bytes": received, **at}
        else:
            stop_ns = end_ns if flow.stop_ns is None else min(flow.stop_ns, end_ns)
            yield {"t_ns": stop_ns, "event": "stopped", "bytes": received, **at}


def _capture(cell: Cell, capture: Capture, trace: Trace, folder: Path) -> None:
    """Write a capture of the frames that pass its bottleneck, and what it says about them."""
    frames = [f for f in trace.frames.get(capture.queue, ()) if _seen(capture, f)]
    if capture.point == "client":
        frames = [f for f in frames if f.flow.client == capture.node]
    records = sorted(((_when(capture, f), n, f) for n, f in enumerate(frames)))
    ends = {name: (_octets(a), _octets(b)) for name, (a, b) in _addresses(cell).items()}
    with (folder / f"{capture.name}.pcap").open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAPLEN, 1))
        for at_ns, _, frame in records:
            seconds, ns = divmod(EPOCH_NS + at_ns, 10**9)
            length = frame.payload + HEADER_BYTES
            packet = _packet(*ends[frame.flow.name], frame)[:SNAPLEN]
            file.write(struct.pack("<IIII", seconds, ns, len(packet), length) + packet)
    _counted(capture, trace, len(records), folder)


def _sent(cell: Cell, capture: Capture, trace: Trace, folder: Path) -> None:
    """Write the headers of what a host sends, and of an ACK of each segment that was not lost."""
    frames = [f for each in trace.frames.values() for f in each if f.flow.server == capture.node]
    records = []
    ends = {
        name: (int(IPv4Address(a)), int(IPv4Address(b)))
        for name, (a, b) in _addresses(cell).items()
    }
    for frame in frames:
        source, target = ends[frame.flow.name]
        ports, sequence, at_ns = (
            _ports(frame),
            frame.sequence & 0xFFFFFFFF,
            EPOCH_NS + frame.entered_ns,
        )
        if not _over_tcp(frame):
            sent = (source, target, *ports, 0, _datagram_bytes(frame), 0, headers.DATAGRAM, 0)
            records.append((at_ns, *sent))
            continue
        sent = (source, target, *ports, sequence, frame.payload, pcap.ACK, headers.SEGMENT, 1)
        records.append((at_ns, *sent))
        if not frame.lost:
            back_ns = EPOCH_NS + frame.sent_ns + frame.flow.base_rtt_ns
            covered = sequence + frame.payload & 0xFFFFFFFF
            kind = headers.SEGMENT
            records.append((back_ns, target, source, *ports[::-1], 1, 0, pcap.ACK, kind, covered))
    records.sort(key=lambda record: record[0])
    content = np.array(records, headers.RECORD).tobytes()
    (folder / f"{capture.name}.headers").write_bytes(content)
    _counted(capture, trace, len(records), folder)


def _counted(capture: Capture, trace: Trace, packets: int, folder: Path) -> None:
    counts = {"event": "captured", "packets": packets, "dropped": 0}
    _lines(folder / f"{capture.name}.ndjson", [{"t_ns": trace.ended_ns, **counts}])


def _seen(capture: Capture, frame: Frame) -> bool:
    return capture.point not in ("delivered", "client") or not frame.lost


def _when(capture: Capture, frame: Frame) -> int:
    if capture.point == "client":
        return frame.sent_ns + frame.flow.base_rtt_ns // 2
    if capture.point == "delivered":
        return frame.sent_ns
    return frame.entered_ns if capture.point == "entry" else frame.left_ns


def _addresses(cell: Cell) -> dict[str, tuple[str, str]]:
    """Return the addresses of server and client by the name of a flow."""
    own = {node.name: node.interfaces[0].address.partition("/")[0] for node in cell.nodes}
    return {flow.name: (flow.address, own[flow.client]) for flow in cell.flows}


def _packet(source: bytes, target: bytes, frame: Frame) -> bytes:
    """Return the headers of a data packet, and what identifies it."""
    ethernet = b"\x02\x00" + target + b"\x02\x00" + source + b"\x08\x00"
    length = frame.payload + HEADER_BYTES - len(ethernet)
    protocol, identification, segment = (_segment if _over_tcp(frame) else _datagram)(frame)
    head = (0x45, 0, length, identification, 0x4000, 63, protocol, 0, source, target)
    return ethernet + struct.pack("!BBHHHBBH4s4s", *head) + segment + bytes(SNAPLEN)


def _over_tcp(frame: Frame) -> bool:
    return frame.flow.transport == "tcp" or pages.over_tcp(frame)


def _segment(frame: Frame) -> tuple[int, int, bytes]:
    """Return protocol, IP id and a TCP header with timestamps."""
    ports = _ports(frame)
    tcp = struct.pack("!HHIIBBHHH", *ports, frame.sequence & 0xFFFFFFFF, 1, 0x80, 0x10, 512, 0, 0)
    stamp_ms = frame.left_ns // 10**6 & 0xFFFFFFFF
    # Every sending of a byte has its own time, so the identification need not be counted.
    identification = frame.left_ns // 1000 & 0xFFFF
    return pcap.TCP, identification, tcp + struct.pack("!BBBBII", 1, 1, 8, 10, stamp_ms, stamp_ms)


def _datagram(frame: Frame) -> tuple[int, int, bytes]:
    """Return protocol, IP id and a UDP header with the first bytes of a payload of its own."""
    ports = _ports(frame)
    length = 8 + _datagram_bytes(frame)
    return pcap.UDP, 0, struct.pack("!HHHHQ", *ports, length, 0, frame.left_ns)


def _datagram_bytes(frame: Frame) -> int:
    """Return the payload of a datagram in a frame of that length."""
    return frame.payload + HEADER_BYTES - 14 - 20 - 8


def _ports(frame: Frame) -> tuple[int, int]:
    """Return the ports of a data packet's sender and receiver; who opened the connection has
    another.
    """
    other = iperf3.CLIENT_PORT + frame.connection
    if frame.flow.workload.opened_by_sender:
        return other, frame.flow.port
    return frame.flow.port, other


def _octets(address: str) -> bytes:
    return bytes(map(int, address.split(".")))


def _lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    ordered = sorted(records, key=lambda record: record["t_ns"])
    path.write_text("".join(json.dumps(record) + "\n" for record in ordered))


def _json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document) + "\n")  # with an indent it takes ten times as long
