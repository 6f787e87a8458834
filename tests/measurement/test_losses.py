"""The number of losses of a Gilbert-Elliott chain: exact, against enumeration and simulation."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from fairc.compiler.plan import GilbertElliott
from fairc.runtime.validity.expected_losses import (
    EXACT_LOSSES,
    LossCount,
    damaging,
    loss_distribution,
    moments,
    normal_tails,
    pooled,
    steps,
    tails,
)

GILBERT = GilbertElliott(p=0.01, r=0.3, h=0.0, k=1.0)
ELLIOTT = GilbertElliott(p=0.05, r=0.2, h=0.3, k=0.98)
BERNOULLI = GilbertElliott(p=0.1, r=0.9, h=0.0, k=1.0)


def by_enumeration(chain: GilbertElliott, sent: int) -> list[float]:
    """Sum over every path of states and every pattern of losses."""
    chances = [0.0] * (sent + 1)
    step = {(0, 0): 1 - chain.p, (0, 1): chain.p, (1, 0): chain.r, (1, 1): 1 - chain.r}
    start = (chain.r / (chain.p + chain.r), chain.p / (chain.p + chain.r))
    passes = (chain.k, chain.h)
    for states in product((0, 1), repeat=sent):
        path = start[states[0]]
        for a, b in pairwise(states):
            path *= step[a, b]
        for losses in product((0, 1), repeat=sent):
            chance = path
            for state, lost in zip(states, losses, strict=True):
                chance *= 1 - passes[state] if lost else passes[state]
            chances[sum(losses)] += chance
    return chances


@pytest.mark.parametrize("chain", [GILBERT, ELLIOTT, BERNOULLI])
@pytest.mark.parametrize("sent", [1, 2, 3, 5])
def test_the_distribution_is_that_of_all_paths(chain: GilbertElliott, sent: int) -> None:
    assert loss_distribution(chain, sent) == pytest.approx(by_enumeration(chain, sent), abs=1e-12)


@pytest.mark.parametrize("chain", [GILBERT, ELLIOTT, BERNOULLI])
def test_the_moments_are_those_of_the_distribution(chain: GilbertElliott) -> None:
    sent = 777
    chances = loss_distribution(chain, sent)
    losses = np.arange(sent + 1)
    mean = float(chances @ losses)
    deviation = float(np.sqrt(chances @ (losses - mean) ** 2))
    assert float(chances.sum()) == pytest.approx(1, abs=1e-9)
    assert moments(chain, sent) == pytest.approx((mean, deviation), rel=1e-6)


def test_without_memory_it_is_the_binomial_distribution() -> None:
    from scipy.stats import binom

    expected = binom.pmf(np.arange(201), 200, 0.1)
    assert loss_distribution(BERNOULLI, 200) == pytest.approx(expected, abs=1e-12)


def test_a_simulated_chain_is_plausible_and_another_one_is_not() -> None:
    """The chain as netem runs it: a packet meets the state it finds, then the chain steps."""
    random, sent, runs, rejected = np.random.default_rng(1), 2000, 200, 0
    for _ in range(runs):
        state, lost = False, 0
        for step, loss in random.random((sent, 2)):
            lost += bool(loss < (0.7 if state else 0.02))
            state = bool(step >= 0.2) if state else bool(step < 0.05)
        rejected += not LossCount(0.156, sent, lost, ELLIOTT).plausible
    assert rejected <= 1  # 0.02 expected
    assert not LossCount(0.156, sent, 500, ELLIOTT).plausible
    assert not LossCount(0.156, sent, 150, ELLIOTT).plausible


def test_the_normal_tails_continue_the_exact_ones() -> None:
    sent = 200_000
    mean, deviation = moments(GILBERT, sent)
    for lost in (round(mean - 2 * deviation), round(mean), round(mean + 2 * deviation)):
        assert normal_tails(GILBERT, sent, lost) == pytest.approx(
            tails(GILBERT, sent, lost), abs=5e-3
        )


@pytest.mark.parametrize("chain", [GILBERT, ELLIOTT, BERNOULLI])
@pytest.mark.parametrize("lost", [0, 3, 40, 300])
def test_the_tails_are_those_of_the_distribution(chain: GilbertElliott, lost: int) -> None:
    """However few numbers of losses they are computed for."""
    chances = loss_distribution(chain, 3000)
    expected = float(chances[: lost + 1].sum()), float(chances[lost:].sum())
    assert tails(chain, 3000, lost) == pytest.approx(expected, abs=1e-9)


def test_a_long_burst_among_many_packets_is_plausible() -> None:
    """Of a million packets, a burst is expected every third time: of 10 packets on average, and of
    more than 40 in 1 of 70. The number of losses is far from normal.
    """
    chain, sent = GilbertElliott(p=3e-7, r=0.1, h=0.0, k=1.0), 1_000_000
    assert sent > EXACT_LOSSES
    for lost in (0, 1, 10, 40, 60):
        assert LossCount(chain.loss, sent, lost, chain).plausible, lost
    for lost in (200, 1000):
        assert not LossCount(chain.loss, sent, lost, chain).plausible, lost


def test_a_chain_that_also_damages_packets() -> None:
    """Of what it does not lose one in ten is damaged."""
    damaged = damaging(GILBERT, 0.1)
    assert damaged.loss == pytest.approx(GILBERT.loss + 0.1 * (1 - GILBERT.loss))
    assert (damaged.p, damaged.r) == (GILBERT.p, GILBERT.r)


@pytest.mark.parametrize(
    ("actual", "plausible"),
    [
        (GILBERT, [True, True]),
        (GilbertElliott(p=0.02, r=0.6, h=0.0, k=1.0), [False, False]),  # as many losses
        (GilbertElliott(p=0.0314, r=0.9686, h=0.0, k=1.0), [False, False]),  # independent ones
    ],
)
def test_bursts_are_told_from_others_with_as_many_losses(
    actual: GilbertElliott, plausible: list[bool]
) -> None:
    """The chain as netem runs it; a packet is lost where it meets the bad state."""
    random, lost, bad = np.random.default_rng(2), np.zeros(20_000, np.bool_), False
    for number, step in enumerate(random.random(len(lost))):
        lost[number] = bad
        bad = bool(step >= actual.r) if bad else bool(step < actual.p)
    assert [count.plausible for count in steps(GILBERT, lost)] == plausible
    assert LossCount(GILBERT.loss, len(lost), int(lost.sum()), GILBERT).plausible


def test_a_few_packets_of_a_chain_need_not_be_counted() -> None:
    """Of packets that are lost in turn, 251 of 499 are, if one that passes is not counted."""
    chain = GilbertElliott(p=1.0, r=1.0, h=0.0, k=1.0)
    assert LossCount(chain.loss, 499, 251, chain).plausible
    assert not LossCount(chain.loss, 499, 300, chain).plausible


def test_many_counts_of_a_cell_share_a_level() -> None:
    """A link whose loss is drawn anew every 20 ms has 5,000 counts in 100 s: at the level of a
    single one, four of ten correct cells would show one that is not plausible.
    """
    counts = [LossCount(share, 400, round(400 * share)) for share in np.linspace(0.01, 0.2, 5000)]
    assert all(count.plausible_among(5000) for count in counts)
    rare = LossCount(0.1, 400, 66)  # as many or more in 1 of 26,000 counts
    assert not rare.plausible
    assert rare.plausible_among(5000)
    assert not LossCount(0.1, 400, 90).plausible_among(5000)


def test_counts_are_pooled_by_their_model() -> None:
    counts = [
        LossCount(0.1, 10, 1),
        LossCount(0.1, 20, 3, BERNOULLI),
        LossCount(0.1, 30, 2),
        LossCount(0.0, 5, 0),
    ]
    assert pooled(counts) == (
        LossCount(0.0, 5, 0),
        LossCount(0.1, 40, 3),
        LossCount(0.1, 20, 3, BERNOULLI),
    )
