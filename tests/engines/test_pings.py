"""Pings over UDP, and a source of constant bit rate beside them, in the real kernel."""

from __future__ import annotations

from pathlib import Path

import kept_cells
import numpy as np
import pytest
from computed import by_name, results
from left_behind import flow_of
from specs import compilation_of

from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.record import Window

RATE_BPS, ACCESS_BPS, RTT_S = 2e6, 100e6, 0.04
SPEC = """fexp 1
experiment pings {
  topology = bottleneck(rate: 2Mbit/s, rtt: 40ms, queue: fifo(20pkt))
  flow load  { over = udp  rate = 4Mbit/s  start = 4s  workload = bulk(packet: 400B) }
  flow probe { over = udp  start = 0s  workload = ping(every: 20ms, packet: 100B) }
  duration = 8s
  measure  = [rtt]
}
"""


def _rtt(measured: Measurement, begin_s: float, end_s: float) -> dict[str, float | None]:
    seen = measured.within(Window(begin_s, end_s))
    return by_name(seen, "rtt", "probe")


def test_the_cell_is_valid(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())


def test_a_ping_of_an_idle_path_takes_its_propagation_and_its_transmissions(
    measured: Measurement,
) -> None:
    """200 pings, one every 20 ms; a frame has 14 bytes more than the packet."""
    bits = 8 * 114
    expected_s = RTT_S + 2 * bits / RATE_BPS + 2 * bits / ACCESS_BPS
    found = _rtt(measured, 0.0, 3.9)
    for value in ("rtt.min", "rtt.mean", "rtt.p99"):
        assert found[value] == pytest.approx(expected_s, abs=60e-6)
    trips = measured.round_trips(flow_of(measured, "probe"))
    early = trips.sent_s < 3.9
    assert early.sum() == 195
    assert np.diff(trips.sent_s[early]) == pytest.approx(0.02, abs=1e-5)


def test_behind_a_full_queue_a_ping_waits_for_what_is_in_it(measured: Measurement) -> None:
    """Twice as much arrives as leaves: those that find room wait for up to 20 packets of 414 bytes,
    and at least for as many less those that are pings.
    """
    found = _rtt(measured, 5.0, 8.0)
    idle_s = RTT_S + 2 * 8 * 114 / RATE_BPS
    full_s = 20 * 8 * 414 / RATE_BPS
    assert found["rtt.p50"] == pytest.approx(idle_s + full_s, rel=0.12)
    probe = flow_of(measured, "probe")
    late = measured.round_trips(probe).sent_s > 5.0
    came_back, sent = int(late.sum()), 150
    assert 0 < came_back < sent, "a full queue drops some"


def test_a_constant_rate_has_packets_of_its_size(measured: Measurement) -> None:
    load = flow_of(measured, "load")
    assert set(load.queue.entered.frame_bytes[load.entered].tolist()) == {414}
    arrived_s = load.queue.seconds(load.queue.entered)[load.entered]
    gaps_s = np.diff(np.sort(arrived_s))
    assert gaps_s.mean() == pytest.approx(8 * 400 / 4e6, rel=0.01)
    # With `processing`, each gap is uniform in half to three halves of it.
    assert gaps_s.max() < 1.6 * 8 * 400 / 4e6


DIRECT = """fexp 1
experiment ping_direct_link {
  sweep { rate = [1Mbit/s, 100Mbit/s] }
  topology {
    node server, client
    router r1
    link server -- r1, r1 -- client { rate = rate }
  }
  flow p { workload = ping(every: 50ms) }
  duration = 5s
  measure = [rtt.min, rtt.p99]
}
"""


def test_a_ping_over_its_own_link_takes_four_transmissions(engine: Engine, tmp_path: Path) -> None:
    """No capture sees the queue that it enters: what its host does, it knows by itself. Hosts take
    up to 10 us for a packet.
    """
    for rate_bps, cell in zip((1e6, 100e6), compilation_of(DIRECT).cells(), strict=True):
        folder = tmp_path / f"{rate_bps:g}"
        folder.mkdir()
        measured = kept_cells.measured(engine, cell, folder)
        assert validity.judge(measured) == ("valid", ())
        found = {v.metric: v.value or 0.0 for v in results(measured, "rtt", "p")}
        taken_s = 4 * 8 * 98 / rate_bps
        assert taken_s <= found["rtt.min"] <= found["rtt.p99"] <= taken_s + 25e-6
