"""K against numbers worked out by hand, and what must hold for any two or three sessions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from computed import results
from hypothesis import given
from hypothesis import strategies as st
from madeartefacts import Made, hand_made
from madecell import MS

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import load
from fairc.runtime.metrics import fmp
from fairc.runtime.metrics.sharing import jain

KINDS = ("linear", "quadratic", "harmonic")
RATES = st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=50)
# Both have had data from 0.05 s on; a has its last byte at 0.50 s. Slots 1 to 4 count.
SHARED = "a....b.... aaaaaabbbb aaaaaaaaaa ababababab bbbbaabbbb a....b...b"
J = [1 - 100 / (2 * 52), 0.5, 0.0, 1 - 100 / (2 * 68)]


def values(made: Made, folder: Path, *sessions: str, **options: float | str) -> dict[str, float]:
    found = results(load(made.cell, made.write(folder)), "fmp", *sessions, **options)
    return {v.metric: v.value for v in found if v.value is not None}


def test_k_by_hand(tmp_path: Path) -> None:
    """Weights of four slots: 4, 3, 2, 1 tenths."""
    found = values(hand_made(SHARED), tmp_path)
    k = -0.4 * J[0] - 0.3 * J[1] + 0.1 * J[3]
    assert found["fmp.K"] == pytest.approx(k)
    assert found["fmp.K_rel"] == pytest.approx(2 * k)
    assert found["fmp.fairness"] == pytest.approx(1 + k)
    assert found["fmp.fairness_rel"] == pytest.approx(1 + 2 * k)
    assert found["fmp.K_pair"] == found["fmp.K"]
    assert found["fmp.jain"] == pytest.approx(1 - sum(J) / 4)
    # 23 and 18 frames, in IP bytes, of the 45 that the link could carry from 0.05 s to 0.50 s.
    assert found["fmp.product"] == pytest.approx(23 * 18 / 22.5**2 * (1500 / 1514) ** 2)
    assert found["fmp.epsilon_fairness"] == pytest.approx(18 / 23)


def test_other_weights_by_hand(tmp_path: Path) -> None:
    found = values(hand_made(SHARED), tmp_path / "one", weights="quadratic")
    assert found["fmp.K"] == pytest.approx((-16 * J[0] - 9 * J[1] + J[3]) / 30)
    found = values(hand_made(SHARED), tmp_path / "two", weights="harmonic")
    assert found["fmp.K"] == pytest.approx((-J[0] - J[1] / 2 + J[3] / 4) / (25 / 12))


def test_the_course_ends_at_the_value(tmp_path: Path) -> None:
    made = hand_made(SHARED)
    measurement = load(made.cell, made.write(tmp_path))
    k, index = fmp.traces(measurement, MetricRequest(name="fmp"))
    assert (k.metric, index.metric) == ("fmp.K", "fmp.jain")
    assert k.t_s == pytest.approx([0.2, 0.3, 0.4, 0.5])
    assert k.values == pytest.approx(
        [-0.4 * J[0], -0.4 * J[0] - 0.15, -0.4 * J[0] - 0.15, -0.4 * J[0] - 0.15 + 0.1 * J[3]]
    )
    assert index.values[1] == pytest.approx(1 - (J[0] + 0.5) / 2)
    found = {v.metric: v.value for v in fmp.compute(measurement, MetricRequest(name="fmp"))}
    assert (k.values[-1], index.values[-1]) == pytest.approx((found["fmp.K"], found["fmp.jain"]))


def test_exchanged_sessions_change_the_sign_only(tmp_path: Path) -> None:
    made = hand_made(SHARED)
    one = values(made, tmp_path, "a", "b")
    other = values(made, tmp_path, "b", "a")
    assert one["fmp.K"] == -other["fmp.K"]
    assert one["fmp.fairness"] == other["fmp.fairness"]


def test_of_three_sessions_the_worst_pair_is_kept(tmp_path: Path) -> None:
    """a and b share equally, c has four times their share: |K| of a, c and of b, c."""
    made = hand_made("abc....... " + "ccacbcccca ccbcaccccb " * 3 + "abc", flows=3)
    measurement = load(made.cell, made.write(tmp_path))
    found = fmp.compute(measurement, MetricRequest(name="fmp"))
    pairs = {v.flow: v.value for v in found if v.metric == "fmp.K_pair"}
    assert list(pairs) == ["a, b", "a, c", "b, c"]
    worst = next(v.value for v in found if v.metric == "fmp.K")
    assert worst == max((v for v in pairs.values() if v is not None), key=abs)
    assert worst is not None and 0 < worst <= 0.5
    assert abs(pairs["a, b"] or 0) < 0.1


def test_warm_up_is_left_out(tmp_path: Path) -> None:
    """Two slots are left, with weights 2/3 and 1/3; the first is shared equally."""
    found = values(hand_made(SHARED, warmup_ns=300 * MS), tmp_path)
    assert found["fmp.K"] == pytest.approx(J[3] / 3)


def test_sessions_that_never_compete_have_no_k(tmp_path: Path) -> None:
    made = hand_made("aaaa...... bbbbbbbbbb")
    measurement = load(made.cell, made.write(tmp_path))
    found = fmp.compute(measurement, MetricRequest(name="fmp"))
    assert {v.metric for v in found} == {v.name for v in fmp.VALUES}
    assert {v.reason for v in found} == {"one session ended before the other had its first data"}
    assert fmp.traces(measurement, MetricRequest(name="fmp")) == ()


@pytest.mark.parametrize("kind", KINDS)
@given(slots=st.integers(1, 5000))
def test_weights_decrease_strictly_and_sum_to_one(kind: str, slots: int) -> None:
    alpha = fmp.weights(kind, slots)
    assert alpha.sum() == pytest.approx(1)
    assert (alpha > 0).all()
    assert all(a > b for a, b in pairwise(alpha))


def test_linear_weights_are_those_of_the_formula() -> None:
    s = 7
    assert fmp.weights("linear", s) == pytest.approx(
        [2 * (s + 1 - i) / (s * (s + 1)) for i in range(1, s + 1)]
    )


@pytest.mark.parametrize("kind", KINDS)
@given(rates=RATES)
def test_k_is_bounded_and_antisymmetric(kind: str, rates: list[tuple[float, float]]) -> None:
    x = np.array(rates).T
    k = fmp.terms(x, kind).sum()
    assert abs(k) <= 0.5 + 1e-9
    assert fmp.terms(x[::-1], kind).sum() == -k


@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_of_the_scale(kind: str) -> None:
    starved = np.stack((np.zeros(9), np.ones(9)))
    assert fmp.terms(starved, kind).sum() == pytest.approx(0.5)
    assert fmp.terms(np.ones((2, 9)), kind).sum() == 0
    assert jain(np.ones((2, 9))) == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_start_weighs_more_than_the_end(kind: str) -> None:
    early, late = np.ones((2, 20)), np.ones((2, 20))
    early[0, :5], late[0, -5:] = 0, 0
    assert fmp.terms(early, kind).sum() > fmp.terms(late, kind).sum() > 0
