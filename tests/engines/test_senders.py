"""`acks` and `bursts` on the kernel: the initial window leaves as one burst, a paced sender's
packets one by one, and each segment or every second one is acknowledged.
"""

from __future__ import annotations

from computed import results

from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.record import Window

SPEC = """fexp 1
experiment senders {
  topology = dumbbell(rate: 10Mbit/s, rtt: 100ms, queue: fifo(1000pkt))
  # Linux acknowledges each segment until the window has grown to its buffer.
  hosts { receive_buffer = 4MB }
  flow window { cca = reno  pacing = off  start = 100ms  workload = file(14480B) }
  flow long   { cca = reno  pacing = off  start = 1s     workload = file(2MB) }
  flow paced  { cca = reno  pacing = on   start = 1s     workload = file(1MB) }
  duration = 6s
  measure  = [bursts, acks]
}
"""


def of(measured: Measurement, metric: str, flow: str, begin_s: float) -> dict[str, float | None]:
    found = results(measured.within(Window(begin_s)), metric, flow)
    return {value.metric: value.value for value in found}


def test_an_initial_window_is_one_burst(measured: Measurement) -> None:
    """RFC 6928: ten segments; of 1448 bytes with timestamps, 14480 in all."""
    found = of(measured, "bursts", "window", 0.0)
    assert (found["bursts.count"], found["bursts.max"], found["bursts.mean"]) == (1, 10, 10)


def test_a_pacer_sends_alone(measured: Measurement) -> None:
    """A tenth of the access link's rate: no packet follows another at once after slow start."""
    paced = of(measured, "bursts", "paced", 2.0)
    long = of(measured, "bursts", "long", 2.0)
    assert paced["bursts.p90"] == 1
    assert (long["bursts.mean"] or 0) > 1.5 * (paced["bursts.mean"] or 0)


def test_acks_are_between_every_segment_and_every_second_one(measured: Measurement) -> None:
    """RFC 9293, 3.8.6.3: at least one for every second full segment; without losses there is no
    reason for more than one for each. The receiver may answer a push at once.
    """
    found = of(measured, "acks", "long", 2.0)
    assert 0.49 <= (found["acks"] or 0) <= 1.0
