"""Delays of the jitter of Wi-Fi in the real kernel, against the moments of its model."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from left_behind import flow_of
from specs import only_cell_of

from fairc.runtime import validity
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import load

AVERAGE_S, CHANGE_S, FRAME_S = 0.007, 600.0, 114 * 8 / 100e6
SPEC = """fexp 1
experiment wifi {
  topology {
    node server, client
    link server -> client {
      rate = 100Mbit/s  delay = 1ms  jitter = wifi(7ms)
      at 600s { jitter = wifi(1ms) }
    }
    link client -> server { rate = 100Mbit/s  delay = 1ms }
  }
  flow probe { over = udp  start = 0s  workload = ping(every: 300ms, packet: 100B) }
  duration = 1200s
  measure  = [rtt]
}
"""
DEFERRED = 1 - math.exp(-1)
"""The share of packets that wait for a random part of a millisecond less."""


def moments(average_s: float) -> tuple[float, float]:
    """Return mean and variance of N1 * 1 ms - r + N2 * 7.5 ms, s and s^2.

    Of Poisson numbers: mean and variance of N1 are 1; of N2 12, for x of the packets. r is uniform
    in 0 .. 1 ms where N1 is not 0.
    """
    x = (average_s - 1e-3) / 90e-3
    mean_ms = 1 - DEFERRED / 2 + x * 12 * 7.5
    first = 2 - 1 + DEFERRED / 3 - (1 - DEFERRED / 2) ** 2
    again = 7.5**2 * (x * (12 + 12**2) - (x * 12) ** 2)
    return mean_ms * 1e-3, (first + again) * 1e-6


def test_each_packet_has_the_delay_of_the_drafts_model_to_equal_bytes(tmp_path: Path) -> None:
    """2,000 packets for each average: mean, variance, the share that is sent again and the share
    without jitter, within four standard errors. 300 ms apart, none waits for the one ahead.
    """
    engine = UmlEngine()
    engine.prepare()
    cell = only_cell_of(SPEC)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    result = engine.run(cell, tmp_path / "one")
    assert result.error == ""
    again = engine.run(cell, tmp_path / "two")
    engine.close()
    assert again.sha256 == result.sha256
    measured = load(cell, result.artefacts)
    assert validity.judge(measured) == ("valid", ())
    trips = measured.round_trips(flow_of(measured, "probe"))
    added_s = trips.rtt_s - 2e-3 - 2 * FRAME_S
    for average_s, ours in (
        (AVERAGE_S, trips.sent_s < CHANGE_S),
        (1e-3, trips.sent_s > CHANGE_S),
    ):
        sample = added_s[ours]
        count, x = len(sample), (average_s - 1e-3) / 90e-3
        assert count == pytest.approx(2000, abs=2)
        mean_s, variance = moments(average_s)
        assert abs(sample.mean() - mean_s) < 4 * math.sqrt(variance / count) + 50e-6
        fourth = float(((sample - sample.mean()) ** 4).mean())
        assert abs(sample.var() - variance) < 4 * math.sqrt((fourth - variance**2) / count)
        for share, expected in (
            (np.mean(sample > 10e-3), x),
            (np.mean(sample < 50e-6), (1 - x) * math.exp(-1)),
        ):
            # 0.1 % of the packets that are sent again have less than two attempts.
            slack = 4 * math.sqrt(expected * (1 - expected) / count) + 0.001
            assert abs(share - expected) < slack, (average_s, share, expected)
