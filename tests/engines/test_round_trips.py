"""Round trips of packets in a machine: on an idle path they are what its links take, over TCP as
over QUIC.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kept_cells import run_alone
from numpy.typing import NDArray
from specs import only_cell_of

from fairc.compiler.plan import Cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import FlowRecord, Measurement, headers, load
from fairc.runtime.measurement.paths import Paths, Place

# One packet at a time is on its way: at 500 kbit/s a full one is sent every 24 ms.
TEXT = """fexp 1
experiment idle {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms)
  hosts { processing = off }
  flow tcp  { cca = cubic  rate = 500kbit/s  start = 0s  workload = file(200kB) }
  flow quic { over = quic  cca = cubic  rate = 500kbit/s  start = 10s  workload = file(200kB) }
  measure = [rtt, srtt]
}
"""
CAPTURE = "sender.server.server-eth0.headers"
# Ethernet, IPv4, and TCP with timestamps or UDP.
HEADER_BYTES = {"tcp": 14 + 20 + 32, "quic": 14 + 20 + 8}
# Reading the clock takes 1 ns, and a program reads it some times before it has an ACK.
CLOCK_S = 50e-9
FULL = 1000  # bytes of payload that only full packets have
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Measurement, Path]]:
    cell = only_cell()
    raw = run_alone(UmlEngine(), cell, tmp_path_factory.mktemp("cell"))
    yield load(cell, raw.artefacts), raw.artefacts


def only_cell() -> Cell:
    return only_cell_of(TEXT)


def answered_at_once(measurement: Measurement, flow: FlowRecord) -> tuple[Floats, Floats]:
    """Return when each packet was transmitted that was the newest its ACK covered, and its RTT,
    s.
    """
    trips = measurement.round_trips(flow)
    assert not trips.unknown
    acked_s = trips.sent_s + trips.rtt_s
    newest = np.diff(acked_s, append=np.inf) > CLOCK_S
    return trips.sent_s[newest], trips.rtt_s[newest]


def sizes(folder: Path, epoch_ns: int, flow: FlowRecord, times_s: Floats, *, back: bool) -> Floats:
    """Return the frame bytes of a flow's packets that the sender's interface saw at these times."""
    seen = headers.parse((folder / CAPTURE).read_bytes()).packets
    port = seen.destination_port if back else seen.source_port
    ours = seen.select(port == flow.plan.port)
    at = np.searchsorted((ours.time_ns - epoch_ns) * 1e-9, times_s + 1e-9, side="right") - 1
    found: Floats = (ours.payload_bytes[at] + HEADER_BYTES[flow.plan.transport]).astype(np.float64)
    return found


def transmission_s(paths: Paths, places: tuple[Place, ...], frame_bytes: Floats) -> Floats:
    """Return how long the links along a path take to send frames."""
    return np.array([paths.transmission_s(places, int(size)) for size in frame_bytes])


@pytest.mark.parametrize("which", [0, 1])
def test_the_rtt_of_a_packet_is_what_the_path_takes(
    idle: tuple[Measurement, Path], which: int
) -> None:
    measurement, folder = idle
    flow, paths = measurement.flows[which], measurement.paths
    sent_s, rtt_s = answered_at_once(measurement, flow)
    assert len(sent_s) > 50
    data = sizes(folder, flow.epoch_ns, flow, sent_s, back=False)
    alone = data > FULL  # the first ones, of handshakes, share the path
    acks = sizes(folder, flow.epoch_ns, flow, sent_s + rtt_s, back=True)
    expected_s = (
        flow.plan.base_rtt_ns * 1e-9
        + transmission_s(paths, paths.of(flow.plan), data)
        + transmission_s(paths, paths.back(flow.plan), acks)
    )
    off_s = (rtt_s - expected_s)[alone][10:]
    assert len(off_s) > 50
    assert np.abs(off_s).max() < CLOCK_S


def test_tcp_and_quic_differ_by_what_their_packets_sizes_explain(
    idle: tuple[Measurement, Path],
) -> None:
    """Packets that were answered at once; others wait for the next one, which quinn acknowledges
    with them.
    """
    measurement, folder = idle
    medians, expected = [], []
    for flow in measurement.flows:
        sent_s, rtt_s = answered_at_once(measurement, flow)
        medians.append(float(np.median(rtt_s)))
        acks = sizes(folder, flow.epoch_ns, flow, sent_s + rtt_s, back=True)
        back = measurement.paths.back(flow.plan)
        expected.append(float(np.median(transmission_s(measurement.paths, back, acks))))
    tcp, quic = medians
    assert tcp - quic == pytest.approx(expected[0] - expected[1], abs=CLOCK_S)
