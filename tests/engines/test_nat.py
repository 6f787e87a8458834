"""NATs that rebind: QUIC follows where its client has something to say, TCP ends."""

from __future__ import annotations

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment rebinding {
  sweep {
    transport = [quic, tcp]
    shift = [0us, 1211us, 2422us, 3634us]
  }
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: fifo(1bdp)) with {
    nat home { at = right  to = left  mode = rebind(2s + shift) }
  }
  flow f { over = transport  cca = cubic  workload = bulk }
  flow p { workload = ping(every: 50ms) }
  duration = 4s
  measure = [goodput]
}
"""
SHIFTS_S = (0, 1211e-6, 2422e-6, 3634e-6)
FULL = 10e6 / 8 / 1514


def after(measured: Measurement, begin_s: float, end_s: float) -> int:
    """How many packets of the flow cross the link between two times."""
    flow = measured.flows[0]
    delivered = flow.queue.delivered
    t_s = flow.queue.seconds(delivered)[delivered.source_port == flow.plan.port]
    return int(((t_s >= begin_s) & (t_s < end_s)).sum())


def test_its_cells_are_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measured in each_measured:
        assert validity.judge(measured) == ("valid", ())


def test_quic_follows_unless_its_client_is_silent(each_measured: tuple[Measurement, ...]) -> None:
    """It goes on at once with the window that it had (RFC 9000, 9.4): nothing but what was on its
    way to the old port is lost, at most a window. Instants one frame apart: a receiver answers
    every other packet at once, so that it has an answer left at some of them, not at all.
    """
    followed = 0
    for measured, shift_s in zip(each_measured[:4], SHIFTS_S, strict=True):
        assert after(measured, 1.0, 2.0) > 0.97 * FULL
        count = after(measured, 2.2 + shift_s, 3.8)
        followed += count > 10
        assert count < 10 or count > 0.93 * 1.6 * FULL
    assert 1 <= followed <= 3


def test_tcp_ends(each_measured: tuple[Measurement, ...]) -> None:
    for measured, shift_s in zip(each_measured[4:], SHIFTS_S, strict=True):
        assert after(measured, 1.0, 2.0) > 0.97 * FULL
        assert after(measured, 2.2 + shift_s, 3.8) < 10
