"""Large deviations against numbers found another way: by hand, with dense matrices, by
simulation.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from madeartefacts import RATE_BPS, hand_made
from numpy.typing import NDArray
from walks import P, walk

from fairc.compiler.plan import Cell, Distribution
from fairc.mechanisms.workloads.onoff.cell import OnOffWorkload
from fairc_deviations.chain import Chain, ChainError
from fairc_deviations.cross import Cross, cross_traffic, onoff_variance
from fairc_deviations.curves import curves
from fairc_deviations.envelope import envelope, simulate
from fairc_deviations.losses import (
    Counted,
    bernoulli,
    counted,
    fit_bernoulli,
    gaussian,
    wilson,
)
from fairc_deviations.rounds import Rounds, entries, rounds
from fairc_deviations.study import Model, Study, study
from fairc_deviations.windows import Grid, averages, grid, spectrum

Floats = NDArray[np.float64]
MS = 1_000_000


@pytest.fixture(scope="module")
def printed() -> Chain:
    """The chain of the study: p_pkt = 0.02, wmax = 1000."""
    return Chain(bernoulli(0.02, 1000))


# The oracle: worked out by hand for N = 2^18.


def test_the_spectrum_at_eleven_packets(printed: Chain) -> None:
    assert printed.of(11.0).f == pytest.approx(-0.0159, abs=5e-5)


@pytest.mark.parametrize(
    ("scale", "low", "high"),
    [(100, 5.09, 14.97), (200, 6.01, 12.47), (500, 6.95, 10.70), (1000, 7.46, 9.94)],
)
def test_the_observable_range(printed: Chain, scale: int, low: float, high: float) -> None:
    found = printed.observable(2**18, scale)
    assert [p.alpha for p in found] == pytest.approx([low, high], abs=0.005)
    assert [p.f for p in found] == pytest.approx([-math.log(2**18 // scale) / scale] * 2)


# The chain.


def dense(p: Floats, q: float) -> Floats:
    """A(q) written out."""
    size = len(p)
    a = np.zeros((size, size))
    for i in range(size):
        w = i + 1
        a[i, min(w + 1, size) - 1] += 1 - p[i]
        a[i, max(w // 2, 1) - 1] += p[i]
    tilted: Floats = a * np.exp(q * np.arange(1, size + 1))
    return tilted


@pytest.mark.parametrize("q", [-0.3, -0.01, 0.0, 0.02, 0.2])
def test_growth_is_the_spectral_radius_and_alpha_its_derivative(q: float) -> None:
    p = np.linspace(0.01, 0.6, 25)
    chain = Chain(p)

    def growth(q: float) -> float:
        return math.log(max(abs(np.linalg.eigvals(dense(p, q)))))

    point = chain.at(q)
    assert point.growth == pytest.approx(growth(q), abs=1e-10)
    assert point.alpha == pytest.approx((growth(q + 1e-5) - growth(q - 1e-5)) / 2e-5, rel=1e-6)
    assert point.f == pytest.approx(point.growth - q * point.alpha, abs=1e-12)
    assert point.f <= 0 and (point.f == 0) == (q == 0)


def test_the_stationary_distribution_does_not_move() -> None:
    p = np.linspace(0.01, 0.6, 25)
    share = Chain(p).stationary
    assert share.sum() == pytest.approx(1)
    assert share @ dense(p, 0.0) == pytest.approx(share, abs=1e-12)


def test_the_mean_window_follows_the_square_root_law() -> None:
    rates = np.array([1e-3, 1e-4])
    means = np.array([Chain(bernoulli(p, int(6 / math.sqrt(p)))).mean for p in rates])
    assert means == pytest.approx(np.sqrt(3 / (2 * rates)), rel=0.1)


@pytest.mark.parametrize(
    ("p", "why"),
    [
        ([0.0] * 9 + [1.0], "periodic: it returns every 6 rounds"),  # 5 to 10 and back
        ([0.5], "ends in a window of 1 packets"),
        ([0.1] * 9 + [0.0], "ends in a window of 10 packets"),
        ([0.0, 0.0, 1.0, *([0.0] * 5), 1.0], "2 sets of windows"),
    ],
)
def test_chains_without_a_spectrum(p: list[float], why: str) -> None:
    with pytest.raises(ChainError, match=why):
        Chain(np.array(p))


def test_a_range_ends_where_the_chain_can_go_no_farther() -> None:
    # At the largest window a loss is so rare that staying there is observable.
    low, high = Chain(bernoulli(1e-5, 100)).observable(10**6, 50)
    assert high.alpha == pytest.approx(100, abs=0.1) and low.alpha < 100


# Rounds and losses.


def test_rounds_follow_the_flows_own_clock() -> None:
    t_s = np.array([0.0, 0.003, 0.006, 0.009, 0.012, 0.015, 0.018])
    window = np.array([10.0, 11, 12, 13, 14, 15, 16])
    srtt_s = np.array([0.004, 0.004, 0.006, 0.006, 0.006, 0.002, 0.002])
    found = rounds(t_s, window, srtt_s, np.zeros(7, np.bool_), 0.0, 1.0)
    assert isinstance(found, Rounds)
    # 0 -> 4 (sample at 3 says 4 ms) -> 8 (6 ms) -> 14 (at 12 still 6 ms); the next would be beyond
    # 18.
    assert found.t_s == pytest.approx([0.0, 0.004, 0.008])
    assert found.window.tolist() == [10, 11, 12]


def test_rounds_begin_after_the_warm_up_and_the_first_rtt() -> None:
    t_s = np.arange(10, dtype=np.float64) * 0.01
    srtt_s = np.where(t_s < 0.035, 0.0, 0.02)
    found = rounds(t_s, np.full(10, 5.0), srtt_s, None, 0.02, 1.0)
    assert isinstance(found, Rounds)
    assert found.t_s[0] == pytest.approx(0.04) and found.lost is None
    assert rounds(t_s, t_s, np.zeros(10), None, 0.0, 1.0) == "the sender has no round-trip time"
    assert isinstance(rounds(t_s, t_s, srtt_s, None, 2.0, 3.0), str)


def test_entries_are_changes_into_a_reducing_state() -> None:
    state = np.array([0.0, 1, 3, 3, 0, 3, 4, 4, 2, 0, 4, 4])
    threshold = np.array([90.0, 90, 45, 45, 45, 30, 20, 20, 10, 10, 5, 4])
    # Recovery; again; Loss from Recovery; CWR; Loss; Loss again, as its threshold tells.
    assert np.flatnonzero(entries(state, threshold)).tolist() == [2, 5, 6, 8, 10, 11]


def test_a_round_has_one_loss_at_most_and_the_round_of_its_time() -> None:
    t_s = np.arange(8, dtype=np.float64) * 0.005
    entered = np.array([0, 1, 1, 0, 0, 1, 0, 0], np.bool_)  # 5, 10 and 25 ms
    found = rounds(t_s, np.arange(1.0, 9), np.full(8, 0.010), entered, 0.0, 1.0)
    assert isinstance(found, Rounds) and found.lost is not None
    assert found.lost.tolist() == [True, False, True]


def test_counting_by_window() -> None:
    window = np.array([3, 3, 3, 3, 6, 6, 4])
    lost = np.array([1, 0, 0, 0, 1, 1, 0], np.bool_)
    found = counted(window, lost)
    assert found.share[[2, 3, 5]] == pytest.approx([0.25, 0.0, 1.0]) and np.isnan(found.share[4])
    assert found.visits.tolist() == [0, 0, 4, 1, 0, 2]
    # Never visited: as at 3 below it, half-way between 4 and 6.
    assert found.p == pytest.approx([0.25, 0.25, 0.25, 0.0, 0.5, 1.0])
    low, high = found.interval
    assert np.isnan(low[[0, 1, 4]]).all() and low[5] < 1.0 == high[5]


def test_no_window_shuts_the_chain_in() -> None:
    # All losses at 4 and none at 6, the largest: z^2 = 3.8415.
    found = counted(np.array([4, 4, 5, 6]), np.array([1, 1, 0, 0], np.bool_))
    assert found.p[[3, 4, 5]] == pytest.approx([3.9207 / 5.8415, 0.0, 1.9207 / 4.8415], abs=1e-4)
    assert Chain(found.p).mean > 1


def test_wilsons_interval() -> None:
    low, high = wilson(np.array([0, 5]), np.array([10, 10]))
    # Published: 0 of 10 reaches 0.2775, 5 of 10 is 0.2366 to 0.7634.
    assert low == pytest.approx([0.0, 0.2366], abs=5e-5)
    assert high == pytest.approx([0.2775, 0.7634], abs=5e-5)


def test_the_fitted_packet_loss_is_that_of_the_rounds() -> None:
    p = bernoulli(0.01, 40)
    visits = np.full(40, 10**6)
    fitted = fit_bernoulli(Counted(visits, np.rint(visits * p).astype(np.int64)))
    assert fitted == pytest.approx(0.01, rel=1e-4)
    assert isinstance(fit_bernoulli(Counted(visits, visits * 0)), str)
    assert isinstance(fit_bernoulli(Counted(visits, visits)), str)


def test_gaussian_losses_by_hand() -> None:
    # Of 100 left, packets of 10: one deviation of 30 below at w = 7, none at w = 10.
    p = gaussian(1000.0, 900.0, 30.0, 10.0, 12)
    assert p[[6, 9]] == pytest.approx([0.158655, 0.5], abs=1e-6)
    step = gaussian(1000.0, 900.0, 0.0, 10.0, 12)
    assert step.tolist() == [0.0] * 9 + [0.5, 1.0, 1.0]


def test_the_variance_at_the_scale_of_the_buffer() -> None:
    # Of one source: the variance of its mean over T, from its autocovariance r^2 pi (1 - pi)
    # exp(-theta t).
    on_s, off_s, span_s = 0.12, 0.1, 0.4
    t = (np.arange(4000) + 0.5) * span_s / 4000
    theta, share = 1 / on_s + 1 / off_s, on_s / (on_s + off_s)
    covariance = share * (1 - share) * np.exp(-theta * t)
    expected = 2 / span_s**2 * float(((span_s - t) * covariance).sum()) * span_s / 4000
    assert onoff_variance(1, 1.0, on_s, off_s, span_s) == pytest.approx(expected, rel=1e-6)
    assert onoff_variance(3, 2.0, on_s, off_s, 1e-9) == pytest.approx(12 * share * (1 - share))
    # The study, with ON and OFF exchanged: 580 Mbit/s, and a deviation near its 108 Mbit/s.
    buffer_s = 8 * 96 * 1514 / 1e9
    assert pytest.approx(580e6, rel=0.005) == 32 * 40e6 * 0.1 / 0.22
    deviation = math.sqrt(onoff_variance(32, 40e6, 0.1, 0.12, buffer_s))
    assert deviation == pytest.approx(112.3e6, rel=0.001)


def crossed(**changes: Any) -> Cell:
    """A cell whose flow b is ON/OFF over UDP."""
    cell = hand_made("a....b....").cell
    parameters = {"mean": 0.5}
    workload = OnOffWorkload(
        rate_bps=300_000,
        on=Distribution(kind="exponential", parameters=parameters),
        off=Distribution(kind="exponential", parameters={"mean": 1.0}),
        packet_bytes=1486,
        seed=1,
    )
    workload = replace(workload, **changes)
    a, b = cell.flows
    noise = replace(b, transport="udp", cca=None, workload=workload, connections=4)
    return replace(cell, flows=(a, noise))


def test_cross_traffic_is_read_from_the_plan() -> None:
    cell = crossed()
    found = cross_traffic(cell, cell.flows[0])
    assert isinstance(found, Cross)
    wire = 300_000 * 1500 / 1486
    assert found.mean_bps == pytest.approx(4 * wire / 3)
    assert found.buffer_s == pytest.approx(8 * 11_250 / RATE_BPS)
    variance = onoff_variance(4, wire, 0.5, 1.0, found.buffer_s)
    assert found.deviation_bps == pytest.approx(math.sqrt(variance))


def test_cross_traffic_that_the_plan_does_not_tell() -> None:
    cell = crossed(on=Distribution(kind="pareto", parameters={"mean": 0.5, "shape": 1.1}))
    assert "not exponential" in str(cross_traffic(cell, cell.flows[0]))
    plain = hand_made("a....b....").cell
    assert "over TCP" in str(cross_traffic(plain, plain.flows[0]))


# Averages, spectra, envelopes.


def test_averages_and_their_spectrum() -> None:
    window = np.array([1, 3, 2, 2, 4, 6, 5, 5, 9])  # the last one is in no window of two
    means = averages(window, 2)
    assert means.tolist() == [2.0, 2.0, 5.0, 5.0]
    bins = Grid(np.array([1.0, 3.0, 5.0]))
    assert bins.count(means).tolist() == [0, 2, 2, 0]  # the last edge is in the last bin
    assert bins.count(np.array([0.9, 5.1, 3.0])).tolist() == [1, 0, 1, 1]
    found = spectrum(np.array([1, 2, 0, 1]), 4, 2)
    assert found[[0, 1]] == pytest.approx([math.log(1 / 4) / 2, math.log(1 / 2) / 2])
    assert np.isnan(found[2])


def test_bins_are_widened_in_their_own_width() -> None:
    bins = grid(10.0, 15.0, 30)
    wide = bins.widened(np.array([8.2, 12.0, 16.0]))
    assert np.diff(wide.edges) == pytest.approx(
        np.full(len(wide.edges) - 1, np.diff(bins.edges)[0])
    )
    assert wide.edges[0] <= 8.2 and wide.edges[-1] >= 16.0
    assert set(np.round(bins.edges, 9)) <= set(np.round(wide.edges, 9))


SCALES = (20, 50)


def bins_of(chain: Chain, total: int) -> dict[int, Grid]:
    ends = {n: chain.observable(total, n) for n in SCALES}
    return {n: grid(low.alpha, high.alpha, total // n, 2) for n, (low, high) in ends.items()}


def test_simulated_chains_are_the_chain() -> None:
    chain, total = Chain(P), 4000
    bins = bins_of(chain, total)
    found = simulate(chain, total, bins, (1, 2), chains=50)
    again = simulate(chain, total, bins, (1, 2), chains=50)
    for n in SCALES:
        assert (found[n] == again[n]).all()
        assert (found[n].sum(axis=1) == total // n).all()
        inner = found[n][:, 1:-1].sum(axis=0)
        mean = float(bins[n].centres @ inner / inner.sum())
        assert mean == pytest.approx(chain.mean, rel=0.02)


def test_one_in_twenty_such_chains_is_outside() -> None:
    chain, total = Chain(P), 4000
    bins = bins_of(chain, total)
    simulated = simulate(chain, total, bins, (1,), chains=300)
    fresh = simulate(chain, total, bins, (2,), chains=300)
    outside = sum(
        not envelope(simulated, {n: fresh[n][i] for n in SCALES}).inside for i in range(300)
    )
    assert (
        3 <= outside <= 32
    )  # 15 are expected; less than one in 10,000 runs of a right test is beyond
    other = simulate(Chain(bernoulli(0.007, 60)), total, bins, (3,), chains=50)
    missed = sum(envelope(simulated, {n: other[n][i] for n in SCALES}).inside for i in range(50))
    assert missed <= 10


def made_study(p: Floats, no_theory: str = "", **changes: Any) -> Study:
    windows, losses = walk(p, 6000, 5)
    made = Rounds(np.arange(6000.0), windows, losses)
    arguments: dict[str, Any] = {"cross": "no cross traffic is known", "round_bps": 1.0}
    return study(made, (20, 50), no_theory=no_theory, seed=(1,), **(arguments | changes))


def test_a_flow_that_is_the_chain_is_inside() -> None:
    made = made_study(P)
    theory, independent = made.models["theory"], made.models["bernoulli"]
    assert isinstance(theory, Model) and isinstance(independent, Model)
    assert theory.verdict is not None and theory.verdict.inside
    assert independent.verdict is not None and independent.verdict.inside
    assert made.models["gaussian"] == "no cross traffic is known"
    assert made.p_packet == pytest.approx(0.005, rel=0.1)


def test_a_model_that_is_another_chain_is_told() -> None:
    # Hardly a loss below 20 packets, often above: no independent losses do that.
    made = made_study(np.where(np.arange(1, 61) < 20, 0.003, 0.3))
    theory, independent = made.models["theory"], made.models["bernoulli"]
    assert isinstance(theory, Model) and isinstance(independent, Model)
    assert theory.verdict is not None and theory.verdict.inside
    assert independent.verdict is not None and not independent.verdict.inside


def test_curves_say_what_the_study_says() -> None:
    made = made_study(P)
    found = {(c.name, c.scale): c for c in curves(made)}
    theory = made.models["theory"]
    assert isinstance(theory, Model)
    for n in (20, 50):
        curve = found["spectrum", n]
        assert np.nanmax(curve.y) == 0.0
        seen = np.isfinite(curve.y) & np.isfinite(curve.high)
        assert seen.any() and (curve.y <= curve.high + 1e-12)[seen].all()
        low = seen & np.isfinite(curve.low)
        assert (curve.low <= curve.y + 1e-12)[low].all()
    spans = found["range.theory", 0]
    at = spans.x.tolist().index(50)
    assert spans.high[at] == pytest.approx(theory.ranges[50][1].alpha)
    top = found["spectrum.theory", 0]
    assert top.y.max() == 0.0 and top.x[top.y.argmax()] == pytest.approx(theory.chain.mean)
    assert made.losses is not None
    assert found["loss", 0].x.tolist() == (np.flatnonzero(made.losses.visited) + 1).tolist()


def test_few_windows_are_no_spectrum() -> None:
    windows, losses = walk(P, 1000, 5)
    made = study(
        Rounds(np.arange(1000.0), windows, losses),
        (20, 50),
        no_theory="",
        cross="unknown",
        round_bps=1.0,
        seed=(1,),
    )
    assert made.usable == (20,)
    assert made.few(50) == "20 windows of 50 rounds: fewer than 30"
    assert {c.scale for c in curves(made) if c.name == "spectrum"} == {20}
