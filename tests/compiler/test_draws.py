"""Random numbers: the moments that the distributions have, and the same numbers everywhere."""

from __future__ import annotations

from fractions import Fraction
from statistics import fmean, pstdev

import pytest
from specs import compilation_of

from fairc.dsl.model import Distribution
from fairc.words.distributions import DISTRIBUTIONS, draw

N = 4000
CASES = {
    "uniform": ({"low": 2, "high": 6}, 4, 4 / 12**0.5),
    "exponential": ({"mean": 3}, 3, 3),
    "pareto": ({"mean": 3, "shape": 5}, 3, 0),
    "gamma": ({"mean": 3, "shape": 4}, 3, 1.5),
    "normal": ({"mean": 10, "deviation": 2}, 10, 2),
    "constant": ({"value": 7}, 7, 0),
}


def numbers(kind: str, arguments: dict[str, int], n: int = N) -> list[float]:
    exact = {name: Fraction(value) for name, value in arguments.items()}
    return [float(draw(Distribution(kind, exact), 1, "test", str(i))) for i in range(n)]


def test_every_distribution_can_be_drawn() -> None:
    """`empirical` has tests of its own: it draws from a file."""
    assert DISTRIBUTIONS.names() == sorted({*CASES, "empirical"})


@pytest.mark.parametrize("kind", sorted(set(CASES) - {"pareto"}))
def test_moments(kind: str) -> None:
    arguments, mean, deviation = CASES[kind]
    drawn = numbers(kind, arguments)
    assert fmean(drawn) == pytest.approx(mean, abs=5 * deviation / N**0.5)
    assert pstdev(drawn) == pytest.approx(deviation, rel=0.1)


def test_pareto_has_its_tail() -> None:
    drawn = numbers("pareto", {"mean": 3, "shape": 3})
    scale = 2  # mean (shape - 1) / shape
    assert min(drawn) >= scale
    for x in (3, 4, 6):
        share = (scale / x) ** 3
        assert fmean(d > x for d in drawn) == pytest.approx(share, abs=5 * (share / N) ** 0.5)


def test_a_gamma_of_a_small_shape() -> None:
    exact = Distribution("gamma", {"mean": Fraction(3), "shape": Fraction(1, 2)})
    drawn = [float(draw(exact, 1, str(i))) for i in range(N)]
    assert fmean(drawn) == pytest.approx(3, abs=5 * 18**0.5 / N**0.5)
    assert min(drawn) >= 0


def test_a_normal_is_cut_at_zero() -> None:
    assert min(numbers("normal", {"mean": 0, "deviation": 1}, 200)) >= 0


def test_the_numbers_are_these_on_every_machine() -> None:
    exact = {"mean": Fraction(1)}
    first = draw(Distribution("exponential", exact), 1, "start", "a")
    assert round(first * 10**9) == EXPECTED_NS
    assert draw(Distribution("exponential", exact), 1, "start", "a") == first
    assert draw(Distribution("exponential", exact), 1, "start", "b") != first


EXPECTED_NS = 1_649_279_794


def test_starts_are_drawn_for_each_cell_and_flow() -> None:
    text = """fexp 1
experiment e {
  topology = access(rate: 1Mbit/s, rtt: 50ms)
  users u { count = 3 }
  flow a { users = u  cca = cubic  start = uniform(1s, 2s)  workload = file(100kB) }
  repeat = 2
  measure = [goodput]
}
"""
    compilation = compilation_of(text)
    cells = list(compilation.cells())
    starts = [flow.start_ns for cell in cells for flow in cell.flows]
    assert len(set(starts)) == 6
    assert all(10**9 <= start <= 2 * 10**9 for start in starts)
    assert compilation.plan.varied == (
        "the start of each connection of a flow whose `start` is a distribution",
    )
    for cell in cells:
        latest = max(flow.start_ns for flow in cell.flows)
        assert cell.deadline_ns > latest + 10 * 2.4e9
        assert {(flow.declared, flow.users) for flow in cell.flows} == {("a", "u")}


def drawn(count: int) -> list[tuple[int, ...]]:
    text = f"""fexp 1
experiment e {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  flow a {{ cca = cubic  count = {count}  start = uniform(1s, 2s)  workload = file(100kB) }}
  flow b {{ cca = cubic  count = {count}  workload = file(100kB) }}
  repeat = 2
  measure = [goodput]
}}
"""
    cells = list(compilation_of(text).cells())
    for cell in cells:
        assert cell.deadline_ns > max(cell.flows[0].starts_ns) + 10**10
        assert cell.flows[1].starts_ns == (cell.flows[1].start_ns,) * count
    return [cell.flows[0].starts_ns for cell in cells]


def test_starts_are_drawn_for_each_connection() -> None:
    one, two = drawn(3)
    assert len({*one, *two}) == 6
    assert all(10**9 <= start <= 2 * 10**9 for start in (*one, *two))
    assert drawn(3) == [one, two]


def test_more_connections_move_no_start() -> None:
    assert drawn(1) == [starts[:1] for starts in drawn(3)]
    assert drawn(3) == [starts[:3] for starts in drawn(8)]


def test_round_trips_are_drawn_for_each_flow_and_repetition_and_alike_in_configurations() -> None:
    text = """fexp 1
experiment e {
  sweep { cca = [cubic, reno] }
  topology = dumbbell(rate: 1Mbit/s, rtt: 50ms)
  flow a { cca = cca  rtt = uniform(10ms, 20ms)  workload = file(100kB) }
  flow b { cca = cca  rtt = uniform(10ms, 20ms)  workload = file(100kB) }
  repeat = 2
  measure = [goodput]
}
"""
    found: dict[int, set[tuple[int, ...]]] = {}
    for cell in compilation_of(text).cells():
        rtts_ns = tuple(flow.base_rtt_ns for flow in cell.flows)
        assert all(60 * 10**6 <= rtt < 70 * 10**6 for rtt in rtts_ns)
        found.setdefault(cell.repetition, set()).add(rtts_ns)
    assert [len(rtts) for rtts in found.values()] == [1, 1]
    assert len({rtt for several in found.values() for rtts in several for rtt in rtts}) == 4
