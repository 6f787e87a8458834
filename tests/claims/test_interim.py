"""Claims that end a range of repetitions: when they do, and how often any interval misses at any
look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256

import pytest
from cell_values import cell_values

from fairc.compiler.plan import Axis, Claim, ClaimUnit, MetricRequest, Plan, Precision, Statistic
from fairc.runtime.claims.intervals import of_unit
from fairc.runtime.ranges.ending import Ending, StoppingRule
from fairc.runtime.run.history import as_claimed
from fairc.runtime.statistics.estimates import quantile_ranks
from fairc.runtime.statistics.repeated import Repeated
from fairc.runtime.statistics.sequential import at_any_time, kept_counts
from fairc.words.repetitions import interim_analyses

LEAST, MOST = 8, 40
BOUND = 10.0


def missed_at_some_look(kept: dict[int, tuple[int, int]]) -> float:
    """Return the exact probability that the interval of some look misses the median of a continuous
    distribution.

    kept: look -> the least and the largest number of values below the median for which the interval
    holds it.
    """
    states, missed = {0: 1.0}, 0.0
    for n in range(1, max(kept) + 1):
        following: dict[int, float] = defaultdict(float)
        for below, chance in states.items():
            following[below] += chance / 2
            following[below + 1] += chance / 2
        low, high = kept.get(n, (0, n))
        for below in [b for b in following if not low <= b <= high]:
            missed += following.pop(below)
        states = following
    return missed


@pytest.mark.parametrize("pairs", [1, 5, 20])
def test_all_pairs_and_looks_together_miss_in_fewer_than_five_percent(pairs: int) -> None:
    level = 1 - 0.05 / pairs
    taken = interim_analyses(LEAST, MOST)
    sequence = {n: kept_counts(n, 0.5, level) for n in taken}
    assert 0 < pairs * missed_at_some_look(sequence) < 0.05
    # Ordinary intervals at the same level, looked at as often, would not hold it.
    ranks = {n: found for n in taken if (found := quantile_ranks(n, 0.5, level)) is not None}
    ordinary = {n: (low, high - 1) for n, (low, high) in ranks.items()}
    assert pairs * missed_at_some_look(ordinary) > 0.1


def test_the_interval_of_a_claim_is_the_one_that_is_counted_above() -> None:
    values = [float((7 * n) % 31) for n in range(1, 23)]
    by_repetition = dict(enumerate(values, 1))
    level = 1 - 0.05 / 5
    unit = ClaimUnit(expression=term("x"), low=BOUND, high=None)
    found = of_unit(
        unit.contrast, [by_repetition], level, common=True, repeated=Repeated(LEAST, MOST)
    )
    low, high = kept_counts(len(values), 0.5, level)
    ordered = sorted(values)
    assert found.estimate == at_any_time(values, 0.5, level)
    assert (found.estimate.low, found.estimate.high) == (ordered[low - 1], ordered[high])


def term(cells: str) -> Statistic:
    return Statistic(statistic="median", metric="goodput", flow="a", cells=(cells,))


def claim(text: str, *configurations: str, low: float = BOUND) -> Claim:
    """Median goodput above a bound, in each configuration."""
    units = tuple(ClaimUnit(expression=term(c), low=low, high=None) for c in configurations)
    return Claim(
        text=text,
        over="each",
        condition="",
        holds="median(goodput) > 10bit/s",
        relation=">",
        unit="bit/s",
        shared=("n",),
        units=units,
    )


def test_a_claim_is_in_locks_as_earlier_versions_wrote_it() -> None:
    """A hash of another form would turn a claim that was made before results into a later one."""
    term = (
        '{"statistic":"median","metric":"goodput","flow":"a","load":0,"share":0.5,"relation":"",'
        '"bound":0.0,"factor":1.0,"cells":["x"]}'
    )
    meaning = (
        '{"over":"each","form":"sum","relation":">","unit":"bit/s","shared":["n"],"units":'
        f'[{{"terms":[{term}],"shift":0.0,"low":1.0,"high":null}}]}}'
    )
    assert as_claimed(claim("c", "x", low=1.0)) == sha256(meaning.encode()).hexdigest()


def ending(
    claims: tuple[Claim, ...], most: int = 30, configurations: str = "xy", **values: Sequence[float]
) -> Ending:
    plan = Plan(
        experiment="e",
        title="",
        citation="",
        file="e.fexp",
        source="",
        source_sha256="0" * 64,
        axes=(Axis(name="n", values=("x", "y")),),
        repeat=most,
        seed=1,
        configurations=2,
        excluded=0,
        cells=2 * most,
        measure=(MetricRequest(name="goodput"),),
        figures=(),
        varied=(),
        claims=claims,
        precision=Precision(least=8, goals=(), claims=True),
    )
    cells = [
        cell_values(name, n, {("goodput", "a"): value, ("goodput", "b"): BOUND}, n=name)
        for name, found in values.items()
        for n, value in enumerate(found, 1)
    ]
    (only,) = StoppingRule(plan, {name: {"n": name} for name in configurations}).endings(cells)
    return only


ABOVE = [BOUND + 1 + n / 100 for n in range(30)]
BELOW = [BOUND - 1 - n / 100 for n in range(30)]
AROUND = [BOUND + (-1) ** n * (1 + n / 100) for n in range(30)]


@pytest.mark.parametrize("values", [ABOVE, BELOW])
def test_a_range_ends_when_its_claim_holds_or_fails(values: list[float]) -> None:
    found = ending((claim("one", "x"),), x=values, y=AROUND)
    assert (found.why, found.repetitions, found.result.undecided) == ("reached", 8, ())


def test_a_range_goes_on_while_its_claim_is_undecided() -> None:
    found = ending((claim("one", "x"), claim("two", "x", low=1.0)), x=AROUND, y=AROUND)
    assert (found.why, found.repetitions, found.result.undecided) == ("used up", 30, ("one",))


def test_more_pairs_need_a_later_look() -> None:
    """Two intervals at 97.5 % each are closed from 9 values on, so the look at 8 decides
    neither.
    """
    assert ending((claim("both", "x", "y"),), x=ABOVE, y=ABOVE).repetitions == 12
    assert ending((claim("one", "x"), claim("two", "y")), x=ABOVE, y=ABOVE).repetitions == 12


def test_one_configuration_that_fails_decides_its_claim() -> None:
    found = ending((claim("both", "x", "y"),), x=BELOW, y=AROUND)
    assert (found.why, found.repetitions) == ("reached", 12)


def test_values_that_are_equal_decide_nothing() -> None:
    found = ending((claim("one", "x"),), x=[BOUND + 1] * 30, y=ABOVE)
    assert (found.why, found.result.undecided) == ("used up", ("one",))


def test_a_part_of_the_configurations_ends_with_what_is_claimed_of_it() -> None:
    claims = (claim("both", "x", "y"), claim("other", "y"))
    assert ending(claims, configurations="x", x=ABOVE).repetitions == 12
    assert ending((claim("other", "y"),), configurations="x", x=AROUND).repetitions == 8
