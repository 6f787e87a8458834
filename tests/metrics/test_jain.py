"""Jain's index at every moment: among the flows that run in a slot, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from computed import results
from madeartefacts import RATE_BPS, hand_made
from madecell import FULL

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import load
from fairc.runtime.measurement.record import Window
from fairc.runtime.metrics import jain

ALONE, EQUAL, UNEQUAL, STARVED = "aaaaaaaaaa", "ababababab", "aabaaaabaa", "aaaaaaaaaa"
PLAN = f"{ALONE} {ALONE} {EQUAL} {EQUAL} {UNEQUAL} {UNEQUAL} {STARVED} {EQUAL} {EQUAL}"
SLOT_S = 0.1


def expected(a: int, b: int) -> float:
    """Return the index of two flows from its definition."""
    return (a + b) ** 2 / (2 * (a * a + b * b))


def test_slots_count_while_two_flows_run(tmp_path: Path) -> None:
    """Before the other flow's first data there is none; one that starves counts as zero."""
    made = hand_made(PLAN)
    measurement = load(made.cell, made.write(tmp_path))
    found = {v.metric: v.value for v in results(measurement, "jain", slot=SLOT_S)}
    trace, *others = jain.traces(measurement, MetricRequest(name="jain", options={"slot": SLOT_S}))
    assert not others and trace.flow is None
    first_s = next(f.endpoints.first_byte_s for f in measurement.flows if f.name == "b")
    assert first_s is not None and trace.t_s[0] >= first_s > 2 * SLOT_S
    # A frame is on the link until the time at which it is captured.
    frames = PLAN.replace(" ", "")
    each = [frames[1 + 10 * k : 11 + 10 * k] for k in np.rint(trace.t_s / SLOT_S).astype(int)]
    counted = [expected(slot.count("a"), slot.count("b")) for slot in each]
    assert trace.values == pytest.approx(counted, abs=0.01)
    assert min(counted) == 0.5 and max(counted) == 1.0
    assert found["jain.mean"] == pytest.approx(np.mean(counted), abs=0.01)
    assert found["jain.min"] == pytest.approx(0.5, abs=0.01)
    assert found["jain.p50"] == pytest.approx(np.median(counted), abs=0.01)
    (curve,) = jain.curves(measurement, MetricRequest(name="jain", options={"slot": SLOT_S}))
    assert (curve.flow, curve.scale) == (None, len(counted))


def test_each_window_has_its_own_slots(tmp_path: Path) -> None:
    """Whatever was computed before: of the whole cell, and of another window."""
    made = hand_made(PLAN)
    whole = load(made.cell, made.write(tmp_path))
    equal, unequal = (whole.within(Window(*between)) for between in ((0.3, 0.4), (0.4, 0.6)))
    found = [results(each, "jain", slot=SLOT_S)[0].value for each in (whole, equal, unequal, whole)]
    assert found[1:3] == pytest.approx([1.0, expected(8, 2)], abs=0.01)
    assert found[0] == found[3] != found[1]


@pytest.mark.parametrize(
    ("sessions", "slot_s", "why"),
    [
        (("a",), 0.1, "it is among flows, and there is one"),
        ((), 5.0, "no two flows ran in one whole slot of 5 s"),
    ],
)
def test_where_there_is_none(
    tmp_path: Path, sessions: tuple[str, ...], slot_s: float, why: str
) -> None:
    """Every value says why."""
    made = hand_made(PLAN)
    measurement = load(made.cell, made.write(tmp_path))
    found = results(measurement, "jain", *sessions, slot=slot_s)
    assert {(v.value, v.reason) for v in found} == {(None, why)}
    request = MetricRequest(name="jain", sessions=sessions, options={"slot": slot_s})
    assert jain.traces(measurement, request) == () == jain.curves(measurement, request)


def test_fair_shares_are_those_among_the_flows_that_run(tmp_path: Path) -> None:
    """b wants 0.4 of the link: more than its third while c runs, and all that it wants after."""
    three, two = "abcabcabcabc", "aaabbaaabb"
    made = hand_made(three * 10 + two * 12, flows=3)
    a, b, c = made.cell.flows
    b = replace(b, rate_bps=round(0.4 * RATE_BPS * (FULL - 14) / FULL))
    c = replace(c, stop_ns=1_200_000_000)
    made.cell = replace(made.cell, flows=(a, b, c))
    measurement = load(made.cell, made.write(tmp_path))
    assert measurement.flows[2].end_s == pytest.approx(1.2, abs=0.05)
    edges_s = np.array([0.6, 0.7, 1.6, 1.7])
    shares = measurement.fair_share_bps(edges_s, of_running=True)
    found = [shares[name][[0, 2]] / RATE_BPS for name in "abc"]
    third = 1 / 3
    assert np.array(found) == pytest.approx(
        np.array([[third, 0.6], [third, 0.4], [third, np.inf]]), rel=1e-3
    )
    # Of the slot from 0.7 to 1.6 s each has the mean over the time in which it runs.
    part = (measurement.flows[2].end_s - 0.7) / 0.9
    assert shares["a"][1] / RATE_BPS == pytest.approx(part * third + (1 - part) * 0.6, rel=1e-3)
    assert shares["c"][1] / RATE_BPS == pytest.approx(third, rel=1e-3)
    (trace,) = jain.traces(measurement, MetricRequest(name="jain", options={"slot": SLOT_S}))
    assert trace.values == pytest.approx(1, abs=0.02)
    product = {v.metric: v.value for v in results(measurement, "fairness", "a", "b")}
    assert product["fairness.product"] == pytest.approx(((FULL - 14) / FULL) ** 2, rel=0.05)
    fair = {v.flow: v.value for v in results(measurement, "share") if v.metric == "share.fair"}
    assert [fair[name] for name in "abc"] == pytest.approx([1, 1, 1], rel=0.05)
