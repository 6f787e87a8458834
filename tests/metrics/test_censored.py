"""What had not ended: medians count it as larger than all that was observed, means leave it out and
say so.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from computed import results
from hypothesis import given
from hypothesis import strategies as st
from madeartefacts import Made, hand_made
from madecell import PAYLOAD
from madeweb import analysed, two_loads
from storedcells import AXES, of, stored

from fairc.cli.table import as_csv, as_text
from fairc.compiler.plan import Contrast, Statistic
from fairc.runtime.claims import intervals
from fairc.runtime.claims.deciding import _verdict
from fairc.runtime.claims.values import Values
from fairc.runtime.compare.comparison import compare_groups
from fairc.runtime.measurement import load
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.statistics.agreement import shift
from fairc.runtime.statistics.estimates import bootstrap, mean, median, percentile
from fairc.runtime.statistics.paired import Matched, walsh_shift
from fairc.runtime.statistics.sequential import at_any_time, at_interim
from fairc.runtime.statistics.verdicts import compare
from fairc.runtime.store import tables
from fairc.runtime.store.columns import Stored

INF = math.inf


def of_31_transfers(folder: Path) -> dict[str, MetricValue]:
    """31 files of one frame each, which end after 0, 10, ... ms; the last 14 are stopped."""
    made = hand_made("a" * 31, flows=1, connections=31, file_bytes=PAYLOAD)
    made.packets = [replace(p, sent=replace(p.sent, connection=p.number)) for p in made.packets]
    made.write(folder)
    file = folder / "a.client.ndjson"
    lines = file.read_text().splitlines()
    for n in [n for n, line in enumerate(lines) if '"done"' in line][17:]:
        lines[n] = lines[n].replace('"done"', '"stopped"')
    file.write_text("\n".join(lines) + "\n")
    return {v.metric: v for v in results(load(made.cell, folder), "fct")}


def test_a_mean_counts_what_it_leaves_out(tmp_path: Path) -> None:
    """The mean of 0 to 160 ms is 80 ms; the median of all 31 is the 16th, 150 ms."""
    found = of_31_transfers(tmp_path)
    assert found["fct.mean"].value == pytest.approx(0.08)
    assert (found["fct.mean"].censored, found["fct.mean"].started) == (14, 31)
    assert found["fct.p50"].value == pytest.approx(0.15)
    assert found["fct.p50"].censored == 0, "it leaves nothing out"
    assert (found["fct.p75"].value, found["fct.p75"].size) == (None, INF)
    assert found["fct.p99"].size is None, "31 transfers have no 99th percentile, finite or not"


def repetitions(*sizes: float | None, metric: str = "plt", unit: str = "s") -> list[Stored]:
    """A cell for each value; infinite: its only load failed; None: not defined."""
    cells = []
    for number, size in enumerate(sizes, 1):
        known = size is not None and size < INF
        value = MetricValue(
            metric=metric,
            flow="a",
            value=size if known else None,
            unit=unit,
            reason="" if known else "the load failed: in time" if size else "not seen",
            censored=int(size == INF),
            started=1,
        )
        cells.append(stored(number, "0%", metrics=(value,)))
    return cells


def test_a_table_counts_repetitions_that_never_ended(tmp_path: Path) -> None:
    """Of 1 2 3 4 5 and two endless ones, 4 is the median; the mean of five is 3."""
    tables.write(tmp_path, AXES, repetitions(1, INF, 2, 3, INF, 4, 5))
    (row,) = summarise(of(tmp_path, AXES), "plt", ())
    assert (row["value"], row["n"], row["ci_high"]) == (4.0, 7, None)
    assert row["no_interval"] == (
        "it would end at one of the 2 values beyond all that were observed"
    )
    assert row["remark"] == (
        "larger than any value in 2 of 7 repetitions: the load failed: in time"
    )
    (row,) = summarise(of(tmp_path, AXES), "plt", (), stat="mean")
    assert (row["value"], row["n"]) == (3.0, 5)
    assert row["remark"].endswith(
        "; the mean leaves out 2 of 7 values, which are beyond all others"
    )
    (row,) = summarise(of(tmp_path, AXES), "plt", (), stat="p90")
    assert (row["value"], row["ci_low"]) == (None, None)


def test_a_table_counts_repetitions_without_a_value(tmp_path: Path) -> None:
    tables.write(tmp_path, AXES, repetitions(1, None, 2, 3))
    (row,) = summarise(of(tmp_path, AXES), "plt", ())
    assert (row["value"], row["n"]) == (2.0, 3)
    assert row["remark"] == "not defined in 1 of 4 repetitions: not seen"


def test_a_table_has_the_remark_of_a_mean_within_cells(tmp_path: Path) -> None:
    values = [
        MetricValue(metric="fct.mean", flow="a", value=2.0 + n, unit="s", censored=14, started=31)
        for n in range(3)
    ]
    cells = [stored(n, "0%", metrics=(value,)) for n, value in enumerate(values, 1)]
    tables.write(tmp_path, AXES, cells)
    found = summarise(of(tmp_path, AXES), "fct")
    remark = "42 of 93 transfers had not ended and are left out, so the mean is too small"
    assert [(row["censored"], row["remark"]) for row in found] == [(42, remark)]
    assert f"remark: {remark}" in list(as_text(found))
    assert remark in list(as_csv(found))[1]
    term = Statistic(statistic="median", metric="fct.mean", cells=("0%", "x"), flow="a")
    assert Values(of(tmp_path, AXES), [term]).remark(term) == remark


def test_what_has_an_order_counts_infinite_values() -> None:
    assert median([3, INF, 1, 2, INF]).value == 3
    assert median([INF, 1, 2, INF]).value is None
    # Ranks 3 and 10 of 12 hold the median: two endless values lie beyond them, three do not.
    nine = [float(n) for n in range(1, 10)]
    found = median([*nine, 10.0, INF, INF])
    assert (found.value, found.low, found.high, found.n) == (6.5, 3, 10, 12)
    found = median([*nine, INF, INF, INF])
    assert (found.value, found.low, found.high) == (6.5, None, None)
    assert percentile([1, 2, 3, INF], 200 / 3).value == pytest.approx(3)
    assert percentile([1, 2, 3, INF], 70).value is None
    assert percentile([1, INF], 0).value == 1
    assert percentile([1, INF], 100).value is None
    assert at_interim([*map(float, range(7)), INF]).high is None  # its ranks are 1 and 8
    assert at_any_time([*map(float, range(20)), INF]).high is not None
    assert (median([INF, INF]).value, median([INF, INF]).reason) == (None, "no value is finite")


def test_what_may_be_anything_is_taken_at_its_worst() -> None:
    """Of 1 to 5 and an unknown one the median lies between 3 and 4 at least: 2.5 or 3.5, so it is
    missing.
    """
    assert median([1, 2, 3, 4, 5, math.nan]).value is None
    assert median([1, 2, 3, 3, 3, 4, math.nan]).value == 3
    found = median([*map(float, range(1, 12)), math.nan])
    assert (found.low, found.high) == (
        2,
        10,
    )  # the third smallest, if the unknown one is the smallest


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, INF]), min_size=1, max_size=30))
def test_a_median_is_that_with_very_large_values_or_missing(values: list[float]) -> None:
    large = [1e9 if x == INF else x for x in values]
    found, expected = median(values), median(large)
    assert expected.value is not None
    assert found.value == (expected.value if expected.value < 1e8 else None)
    if found.low is not None:
        assert (found.low, found.high) == (expected.low, expected.high)
    elif expected.high is not None:
        assert expected.high == 1e9


def test_means_leave_infinite_values_out_and_say_so() -> None:
    for statistic in (mean, bootstrap):
        found = statistic([1.0, 2.0, 3.0, INF])
        assert (found.value, found.n) == (2.0, 3)
        assert "leaves out 1 of 4 values" in found.remark
    assert (mean([INF]).value, mean([1.0, 2.0, 3.0]).remark) == (None, "")


def test_comparisons_of_what_never_ended() -> None:
    """Six pages each: all of one side load in 1 to 6 s, one of the other never."""
    first, second = [1.0, 2, 3, 4, 5, 6], [7.0, 8, INF, 9, 11, 10]
    (independent,) = compare([(first, second)])
    assert (independent.delta, independent.g) == (-1, None)
    assert independent.p == pytest.approx(2 / math.comb(12, 6))
    (paired,) = compare([Matched(first, second)])
    assert paired.p == pytest.approx(2 / 2**6)
    assert paired.shift is not None
    assert (paired.shift.value, paired.shift.high) == (6.0, None)
    (open_,) = compare([Matched([INF, INF], [INF, INF])])
    assert open_.kind == "undecided"
    (partly,) = compare([Matched([INF, 1.0, 2.0], [INF, 2.0, 4.0])])
    assert partly.pairs == 2


def test_shifts_are_right_or_missing() -> None:
    assert walsh_shift([1.0, 1, 2, 2, 3, INF]).value == 2
    assert walsh_shift([INF, -INF, 1.0]).value is None
    assert shift([1.0, 2], [INF, INF]).value is None
    assert shift([1.0, 2, 3], [2.0, 3, INF]).value == 1


def unit(statistic: Literal["median", "mean"] = "median", terms: int = 1) -> Contrast:
    statistics = (
        Statistic(statistic=statistic, metric="plt", cells=(str(n),)) for n in range(terms)
    )
    return Contrast("sum", tuple(statistics), (1.0, -1.0)[:terms])


@pytest.mark.parametrize(
    ("metric", "value", "censored", "started", "bounds"),
    [
        ("fct.mean", 2.0, 1, 4, (1.5, INF)),
        ("fct.mean", 2.0, 0, 4, None),
        ("datagrams.lost", 0.1, 10, 100, (0.09, 0.19)),
        ("stalls.count", 3.0, 1, 2, (3.0, INF)),
        ("qoe", 4.0, 1, 2, (-INF, INF)),
        ("harm.fct", 0.2, 1, 4, (-INF, INF)),
        ("lcp", None, 0, 1, (-INF, INF)),
        ("plt", None, 1, 1, None),
        ("fct.p50", None, 0, 0, None),
    ],
)
def test_what_is_known_of_a_value_over_things_that_had_not_all_ended(
    tmp_path: Path,
    metric: str,
    value: float | None,
    censored: int,
    started: int,
    bounds: tuple[float, float] | None,
) -> None:
    of_cell = MetricValue(
        metric=metric,
        flow="a",
        value=value,
        unit="s",
        reason="" if value else "cut off",
        censored=censored,
        started=started,
    )
    tables.write(tmp_path, AXES, [stored(1, "0%", metrics=(of_cell,))])
    term = Statistic(statistic="median", metric=metric, cells=("0%", "x"), flow="a")
    found = Values(of(tmp_path, AXES), [term]).bounds(term)
    assert dict(found) == ({1: pytest.approx(bounds)} if bounds else {})
    if metric == "plt":  # a mean takes what is larger than all others for anything
        mean_of = term.model_copy(update={"statistic": "mean"})
        assert dict(Values(of(tmp_path, AXES), [mean_of]).bounds(mean_of)) == {1: (0.0, INF)}


def test_a_claim_about_a_mean_of_survivors_is_undecided(tmp_path: Path) -> None:
    """As 214 of 1002 transfers that never ended: an upper bound says nothing, a lower one does."""
    cells = [
        stored(
            number,
            "0%",
            metrics=(
                MetricValue(
                    metric="fct.mean",
                    flow="a",
                    value=1.8 + number / 10,
                    unit="s",
                    censored=27,
                    started=125,
                ),
            ),
        )
        for number in range(1, 9)
    ]
    tables.write(tmp_path, AXES, cells)
    term = Statistic(statistic="mean", metric="fct.mean", cells=("0%", "x"), flow="a")
    values = Values(of(tmp_path, AXES), [term])
    known = values.of(term)
    assert not isinstance(known, str)
    bounds = [values.bounds(term)]
    found = intervals.of_unit(
        Contrast("sum", (term,), (1.0,)),
        [known],
        0.95,
        common=True,
        bounds=bounds,
    ).estimate
    lowest = mean([x * (1 - 27 / 125) for x in known.values()])
    assert found.low is None and found.high is None
    assert found.floor == pytest.approx(lowest.low)
    assert [_verdict(sign, found, *at) for sign, at in (("<", (None, 10)), (">", (1.5, None)))] == [
        "undecided",
        "holds",
    ]


def test_a_claim_counts_what_never_ended() -> None:
    endless = {n: float(n) for n in range(1, 12)} | {12: INF}
    found = intervals.of_unit(unit(), [endless], 0.95, common=True)
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == (6.5, 3, 10)
    found = intervals.of_unit(unit("mean"), [endless], 0.95, common=True)
    assert found.estimate.value == 6
    assert "leaves out 1 of 12 values" in found.estimate.remark
    # Repetition 12 ended on neither side: its difference may be anything.
    other = dict.fromkeys(range(1, 12), 0.0) | {12: INF}
    both = intervals.of_unit(unit(terms=2), [endless, other], 0.95, common=True)
    assert (both.estimate.low, both.estimate.high) == (2, 10)
    assert both.estimate.value is None, "the median is 5.5 or 6.5"
    ratio = intervals.of_unit(
        replace(unit(terms=2), form="ratio", factors=(1.0, 1.0)),
        [{**other, **dict.fromkeys(range(1, 12), 2.0)}, endless],
        0.95,
        common=True,
    )
    assert ratio.estimate.low is not None


def test_medians_of_a_comparison_count_what_never_ended(tmp_path: Path) -> None:
    cells = repetitions(1, INF, 2, 3, 4, 5)
    others = [
        replace(
            cell,
            cell=replace(
                cell.cell,
                bindings={"loss": "1%", "Cell": "x"},
                configuration="other",
                id=f"{n:016x}",
            ),
        )
        for n, cell in enumerate(repetitions(6, 7, 8, 9, 10, 11), 101)
    ]
    tables.write(tmp_path, AXES, [*cells, *others])
    (row,) = compare_groups(of(tmp_path, AXES, common=()), "plt", ("loss",))
    assert (row["median_first"], row["median_second"]) == (3.5, 8.5)
    assert "first: larger than any value in 1 of 6 repetitions" in row["words"]


def test_loads_that_failed(tmp_path: Path) -> None:
    """Load 1 timed out after its first byte; load 2 never connected."""
    made = two_loads()
    made.loads[0].update(error="took too long", load_event_end_ns=None)
    made.loads[1].update(
        error="nobody answered",
        connect_end_ns=None,
        request_start_ns=None,
        response_start_ns=None,
        load_event_end_ns=None,
    )
    found = {(v.metric, v.load): v for v in analysed(made, tmp_path).metrics}
    assert [found["plt", n].size for n in (1, 2)] == [INF, INF]
    assert found["ttr", 1].size == pytest.approx(0.045)
    assert found["ttr", 2].size == found["connect", 2].size == INF
    assert found["fcp", 1].size is None, (
        "without a browser nothing is painted, however long one waits"
    )
    assert found["sequence", 1].size is None


def test_loads_that_a_stop_cut_off(tmp_path: Path) -> None:
    """One of two loads was reported; the second would begin 1 s later, before or after the cell
    ends.
    """
    for pause_s, expected in ((0.9, None), (1.1, INF)):
        made = two_loads()
        del made.loads[1:]
        made.ended_ns = made.loads[0]["t_ns"] + round(pause_s * 1e9)
        found = {(v.metric, v.load): v for v in analysed(made, tmp_path / str(pause_s)).metrics}
        assert found["plt", 1].size == pytest.approx(0.295)
        assert found["plt", 2].size == expected
        assert found["plt", 2].reason.startswith("the flow was stopped")


def test_datagrams_after_the_last_that_arrived(tmp_path: Path) -> None:
    made = hand_made("ab" * 5, transports=("udp", "tcp"))
    folder = made.write(tmp_path)
    received = {
        "t_ns": 10**9,
        "event": "received",
        "connection": 0,
        "bytes": 10**6,
        "packets": 40,
        "lost": 10,
        "reordered": 0,
        "duplicates": 0,
        "overflowed": 0,
        "jitter_us": 0,
    }
    sent = {
        "t_ns": 10**9,
        "event": "sent",
        "connection": 0,
        "packets": 57,
        "bytes": 1,
        "refused": 0,
        "late_us": 0,
    }
    for name, line in (("client", received), ("server", sent)):
        with (folder / f"a.{name}.ndjson").open("a") as lines:
            lines.write(json.dumps(line) + "\n")
    found = {v.metric: v for v in results(load(made.cell, folder), "datagrams")}
    lost = found["datagrams.lost"]
    assert (lost.value, lost.censored, lost.started) == (0.2, 7, 57)


def test_sessions_that_never_converge(tmp_path: Path) -> None:
    made: Made = hand_made("aab" * 100)
    found = {
        v.metric: v for v in results(load(made.cell, made.write(tmp_path)), "convergence_time")
    }
    assert found["convergence_time"].size == INF
    assert found["convergence_time.held"].size is None
