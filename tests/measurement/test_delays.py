"""Random delays against a netem that is simulated packet by packet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairc.compiler.plan import Impairment
from fairc.runtime.validity import random_delays

Floats = NDArray[np.float64]
MS = 10**6


def impairment(jitter_ms: float = 5, **options: Any) -> Impairment:
    fields: dict[str, Any] = {"delay_ns": 20 * MS, "seed": 1, "jitter_ns": int(jitter_ms * MS)}
    return Impairment(**fields | options)


def simulated(planned: Impairment, sent_s: Floats, seed: int) -> Floats:
    """When packets arrive: each draws from the table; in order, none before the one ahead of it."""
    own = np.random.default_rng(seed).choice(random_delays.quantiles(planned), len(sent_s))
    arrived: Floats = sent_s + own
    return np.maximum.accumulate(arrived) if planned.in_order else arrived


def traffic(packets: int, every_ms: float, seed: int = 3) -> Floats:
    """Bursts and pauses."""
    gaps = np.random.default_rng(seed).exponential(every_ms * 1e-3, packets)
    gaps[::50] += 0.05
    return np.asarray(np.cumsum(gaps))


@pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto", "paretonormal", "wifi"])
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("every_ms", [0.3, 5.0])
def test_a_correct_netem_is_plausible(distribution: str, in_order: bool, every_ms: float) -> None:
    planned = impairment(jitter_distribution=distribution, in_order=in_order, jitter_share=0.07)
    sent_s = traffic(5000, every_ms)
    for seed in range(10):
        test = random_delays.compare(planned, sent_s, simulated(planned, sent_s, seed))
        assert test.plausible(0.0), test


@pytest.mark.parametrize(
    "actual",
    [
        impairment(0, in_order=True),
        impairment(4, in_order=True),
        impairment(6, in_order=True),
        impairment(5, in_order=True, jitter_distribution="normal"),
        impairment(5, in_order=True, delay_ns=22 * MS),
        impairment(5, in_order=False),
        impairment(60, in_order=True, jitter_distribution="wifi", jitter_share=0.02),
    ],
)
def test_another_netem_is_not(actual: Impairment) -> None:
    planned, sent_s = impairment(in_order=True), traffic(5000, 3.0)
    test = random_delays.compare(planned, sent_s, simulated(actual, sent_s, 1))
    assert not test.plausible(0.5e-3), test


def test_the_tables_are_those_of_iproute2() -> None:
    """Mean and deviation of /usr/lib/tc/*.dist, iproute2 6.1."""
    installed = {"normal": (-0.0008, 1.0001), "pareto": (-0.0335, 0.8197)}
    installed |= {"paretonormal": (-0.0253, 0.8339), "uniform": (0.0, 3**-0.5)}
    for name, (mean, deviation) in installed.items():
        unit = random_delays.table(name)
        assert float(unit.mean()) == pytest.approx(mean, abs=0.001)
        assert float(unit.std()) == pytest.approx(deviation, rel=0.01)


@pytest.mark.parametrize("share", [0.0, 1 / 15, 0.5, 1.0])
def test_the_quantiles_of_wifi_have_the_moments_of_its_model(share: float) -> None:
    """N1 * 1 ms - r + N2 * 7.5 ms: Poisson numbers of means 1 and, for a share, 12."""
    unit_ms = 60 * random_delays.table("wifi", share)
    deferred = 1 - np.exp(-1)
    mean = 1 - deferred / 2 + share * 12 * 7.5
    first = 1 + deferred / 3 - (1 - deferred / 2) ** 2
    again = 7.5**2 * (share * (12 + 12**2) - (share * 12) ** 2)
    assert float(unit_ms.mean()) == pytest.approx(mean, abs=0.001)
    assert float(unit_ms.var()) == pytest.approx(first + again, rel=0.002)
    assert (np.diff(unit_ms) >= 0).all() and unit_ms[0] >= 0


def test_no_delay_is_negative() -> None:
    planned = impairment(20, jitter_distribution="normal")
    assert random_delays.quantiles(planned).min() == 0.0
    assert random_delays.moments(planned)[0] > 0.020
