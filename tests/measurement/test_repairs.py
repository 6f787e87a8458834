"""What packets behind a link that repairs losses show of its transmissions, on a simulated one."""

from __future__ import annotations

import numpy as np
import pytest

from fairc.mechanisms.links.radio.cell import Arq
from fairc.mechanisms.links.radio.check import tries
from fairc.runtime.validity.expected_losses import LossCount

WAIT_S = 0.002
PROCESSING_S = 10e-6


@pytest.mark.parametrize("given_up", [2, 7])
@pytest.mark.parametrize("late_s", [0.0, PROCESSING_S])
def test_the_host_of_a_sender_takes_time(given_up: int, late_s: float) -> None:
    """Each transmission fails with 30 %; packets leave their host up to late_s after they were
    seen, and what is behind a repaired one waits for it.
    """
    draw = np.random.default_rng(7)
    sent_s = np.cumsum(draw.exponential(0.7 * WAIT_S, 5000))
    failures = draw.geometric(0.7, len(sent_s)) - 1
    left_s = np.maximum.accumulate(sent_s + draw.uniform(0, late_s, len(sent_s)))
    ends_s = left_s + np.minimum(failures, given_up) * WAIT_S
    repaired_s = np.maximum.accumulate(ends_s)
    repaired_s[failures > given_up] = np.nan
    arq = Arq(tries=given_up, wait_ns=2_000_000)
    found = tries(arq, sent_s, repaired_s, late_s)
    assert found.wrong == 0
    assert found.tried > 1000
    assert LossCount(0.3, found.tried, found.failed).plausible
    assert not LossCount(0.35, found.tried, found.failed).plausible
    if late_s:  # a host that takes no time does not explain it
        assert tries(arq, sent_s, repaired_s).wrong > 100


def test_what_was_sent_before_a_change_holds_back_what_comes_behind_it() -> None:
    """The loss changes after each hundredth packet: those behind wait for earlier ones that were
    repaired, or given up, and a packet that waited for these holds back further ones.
    """
    draw = np.random.default_rng(9)
    sent_s = np.cumsum(draw.exponential(0.7 * WAIT_S, 20_000))
    failures = draw.geometric(0.7, len(sent_s)) - 1
    repaired_s = np.maximum.accumulate(sent_s + np.minimum(failures, 2) * WAIT_S)
    given_up = failures > 2
    shown_s = np.where(given_up, np.nan, repaired_s)
    arq = Arq(tries=2, wait_ns=2_000_000)
    blind = seen = other = 0
    for begin in range(100, len(sent_s), 100):
        stage = slice(begin, begin + 100)
        from_s = repaired_s[begin - 1]
        blind += tries(arq, sent_s[stage], shown_s[stage]).wrong
        seen += tries(arq, sent_s[stage], shown_s[stage], from_s=from_s).wrong
        longer_s = sent_s[stage] + 1.1 * (shown_s[stage] - sent_s[stage])
        other += tries(arq, sent_s[stage], longer_s, from_s=from_s).wrong
    assert seen == 0
    assert blind > 20
    assert other > 1000, "another wait is found as before"
