"""A shaper whose bucket holds more than a frame, against the envelope r t + b and its convolution."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

SPEC = """fexp 1
experiment bursts {
  sweep { how = [bucket(burst: 15kB, peak: 100Mbit/s), bucket(30kB)] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: fifo(200pkt), access: 1Gbit/s) with { link left -> right { transmit = how } }
  flow a { over = udp  workload = onoff(rate: 400Mbit/s, on: 2ms, off: 200ms) }
  flow b { cca = cubic  start = 1s  workload = file(500kB) }
  duration = 5s
  measure = [goodput, loss_rate]
}
"""
RATE_BPS, PEAK_BPS, FRAME = 10e6, 100e6, 1514
DEPTHS = (15_000, 30_000)

Floats = NDArray[np.float64]


def bottleneck(measured: Measurement) -> list[QueueRecord]:
    """Return the queue that data pass."""
    return [
        each
        for each in measured.queues
        if each.interface.shaper and each.interface.shaper.depth_bytes
    ]


def departures(measured: Measurement) -> tuple[Floats, Floats]:
    """Return when frames left the queue, s, and their bytes."""
    (queue,) = bottleneck(measured)
    return queue.seconds(queue.left), queue.left.frame_bytes.astype(np.float64)


def most(t_s: Floats, sizes: Floats, rate_bps: float) -> float:
    """Return the largest excess of what came in any interval over what a rate allows, bytes."""
    total = np.cumsum(sizes)
    after, before = total - rate_bps * t_s / 8, total - sizes - rate_bps * t_s / 8
    return float((after - np.minimum.accumulate(before)).max())


def test_its_cells_are_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measured in each_measured:
        assert validity.judge(measured) == ("valid", ())


@pytest.mark.parametrize("cell", [0, 1])
def test_no_interval_has_more_than_the_envelope_and_one_has_that(
    each_measured: tuple[Measurement, ...], cell: int
) -> None:
    """Cruz, A calculus for network delay, part I, 1991: r t + b is a tight envelope."""
    excess = most(*departures(each_measured[cell]), RATE_BPS)
    assert DEPTHS[cell] - FRAME < excess <= DEPTHS[cell] + 2


@pytest.mark.parametrize("cell", [0, 1])
def test_departures_are_the_convolution_of_arrivals(
    each_measured: tuple[Measurement, ...], cell: int
) -> None:
    """D(t) = min over s of A(s) + r (t - s) + b, to within a frame: the bucket waits for whole
    ones.
    """
    measured = each_measured[cell]
    (queue,) = bottleneck(measured)
    came_s, left_s = queue.seconds(queue.entered), queue.seconds(queue.left)
    assert not queue.through.lost.any()
    sizes, came = queue.entered.frame_bytes.astype(np.float64), np.cumsum(queue.entered.frame_bytes)
    # Where A has just stepped, its value before counts; s = t gives A(t).
    floor = np.minimum.accumulate(came - sizes - RATE_BPS * came_s / 8)
    index = np.searchsorted(came_s, left_s, side="right") - 1
    model = np.minimum(came[index], floor[index] + RATE_BPS * left_s / 8 + DEPTHS[cell])
    found = np.cumsum(queue.left.frame_bytes)
    assert float((found - model).max()) <= 2
    assert float((model - found).max()) < FRAME + 2


def test_a_peak_spaces_the_frames_of_a_burst(each_measured: tuple[Measurement, ...]) -> None:
    """Behind the link each frame has taken its length / peak; without one a burst comes at once."""
    least = list[float]()
    for measured in each_measured:
        (queue,) = bottleneck(measured)
        came_s = queue.seconds(queue.delivered)
        least.append(
            float((np.diff(came_s) - 8 * queue.delivered.frame_bytes[1:] / PEAK_BPS).min())
        )
    assert least[0] >= -5e-9
    assert least[1] < -0.5 * 8 * FRAME / PEAK_BPS
