"""`rtt` and `srtt` against numbers worked out by hand and by a slow, plain reading of packets."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pytest
from computed import results, values
from frames import Frame, ethernet, ipv4, pcap, udp
from hypothesis import given
from hypothesis import strategies as st
from madeartefacts import Made, crowded, write_json
from madecell import EPOCH_NS, MS, QUEUE, Transport
from numpy.typing import NDArray

from fairc.compiler.plan import Capture, Cell, MetricRequest
from fairc.mechanisms.workloads.ping.cell import PingWorkload
from fairc.runtime.measurement import Measurement, headers, load
from fairc.runtime.measurement.artefacts import ArtefactError, Artefacts
from fairc.runtime.measurement.headers import BLOCK, DATAGRAM, SEGMENT
from fairc.runtime.measurement.round_trips import RECORD, RoundTrips, echoed
from fairc.runtime.metrics import rtt

CAPTURES = {"s1": "sender.s1.s1-eth0", "s2": "sender.s2.s2-eth0"}
PERCENTILES = tuple(f"p{p}" for p in (5, 10, 25, 50, 75, 90, 95, 99))
SYN, ACK, RST = 2, 16, 4


@dataclass(frozen=True)
class Data:
    """A segment that the sender transmits: bytes [first, first + size) of its stream."""

    at_ms: float
    first: int
    size: int = 1000
    port: int = 40_000
    flags: int = ACK


@dataclass(frozen=True)
class Answer:
    """An ACK that arrives at the sender: of all bytes before `up_to`, and of blocks behind."""

    at_ms: float
    up_to: int
    blocks: tuple[tuple[int, int], ...] = ()
    port: int = 40_000
    flags: int = ACK


Packet = Data | Answer
Records = NDArray[np.void]
SERVER, CLIENT = (int(IPv4Address(host)) for host in ("10.0.1.1", "10.0.11.1"))


def records_of(packets: Sequence[Packet], isn: int = 1) -> Records:
    """Return what the capture at a's server keeps. isn: sequence number of a stream's byte 0."""
    rows: list[tuple[int, ...]] = []
    for p in sorted(packets, key=lambda packet: packet.at_ms):
        at_ns = EPOCH_NS + round(p.at_ms * MS)
        if isinstance(p, Data):
            hosts, number = (SERVER, CLIENT, 5001, p.port), (isn + p.first) % 2**32
            rows.append((at_ns, *hosts, number, p.size, p.flags, SEGMENT, 0))
            continue
        hosts, number = (CLIENT, SERVER, p.port, 5001), (isn + p.up_to) % 2**32
        rows.append((at_ns, *hosts, 7 * (p.flags == SYN), 0, p.flags, SEGMENT, number))
        for first, last in p.blocks:
            numbers = (isn + first) % 2**32, (isn + last) % 2**32
            rows.append((at_ns, *hosts, numbers[0], 0, p.flags, BLOCK, numbers[1]))
    return np.array(rows, headers.RECORD)


def made(transports: tuple[Transport, ...] = ("tcp", "tcp", "tcp")) -> Made:
    return crowded(transports=transports)


def watched(cell: Cell) -> Cell:
    """The cell with captures at both senders."""
    added = [
        Capture(
            name=name,
            node=node,
            interface=f"{node}-eth0",
            direction="both",
            point="sender",
            queue=QUEUE,
        )
        for node, name in CAPTURES.items()
    ]
    return replace(cell, captures=(*cell.captures, *added))


def measured(folder: Path, records: Records, base: Made | None = None) -> Measurement:
    """Return a made-up cell whose first server's interface saw these packets."""
    base = base or made()
    base.write(folder)
    for node, name in CAPTURES.items():
        (folder / f"{name}.headers").write_bytes(records.tobytes() if node == "s1" else b"")
        counts = {"event": "captured", "packets": len(records), "dropped": 0}
        (folder / f"{name}.ndjson").write_text(json.dumps({"t_ns": base.ended_ns, **counts}))
    return load(watched(base.cell), folder)


def trips(folder: Path, packets: list[Packet], isn: int = 1) -> RoundTrips:
    measurement = measured(folder, records_of(packets, isn))
    return measurement.round_trips(measurement.flows[0])


def in_ms(found: RoundTrips) -> list[tuple[float, float]]:
    """Return when each packet was transmitted and its RTT, ms."""
    return [
        (round(a * 1e3, 6), round(b * 1e3, 6))
        for a, b in zip(found.sent_s, found.rtt_s, strict=True)
    ]


def test_an_ack_covers_all_bytes_before_it(tmp_path: Path) -> None:
    """Two segments and a delayed ACK for both; a third whose ACK of its half does not cover it."""
    found = trips(
        tmp_path,
        [
            Data(100, 0),
            Data(101, 1000),
            Answer(151, 2000),
            Data(160, 2000),
            Answer(205, 2500),
            Answer(210, 3000),
            Data(300, 3000),
        ],
    )
    assert in_ms(found) == [(100, 51), (101, 50), (160, 50)]


def test_a_selective_ack_covers_what_lies_behind_a_hole(tmp_path: Path) -> None:
    """The first segment is lost and sent again: it has no RTT. The others have theirs from SACK
    blocks.
    """
    found = trips(
        tmp_path,
        [
            Data(100, 0),
            Data(101, 1000),
            Data(102, 2000),
            Data(103, 3000),
            Answer(151, 0, ((1000, 2000),)),
            Answer(153, 0, ((3000, 4000), (1000, 2000))),
            Data(153, 0),
            Answer(203, 2000, ((3000, 4000),)),
            Answer(220, 4000, ((0, 1000),)),  # and a D-SACK block
        ],
    )
    assert in_ms(found) == [(101, 50), (102, 118), (103, 50)]


def test_segments_that_share_a_byte_with_a_retransmission_are_left_out(tmp_path: Path) -> None:
    """The retransmission holds the second half of one segment and the first half of the next."""
    found = trips(
        tmp_path,
        [
            Data(100, 0),
            Data(100, 1000),
            Data(100, 2000),
            Data(140, 500, 1000),
            Answer(150, 3000),
        ],
    )
    assert in_ms(found) == [(100, 50)]


def test_connections_have_their_own_numbers(tmp_path: Path) -> None:
    """Two at once, and a third that reuses the port of the first: its SYN is sent twice."""
    found = trips(
        tmp_path,
        [
            Data(100, 0),
            Data(101, 0, port=40_001),
            Answer(151, 1000, port=40_001),
            Answer(160, 1000),
            Answer(200, 7, flags=SYN),
            Answer(201, 7, flags=SYN),
            Data(300, 0),
            Answer(390, 1000),
        ],
    )
    assert in_ms(found) == [(100, 60), (101, 50), (300, 90)]


def test_numbers_wrap(tmp_path: Path) -> None:
    found = trips(
        tmp_path,
        [
            Data(100, 0),
            Data(101, 1000),
            Data(102, 2000),
            Answer(150, 1000, ((2000, 3000),)),
            Answer(152, 3000),
        ],
        isn=2**32 - 1500,
    )
    assert in_ms(found) == [(100, 50), (101, 51), (102, 48)]


def test_a_reset_covers_nothing(tmp_path: Path) -> None:
    found = trips(tmp_path, [Data(100, 0), Answer(150, 1000, flags=RST | ACK)])
    assert in_ms(found) == [] and not found.unknown


@st.composite
def conversations(draw: st.DrawFn) -> list[Packet]:
    """Segments of any overlap and ACKs of any kind, in any order."""
    packets: list[Packet] = []
    for number in range(draw(st.integers(1, 30))):
        if draw(st.booleans()):
            first, size = draw(st.integers(0, 12)), draw(st.integers(1, 3))
            packets.append(Data(number, first, size, draw(st.sampled_from((40_000, 40_001)))))
        else:
            up_to = draw(st.integers(0, 15))
            edges = draw(st.lists(st.integers(0, 15), min_size=0, max_size=6))
            pairs = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False) if a < b]
            port = draw(st.sampled_from((40_000, 40_001)))
            packets.append(Answer(number, up_to, tuple(pairs), port))
    return packets


def slowly(packets: list[Packet]) -> list[tuple[float, float]]:
    """Read the same byte by byte."""
    sent = [p for p in packets if isinstance(p, Data)]
    found = []
    for one in sent:
        mine = set(range(one.first, one.first + one.size))
        others = (p for p in sent if p is not one and p.port == one.port)
        if any(mine & set(range(p.first, p.first + p.size)) for p in others):
            continue
        for ack in packets:
            if not isinstance(ack, Answer) or ack.port != one.port:
                continue
            whole = [(-1, ack.up_to), *ack.blocks]
            if any(all(low <= byte < high for byte in mine) for low, high in whole):
                if ack.at_ms >= one.at_ms:
                    found.append((one.at_ms, round(ack.at_ms - one.at_ms, 6)))
                break
    return sorted(found)


@given(conversations())
def test_any_conversation_reads_as_byte_by_byte(
    tmp_path_factory: pytest.TempPathFactory, packets: list[Packet]
) -> None:
    # The first number of each stream is where its numbers begin.
    opening: list[Packet] = [Data(-1, 100, 0, port) for port in (40_000, 40_001)]
    found = trips(tmp_path_factory.mktemp("cell"), [*opening, *packets])
    assert sorted(in_ms(found)) == slowly(packets)


def datagrams(*sizes_at_ms: tuple[int, float]) -> Records:
    hosts = (SERVER, CLIENT, 5001, 40_000)
    return np.array(
        [(EPOCH_NS + round(at * MS), *hosts, 0, size, 0, DATAGRAM, 0) for size, at in sizes_at_ms],
        headers.RECORD,
    )


def logged(folder: Path, *records: tuple[float, float, int, int], told: int | None = None) -> None:
    """Write a's log: (handed over, acknowledged, number, bytes) each, in ms after the epoch."""
    rows = [(round(a * MS), round(b * MS), number, size) for a, b, number, size in records]
    (folder / "a.server.packets").write_bytes(np.array(rows, RECORD).tobytes())
    event = {"t_ns": 0, "event": "logged", "records": len(rows) if told is None else told}
    with (folder / "a.server.ndjson").open("a") as log:
        log.write(json.dumps(event) + "\n")


QUIC = datagrams((1200, 100.0), (40, 100.2), (1300, 100.3))


def quic(
    folder: Path, *records: tuple[float, float, int, int], told: int | None = None
) -> Measurement:
    base = made(("quic", "tcp", "tcp"))
    measured(folder, QUIC, base)
    logged(folder, *records, told=told)
    return load(watched(base.cell), folder)


def test_a_quic_packet_is_transmitted_when_its_interface_sends_it(tmp_path: Path) -> None:
    """The third waited for 0.2 ms in its host. The second asked for no acknowledgement."""
    measurement = quic(tmp_path, (100.0, 150.0, 0, 1200), (100.1, 151.0, 2, 1300))
    found = measurement.round_trips(measurement.flows[0])
    assert in_ms(found) == [(100, 50), (100.3, 50.7)]


@pytest.mark.parametrize("record", [(100.0, 150.0, 1, 1200), (100.0, 150.0, 3, 1200)])
def test_a_log_that_does_not_fit_the_packets_gives_no_rtt(
    tmp_path: Path, record: tuple[float, float, int, int]
) -> None:
    found = results(quic(tmp_path, record), "rtt", "a")
    reasons = {v.metric: v.reason for v in found}
    assert "its log fits no packets" in reasons["rtt.mean"] and not reasons["rtt.base"]


def test_a_log_that_was_cut_off_is_broken(tmp_path: Path) -> None:
    with pytest.raises(
        ArtefactError, match=r"a\.server\.packets has 24 bytes, and the server wrote 48"
    ):
        quic(tmp_path, (100.0, 150.0, 0, 1200), told=2)


def test_a_server_without_a_log_has_no_rtt(tmp_path: Path) -> None:
    measurement = measured(tmp_path, QUIC, made(("quic", "tcp", "tcp")))
    reasons = {v.metric: v.reason for v in results(measurement, "rtt", "a")}
    assert reasons["rtt.p95"] == "its server left no log of acknowledgements"


def test_values_by_hand(tmp_path: Path) -> None:
    """RTTs of 10, 20, 30, 40 and 50 ms; one of 90 ms was transmitted in the warm-up of 300 ms."""
    base = made()
    base.cell = replace(base.cell, warmup_ns=300 * MS)
    packets: list[Packet] = [Data(205, 0), Answer(295, 1000)]
    for number in range(1, 6):
        at = 200 + 100 * number + (50 if number == 5 else 0)
        packets += [Data(at, 1000 * number), Answer(at + 10 * number, 1000 * (number + 1))]
    measurement = measured(tmp_path, records_of(packets), base)
    found = {v.metric: v.value for v in results(measurement, "rtt", "a")}
    assert found["rtt.mean"] == pytest.approx(0.030)
    assert found["rtt.min"] == pytest.approx(0.010)
    assert found["rtt.p50"] == pytest.approx(0.030)
    assert found["rtt.p75"] == pytest.approx(0.040)
    assert (found["rtt.p10"], found["rtt.p90"]) == (None, None)  # of five values
    assert found["rtt.base"] == pytest.approx(0.05005)
    request = MetricRequest(name="rtt", sessions=("a",))
    (curve,) = rtt.curves(measurement, request)
    assert (curve.metric, curve.name, curve.scale) == ("rtt", "distribution", 5)
    assert (curve.x[0], curve.x[-1]) == (pytest.approx(0.010), pytest.approx(0.050))
    (trace,) = rtt.traces(measurement, request)
    assert trace.metric == "rtt.mean"
    assert list(zip(trace.t_s.round(9), trace.values.round(9), strict=True)) == [
        (0.2, 0.09),
        (0.3, 0.01),
        (0.4, 0.02),
        (0.5, 0.03),
        (0.6, 0.04),
        (0.7, 0.05),
    ]


def test_what_has_no_ack_has_no_rtt(tmp_path: Path) -> None:
    measurement = measured(tmp_path, QUIC, made(("udp", "tcp", "tcp")))
    found = {v.metric: v for v in results(measurement, "rtt", "a")}
    assert found["rtt.mean"].reason == "nobody acknowledges datagrams of UDP"
    assert found["rtt.base"].value == pytest.approx(0.05005)


def test_a_cell_without_the_capture_has_no_rtt(tmp_path: Path) -> None:
    base = crowded()
    found = {v.metric: v.reason for v in results(load(base.cell, base.write(tmp_path)), "rtt", "a")}
    assert found == {
        **{
            f"rtt.{n}": "packets were not captured at its sender"
            for n in ("mean", "min", *PERCENTILES)
        },
        "rtt.base": "",
    }


def test_srtt_by_hand(tmp_path: Path) -> None:
    """Samples of 80 ms each 100 ms; min_rtt 51 ms."""
    found = values(crowded(), tmp_path, "srtt", "b")
    assert found["srtt.mean", "b"] == pytest.approx(0.080)
    assert found["srtt.min", "b"] == pytest.approx(0.051)


def test_srtt_and_pings_that_are_missing(tmp_path: Path) -> None:
    base = crowded()
    folder = base.write(tmp_path)
    listening = (folder / "a.server.ndjson").read_text().splitlines()[0]
    (folder / "a.server.ndjson").write_text(listening + "\n")
    write_json(folder / "ping.json", [])
    measurement = load(base.cell, folder)
    assert {v.metric: v.reason for v in results(measurement, "srtt", "a")} == dict.fromkeys(
        (f"srtt.{n}" for n in ("mean", "min", *PERCENTILES)), "the sender has no RTT sample"
    )
    (base_rtt,) = (v for v in results(measurement, "rtt", "a") if v.metric == "rtt.base")
    assert base_rtt.reason == "no ping came back"


def test_pings_over_ones_own_bottleneck_count_from_their_sending(tmp_path: Path) -> None:
    """Three pings wait in the queue of their own host; the second one's echo comes twice, the third
    one's never; another flow's datagram arrives, too.
    """
    (plain,) = crowded(flows=1).cell.flows
    flow = replace(plain, transport="udp", workload=PingWorkload(every_ns=MS, packet_bytes=84))
    made = crowded(flows=1).cell
    name = "echo.s1.s1-eth0"
    echo = Capture(name, flow.server, "s1-eth0", "in", "echo", QUEUE)
    cell = replace(made, flows=(flow,), captures=(*made.captures, echo))

    def frame(at_ms: float, number: int, sent_ms: int, port: int = flow.port) -> Frame:
        payload = b"fair" + struct.pack(">HHQQ", 1, 0, number, sent_ms * MS) + bytes(32)
        datagram = udp(flow.port, port, payload)
        packet = ipv4("10.0.11.1", flow.address, 17, datagram)
        return Frame(EPOCH_NS + round(at_ms * MS), ethernet(packet))

    arrived = [frame(9, 0, 5), frame(14, 0, 5, flow.port + 1), frame(20, 1, 10), frame(21, 1, 10)]
    (tmp_path / f"{name}.pcap").write_bytes(pcap(arrived))
    found = echoed(Artefacts(tmp_path), cell, flow, {}, EPOCH_NS)
    assert found is not None and not found.unknown
    assert found.sent_s.tolist() == pytest.approx([0.005, 0.010])
    assert found.rtt_s.tolist() == pytest.approx([0.004, 0.010])
    assert echoed(Artefacts(tmp_path), made, flow, {}, EPOCH_NS) is None
