"""Flows that still move: found by the test of every cell, and said beside what depends on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from madeartefacts import RATE_BPS, hand_made, write_lines
from madecell import PAYLOAD, with_change
from storedcells import AXES, of, stored

from fairc.compiler.plan import Change, Flow, Requests, Statistic
from fairc.dsl.model.expressions import CellValue, Operation
from fairc.dsl.model.requests import Formula
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.claims.values import Values
from fairc.runtime.repetitions.stationarity import (
    StationarityTests,
    is_level,
    nonstationary,
    sentence,
)
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.store import tables
from fairc.runtime.store.columns import Stored


@pytest.mark.parametrize(
    ("tests", "needed"), [(1, 1), (2, 2), (7, 2), (8, 3), (16, 3), (17, 4), (30, 5)]
)
def test_more_rejections_than_chance_explains(tests: int, needed: int) -> None:
    from scipy.stats import binom

    assert binom.sf(needed - 1, tests, 0.05) <= 0.05 + 1e-12
    assert (
        StationarityTests(needed, tests).is_found
        and not StationarityTests(needed - 1, tests).is_found
    )


def test_values_that_depend_on_it() -> None:
    levels = (
        "goodput",
        "fairness.F",
        "fairness.jain_slots",
        "queue_delay.p95",
        "rtt.mean",
        "srtt.mean",
        "frame_delay.late",
        "unfairness",
    )
    others = (
        "fct.mean",
        "plt",
        "fairness.floor",
        "rtt.base",
        "srtt.min",
        "convergence_time",
        "fmp.K",
        "nothing.here",
    )
    assert [is_level(name) for name in levels] == [True] * len(levels)
    assert [is_level(name) for name in others] == [False] * len(others)


def test_whose_flows_are_named() -> None:
    p = {"a": (0.01, 0.01), "b": (0.01, 0.10), "c": (None, None)}
    found = nonstationary(
        ("x", flow, value, None) for flow, values in p.items() for value in values
    )
    tests = {"a": StationarityTests(2, 2), "b": StationarityTests(1, 2)}
    assert found == {"x": {**tests, "c": StationarityTests(0, 0)}}
    moves = "still moving (KPSS): it depends on when it was taken"
    assert sentence("goodput", {"a"}, ["x"], found) == moves
    assert sentence("goodput", {"b"}, ["x"], found) == ""
    assert sentence("goodput", {"c"}, ["x"], found) == "", "it has no test: its rate is its own"
    assert sentence("rtt.mean", {"c"}, ["x"], found) == f"flows are {moves}"
    of_all = f"flows are {moves}"
    assert sentence("fairness.F", (), ["x"], found) == of_all
    assert sentence("goodput.group", {"users"}, ["x"], found) == of_all
    assert sentence("goodput", {"a"}, ["y"], found) == ""


def test_declared_changes_have_their_own_sentence() -> None:
    tests = [("x", "a", 0.01, "a link"), ("x", "b", 0.01, None), ("x", "c", 0.10, "a link")]
    found = nonstationary(tests)
    means = "moving while a link changes as declared (KPSS): it is a mean over these changes"
    moves = "still moving (KPSS): it depends on when it was taken"
    assert sentence("goodput", {"a"}, ["x"], found) == means
    assert sentence("goodput", {"b"}, ["x"], found) == moves
    assert sentence("goodput", {"c"}, ["x"], found) == "", "it follows no change"
    assert sentence("utilization", (), ["x"], found) == f"flows are {moves}; flows are {means}"


def test_a_metric_of_the_files_own_moves_with_what_it_is_made_of() -> None:
    found = nonstationary([("x", "a", 0.01, None), ("x", "b", 0.10, None)])
    moves = "still moving (KPSS): it depends on when it was taken"
    a = CellValue(metric="goodput", flows=("a",))
    b = CellValue(metric="goodput", flows=("b",))
    each, waits = CellValue(metric="goodput", is_each=True), CellValue(metric="fct.mean")

    def formula(name: str, *parts: CellValue | str) -> Formula:
        of = tuple(CellValue(metric=p) if isinstance(p, str) else p for p in parts)
        made = Operation(operator="+", of=of)
        return Formula(name=name, text="", unit="bit/s", flows=(), expression=made)

    own = (
        *(formula("sum", a, b), formula("rest", b, waits)),
        *(formula("of", each, each), formula("more", "sum", b)),
    )
    for name in ("sum", "more"):
        assert sentence(name, (), ["x"], found, own) == f"flows are {moves}"
    assert sentence("rest", (), ["x"], found, own) == ""
    assert sentence("of", ("a",), ["x"], found, own) == moves
    assert sentence("of", ("b",), ["x"], found, own) == ""
    assert sentence("sum", (), ["x"], found) == ""


def slots(least: int) -> str:
    """40 slots of 10 frames; a has `least` or one more, b the others."""
    draw = np.random.default_rng(0)
    sizes = least + draw.integers(0, 2, 40)
    return " ".join("a" * n + "b" * (10 - n) for n in sizes.tolist())


def test_every_cell_has_the_test_of_its_bulk_flows(tmp_path: Path) -> None:
    """a has a level, then another one; if b offers less than it could get, b's level is its
    application's.
    """
    steady, shifted = slots(5), f"{slots(2)[:220]} {slots(7)[:220]}"
    for frames, p in ((steady, 0.10), (shifted, 0.01)):
        made = hand_made(frames)
        analysis = analyse(made.cell, made.write(tmp_path / str(p)), Requests())
        assert [flow.stationarity_p for flow in analysis.flows] == [pytest.approx(p)] * 2
    made = hand_made(shifted)
    a, b = made.cell.flows
    made.cell = replace(made.cell, flows=(a, replace(b, rate_bps=8 * PAYLOAD * 50)))
    analysis = analyse(made.cell, made.write(tmp_path / "limited"), Requests())
    assert [flow.stationarity_p for flow in analysis.flows] == [pytest.approx(0.01), None]
    short = hand_made("ab" * 50)
    analysis = analyse(short.cell, short.write(tmp_path / "short"), Requests())
    assert {flow.stationarity_p for flow in analysis.flows} == {None}


def test_a_finished_transfer_and_a_constant_flow_have_no_test(tmp_path: Path) -> None:
    shifted = f"{slots(2)[:220]} {slots(7)[:220]}"
    made = hand_made(shifted, file_bytes=PAYLOAD)
    analysis = analyse(made.cell, made.write(tmp_path / "files"), Requests())
    assert [flow.completed for flow in analysis.flows] == [True, True]
    assert {flow.stationarity_p for flow in analysis.flows} == {None}
    made = hand_made("aaaaabbbbb" * 40)
    analysis = analyse(made.cell, made.write(tmp_path / "constant"), Requests())
    assert {flow.stationarity_p for flow in analysis.flows} == {None}


def test_what_changes_as_declared_while_it_is_tested(tmp_path: Path) -> None:
    """40 slots of 100 ms; the flows' first data is in the first one."""
    made = hand_made(f"{slots(2)[:220]} {slots(7)[:220]}")
    path = made.write(tmp_path / "cell")
    a, b = made.cell.flows

    def found(flow_b: Flow, link_ns: int | None = None) -> set[str | None]:
        cell = replace(made.cell, flows=(a, flow_b))
        if link_ns is not None:
            cell = with_change(cell, Change(link_ns, rate_bps=RATE_BPS))
            times = dict.fromkeys(("at_ns", "begin_ns", "t_ns"), link_ns)
            write_lines(path / "changes.ndjson", [{"node": "r1", "interface": "r1-eth2", **times}])
        return {flow.declared_change for flow in analyse(cell, path, Requests()).flows}

    assert found(b) == found(replace(b, starts_ns=(8_000_000,))) == {None}
    assert found(replace(b, starts_ns=(500_000_000,))) == {"the set of flows"}
    assert found(b, link_ns=2_000_000_000) == {"a link"}
    assert found(b, link_ns=4_000_000_000) == {None}, "it comes at the end"


def moved(number: int, p: float, **changes: str) -> Stored:
    cell = stored(number, "0%", float(number), **changes)
    flows = tuple(flow.model_copy(update={"stationarity_p": p}) for flow in cell.result.flows)
    return replace(cell, result=cell.result.model_copy(update={"flows": flows}))


def test_tables_and_claims_say_so(tmp_path: Path) -> None:
    """Four repetitions: two reject; an invalid one does not count."""
    cells = [moved(n, 0.01 if n < 3 else 0.1) for n in range(1, 5)]
    tables.write(tmp_path, AXES, [*cells, moved(5, 0.01, verdict="invalid")])
    remark = "still moving (KPSS): it depends on when it was taken"
    measured = of(tmp_path, AXES)
    assert [row["remark"] for row in summarise(measured, "goodput")] == [remark, remark]
    term = Statistic(statistic="median", metric="goodput", cells=("0%", "x"), flow="a")
    assert Values(measured, [term]).remark(term) == remark
