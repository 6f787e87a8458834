"""What a report of the Fairness Measurement Procedure shows by default: pairs, histograms of K, K over
time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from fairc.runtime.formatting import Number, number
from fairc.runtime.report.build import _Report
from fairc.runtime.report.figures import course, histogram, pairs
from fairc.runtime.report.figures.base import Subject
from fairc.runtime.report.run import Run
from fairc.runtime.report.sheet import Sheet
from fairc.runtime.report.summary import Results

Fairc = Callable[..., Any]  # conftest.py

SPEC = """fexp 1

experiment fmp {
  sweep {
    (first, second) = pairs(reno, bbr)
    latency         = [1ms, 50ms]
  }
  topology = bottleneck(rate: 1Mbit/s, rtt: latency, queue: fifo(37500B))
  flow a { cca = first   workload = file(100kB) }
  flow b { cca = second  workload = file(100kB) }
  stop    = first
  measure = [fmp(a, b), goodput]
}
"""


@pytest.fixture
def subject(fairc: Fairc, kept: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    """A run of six configurations, three pairs."""

    def build(path: Path, formats: object = ()) -> list[Path]:
        return [path / "report.html"]

    with monkeypatch.context() as patched:
        patched.setattr("fairc.runtime.report.build.build", build)
        Path("fmp.fexp").write_text(SPEC)
        if kept.exists():
            shutil.copytree(kept, "one")
        else:
            assert fairc("run", "fmp.fexp", "-o", "one").status == 0
            shutil.copytree("one", kept)
    run = Run(Path("one"))
    return Subject(run, Results(run), run.configurations[:2], "")


def fairness(first: str, second: str) -> list[float]:
    """Return the fairness of a pair in its configurations."""
    with duckdb.connect() as connection:
        query = (
            "SELECT value FROM 'one/tables/metrics.parquet' WHERE metric = 'fmp.fairness'"
            f" AND first = '{first}' AND second = '{second}'"
        )
        return [value for (value,) in connection.execute(query).fetchall()]


def test_each_pair_of_ccas_has_a_row_on_both_scales(subject: Subject) -> None:
    sheet = pairs._by_default(subject)
    assert [name for name, _ in sheet.head][:3] == ["pair", "configurations", "fmp.fairness"]
    assert [row[0] for row in sheet.rows] == ["reno and reno", "reno and bbr", "bbr and bbr"]
    for row in sheet.rows:
        pair, n, value, why, relative, _ = row
        assert isinstance(pair, str) and isinstance(value, Number) and isinstance(relative, Number)
        expected = float(np.percentile(fairness(*pair.split(" and ")), 10))
        assert float(value.exact) == pytest.approx(expected)
        assert float(relative.exact) == pytest.approx(2 * expected - 1)
        assert (n, why) == (Number("2", "2"), "fewer than 50 configurations")


def test_k_has_a_histogram_for_each_name_that_is_of_the_network(subject: Subject) -> None:
    kinds = histogram.of_k(subject)
    assert [kind.name for kind in kinds] == ["histogram of fmp.K by latency"]
    drawn = kinds[0].make(subject, None)
    assert (drawn.name, drawn.section) == ("k-by-latency", "repetitions")


def test_the_course_of_k_ends_at_k(subject: Subject) -> None:
    drawn = course.by_default(subject)
    assert drawn.section == "time"
    for configuration in subject.shown:
        (outcome,) = configuration.outcomes
        found = course._traces(subject.run, outcome, 10_000)
        ((k,),) = subject.run.rows(
            "SELECT value FROM metrics WHERE cell = ? AND metric = 'fmp.K'", [outcome.cell]
        )
        times, values = found[course.K]
        assert values[-1] == pytest.approx(k)
        assert times == sorted(times) and len(found[course.JAIN][1]) == len(values)
        assert f"K = {number(values[-1], 3)}" in drawn.alt


def test_the_report_brings_them_where_fmp_is_measured_and_nobody_asks(subject: Subject) -> None:
    report = _Report(Path("one"))
    names = [figure.name for figure in report.figures]
    assert {"course", "k-by-latency", "00-pairs-fmp-fairness"} <= set(names)
    assert [m.reason for m in report.missing if "pairs" in m.name] == []
    (table,) = [f for f in report.figures if isinstance(f, Sheet)]
    assert table.title.startswith("10th percentile of fmp.fairness by pair")


@pytest.mark.parametrize("count", [1, 2, 49, 50])
def test_few_configurations_have_no_interval(count: int) -> None:
    found = pairs.over_configurations([n / 10 for n in range(count)], 10, 0.95, 1)
    assert (found.low is not None) == (count == 50)
    assert bool(found.reason) == (count < 50)


def test_equal_seeds_give_equal_intervals() -> None:
    values = list(np.random.default_rng(3).random(80))
    one, again = (pairs.over_configurations(values, 10, 0.95, 7) for _ in range(2))
    assert one == again
    assert one.low is not None and one.value is not None and one.high is not None
    assert one.low < one.value < one.high


def test_the_interval_is_that_of_scipy() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(4).beta(4, 1, 200)
    found = pairs.over_configurations(list(values), 10, 0.9, 1)
    oracle = bootstrap(
        (values,),
        lambda x, axis: np.quantile(x, 0.1, axis=axis),
        method="percentile",
        confidence_level=0.9,
        n_resamples=9999,
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=0.01)
