"""Random delays against a netem that is simulated packet by packet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from madeartefacts import crowded
from numpy.typing import NDArray

from fairc.compiler.plan import Impairment
from fairc.runtime.measurement import load
from fairc.runtime.measurement.record import Pings
from fairc.runtime.validity import random_delays
from fairc.runtime.validity.delay import base_rtt

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


RARE = (
    *((60, {"jitter_distribution": "wifi", "jitter_share": share}) for share in (1e-3, 1e-2)),
    *((10, {"jitter_distribution": name}) for name in ("pareto", "paretonormal", "normal")),
)


@pytest.mark.parametrize(("jitter_ms", "options"), RARE)
@pytest.mark.parametrize("in_order", [False, True])
def test_few_packets_need_not_show_rare_delays(
    jitter_ms: float, options: dict[str, Any], in_order: bool
) -> None:
    """Of 200 packets, 1 in 1,000 of which waits for 90 ms, mostly none does: what they show says
    nothing of how far chance goes.
    """
    planned = impairment(jitter_ms, in_order=in_order, delay_ns=50 * MS, **options)
    sent_s = np.arange(0.0, 200.0) * 1e-3
    for seed in range(300):
        test = random_delays.compare(planned, sent_s, simulated(planned, sent_s, seed))
        assert test.plausible(0.0), test


def test_comparisons_share_a_level() -> None:
    """Each allows more if there are more: together they err as often as one."""
    planned, sent_s = impairment(), traffic(1000, 5.0)
    arrived_s = simulated(planned, sent_s, 1)
    one, many = (random_delays.compare(planned, sent_s, arrived_s, tests=n) for n in (1, 1000))
    assert all(less < more for less, more in zip(one.slack_s, many.slack_s, strict=True))
    assert all(less < more for less, more in zip(one.spread_slack, many.spread_slack, strict=True))


def test_the_steps_of_a_martingale_are_bounded() -> None:
    """The bound holds for sums of independent steps, and is not far above them."""
    random, share, steps = np.random.default_rng(5), 0.01, 500
    chance = float(np.log(1e3))
    most = random_delays._farthest(steps * share * (1 - share), 1 - share, chance)
    sums = random.binomial(steps, share, 200_000) - steps * share
    assert 1e-5 < float((sums > most).mean()) < 1e-3


BASE_MS, JITTER_MS = 100, 50


@pytest.mark.parametrize("distribution", ["normal", "pareto"])
@pytest.mark.parametrize("both", [False, True])
def test_pings_behind_a_late_one(tmp_path: Path, distribution: str, both: bool) -> None:
    """Where order is kept, a late ping holds up those sent soon after it: the mean of ten is much
    later than that of ten independent ones.
    """
    made = crowded(delay_ns=BASE_MS * MS)
    jitter = impairment(
        JITTER_MS, delay_ns=BASE_MS * MS, jitter_distribution=distribution, in_order=True
    )
    hop = next(node for node in made.cell.nodes if node.name == "h")
    varied = [replace(hop.interfaces[0], impairment=jitter), hop.interfaces[1]]
    if both:
        varied[1] = replace(hop.interfaces[1], impairment=jitter)
    nodes = [replace(n, interfaces=tuple(varied)) if n is hop else n for n in made.cell.nodes]
    measured = load(replace(made.cell, nodes=tuple(nodes)), made.write(tmp_path))
    sent_s = np.arange(0.0, 10.0) * 10e-3

    def reasons(seed: int, shift_ms: float = 0.0) -> list[str]:
        there_s = simulated(jitter, sent_s, 2 * seed)
        back_s = simulated(jitter, there_s, 2 * seed + 1) if both else there_s + BASE_MS / 1e3
        pings = Pings(10, back_s - sent_s + shift_ms / 1e3)
        flows = (replace(measured.flows[0], pings=pings), *measured.flows[1:])
        return [finding.reason for finding in base_rtt(replace(measured, flows=flows))]

    assert not [reason for seed in range(100) for reason in reasons(seed)]
    assert all(reasons(seed, shift_ms) for seed in range(20) for shift_ms in (-4 * BASE_MS, 500))


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
