"""Random delays: what a correct netem may show per packet, including where packets stay in
order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fairc.cell.links import JITTER_REACH
from fairc.compiler.plan import Impairment
from fairc.runtime.arrays import Floats

QUANTILES = 4096
# A normal variate lies beyond this many standard deviations in 1 of 10,000 cases.
DEVIATIONS = 3.9
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


@dataclass(frozen=True, slots=True)
class DelayTest:
    """Measured delays compared with those that the plan explains; s.

    mean_s: of the measured delays. expected_s: what their mean should be, given when each packet
    was sent and what arrived before it. slack_s: how far a correct emulator may be off by chance.
    spread, expected_spread, spread_slack: the same for the mean squared deviation, s^2.
    """

    packets: int
    mean_s: float
    expected_s: float
    slack_s: float
    spread: float
    expected_spread: float
    spread_slack: float

    def plausible(self, tolerance_s: float) -> bool:
        """Return whether mean and spread are as planned; tolerance_s: of the mean, in addition to
        chance.
        """
        off_s = abs(self.mean_s - self.expected_s)
        deviation_s = float(np.sqrt(self.expected_spread))
        allowed = self.spread_slack + SPREAD_TOLERANCE * self.expected_spread
        allowed += TIMER_S**2 + 2 * TIMER_S * deviation_s
        return off_s <= tolerance_s + self.slack_s and (
            abs(self.spread - self.expected_spread) <= allowed
        )


def compare(
    impairment: Impairment, sent_s: Floats, arrived_s: Floats, before_s: float = -np.inf
) -> DelayTest:
    """Compare measured delays with a plan's; at least one packet, in the order of sending.

    before_s: when the last packet sent before these arrived.

    Each packet draws its own delay d. Where order is kept, it arrives no earlier than its
    predecessor: at its own sending plus d or at the predecessor's arrival, whichever is later. So,
    given the past, its delay is max(d, h), where h is the predecessor's arrival less its own
    sending, with

        E = F(h) h + integral_h^inf x dF(x),  V = F(h) h^2 + integral_h^inf x^2 dF(x) - E^2

    and the sum of (delay - E) over the packets is a martingale, whatever the traffic: its variance
    is the sum of V, and the sum of (delay - E)^2 - V is a martingale too.
    """
    delays = quantiles(impairment)
    measured = arrived_s - sent_s
    held = np.full(len(measured), -np.inf)
    if impairment.in_order:
        ahead_s = np.maximum.accumulate(np.concatenate(([before_s], arrived_s[:-1])))
        held = ahead_s - sent_s
    below = np.searchsorted(delays, held)
    share = below / len(delays)
    # The integrals beyond h: sums over the quantiles from `below` on.
    first = np.append(np.cumsum(delays[::-1])[::-1], 0.0)[below] / len(delays)
    second = np.append(np.cumsum(delays[::-1] ** 2)[::-1], 0.0)[below] / len(delays)
    waits = np.where(share > 0, held, 0.0)
    expected = share * waits + first
    variance = np.maximum(share * waits**2 + second - expected**2, 0.0)
    squares = (measured - expected) ** 2
    count = len(measured)
    return DelayTest(
        packets=count,
        mean_s=float(measured.mean()),
        expected_s=float(expected.mean()),
        slack_s=DEVIATIONS * float(np.sqrt(variance.sum())) / count,
        spread=float(squares.mean()),
        expected_spread=float(variance.mean()),
        spread_slack=DEVIATIONS * float((squares - variance).std()) / float(np.sqrt(count)),
    )
