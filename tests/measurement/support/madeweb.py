"""A made-up cell in which flow `a` loads a page: artefacts as docs/reference/artefacts.md has
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Literal

from frames import Frame, ethernet, ipv4, pcap, tcp, udp
from madeartefacts import Made, write_lines
from madecell import EPOCH_NS, MS, QUEUE, made_cell

from fairc.compiler.plan import (
    Capture,
    Cell,
    MetricRequest,
    PageObject,
    Requests,
    TransportOptions,
)
from fairc.mechanisms.devices.pep.cell import Pep
from fairc.mechanisms.workloads.load.cell import LoadWorkload
from fairc.runtime.analysis.cells import Analysis, analyse
from fairc.words.metrics import METRICS as WORDS

Protocol = Literal["h1", "h2", "h3"]
PAGE = (
    PageObject(path="/", bytes=7000, type="text/html", parent=None),
    PageObject(path="/1.png", bytes=2000, type="image/png", parent=0),
)
CLIENT_NODE, CLIENT_ADDRESS, SERVER_ADDRESS, PORT = "c1", "10.0.11.1", "10.0.1.1", 5001
CAPTURE = f"client.{CLIENT_NODE}.c1-eth0"
# The middle of a split connection: of addresses that nothing else has.
PEP = Pep(
    name="pep",
    terminal="r2",
    gateway="r1",
    terminal_address="10.0.4.2",
    gateway_address="10.0.3.1",
    port=7000,
    ports=(PORT,),
    cca="bbr",
    pool=2,
    window_bytes=100_000,
    rate_bps=(1_000_000, 1_000_000),
    buffer_bytes=1_000_000,
    source="made.fexp:9",
)


def web_cell(
    *,
    protocols: tuple[Protocol, ...] = ("h2", "h3"),
    client: Literal["chromium", "plain"] = "plain",
    split: bool = False,
    captured: bool = True,
    **options: Any,
) -> Cell:
    """A cell whose only flow loads PAGE; delays, rate and so on as of `made_cell`."""
    cell = made_cell(flows=1, **options)
    workload = LoadWorkload(
        page=PAGE,
        client=client,
        protocols=protocols,
        idle_ns=(0, *(1000 * MS for _ in protocols[1:])),
        timeout_ns=60_000 * MS,
    )
    flow = replace(
        cell.flows[0],
        transport="web",
        cca="bbr",
        workload=workload,
        options=TransportOptions(initial_window_packets=32),
    )
    client_capture = Capture(
        name=CAPTURE,
        node=CLIENT_NODE,
        interface="c1-eth0",
        direction="in",
        point="client",
        queue=QUEUE,
    )
    captures = (*cell.captures, client_capture) if captured else cell.captures
    return replace(cell, flows=(flow,), captures=captures, devices=(PEP,) if split else ())


def load_event(number: int, protocol: Protocol, begin_ms: int, /, **changes: Any) -> dict[str, Any]:
    """A load: connected after 20 ms, answered after 50 ms, over after 300 ms."""

    def at(ms: int) -> int:
        return (begin_ms + ms) * MS

    resources = [
        {
            "path": one.path,
            "type": one.type,
            "protocol": protocol,
            "status": 200,
            "bytes": one.bytes,
            "start_ns": at(0 if place == 0 else 150),
            "connect_start_ns": at(5) if place == 0 else None,
            "connect_end_ns": at(20) if place == 0 else None,
            "request_start_ns": at(20 if place == 0 else 151),
            "response_start_ns": at(50 if place == 0 else 200),
            "response_end_ns": at(150 if place == 0 else 300),
        }
        for place, one in enumerate(PAGE)
    ]
    event = {
        "t_ns": at(300),
        "event": "load",
        "load": number,
        "wanted": protocol,
        "protocol": protocol,
        "status": 200,
        "error": "",
        "client": "plain",
        "version": "1.0",
        "begin_ns": at(0),
        "connect_start_ns": at(5),
        "secure_start_ns": None if protocol == "h3" else at(10),
        "connect_end_ns": at(20),
        "request_start_ns": at(20),
        "response_start_ns": at(50),
        "response_end_ns": at(150),
        "dom_content_loaded_ns": None,
        "load_event_end_ns": at(300),
        "fcp_ns": None,
        "lcp_ns": None,
        "bytes": sum(one.bytes for one in PAGE),
        "local_ports": [40_000 + number],
        "resources": resources,
    }
    return {**event, **changes}


@dataclass(frozen=True)
class Segment:
    """What arrives at the client: begin in the stream, and bytes; over QUIC bytes of payload."""

    ms: int
    port: int
    begin: int
    bytes: int
    over: Literal["tcp", "quic"] = "tcp"


@dataclass
class MadeWeb:
    """A cell of page loads and what it leaves behind; `write` puts it into a folder."""

    cell: Cell
    loads: list[dict[str, Any]]
    segments: Sequence[Segment] = ()
    server: Sequence[Mapping[str, Any]] = ()
    ended_ns: int = 5000 * MS
    client: list[Mapping[str, Any]] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        """Write every artefact; returns the folder."""
        # What is not of page loads is that of a cell whose bottleneck nothing passed.
        captures = tuple(c for c in self.cell.captures if c.point != "client")
        plain = made_cell(flows=1).flows
        bare = replace(self.cell, captures=captures, flows=plain)
        Made(bare, [], self.ended_ns).write(folder)
        done = {"t_ns": self.ended_ns, "event": "done", "loads": len(self.loads)}
        write_lines(folder / "a.client.ndjson", [*self.loads, *self.client, done])
        accepted = [
            {
                "t_ns": load["connect_start_ns"] or load["begin_ns"],
                "event": "accepted",
                "connection": number,
                "transport": "quic" if load["wanted"] == "h3" else "tcp",
                "protocol": load["wanted"],
                "cca": "bbr",
            }
            for number, load in enumerate(self.loads)
        ]
        listening = {"t_ns": -1, "event": "listening", "cca": "bbr"}
        write_lines(folder / "a.server.ndjson", [listening, *accepted, *self.server])
        if len(captures) < len(self.cell.captures):
            frames = [self._frame(segment) for segment in self.segments]
            (folder / f"{CAPTURE}.pcap").write_bytes(pcap(frames))
            counts = {"event": "captured", "packets": len(frames), "dropped": 0}
            write_lines(folder / f"{CAPTURE}.ndjson", [{"t_ns": self.ended_ns, **counts}])
        return folder

    def _frame(self, segment: Segment) -> Frame:
        payload = bytes(segment.bytes)
        if segment.over == "tcp":
            sequence = (2**32 - 1000 + segment.begin) % 2**32  # so that numbers wrap around
            packet = tcp(PORT, segment.port, payload, sequence=sequence)
            protocol = 6
        else:
            packet, protocol = udp(PORT, segment.port, payload), 17
        hosts = (str(IPv4Address(SERVER_ADDRESS)), str(IPv4Address(CLIENT_ADDRESS)))
        return Frame(EPOCH_NS + segment.ms * MS, ethernet(ipv4(*hosts, protocol, packet)))


def two_loads(**options: Any) -> MadeWeb:
    """Two loads, the first over h2 and the second over h3, 1.3 s apart as planned."""
    cell = web_cell(**options)
    assert isinstance(cell.flows[0].workload, LoadWorkload)
    client = cell.flows[0].workload.client
    return MadeWeb(
        cell,
        [load_event(1, "h2", 0, client=client), load_event(2, "h3", 1300, client=client)],
        [
            Segment(30, 40_001, 0, 100),  # the server's side of the handshake
            Segment(55, 40_001, 100, 1400),
            Segment(60, 40_001, 2900, 1400),  # a hole
            Segment(65, 40_001, 2900, 1400),  # again, for nothing
            Segment(90, 40_001, 1500, 1400),  # the hole is filled
            Segment(1350, 40_002, 0, 1000, "quic"),
            Segment(1400, 40_002, 0, 1172, "quic"),
            Segment(1700, 40_002, 0, 500, "quic"),  # after the load
        ],
    )


PER_LOAD = tuple(metric.name for metric in WORDS if metric.per_load)


EVERYTHING = [MetricRequest(name=name) for name in PER_LOAD]


def analysed(made: MadeWeb, folder: Path) -> Analysis:
    return analyse(made.cell, made.write(folder), Requests(measure=tuple(EVERYTHING)))


def values(analysis: Analysis) -> dict[tuple[str, int | None], float | None]:
    assert {value.flow for value in analysis.metrics} == {"a"}
    return {(value.metric, value.load): value.value for value in analysis.metrics}
