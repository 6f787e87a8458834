"""Rates of flows over different times: found in every cell, and said where they stand together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from madeartefacts import hand_made
from madecell import PAYLOAD
from storedcells import AXES, of, stored

from fairc.compiler.plan import MetricRequest, Requests
from fairc.dsl.model.claims import ClaimUnit
from fairc.dsl.model.expressions import (
    Amount,
    CellValue,
    Expression,
    Operation,
    Operator,
    Statistic,
)
from fairc.dsl.model.requests import Formula, Window
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.claims.values import Values
from fairc.runtime.repetitions.reading import Measurements
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.repetitions.times import different, sentence, times
from fairc.runtime.store import tables
from fairc.runtime.store.columns import Stored


def test_times_that_are_close_count_as_one() -> None:
    assert not different({"a": (0.0, 100.0), "b": (0.05, 96.0)})
    assert different({"a": (0.0, 100.0), "b": (0.0, 94.0)})
    assert different({"a": (0.0, 50.0), "b": (5.0, 50.0)}), "one begins later"
    assert different({"a": (0.0, 50.0), "b": (50.0, 100.0)}), "equally long, one after the other"
    assert not different({"a": (0.0, 50.0)}) and not different({})


def test_the_sentence_gives_the_times() -> None:
    own = {"a": (0.0, 167.5), "b": (0.03, 105.4)}
    assert sentence(own) == "over different times (a 0 to 168 s, b 0 to 105 s): they do not add up"
    own |= {"c": (10.0, 20.0), "d": (0.0, 7.5)}
    assert "c 10 to 20 s, 1 more)" in sentence(own)
    assert sentence({"a": (0.0, 2.5), "b": (1.25, 2.5)}).count("1.2 to 2.5 s") == 1


def test_a_time_is_the_median_over_repetitions() -> None:
    rows = [("x", "a", 0.0, 10.0), ("x", "a", 2.0, 30.0), ("x", "a", 1.0, 20.0)]
    assert times([*rows, ("x", "b", None, None)]) == {"x": {"a": (1.0, 20.0)}}


def test_every_cell_has_the_times_of_its_flows(tmp_path: Path) -> None:
    """The warm-up is 0.5 s; b has moved all it had before a."""
    made = hand_made("ab" * 30 + "a" * 40, file_bytes=PAYLOAD)
    cell = replace(made.cell, warmup_ns=500_000_000)
    a, b = analyse(cell, made.write(tmp_path / "cell"), Requests()).flows
    for flow in (a, b):
        assert flow.rate_from_s == max(0.5, flow.start_s)
        assert flow.rate_until_s is not None and flow.rate_until_s == flow.end_s


def run(
    folder: Path,
    ends: tuple[float, float],
    losses: tuple[str, ...] = ("0%",),
    names: tuple[str, str] = ("a", "b"),
) -> Path:
    """Six cells of each loss, whose flows have these names and end at these times."""
    cells = []
    for i in range(6 * len(losses)):
        each = stored(i, losses[i // 6], float(i))
        flows = tuple(
            flow.model_copy(update={"flow": name, "rate_from_s": 0.0, "rate_until_s": end})
            for flow, name, end in zip(each.result.flows, names, ends, strict=True)
        )
        result = each.result.model_copy(update={"flows": flows})
        cells.append(Stored(each.cell, result, each.folder))
    tables.write(folder, AXES, cells)
    return folder


def read(folder: Path, *measure: MetricRequest) -> Measurements:
    return of(folder, AXES, measure=measure, implied=(), formulas=(), comparisons=())


def test_a_table_says_it_once(tmp_path: Path) -> None:
    apart = read(run(tmp_path / "apart", (20.0, 10.0)))
    said = "over different times (a 0 to 20 s, b 0 to 10 s): they do not add up"
    assert {row["remark"] for row in summarise(apart, "goodput")} == {said}
    assert {row["remark"] for row in summarise(apart, "fairness.F")} == {""}
    one = summarise(apart, "goodput", where=lambda names: names["flow"] == "a")
    assert [row["remark"] for row in one] == [""], "nothing stands next to it"
    alike = read(run(tmp_path / "alike", (20.0, 19.5)))
    assert {row["remark"] for row in summarise(alike, "goodput")} == {""}


def test_a_sweep_says_it_without_the_times_of_each(tmp_path: Path) -> None:
    swept = read(run(tmp_path, (20.0, 10.0), ("0%", "1%")))
    said = {row["remark"] for row in summarise(swept, "goodput")}
    assert said == {"each flow's rate is over its own time: they do not add up"}


def test_a_sum_of_rates_says_it(tmp_path: Path) -> None:
    """Of two files one after the other it may be twice the link's rate."""
    names = ("f[1]", "f[2]")
    measured = read(run(tmp_path / "apart", (20.0, 10.0), names=names))
    (configuration,) = {o.configuration for o in measured.outcomes}
    for metric in ("goodput.group", "throughput.user"):
        assert measured.unequal_times(metric, configuration, {"f"}).keys() == {*names}
        assert not measured.unequal_times(metric, configuration, {"g"})
    alike = read(run(tmp_path / "alike", (20.0, 19.5), names=names))
    assert not alike.unequal_times("goodput.group", configuration, {"f"})


def goodput(flow: str) -> CellValue:
    return CellValue(metric="goodput", flows=(flow,))


def joined(operator: Operator, *parts: Expression) -> Operation:
    return Operation(operator=operator, of=parts)


A, B = goodput("a"), goodput("b")
EACH = CellValue(metric="goodput", is_each=True)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (joined("+", A, B), True),
        (joined("/", A, joined("+", A, B)), True),
        (joined("-", 1e7, A, B), True),
        (joined("+", CellValue(metric="total"), 1.0), True),
        (joined("+", CellValue(metric="least"), A), True),
        (joined("+", EACH, A), True),
        (joined("-", A, B), False),
        (joined("+", A, joined("*", -1.0, B)), False),
        (joined("/", A, B), False),
        (joined("min", A, B), False),
        (joined("+", A, A), False),
        (joined("+", A, CellValue(metric="fct", flows=("b",))), False),
        (joined("*", 8.0, EACH), False),
    ],
)
def test_a_formula_that_adds_up_rates_says_it(
    tmp_path: Path, expression: Expression, says: bool
) -> None:
    parts = {"total": joined("+", A, B), "least": joined("min", B, 1e9), "tried": expression}
    formulas = tuple(
        Formula(name=name, text="", unit="bit/s", expression=of) for name, of in parts.items()
    )
    folder = run(tmp_path, (20.0, 10.0))
    measured = of(folder, AXES, measure=(), implied=(), formulas=formulas, comparisons=())
    (configuration,) = {o.configuration for o in measured.outcomes}
    found = measured.unequal_times("tried", configuration, {"a", "b"})
    assert found == ({"a": (0, 20), "b": (0, 10)} if says else {})


def test_a_claim_and_a_figure_that_add_up_rates_say_it(tmp_path: Path) -> None:
    """Of the configurations that a claim is about, those where the times differ."""
    measured = read(run(tmp_path, (20.0, 10.0), ("0%", "1%")))
    rows = [tuple(dict(o.bindings).values()) for o in measured.outcomes[::6]]

    def median(flow: str, row: tuple[str, ...]) -> Statistic:
        return Statistic(statistic="median", metric="goodput", flow=flow, cells=row)

    def remark(*parts: Expression) -> str:
        unit = ClaimUnit(expression=joined("+", *parts), low=1.0)
        return Values(measured, unit.terms).times(unit)

    one, other = rows
    said = "over different times (a 0 to 20 s, b 0 to 10 s): they do not add up"
    assert remark(median("a", one), median("b", one)) == said
    assert not remark(median("a", one), joined("*", -1.0, median("b", one)))
    assert not remark(median("a", one), median("b", other))
    assert not remark(median("a", one), median("a", one))


@pytest.mark.parametrize(("end", "says"), [(8.0, False), (15.0, True)])
def test_a_window_that_both_flows_fill_is_one_time(tmp_path: Path, end: float, says: bool) -> None:
    window = Window(end=Amount(text=f"{end:g}s", numbers=(end,)))
    mark = f"(to: {end:g}s)"
    request = MetricRequest(name="goodput", window=window, mark=mark)
    measured = read(run(tmp_path, (20.0, 10.0)), request)
    (configuration,) = {o.configuration for o in measured.outcomes}
    assert bool(measured.unequal_times(f"goodput{mark}", configuration, {"a", "b"})) is says
