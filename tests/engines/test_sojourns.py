"""States of a link that last for random times: a chain of losses, and outages."""

from __future__ import annotations

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

GOOD_S, BAD_S, LENGTH_S = 0.3, 0.03, 60.0
CHAIN = """fexp 1
experiment chain {
  topology = bottleneck(rate: 20Mbit/s, rtt: 20ms) with { link left -> right { loss = gilbert_elliott(good: 300ms, bad: 30ms) } }
  flow u { over = udp  start = 0s  rate = 8Mbit/s  workload = bulk }
  duration = 60s
  measure = [goodput]
}
"""
HALF = """fexp 1
experiment half {
  topology = bottleneck(rate: 20Mbit/s, rtt: 20ms) with { link left -> right { loss = gilbert_elliott(good: 100ms, bad: 100ms, h: 40%, k: 95%) } }
  flow u { over = udp  start = 0s  rate = 8Mbit/s  workload = bulk }
  duration = 30s
  measure = [goodput]
}
"""
OUTAGES = """fexp 1
experiment outages {
  topology = bottleneck(rate: 20Mbit/s, rtt: 20ms) with { link left -> right { down every exponential(500ms) for exponential(100ms) } }
  flow u { over = udp  start = 0s  rate = 8Mbit/s  workload = bulk }
  duration = 60s
  measure = [goodput]
}
"""


SPECS = {"chain": CHAIN, "half": HALF, "outages": OUTAGES}
Cells = dict[str, list[Measurement]]


def lost(measured: Measurement) -> tuple[np.ndarray, np.ndarray]:
    """Return when packets were sent, s, and which of them never arrived."""
    queue = measured.flows[0].queue
    return queue.seconds(queue.left), queue.behind.lost


def correlation(measured: Measurement, lag_packets: int) -> float:
    """Return the correlation of losses of packets so far apart."""
    _, gone = lost(measured)
    values = gone.astype(np.float64)
    return float(np.corrcoef(values[:-lag_packets], values[lag_packets:])[0, 1])


@pytest.mark.parametrize("name", ["chain", "half", "outages"])
def test_a_cell_is_valid(runs: Cells, name: str) -> None:
    assert validity.judge(runs[name][0]) == ("valid", ())


@pytest.mark.parametrize(
    ("name", "good_s", "bad_s", "in_good", "in_bad", "length_s"),
    [
        ("chain", 0.3, 0.03, 0.0, 1.0, 60.0),
        ("half", 0.1, 0.1, 0.05, 0.6, 30.0),
        ("outages", 0.5, 0.1, 0.0, 1.0, 60.0),
    ],
)
def test_losses_are_those_of_a_chain_in_time(
    runs: Cells,
    name: str,
    good_s: float,
    bad_s: float,
    in_good: float,
    in_bad: float,
    length_s: float,
) -> None:
    """A telegraph process: the share of losses is that of the bad state, to three standard errors of
    its time average, and states are correlated by exp(-t (1 / good + 1 / bad)) (Papoulis,
    Probability, random variables and stochastic processes, section 9-1).
    """
    bad, decay_s = bad_s / (good_s + bad_s), 1 / (1 / good_s + 1 / bad_s)
    _, gone = lost(runs[name][0])
    expected = in_good + (in_bad - in_good) * bad
    error = (in_bad - in_good) * np.sqrt(2 * bad * (1 - bad) * decay_s / length_s)
    assert abs(float(gone.mean()) - expected) < 3 * error
    states = (in_bad - in_good) ** 2 * bad * (1 - bad)
    for lag in (5, 10, 20):
        model = states * np.exp(-lag * 1514 * 8 / 8.07e6 / decay_s) / (expected * (1 - expected))
        assert correlation(runs[name][0], lag) == pytest.approx(float(model), abs=0.12)


def test_times_in_both_states_are_exponential(runs: Cells) -> None:
    """Their mean, and the coefficient of variation of 1, to three standard errors."""
    t_s, gone = lost(runs["outages"][0])
    borders = np.flatnonzero(np.diff(gone.astype(np.int8)))
    lengths_s = np.diff(t_s[borders])
    begins_down = bool(gone[borders[0] + 1])
    down_s, up_s = lengths_s[0 if begins_down else 1 :: 2], lengths_s[1 if begins_down else 0 :: 2]
    for found, mean_s in ((down_s, 0.1), (up_s, 0.5)):
        assert float(found.mean()) == pytest.approx(mean_s, rel=3 / np.sqrt(len(found)))
        assert float(found.std() / found.mean()) == pytest.approx(1.0, abs=4 / np.sqrt(len(found)))
