"""Comparisons of configurations, and the independence of repetitions, in the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fairc.runtime.formatting import Number, count
from fairc.runtime.report.build import build
from fairc.runtime.report.comparisons import MAX_CONFIGURATIONS, comparisons, matched
from fairc.runtime.report.run import Run
from fairc.runtime.report.summary import Results

pytestmark = pytest.mark.usefixtures("without_drawing")
Maker = Callable[..., Path]


def results_of(path: Path, *of_configurations: tuple[float, ...]) -> tuple[Run, Results]:
    """Return a run whose every measure has these values."""
    run = Run(path)
    results = Results(run)
    for configuration, values in zip(run.configurations, of_configurations, strict=True):
        for measure in results.measures:
            group = results.group(measure, configuration)
            members = [
                value._replace(number=number)
                for value, number in zip(group.members, values, strict=True)
            ]
            results._groups[measure, configuration.id] = replace(group, members=members)
    return run, results


def test_every_two_configurations_have_a_verdict(make_run: Maker) -> None:
    path = make_run(repeat=12, duration_s=3.0, sweep={"n": ("1", "2")})
    low = tuple(0.1 + k * k % 13 / 1000 for k in range(12))
    run, results = results_of(path, low, tuple(0.2 + value for value in low))
    found = comparisons(run, results)
    rows = found.pairs.rows
    assert {(first, second) for _, _, first, second, *_ in rows} == {("n = 1", "n = 2")}
    for *_, said in rows:
        assert str(said).startswith("different (Mann-Whitney p < 0.0001")
        assert "medians differ: the 95 % interval of their difference excludes 0" in str(said)
        assert "stochastic dominance holds: the second is larger" in str(said)
    assert len({row[0] for row in rows}) == len(rows)


def test_common_draws_are_compared_repetition_by_repetition(make_run: Maker) -> None:
    common = ("the start of each flow: uniform in 0 to 50 ms",)
    path = make_run(repeat=8, duration_s=1.0, sweep={"n": ("1", "2")}, common=common)
    run = Run(path)
    found = comparisons(run, Results(run))
    rows = found.pairs.rows
    assert rows
    for *_, shift, interval, said in rows:
        assert "Mann-Whitney" not in str(said) and "dominance" not in str(said)
        assert "8 pairs, correlation " in str(said)
        assert isinstance(shift, Number) and isinstance(interval, tuple)
    made = len(rows)
    assert "is 0.0078: they can decide at most 6 comparisons together" in found.pairing
    assert ("repetitions." in found.pairing) is (made > 6)
    page = build(path)[0].read_text(encoding="utf-8")
    text = build(path, ("md",))[0].read_text(encoding="utf-8")
    for content in (page, text):
        assert "uniform in 0 to 50 ms (the same in every configuration of a repetition)" in content
        assert "Wilcoxon" in content and "second - first" in content.replace("\\-", "-")
        assert all(row[4].text in content for row in rows if isinstance(row[4], Number))


def test_repetitions_that_count_in_one_configuration_only_are_no_pair(make_run: Maker) -> None:
    path = make_run(
        repeat=7,
        duration_s=1.0,
        sweep={"n": ("1", "2")},
        common=("the starts",),
        bad={(0, 2): ("ok", "invalid", ["x"]), (1, 5): ("failed", None, ["x"])},
    )
    run = Run(path)
    results = Results(run)
    (measure, *_), (a, b) = results.measures, run.configurations
    pairs = matched(results, measure, a, b)
    at = {
        (c.id, o.repetition): results.group(measure, c).numbers[o.cell]
        for c in (a, b)
        for o in c.counted
    }
    kept = [1, 3, 4, 6, 7]
    assert list(pairs.first) == [at[a.id, r] for r in kept]
    assert list(pairs.second) == [at[b.id, r] for r in kept]


def test_a_drift_over_the_repetitions_is_said(make_run: Maker) -> None:
    path = make_run(repeat=30, duration_s=1.0)
    run, results = results_of(path, tuple(0.1 + k / 1000 for k in range(30)))
    found = comparisons(run, results)
    (_, what, n, r, p), *_ = found.series.rows
    assert len(found.dependent) == len(found.series.rows)
    assert found.dependent[0] == f"{what}: autocorrelation {r}, p = {p}"
    assert n == count(30)
    assert r == "0.90 (\N{MINUS SIGN}0.36 to 0.36)"  # r = 1 - 3 / n of a line
    independent = tuple(k * k % 31 / 31 for k in range(1, 31))
    assert comparisons(*results_of(path, independent)).dependent == ()


def test_the_page_and_the_text_say_it(make_run: Maker) -> None:
    path = make_run(repeat=6, duration_s=2.0, sweep={"n": ("1", "2")})
    found = comparisons(run := Run(path), Results(run))
    assert found.pairs.rows
    page = build(path)[0].read_text(encoding="utf-8")
    text = build(path, ("md",))[0].read_text(encoding="utf-8")
    for content in (page, text):
        assert "Comparisons and independence" in content
        assert "No evidence that repetitions depend on each other" in content
    said = str(found.pairs.rows[0][-1])[:10]
    assert f"<td>n = 1</td><td>n = 2</td><td>{said}" in page
    assert text.count("| n = 1 | n = 2 |") == len(found.pairs.rows)


def test_too_many_configurations_are_left_to_the_table(make_run: Maker) -> None:
    names = tuple(map(str, range(MAX_CONFIGURATIONS + 1)))
    path = make_run(repeat=1, duration_s=1.0, sweep={"n": names})
    found = comparisons(run := Run(path), Results(run))
    assert (found.pairs.rows, found.series.rows) == ((), ())
    assert found.too_many == MAX_CONFIGURATIONS + 1


def test_few_repetitions_say_nothing_of_independence(make_run: Maker) -> None:
    text = build(make_run(repeat=5, duration_s=1.0), ("md",))[0].read_text(encoding="utf-8")
    assert "Whether repetitions depend on each other is unknown" in text
    assert "No evidence that" not in text


def test_many_configurations_of_few_repetitions_say_nothing_of_independence(
    make_run: Maker,
) -> None:
    """Whether there are too many pairs has nothing to do with it."""
    few = make_run(sweep={"n": ("1", "2", "3", "4", "5")}, repeat=3, duration_s=2.0)
    text = build(few, ["md"])[0].read_text(encoding="utf-8")
    assert "5 configurations are too many to compare" in text
    assert "Whether repetitions depend on each other is unknown" in text
    assert "No evidence that" not in text
