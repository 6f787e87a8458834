"""Links that add headers, pad and cut into cells, against sizes by hand and Lindley's recursion."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

SPEC = """fexp 1
experiment framed {
  sweep {
    how = [atm(overhead: 10B), docsis, ethernet(38B)]
    packet = [1500B, 576B]
  }
  topology = bottleneck(down: 10Mbit/s, up: 2Mbit/s, rtt: 40ms, queue: fifo(2bdp), mtu: packet) with {
    link left -- right { framing = how }
  }
  flow d { cca = cubic  workload = bulk }
  flow u { from = client  to = server  over = udp  workload = ping(every: 4ms, packet: 68B) }
  duration = 6s
  measure = [goodput, throughput, utilization]
}
"""
DOWN_BPS, HEADERS, TCP, HALF_RTT_NS = 10e6, 52, 6, 20_000_000
CELLS = ("atm", "docsis", "ethernet")


def on_the_wire(how: str, ip_bytes: int) -> int:
    """The sizes as standards have them: AAL5 in cells of 53 bytes; 64 and 84 bytes at least."""
    if how == "atm":
        return math.ceil((ip_bytes + 10) / 48) * 53
    return max(ip_bytes + 18, 64) if how == "docsis" else max(ip_bytes + 38, 84)


def cells(each: tuple[Measurement, ...]) -> list[tuple[str, int, Measurement]]:
    """Each cell with its framing and its MTU."""
    assert len(each) == 6
    return [(CELLS[n // 2], (1500, 576)[n % 2], measured) for n, measured in enumerate(each)]


def test_its_cells_are_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measured in each_measured:
        assert validity.judge(measured) == ("valid", ())


def test_sizes_by_hand() -> None:
    assert on_the_wire("atm", 1500) == 1696
    assert on_the_wire("atm", 52) == 106
    assert on_the_wire("ethernet", 40) == 84


def test_goodput_of_a_saturated_link_by_hand(each_measured: tuple[Measurement, ...]) -> None:
    """Rate times payload over what a full packet takes on the wire."""
    for how, mtu, measured in cells(each_measured):
        queue = forward(measured)
        came_s = queue.seconds(queue.delivered)
        inside = np.flatnonzero((came_s > 2) & (came_s <= 5.5))
        first, last = inside[0], inside[-1]
        sent = queue.delivered.select(inside[1:])
        ours = sent.payload_bytes * (sent.protocol == TCP)
        others = sum(on_the_wire(how, int(n)) for n in sent.ip_bytes[sent.protocol != TCP])
        time_s = float(came_s[last] - came_s[first]) - 8 * others / DOWN_BPS
        expected_bps = DOWN_BPS * (mtu - HEADERS) / on_the_wire(how, mtu)
        assert 8 * float(ours.sum()) / time_s == pytest.approx(expected_bps, rel=1e-4), (how, mtu)


def forward(measured: Measurement) -> QueueRecord:
    """Return the queue that the download passes."""
    return next(f for f in measured.flows if f.name == "d").queue


@pytest.mark.parametrize("name", ["d", "u"])
def test_packets_arrive_as_lindley_has_it(
    each_measured: tuple[Measurement, ...], name: str
) -> None:
    """Of both directions, acknowledgements and small packets too, each to the microsecond."""
    for how, _, measured in cells(each_measured):
        queue = next(f for f in measured.flows if f.name == name).queue
        passed = queue.through.found >= 0
        came_ns = queue.entered.time_ns[passed]
        sizes = np.array([on_the_wire(how, int(n)) for n in queue.entered.ip_bytes[passed]])
        rate_bps, first_ns = int(queue.rate_bps), int(came_ns[0])
        arrives_ns, free_ns = list[int](), 0
        for at_ns, size in zip((came_ns - first_ns).tolist(), sizes.tolist(), strict=True):
            free_ns = max(at_ns, free_ns) + 8 * 10**9 * size // rate_bps
            arrives_ns.append(free_ns + HALF_RTT_NS)
        found = queue.behind.found[queue.through.found[passed]]
        there = found >= 0  # the last ones are under way as the cell ends
        assert there.sum() > 1000
        off_ns = queue.delivered.time_ns[found[there]] - first_ns - np.array(arrives_ns)[there]
        assert int(np.abs(off_ns).max()) <= 1000, how
