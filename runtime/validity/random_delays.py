"""Random delays: what a correct netem may show per packet, including where packets stay in
order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairc.cell.links import JITTER_REACH
from fairc.cell.observation import PING_EVERY_NS
from fairc.compiler.plan import Impairment
from fairc.runtime.arrays import Floats

QUANTILES = 4096
# How often a check may be wrong about a correct emulator.
LEVEL = 1e-4
# A spread may be off by this share (the tables' own rounding), plus the jitter of kernel timers.
SPREAD_TOLERANCE = 0.1
TIMER_S = 0.1e-3


def _uniform(u: Floats) -> Floats:
    return 2 * u - 1


def _normal(u: Floats) -> Floats:
    inverse = NormalDist().inv_cdf
    return np.clip([inverse(share) for share in u.tolist()], -JITTER_REACH, JITTER_REACH)


def _pareto(u: Floats) -> Floats:
    """Return quantiles of a Pareto distribution of shape 3, shifted and scaled as in netem's table,
    cut at the reach of its numbers.
    """
    return np.minimum(((1 - u) ** (-1 / 3) - 1.5) * 4 / 3, JITTER_REACH)


def _paretonormal(u: Floats) -> Floats:
    return 0.25 * _normal(u) + 0.75 * _pareto(u)


_TABLES: Mapping[str, Callable[[Floats], Floats]] = {
    "uniform": _uniform,
    "normal": _normal,
    "pareto": _pareto,
    "paretonormal": _paretonormal,
}


def table(distribution: str, share: float = 0.0) -> Floats:
    """Return the quantiles of a jitter of 1, increasing, shape (QUANTILES,).

    They follow iproute2's sources (normal.c, pareto.c and paretonormal.c); mean and deviation are
    within 1 % of those of the tables that it installs. share: of `wifi`.
    """
    if distribution == "wifi":
        return _wifi(share)
    return _TABLES[distribution]((np.arange(QUANTILES) + 0.5) / QUANTILES)


def _wifi(share: float) -> Floats:
    """Return quantiles of N1 * 1 ms - r + N2 * 7.5 ms, in units of 60 ms.

    N1 is a Poisson number of mean 1, r uniform in 0 .. 1 ms, or 0 where N1 is; N2 a Poisson number
    of mean 12 for a share of the packets, else 0 (draft-huitema-ccwg-c4-test-02, section 2.3).
    """
    ends_ms = np.arange(0.0, 240.5, 0.5)
    exact, spread = np.zeros(len(ends_ms)), np.zeros(len(ends_ms))  # at an end; up to the next one
    for again, weight in enumerate(share * _poisson(12.0, 30)):
        at = 15 * again
        for deferrals, probability in enumerate(_poisson(1.0, 15)):
            mass = probability * (weight + (1.0 - share if again == 0 else 0.0))
            if deferrals == 0:
                exact[at] += mass
            else:
                first = at + 2 * deferrals - 2
                spread[first : first + 2] += mass / 2
    shares = np.cumsum(np.stack((exact, spread), axis=1).ravel())
    times_ms = np.repeat(ends_ms, 2)[1:]
    found = np.interp((np.arange(QUANTILES) + 0.5) / QUANTILES, shares[:-1], times_ms)
    return np.asarray(found / 60.0, np.float64)


def _poisson(mean: float, most: int) -> Floats:
    """Return the probabilities of a Poisson number of this mean, up to a most."""
    factors = np.append(np.exp(-mean), mean / np.arange(1, most + 1))
    return np.asarray(np.cumprod(factors), np.float64)


def quantiles(impairment: Impairment) -> Floats:
    """Return the quantiles of a packet's own delay, s; netem sends at once where it would be
    negative.
    """
    unit = table(impairment.jitter_distribution, impairment.jitter_share)
    return np.maximum(impairment.delay_ns + impairment.jitter_ns * unit, 0.0) * 1e-9


def moments(impairment: Impairment) -> tuple[float, float]:
    """Return the mean and variance of a packet's own delay, s and s^2."""
    delays = quantiles(impairment)
    return float(delays.mean()), float(delays.var())


RUNS = 20_000
"""How many simulated runs of pings bound what a correct emulator shows: one more run is beyond them
in 1 of 10,000 cases (Barnard, Journal of the Royal Statistical Society B 25, 1963).
"""
RUNS_MARGIN = 0.2
"""The share by which the bounds are wider than those runs, as each flow of a cell is compared."""
Statistic = Literal["median", "mean", "min", "max"]
_STATISTICS: Mapping[Statistic, Callable[..., Any]] = {
    "median": np.median,
    "mean": np.mean,
    "min": np.min,
    "max": np.max,
}


def typical(statistic: Statistic, rtts_s: Floats) -> float:
    """Return the statistic of the round trips of pings, s."""
    return float(_STATISTICS[statistic](rtts_s))


def alone(impairment: Impairment) -> Impairment:
    """Return the random delay of an impairment, without all else: equal ones are equal."""
    return Impairment(in_order=impairment.in_order, delay_ns=impairment.delay_ns).varied(
        impairment.jitter
    )


@lru_cache(maxsize=256)
def round_trips(
    delays: tuple[Impairment, ...], sent: int, received: int, statistic: Statistic, apart: bool
) -> tuple[float, float]:
    """Return the least and the most that a statistic of pings' delays may be by chance, s.

    delays: which a ping has one after the other, each without all else (`alone`). sent, received:
    how many pings, PING_EVERY_NS apart, and how many came back. apart: so far apart that none is
    held up by the one before it, as it is where order is kept: where delays vary by more than the
    time between pings, one long delay is that of all that follow, so they are not independent.
    """
    random = np.random.default_rng(0)
    begins_s = np.arange(sent) * PING_EVERY_NS * 1e-9
    arrived_s = np.tile(begins_s, (RUNS, 1))
    for delay in delays:
        table_s = quantiles(delay)
        arrived_s += table_s[random.integers(0, len(table_s), arrived_s.shape)]
        if delay.in_order and not apart:
            arrived_s = np.maximum.accumulate(arrived_s, axis=1)
    rtts_s = arrived_s - begins_s
    if received < sent:  # any of them
        rtts_s = random.permuted(rtts_s, axis=1)[:, :received]
    found = _STATISTICS[statistic](rtts_s, axis=1)
    least, middle, most = float(found.min()), float(found.mean()), float(found.max())
    margin = 1 + RUNS_MARGIN
    return middle - margin * (middle - least), middle + margin * (most - middle)


@dataclass(frozen=True, slots=True)
class DelayTest:
    """Measured delays compared with those that the plan explains; s.

    mean_s: of the measured delays. expected_s: what their mean should be, given when each packet
    was sent and what arrived before it. slack_s: how far a correct emulator may be below and above
    that by chance.
    spread, expected_spread, spread_slack: the same for the mean squared deviation, s^2.
    """

    packets: int
    mean_s: float
    expected_s: float
    slack_s: tuple[float, float]
    spread: float
    expected_spread: float
    spread_slack: tuple[float, float]

    def plausible(self, tolerance_s: float) -> bool:
        """Return whether mean and spread are as planned; tolerance_s: of the mean, in addition to
        chance.
        """
        deviation_s = float(np.sqrt(self.expected_spread))
        tolerance = SPREAD_TOLERANCE * self.expected_spread
        tolerance += TIMER_S**2 + 2 * TIMER_S * deviation_s
        return _within(self.mean_s - self.expected_s, self.slack_s, tolerance_s) and _within(
            self.spread - self.expected_spread, self.spread_slack, tolerance
        )


def _within(off: float, slack: tuple[float, float], tolerance: float) -> bool:
    below, above = slack
    return -below - tolerance <= off <= above + tolerance


def compare(
    impairment: Impairment,
    sent_s: Floats,
    arrived_s: Floats,
    before_s: float = -np.inf,
    tests: int = 1,
) -> DelayTest:
    """Compare measured delays with a plan's; at least one packet, in the order of sending.

    before_s: when the last packet sent before these arrived. tests: how many comparisons of the
    cell share `LEVEL`.

    Each packet draws its own delay d. Where order is kept, it arrives no earlier than its
    predecessor: at its own sending plus d or at the predecessor's arrival, whichever is later. So,
    given the past, its delay is y = max(d, h), where h is the predecessor's arrival less its own
    sending, with

        E y^k = F(h) h^k + integral_h^inf x^k dF(x)

    and mean E and variance V. The sum of (y - E) over the packets is a martingale, whatever the
    traffic: its variance is the sum of V. The sum of (y - E)^2 - V is a martingale, too. Both have
    bounded steps, as delays have, so `_by_chance` limits them. The deviations of what was measured
    do not: where few packets have long delays (`wifi`, Pareto), often none of them is among these.
    """
    delays = quantiles(impairment)
    measured = arrived_s - sent_s
    held = np.full(len(measured), -np.inf)
    if impairment.in_order:
        ahead_s = np.maximum.accumulate(np.concatenate(([before_s], arrived_s[:-1])))
        held = ahead_s - sent_s
    below = np.searchsorted(delays, held)
    share = below / len(delays)
    centre_s = float(delays.mean())  # moments are around it, so that little is lost to rounding
    waits = np.where(share > 0, held, centre_s) - centre_s
    first, *others = (
        _moment(delays - centre_s, power, below, share, waits) for power in range(1, 5)
    )
    second, third, fourth = others
    expected = first + centre_s
    variance = np.maximum(second - first**2, 0.0)
    fourth = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    least, most = np.maximum(delays[0], held), np.maximum(delays[-1], held)
    squares = (measured - expected) ** 2
    largest = np.maximum(most - expected, expected - least) ** 2
    count = len(measured)
    level = LEVEL / tests / 4  # mean and spread, below and above
    return DelayTest(
        packets=count,
        mean_s=float(measured.mean()),
        expected_s=float(expected.mean()),
        slack_s=_by_chance(variance, expected - least, most - expected, level),
        spread=float(squares.mean()),
        expected_spread=float(variance.mean()),
        spread_slack=_by_chance(
            np.maximum(fourth - variance**2, 0.0), variance, largest - variance, level
        ),
    )


def _moment(
    delays: Floats, power: int, below: NDArray[np.int64], share: Floats, waits: Floats
) -> Floats:
    """Return E y^power of each packet: the wait for the one ahead, or the quantiles beyond it."""
    beyond = np.append(np.cumsum(delays[::-1] ** power)[::-1], 0.0) / len(delays)
    moment: Floats = share * waits**power + beyond[below]
    return moment


def _by_chance(variance: Floats, below: Floats, above: Floats, level: float) -> tuple[float, float]:
    """Return how far the mean of a martingale's steps lies below and above 0 with the probability
    `level` each, at most.

    variance: of each step, given the past. below, above: the longest each step can be.
    """
    total, chance = float(variance.sum()), float(np.log(1 / level))
    down, up = (_farthest(total, float(steps.max()), chance) for steps in (below, above))
    return down / len(variance), up / len(variance)


def _farthest(variance: float, step: float, chance: float) -> float:
    """Return the t that the sum of a martingale's steps exceeds with the probability e^-chance at
    most.

    By Freedman's inequality (Annals of Probability 3, 1975, theorem 1.6), with V the sum of the
    variances, b the longest step, u = b t / V and h(u) = (1 + u) ln(1 + u) - u, the probability is
    at most exp(-V / b^2 h(u)), which is below exp(-t^2 / (2 V + 2 b t / 3)).
    """
    if variance <= 0:
        return 0.0
    third = max(step, 0.0) * chance / 3
    low, high = 0.0, third + float(np.sqrt(third**2 + 2 * variance * chance))
    if step * high < 1e-6 * variance:  # then h(u) = u^2 / 2, and the rest is rounding
        return high
    for _ in range(50):
        middle = (low + high) / 2
        u = step * middle / variance
        if variance / step**2 * ((1 + u) * np.log1p(u) - u) < chance:
            low = middle
        else:
            high = middle
    return high
