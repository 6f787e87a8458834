"""Random delays: what a correct netem may show, packet by packet, also where packets stay in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Impairment

Floats = NDArray[np.float64]

QUANTILES = 4096
# A normal number is beyond this many standard deviations in 1 of 10,000 cases.
DEVIATIONS = 3.9
# A spread may be off by this share (the tables' own rounding), and by what timers of the kernel vary.
SPREAD_TOLERANCE = 0.1
TIMER_S = 0.1e-3


def _uniform(u: Floats) -> Floats:
    return 2 * u - 1


def _normal(u: Floats) -> Floats:
    from scipy.special import ndtri

    cut: Floats = np.clip(ndtri(u), -4.0, 4.0)
    return cut


def _pareto(u: Floats) -> Floats:
    """A Pareto number of shape 3, moved and scaled as netem's table has it, cut at 4."""
    return np.minimum(((1 - u) ** (-1 / 3) - 1.5) * 4 / 3, 4.0)


def _paretonormal(u: Floats) -> Floats:
    return 0.25 * _normal(u) + 0.75 * _pareto(u)


_TABLES: Mapping[str, Callable[[Floats], Floats]] = {
    "uniform": _uniform,
    "normal": _normal,
    "pareto": _pareto,
    "paretonormal": _paretonormal,
}


@cache
def table(distribution: str) -> Floats:
    """Return the quantiles of a jitter of 1, increasing, shape (QUANTILES,).

    Those of iproute2's tables (normal.c, pareto.c and paretonormal.c in its source), with mean
    and deviation as of the tables that it installs within 1 %.
    """
    return _TABLES[distribution]((np.arange(QUANTILES) + 0.5) / QUANTILES)


def quantiles(impairment: Impairment) -> Floats:
    """Return the quantiles of a packet's own delay, s; netem sends at once what would be earlier."""
    unit = table(impairment.jitter_distribution)
    return np.maximum(impairment.delay_ns + impairment.jitter_ns * unit, 0.0) * 1e-9


def moments(impairment: Impairment) -> tuple[float, float]:
    """Return mean and variance of a packet's own delay, s and s^2."""
    delays = quantiles(impairment)
    return float(delays.mean()), float(delays.var())


@dataclass(frozen=True, slots=True)
class DelayTest:
    """Delays that were measured against those that the plan explains; s.

    mean_s: of the measured delays. expected_s: what their mean should be, given when packets came
    and what came before each. slack_s: how far a correct emulator may be off by chance.
    spread, expected_spread, spread_slack: the same for the mean square of what is random, s^2.
    """

    packets: int
    mean_s: float
    expected_s: float
    slack_s: float
    spread: float
    expected_spread: float
    spread_slack: float

    def plausible(self, tolerance_s: float) -> bool:
        """Whether mean and spread are as planned; tolerance_s: of the mean, in addition to chance."""
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

    before_s: when the last packet arrived that was sent before these.

    A packet's own delay d is drawn anew. In order, it arrives no earlier than the one before it:
    at the latest of sending and d, and the arrival before it. So given what came before, its delay
    is max(d, h), h = the arrival before it less its own sending, with

        E = F(h) h + integral_h^inf x dF(x),  V = F(h) h^2 + integral_h^inf x^2 dF(x) - E^2

    and the sum of (delay - E) over the packets is a martingale, whatever the traffic is: its variance is
    the sum of V, and the sum of (delay - E)^2 - V is one, too.
    """
    delays = quantiles(impairment)
    measured = arrived_s - sent_s
    held = np.full(len(measured), -np.inf)
    if impairment.in_order:
        ahead_s = np.maximum.accumulate(np.concatenate(([before_s], arrived_s[:-1])))
        held = ahead_s - sent_s
    below = np.searchsorted(delays, held)
    share = below / len(delays)
    # What is summed beyond h: sums over the quantiles from `below` on.
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
