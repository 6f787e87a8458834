"""Shares of flows, by hand and of what is known of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from computed import results, values
from madeartefacts import RATE_BPS, Made, hand_made
from madecell import FULL, VIDEO
from specs import compile_spec
from storedcells import result_of

from fairc.compiler.plan import (
    Cell,
    CellValue,
    Comparison,
    Formula,
    MetricRequest,
    Operation,
    Requests,
)
from fairc.runtime.analysis.values import values as computed
from fairc.runtime.measurement import load
from fairc.runtime.measurement.record import Window
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.metrics import METRICS
from fairc.runtime.metrics.base import Sides, Solo
from fairc.runtime.metrics.registry import VALUES
from fairc.runtime.metrics.share import compare
from fairc.runtime.store.baselines import Baselines

EXAMPLE = Path(__file__).parents[2] / "examples/custom-topology.fexp"

MS = 10**6


def test_shares_by_hand_add_up(tmp_path: Path) -> None:
    """Of ten frames, nine are those of a."""
    made = hand_made("aaaaaaaaab" * 40)
    for number, names in enumerate([(), ("a", "b")]):
        found = values(made, tmp_path / str(number), "share", *names)
        assert found["share", "a"] == pytest.approx(0.9, abs=0.003)
        assert sum(found["share", name] or 0 for name in "ab") == pytest.approx(1)
    # One name: of what all got.
    assert values(made, tmp_path / "one", "share", "b")["share", "b"] == pytest.approx(
        0.1, abs=3e-3
    )


def test_a_window_has_shares_of_its_own(tmp_path: Path) -> None:
    """Frames take 10 ms: first a alone, then both in turn, then nobody."""
    made = hand_made("a" * 20 + "ab" * 20)
    measured = load(made.cell, made.write(tmp_path))

    def share(begin_s: float, end_s: float) -> list[float | None]:
        found = results(measured.within(Window(begin_s, end_s)), "share")
        return [value.value for value in found if value.metric == "share"]

    assert share(0.0, 0.15) == [1.0, 0.0]
    assert share(0.3, 0.5) == pytest.approx([0.5, 0.5], abs=0.03)
    assert share(100.0, 101.0) == [None, None]


def test_competing_flows_share_the_time_in_which_both_are_active(tmp_path: Path) -> None:
    """First a alone, then two frames of a for each of b until b has all, then a alone."""
    made = hand_made("a" * 100 + "aab" * 40 + "a" * 60)
    found = results(load(made.cell, made.write(tmp_path)), "share")
    share = {value.flow: value.value for value in found if value.metric == "share"}
    competing = {value.flow: value.value for value in found if value.metric == "share.competing"}
    assert share == pytest.approx({"a": 240 / 280, "b": 40 / 280}, abs=0.003)
    assert competing == pytest.approx({"a": 2 / 3, "b": 1 / 3}, abs=0.01)
    never = values(hand_made("a" * 40), tmp_path / "never", "share")
    assert never["share.competing", "a"] is None


def test_the_fair_share_of_greedy_flows_is_an_equal_one(tmp_path: Path) -> None:
    found = values(hand_made("aaaaaaaaab" * 40), tmp_path, "share")
    assert found["share.fair", "a"] == pytest.approx(1.8, rel=0.02)
    assert found["share.fair", "b"] == pytest.approx(0.2, rel=0.05)


def test_a_flow_that_wants_little_has_its_fair_share(tmp_path: Path) -> None:
    made = hand_made("aaaaaaaaab" * 40)
    a, b = made.cell.flows
    limited = replace(b, rate_bps=round(0.1 * RATE_BPS * (FULL - 14) / FULL))
    made.cell = replace(made.cell, flows=(a, limited))
    found = values(made, tmp_path, "share")
    assert found["share.fair", "a"] == pytest.approx(1, rel=0.03)
    assert found["share.fair", "b"] == pytest.approx(1, rel=0.03)
    assert found["share", "b"] == pytest.approx(0.1, abs=0.003)


def test_a_starved_flow_has_zero_and_nobody_has_a_share_of_nothing(tmp_path: Path) -> None:
    found = values(hand_made("a" * 40), tmp_path, "share")
    assert (found["share", "a"], found["share", "b"]) == (1.0, 0.0)
    late = results(load(*_late(tmp_path)), "share")
    assert {v.value for v in late} == {None}


@pytest.mark.parametrize("moved", ["a", "ab"])
def test_over_several_paths_there_is_no_fair_share(tmp_path: Path, moved: str) -> None:
    """The share of one path would be too small beside what all of them carry."""
    made = hand_made("aaab" * 60)
    measured = load(made.cell, made.write(tmp_path))
    flows = tuple(
        replace(flow, plan=replace(flow.plan, further_bottlenecks=(("r9", "r9-eth1"),)))
        if flow.name in moved
        else flow
        for flow in measured.flows
    )
    measured = replace(measured, flows=flows)
    found = {}
    for name in ("share", "fairness"):
        for value in METRICS[name].compute(measured, MetricRequest(name=name, sessions=())):
            found[value.metric, value.flow] = value
    assert found["share", "a"].value == pytest.approx(0.75, abs=0.01)
    for value in (
        found["share.fair", "a"],
        found["share.fair", "b"],
        found["fairness.product", None],
    ):
        assert value.value is None and "several paths" in value.reason
    # Sessions with the same paths are compared, and others are not.
    assert (found["fairness.F", None].value is not None) == (moved == "ab")


def _late(folder: Path) -> tuple[Cell, Path]:
    """A cell whose warm-up lasts until its flows have ended."""
    made = hand_made("ab" * 10, warmup_ns=10_000 * MS)
    return made.cell, made.write(folder / "late")


REQUESTS = Requests(
    measure=(MetricRequest(name="share"), MetricRequest(name="throughput")),
    implied=(MetricRequest(name="twice"),),
    formulas=(
        Formula(
            name="twice",
            text="2 * share.fair(b)",
            flows=("b",),
            unit="1",
            expression=Operation(
                operator="*", of=(2.0, CellValue(metric="share.fair", flows=("b",)))
            ),
        ),
    ),
    comparisons=(Comparison(name="share.fair", metric="throughput"),),
)
ALONE = "b" * 16


def watching(frames: str) -> Made:
    """A cell in which b watches a video."""
    made = hand_made(frames)
    a, b = made.cell.flows
    made.cell = replace(made.cell, flows=(a, replace(b, workload=VIDEO)), baselines={"b": ALONE})
    return made


def beside(
    folder: Path, wanted_bps: float | None, **update: object
) -> dict[tuple[str, str], MetricValue]:
    """What a and b have where a has nine of ten frames, and b has alone as much as is given; None:
    the baseline has not been run. update: of the baseline's result.
    """
    made = watching("aaaaaaaaab" * 40)
    baselines = Baselines(REQUESTS)
    if wanted_bps is not None:
        alone = replace(made.cell, configuration=ALONE, baseline=True, baselines={})
        value = MetricValue(metric="throughput", flow="b", value=wanted_bps, unit="bit/s")
        baselines.add(alone, result_of(alone, (value,), **update))
    own = computed(load(made.cell, made.write(folder)), REQUESTS)
    found, _ = baselines.compared(made.cell, result_of(made.cell, own))
    assert len(found.metrics) == len(own)  # each in the place of what the cell has by itself
    return {(v.metric, v.flow or ""): v for v in found.metrics}


@pytest.mark.parametrize(
    ("wanted", "fair_a", "fair_b"),
    [
        (0.1, 0.9, 0.1),  # of the link's rate
        (0.25, 0.75, 0.25),
        (0.5, 0.5, 0.5),
        (0.97, 0.5, 0.5),  # more than an equal share is nobody's
    ],
)
def test_what_a_video_wants_is_what_it_gets_alone(
    tmp_path: Path, wanted: float, fair_a: float, fair_b: float
) -> None:
    found = beside(tmp_path, wanted * RATE_BPS)
    assert found["share.fair", "a"].value == pytest.approx(0.9 / fair_a, rel=0.02)
    assert found["share.fair", "b"].value == pytest.approx(0.1 / fair_b, rel=0.05)
    assert found["twice", "b"].value == 2 * (found["share.fair", "b"].value or 0)
    assert found["share", "b"].value == pytest.approx(0.1, abs=0.003)


def test_it_is_the_share_of_a_flow_that_is_known_to_want_as_much(tmp_path: Path) -> None:
    """What follows from a baseline is what a cell has by itself of a flow with this rate."""
    made = hand_made("aaaaaaaaab" * 40)
    a, b = made.cell.flows
    limited = replace(b, rate_bps=round(0.2 * RATE_BPS * (FULL - 14) / FULL))
    made.cell = replace(made.cell, flows=(a, limited))
    known = values(made, tmp_path / "known", "share")
    found = beside(tmp_path / "alone", 0.2 * RATE_BPS)
    for name in "ab":
        value = found["share.fair", name].value
        assert value == pytest.approx(known["share.fair", name], rel=1e-4)


@pytest.mark.parametrize(
    ("wanted_bps", "update", "reason"),
    [
        (None, {}, "b alone: its baseline has not been run"),
        (
            1e6,
            {"verdict": "invalid", "reasons": ("late",)},
            "b alone: its baseline is invalid: late",
        ),
        (
            1e6,
            {"status": "failed", "verdict": None, "error": "it hung", "metrics": ()},
            "b alone: its baseline is failed: it hung",
        ),
        (1e6, {"metrics": ()}, "b alone: no value"),
    ],
)
def test_without_a_baseline_that_counts_nobody_has_a_fair_share(
    tmp_path: Path, wanted_bps: float | None, update: dict[str, object], reason: str
) -> None:
    found = beside(tmp_path, wanted_bps, **update)
    for name in "ab":
        assert (found["share.fair", name].value, found["share.fair", name].reason) == (None, reason)
    assert found["twice", "b"].reason == f"share.fair of b has no value: {reason}"
    assert found["share", "b"].value is not None


def test_who_is_alone_has_its_fair_share(tmp_path: Path) -> None:
    made = watching("b" * 40)
    made.cell = replace(made.cell, flows=made.cell.flows[1:], baselines={})
    own = {v.metric: v for v in results(load(made.cell, made.write(tmp_path)), "share")}
    assert (own["share.fair"].value, own["share.fair"].links) == (1.0, None)


def test_a_parking_lot_by_hand() -> None:
    """20 Mbit/s behind both links: `long` crosses both, and each other flow one of them."""
    cell = next(iter(compile_spec(EXAMPLE).cells()))

    def fair_mbps(
        alone: dict[str, float], links: tuple[tuple[str, str, float], ...] = ()
    ) -> object:
        """Return fair rates, given what those get alone of which it is not known, Mbit/s."""
        flows = tuple(
            replace(flow, workload=VIDEO) if flow.name in alone else flow for flow in cell.flows
        )
        rates = [
            MetricValue(metric="throughput", flow=flow.name, value=1e6, unit="bit/s")
            for flow in flows
        ]
        own = [value.model_copy(update={"value": None, "links": links}) for value in rates]
        given = {
            name: Solo(MetricValue(metric="throughput", flow=name, value=mbps * 1e6, unit="bit/s"))
            for name, mbps in alone.items()
        }
        sides = Sides(
            value=VALUES["share.fair"],
            flows=(),
            cell=replace(cell, flows=flows),
            own=own,
            beside=rates,
            alone=lambda name, flow, load: given.get(name),
        )
        return {value.flow: pytest.approx(1 / (value.value or 0)) for value in compare(sides)}

    assert fair_mbps({"long": 6.0}) == {"long": 6, "short1": 14, "short2": 14}
    assert fair_mbps({"short1": 4.0}) == {"long": 10, "short1": 4, "short2": 10}
    assert fair_mbps({"short1": 5.0, "long": 3.0}) == {"long": 3, "short1": 5, "short2": 17}
    # A link that had less on average than the plan says: `long` gets half of 8.
    (short1,) = [flow for flow in cell.flows if flow.name == "short1"]
    slow = ((*short1.bottleneck, 8e6),)
    assert fair_mbps({"short1": 5.0}, slow) == {"long": 4, "short1": 4, "short2": 16}
