"""Careful Resume over QUIC in whole cells (RFC 9959): what it saves over a satellite, and what happens
where too much was learnt.
"""

from __future__ import annotations

import numpy as np
from computed import results
from left_behind import states

from fairc.cell.frames import stream_bytes
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment resume {
  sweep { learnt = [off, careful(1bdp), careful(8bdp)] }
  topology = geo(down: 50Mbit/s, queue: fifo(0.25bdp))
  flow one { over = quic  cca = cubic(resume: learnt)  workload = file(5MB) }
  duration = 30s
  measure = [fct, state]
}
"""
BYTES = 5e6
RATE_BPS, RTT_S = 50e6, 0.75
PACKETS = BYTES / stream_bytes(1500)
BDP = RATE_BPS * RTT_S / 8 / 1514
"""Packets."""
SPREAD = 0.8
"""quinn paces a window over this part of a round trip."""


def fct_s(measurement: Measurement) -> float:
    values = results(measurement, "fct", "one")
    (mean,) = [value.value for value in values if value.metric == "fct.mean"]
    assert mean is not None
    return mean


def rounds(windows: list[float]) -> float:
    """Return how many round trips a transfer takes whose windows in packets are these."""
    left = PACKETS
    for number, window in enumerate(windows):
        if left <= window:
            return number + SPREAD * left / window
        left -= window
    raise AssertionError("too few windows")


def test_cells_are_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measurement in each_measured:
        verdict, reasons = validity.judge(measurement)
        assert verdict != "invalid", reasons


def test_what_was_learnt_rightly_saves_the_round_trips_of_slow_start(
    each_measured: tuple[Measurement, ...],
) -> None:
    """Slow start doubles from 10 packets; with Careful Resume half a BDP follows them at once."""
    slow = rounds([10.0 * 2**k for k in range(12)])
    resumed = rounds([10.0, BDP / 2, BDP, BDP])
    saved = (fct_s(each_measured[0]) - fct_s(each_measured[1])) / RTT_S
    assert abs(saved - (slow - resumed)) < 0.7, (saved, slow, resumed)


def test_the_phases_follow_one_another(each_measured: tuple[Measurement, ...]) -> None:
    assert [state for _, state in states(each_measured[1].flows[0])][:3] == [
        "reconnaissance",
        "unvalidated",
        "validating",
    ]


def test_the_jump_is_paced(each_measured: tuple[Measurement, ...]) -> None:
    """Half a BDP at once would wait for half a round trip in the queue."""
    begin_s = next(
        t_s for t_s, state in states(each_measured[1].flows[0]) if state == "unvalidated"
    )
    flow = each_measured[1].flows[0]
    jump = flow.left & (flow.queue.left_s > begin_s) & (flow.queue.left_s < begin_s + RTT_S / 2)
    waits_s = flow.queue.delay_s[jump]
    assert len(waits_s) > BDP / 8
    assert float(np.nanmax(waits_s)) < 0.1 * RTT_S


def test_too_much_ends_in_a_safe_retreat_with_at_most_half_of_what_arrived(
    each_measured: tuple[Measurement, ...],
) -> None:
    found = states(each_measured[2].flows[0])
    assert "safe_retreat" in [state for _, state in found]
    begin_s = next(t_s for t_s, state in found if state == "safe_retreat")
    samples = each_measured[2].flows[0].endpoints.samples
    jump = float(np.nanmax(samples.cwnd_packets))
    after = samples.cwnd_packets[(samples.t_s >= begin_s) & (samples.t_s < begin_s + 0.3)]
    assert jump > 3 * BDP
    assert float(np.nanmax(after)) < jump / 2
