"""Random losses: how many a correct emulator may show, independent or in bursts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import GilbertElliott
from fairc.runtime.statistics.distributions import (
    binomial_above,
    binomial_below,
    normal_below,
)

LOSS_TEST_LEVEL = 0.9999
EXACT_LOSSES = 1 << 19
"""The distribution of a chain's losses is computed up to this many, and taken for normal beyond.
The number of packets does not matter: of a million, few may lie in bursts, and all of them in one.
"""


@dataclass(frozen=True, slots=True)
class LossCount:
    """Packets exposed to a random loss of probability `expected`, and how many of them were lost.

    bursts: the chain that loses them, whose stationary loss is `expected`; None: each packet is
    lost independently.
    """

    expected: float
    sent: int
    lost: int
    bursts: GilbertElliott | None = None

    @property
    def plausible(self) -> bool:
        """Whether a correct emulator may lose this many; one passes 99.99 % of the time."""
        return self.plausible_among(1)

    @property
    def is_random(self) -> bool:
        """Whether chance decides."""
        return 0 < self.expected < 1

    def plausible_among(self, tests: int) -> bool:
        """Return whether a correct emulator may lose this many; one passes all tests of its cell
        99.99 % of the time (Bonferroni). tests: how many counts of the cell are tested.

        Exact test with equal tails: of the binomial distribution (Clopper and Pearson, Biometrika
        26, 1934), or of the number of losses of the chain (`tails`).
        """
        if not self.is_random:
            return self.lost == round(self.expected) * self.sent
        return min(self._tails()) >= (1 - LOSS_TEST_LEVEL) / 2 / max(1, tests)

    def _tails(self) -> tuple[float, float]:
        """Return the probabilities of at most, and of at least, the observed number of losses.

        A chain with p + r > 1 tends to lose every other packet. Of these some are not counted here,
        so the others are taken for independent, whose number varies more.
        """
        if self.bursts is not None and self.bursts.p + self.bursts.r <= 1:
            return tails(self.bursts, self.sent, self.lost)
        return (
            binomial_below(self.lost, self.sent, self.expected),
            binomial_above(self.lost - 1, self.sent, self.expected),
        )


def unexplained(probability: float) -> str:
    """Say what a count that is not plausible says of the planned probability."""
    if 0 < probability < 1:
        chance = f"1 of {1 / (1 - LOSS_TEST_LEVEL):,.0f} cells"
        return f"a probability of {probability:g} explains that in fewer than {chance}"
    return f"a probability of {probability:g} does not explain that"


def pooled(counts: Iterable[LossCount]) -> tuple[LossCount, ...]:
    """Add up the counts of many cells (rule 20), one per loss model, ordered by probability."""
    sums: dict[tuple[float, GilbertElliott | None], tuple[int, int]] = {}
    for count in counts:
        model = (count.expected, count.bursts)
        sent, lost = sums.get(model, (0, 0))
        sums[model] = (sent + count.sent, lost + count.lost)
    return tuple(
        LossCount(model[0], *sums[model], model[1])
        for model in sorted(sums, key=lambda model: (model[0], model[1] is not None, str(model[1])))
    )


def tails(chain: GilbertElliott, sent: int, lost: int) -> tuple[float, float]:
    """Return P(N <= lost) and P(N >= lost), where N is the number of losses among `sent` packets of
    a chain.

    The chain begins in its stationary distribution. Packets of other flows between ours only make
    ours less correlated, so for p + r < 1 the tails are not too small.
    """
    size = _size(chain, sent, lost)
    if size > EXACT_LOSSES:
        return normal_tails(chain, sent, lost)
    chances = _folded(chain, sent, size)
    return float(chances[: lost + 1].sum()), float(chances[lost:].sum())


def normal_tails(chain: GilbertElliott, sent: int, lost: int) -> tuple[float, float]:
    """Return what `tails` does, of the normal distribution with the same moments."""
    mean, deviation = moments(chain, sent)
    return (
        normal_below((lost + 0.5 - mean) / deviation),
        normal_below((mean - lost + 0.5) / deviation),
    )


def damaging(chain: GilbertElliott, damaged: float) -> GilbertElliott:
    """Return a chain that also loses a share of the packets that it lets pass, independently."""
    return replace(chain, h=chain.h * (1 - damaged), k=chain.k * (1 - damaged))


def _size(chain: GilbertElliott, sent: int, lost: int) -> int:
    """Return a power of two that hardly any number of losses reaches, and not `lost`.

    Beyond what many bursts add up to, a single one can be so long as an exponential number allows.
    """
    mean, deviation = moments(chain, sent)
    most = min(sent, max(lost, round(mean + 12 * deviation + 20 / chain.r)))
    return 1 << most.bit_length()


def steps(chain: GilbertElliott, lost: NDArray[np.bool_]) -> tuple[LossCount, LossCount]:
    """Count the steps of a chain that loses all packets of its bad state and no others: from good
    to bad, and from bad to good.

    lost: of all its packets, in order. Where each was lost shows its state, so the steps from one
    state are independent draws. A step that never happens is a probability of 0.
    """
    before, after = lost[:-1], lost[1:]
    return (
        LossCount(chain.p, int((~before).sum()), int((~before & after).sum())),
        LossCount(chain.r, int(before.sum()), int((before & ~after).sum())),
    )


def moments(chain: GilbertElliott, sent: int) -> tuple[float, float]:
    """Return the mean and standard deviation of the losses among `sent` packets of a chain.

    With pi = p / (p + r) the share of the bad state, e = (1 - h) - (1 - k) the difference of the
    states' losses, and L the stationary loss, the losses of two packets j apart have the
    covariance e^2 pi (1 - pi) (1 - p - r)^j, j >= 1; hence

        Var N = n L (1 - L) + 2 e^2 pi (1 - pi) sum_{j=1}^{n-1} (n - j) (1 - p - r)^j
    """
    share = chain.p / (chain.p + chain.r)
    loss = share * (1 - chain.h) + (1 - share) * (1 - chain.k)
    spread = (chain.k - chain.h) ** 2 * share * (1 - share)
    step = 1 - chain.p - chain.r
    # sum_{j=1}^{n-1} (n - j) x^j = x (n (1 - x) - 1 + x^n) / (1 - x)^2
    pairs = step * (sent * (1 - step) - 1 + step**sent) / (1 - step) ** 2
    variance = sent * loss * (1 - loss) + 2 * spread * pairs
    return sent * loss, float(np.sqrt(max(variance, 0.0)))


def loss_distribution(chain: GilbertElliott, sent: int) -> NDArray[np.float64]:
    """Return P(N = 0), ..., P(N = sent), where N is the number of losses among `sent` packets of a
    chain.

    Its generating function is E[z^N] = pi M(z)^n 1, where M(z) is the transition matrix with each
    row weighted by what its state does to a packet (z if lost): as in netem, a packet meets the
    current state, then the chain steps. It is evaluated at the roots of unity and transformed back.
    """
    return _folded(chain, sent, 1 << sent.bit_length())[: sent + 1]


def _folded(chain: GilbertElliott, sent: int, size: int) -> NDArray[np.float64]:
    """Return P(N mod size = 0), ..., P(N mod size = size - 1); size: a power of two."""
    z = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)  # the others are their conjugates
    good, bad = chain.k + (1 - chain.k) * z, chain.h + (1 - chain.h) * z
    power = np.empty((len(z), 2, 2), np.complex128)
    power[:, 0, 0], power[:, 0, 1] = good * (1 - chain.p), good * chain.p
    power[:, 1, 0], power[:, 1, 1] = bad * chain.r, bad * (1 - chain.r)
    share = chain.p / (chain.p + chain.r)
    state = np.ones((len(z), 2, 1), np.complex128)
    left = sent
    while left:
        if left & 1:
            state = power @ state
        left >>= 1
        if left:
            power = power @ power
    values = (1 - share) * state[:, 0, 0] + share * state[:, 1, 0]
    chances: NDArray[np.float64] = np.fft.irfft(values, size)
    return np.clip(chances, 0.0, 1.0)
