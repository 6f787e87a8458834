"""Where ranges of repetitions end, by hand; which intervals their summaries take; when they are
looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from cell_values import cell_values

from fairc.compiler.plan import Amount, Goal, MetricRequest, Plan, Precision
from fairc.dsl.core.units import RATE
from fairc.dsl.results.measures import DIMENSIONS
from fairc.runtime.metrics import METRICS, value_named
from fairc.runtime.ranges.ending import Ending, StoppingRule
from fairc.runtime.repetitions.reading import CellValues
from fairc.runtime.statistics import estimates
from fairc.runtime.statistics.repeated import FIXED, OF_MEANS, Repeated
from fairc.runtime.statistics.sequential import at_any_time, at_interim, values_needed
from fairc.words import metrics as words
from fairc.words.repetitions import INTERIM_RANKS, LEAST, interim_analyses

from .test_sequential import missed_at_interim


def plan(*goals: Goal, least: int = 8, most: int = 30, per: tuple[str, ...] = ()) -> Plan:
    return Plan(
        experiment="e",
        title="",
        citation="",
        file="e.fexp",
        source="",
        source_sha256="0" * 64,
        axes=(),
        repeat=most,
        seed=1,
        configurations=2,
        excluded=0,
        cells=2 * most,
        measure=(MetricRequest(name="goodput"), MetricRequest(name="fairness")),
        figures=(),
        varied=(),
        precision=None,
    ).model_copy(update={"precision": Precision(least=least, goals=goals, per=per)})


CLOSE = Goal(metric="goodput", within=0.1, relative=True)
FAIR = Goal(metric="fairness", within=0.02, relative=False)


def cells(
    configuration: str, values: Sequence[float | None], metric: str = "goodput"
) -> list[CellValues]:
    """One flow's values in order of repetition; None: the cell does not count."""
    return [
        cell_values(configuration, n, {} if value is None else {(metric, "a"): value})
        for n, value in enumerate(values, 1)
    ]


def ending(made: Plan, found: Sequence[CellValues], configurations: int = 1) -> Ending:
    bindings = {name: {"n": name} for name in "xyz"[:configurations]}
    (only,) = StoppingRule(made, bindings).endings(found)
    return only


# Median 10, and all eight within 9 to 11; or the largest too far away.
NEAR = [9.0, 9.5, 9.8, 10.0, 10.0, 10.2, 10.5, 11.0]
FAR = [*NEAR[:-1], 12.0]


def test_it_ends_at_the_first_look_with_the_larger_half_within_the_goal() -> None:
    assert ending(plan(CLOSE), cells("x", NEAR)).why == "reached"
    found = ending(plan(CLOSE), cells("x", FAR))
    assert (found.why, found.repetitions) == ("unfinished", 12)
    assert [round(miss.imprecision or 0, 3) for miss in found.result.imprecise] == [0.2]
    # At 12 the interval goes from the second to the eleventh: the outlier is out of it.
    assert ending(plan(CLOSE), cells("x", [*FAR, 10.0, 10.1, 9.9, 10.0])).repetitions == 12


def test_values_between_two_looks_are_not_looked_at() -> None:
    found = ending(plan(CLOSE), cells("x", [*FAR, 10.0, 10.1, 9.9]))
    assert (found.why, found.repetitions) == ("unfinished", 12)


def test_what_comes_after_the_end_changes_nothing() -> None:
    found = ending(plan(CLOSE), cells("x", [*NEAR, *[100.0, 0.0] * 11]))
    assert (found.why, found.repetitions) == ("reached", 8)


def test_the_last_look_uses_the_range_up() -> None:
    found = ending(plan(CLOSE, most=12), cells("x", [1.0, 2.0, 3.0] * 4))
    assert (found.why, found.repetitions) == ("used up", 12)


def test_configurations_end_together_and_none_before_all_have_begun() -> None:
    both = cells("x", NEAR) + cells("y", FAR)
    assert ending(plan(CLOSE), both, 2).repetitions == 12
    assert ending(plan(CLOSE), cells("x", NEAR), 2).why == "unfinished"
    apart = StoppingRule(plan(CLOSE, per=("n",)), {"x": {"n": "1"}, "y": {"n": "2"}}).endings(both)
    assert [(e.values, e.why) for e in apart] == [(("1",), "reached"), (("2",), "unfinished")]


def test_a_goal_may_differ_between_configurations() -> None:
    loose = Amount(text="exact", names=("n",), rows=(("1",), ("2",)), numbers=(0.1, 0.25))
    made = plan(Goal(metric="goodput", within=loose, relative=True), per=("n",))
    both = cells("x", FAR) + cells("y", FAR)
    apart = StoppingRule(made, {"x": {"n": "1"}, "y": {"n": "2"}}).endings(both)
    assert [(e.values, e.why) for e in apart] == [(("1",), "unfinished"), (("2",), "reached")]
    (missed,) = apart[0].result.imprecise
    assert missed.allowed == 0.1


def test_a_cell_that_does_not_count_leaves_the_look_without_its_value() -> None:
    """Eleven values at the look at 12: the interval is that of the first eight."""
    values = [*NEAR[:3], None, *NEAR[3:], 100.0, 100.0, 100.0]
    found = ending(plan(CLOSE), cells("x", values))
    assert (found.why, found.repetitions) == ("reached", 12)


def test_a_bare_name_means_the_first_value_in_its_own_unit() -> None:
    near = [value / 1000 for value in NEAR]
    assert ending(plan(FAIR), cells("x", near, "fairness.F")).why == "reached"
    found = ending(plan(FAIR, most=8), cells("x", NEAR, "fairness.F"))
    assert found.why == "used up" and found.result.imprecise[0].imprecision == 1.0


def test_no_value_is_never_precise() -> None:
    (miss,) = ending(plan(FAIR, most=8), cells("x", NEAR)).result.imprecise
    assert (miss.flow, miss.imprecision) == (None, None)


def test_relative_to_zero_nothing_is_precise_but_equal_values_are() -> None:
    assert ending(plan(CLOSE, most=8), cells("x", [-1.0, 1.0] * 4)).why == "used up"
    assert ending(plan(CLOSE, most=8), cells("x", [0.0] * 8)).why == "reached"


def test_ranges_of_looks_are_looked_at_there_alone() -> None:
    assert interim_analyses(8, 30) == tuple(INTERIM_RANKS) == (8, 12, 20, 30)
    assert interim_analyses(12, 20) == (12, 20)
    assert interim_analyses(10, 12) == (10, 11, 12)
    assert interim_analyses(1, 9) == (8, 9)
    many = interim_analyses(8, 1000)
    assert many[-1] == 1000 and len(many) < 60
    assert all(after > before for before, after in itertools.pairwise(many))
    assert values_needed() == LEAST


@pytest.mark.parametrize("first", INTERIM_RANKS)
@pytest.mark.parametrize("last", INTERIM_RANKS)
def test_some_of_the_looks_miss_no_more_often_than_all(first: int, last: int) -> None:
    some = {n: INTERIM_RANKS[n] for n in interim_analyses(first, last)} if first <= last else {}
    assert (
        missed_at_interim({**some, 30: INTERIM_RANKS[30]})
        <= missed_at_interim(dict(INTERIM_RANKS))
        < 0.05
    )


def test_summaries_of_a_range_take_the_intervals_that_hold() -> None:
    values = [float(v) for v in (3, 1, 2, 8, 7, 6, 5, 4, 12, 11, 10)]
    at_ranks, sequence = Repeated(8, 30), Repeated(8, 25)
    assert at_ranks.median(values) == at_interim(values[:8])
    assert at_ranks.median(values, 0.9) == at_any_time(values, 0.5, 0.9)
    assert sequence.median(values) == at_any_time(values)
    assert at_ranks.median(values[:7]).reason == "fewer than 8 values"
    assert at_ranks.median([2.0] * 12).reason == "all values are equal"
    assert at_ranks.percentile(values, 90) == at_any_time(values, 0.9)
    assert (
        at_ranks.mean(values).reason == OF_MEANS == at_ranks.statistic("bootstrap")(values).reason
    )
    assert at_ranks.statistic("p90")(values) == at_any_time(values, 0.9)
    assert FIXED.statistic("median") is estimates.median


def test_the_language_knows_the_unit_and_the_sign_of_every_value() -> None:
    for metric in METRICS:
        entry = words.METRICS[metric.name]
        for value in metric.values:
            assert entry.unit_of(value.name.partition(".")[2]) == value.unit, value.name
            assert value.unit in DIMENSIONS, value.name
        assert entry.unit == value_named(metric.name).unit
        names = {metric.name, *(value.name for value in metric.values)}
        assert entry.signed <= names
        assert entry.over_time == (metric.course is not None), metric.name
        # The bare name is its first value.
        assert (metric.name in entry.signed) == (metric.values[0].name in entry.signed)
    assert DIMENSIONS["bit/s"] == RATE
