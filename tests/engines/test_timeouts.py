"""The least retransmission timeout and the unsent bytes of TCP, against the clock of an outage and the
bytes that wait at a sender.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

DOWN_S = 3.0
LEAST = """fexp 1
experiment least {
  sweep { least = [40ms, 400ms] }
  hosts { min_rto = least }
  topology = bottleneck(rate: 20Mbit/s, rtt: 50ms, queue: fifo(1bdp)) with { link left -- right { down from 3s to 30s } }
  flow d { cca = reno  window = 64KiB  workload = bulk }
  duration = 12s
  measure = [goodput]
}
"""
APART = """fexp 1
experiment apart {
  topology = bottleneck(rate: 20Mbit/s, rtt: 50ms, queue: fifo(1bdp)) with { link left -- right { down from 3s to 30s } }
  flow short { cca = reno  window = 32KiB  min_rto = 40ms  workload = bulk }
  flow usual { cca = reno  window = 32KiB  workload = bulk }
  duration = 8s
  measure = [goodput]
}
"""
UNSENT = """fexp 1
experiment unsent {
  sweep { lowat = [16kB, 128kB] }
  hosts { send_buffer = 1MB }
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(50pkt))
  flow v { cca = cubic  notsent_lowat = lowat  workload = onoff(rate: 10Mbit/s, on: 3s, off: 10s) }
  duration = 5s
  measure = [goodput]
}
"""
TICK_S = 0.004
"""Of `uml`'s kernel (CONFIG_HZ=250)."""

Floats = NDArray[np.float64]
Cells = dict[str, list[Measurement]]
SPECS = {"least": LEAST, "apart": APART, "unsent": UNSENT}


def sent_s(measured: Measurement, name: str) -> Floats:
    """Return when a sender's packets came to the queue, s."""
    (flow,) = (each for each in measured.flows if each.name == name)
    return flow.queue.seconds(flow.queue.entered)[flow.entered]


@pytest.mark.parametrize("name", ["least", "apart", "unsent"])
def test_its_cells_are_valid(runs: Cells, name: str) -> None:
    for measured in runs[name]:
        assert validity.judge(measured) == ("valid", ())


def timeouts(measured: Measurement, name: str) -> list[float]:
    """Return what each repetition in the outage says of the first timeout, s: they double."""
    apart = np.diff(sent_s(measured, name)[-4:])
    return [float(gap) / 2**number for number, gap in enumerate(apart)]


@pytest.mark.parametrize(
    ("experiment", "cell", "flow", "least_s"),
    [
        ("least", 0, "d", 0.04),
        ("least", 1, "d", 0.4),
        ("apart", 0, "short", 0.04),
        ("apart", 0, "usual", 0.2),
    ],
)
def test_timeouts_begin_at_the_round_trip_and_the_least_one(
    runs: Cells, experiment: str, cell: int, flow: str, least_s: float
) -> None:
    """RFC 6298, section 2 and 5.5: SRTT + the least variation, twice as long each time. Packets that
    come every 50 ms vary less than the least one. The kernel rounds timeouts up, long ones by up to
    an eighth (kernel/time/timer.c).
    """
    measured = runs[experiment][cell]
    (record,) = (each for each in measured.flows if each.name == flow)
    samples = record.endpoints.samples
    rtt_s = float(samples.rtt_s[samples.t_s < DOWN_S][-1])
    found = timeouts(measured, flow)
    first_s = rtt_s + least_s
    doublings = round(float(np.log2(found[0] / first_s)))
    for each in found:
        assert first_s <= each / 2**doublings <= 1.125 * first_s + 2 * TICK_S


def test_what_waits_unsent_is_between_half_of_the_limit_and_the_limit(runs: Cells) -> None:
    """The kernel wakes a source where less than half is left (include/net/tcp.h,
    __tcp_stream_memory_free), and it fills up to the limit, and the segment that
    crosses it. When the source stops, that is what is still to be sent.
    """
    for measured, lowat in zip(runs["unsent"], (16_000, 128_000), strict=True):
        (flow,) = measured.flows
        begin_s = flow.endpoints.reports["accepted"][0]["t_ns"] / 1e9
        late = sent_s(measured, "v") > begin_s + 3.0
        unsent = int(flow.queue.entered.payload_bytes[flow.entered][late].sum())
        assert lowat / 2 - 1500 <= unsent <= lowat + 1500
