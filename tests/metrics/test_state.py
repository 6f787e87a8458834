"""States of a CCA by hand: parts of the time, and estimates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from computed import by_name, results
from madeartefacts import QUIC_SAMPLE, hand_made

from fairc.runtime.measurement import load
from fairc.runtime.measurement.record import Window
from fairc.runtime.measurement.samples import read
from fairc.runtime.metrics import cwnd, srtt, state
from fairc.runtime.metrics.base import Metric


def values(
    folder: Path, *columns: dict[str, Any], **window: float
) -> dict[str, tuple[float | None, str]]:
    """Return what the metric says of a flow with these samples, one each 100 ms: value and reason."""
    made = hand_made("ab" * 20, transports=("quic", "tcp"))
    measurement = load(made.cell, made.write(folder))
    events = [
        {"t_ns": number * 10**8, "connection": 0, **QUIC_SAMPLE, **column}
        for number, column in enumerate(columns)
    ]
    object.__setattr__(measurement.flows[0].endpoints, "samples", read(events, "quic", "made up"))
    if window:
        measurement = measurement.within(Window(**window))
    found = results(measurement, "state", "a")
    return {value.metric: (value.value, value.reason) for value in found}


def test_states_are_parts_of_the_time_and_the_bandwidth_is_a_median(tmp_path: Path) -> None:
    of = values(
        tmp_path,
        {"state": "startup", "max_bw_bps": 10**6},
        {"state": "probe_bw_up", "max_bw_bps": 4 * 10**6},
        {"state": "probe_bw_down", "max_bw_bps": 5 * 10**6},
        {"state": "probe_rtt", "max_bw_bps": 6 * 10**6},
        {"state": "probe_bw_up", "max_bw_bps": 20 * 10**6},
    )
    assert of["state.max_bw"] == (5e6, "")
    expected = {"startup": 0.2, "probe_bw_up": 0.4, "probe_bw_down": 0.2, "probe_rtt": 0.2}
    for name in ("drain", "slow_start", "recovery", *expected):
        assert of[f"state.{name}"][0] == pytest.approx(expected.get(name, 0))
    assert of["state.probe_bw"][0] == pytest.approx(0.6)
    assert of["state.alpha"] == (None, "its CCA estimates none")


def test_probe_bw_of_version_1_is_a_state_of_its_own(tmp_path: Path) -> None:
    of = values(tmp_path, {"state": "startup"}, {"state": "probe_bw"}, {"state": "probe_bw"})
    assert of["state.probe_bw"][0] == pytest.approx(2 / 3)
    assert of["state.probe_bw_up"][0] == 0


def test_a_window_of_time_leaves_out_the_rest(tmp_path: Path) -> None:
    of = values(
        tmp_path,
        *[{"state": "slow_start"}] * 3,
        {"state": "congestion_avoidance", "alpha_ppm": 500_000},
        {"state": "recovery", "alpha_ppm": 250_000},
        begin_s=0.25,
    )
    assert of["state.slow_start"][0] == 0
    assert of["state.recovery"][0] == pytest.approx(0.5)
    assert of["state.alpha"][0] == pytest.approx(0.375)


def test_a_cca_that_says_nothing_has_no_value(tmp_path: Path) -> None:
    of = values(tmp_path, {}, {})
    assert {value for value, _ in of.values()} == {None}
    assert "said no state" in of["state.max_bw"][1]


@pytest.mark.parametrize(
    ("metric", "value", "until_end", "of_completed"),
    [
        (cwnd.METRIC, "cwnd.mean", 20.0, 40.0),
        (cwnd.METRIC, "cwnd.max", 30.0, 70.0),
        (srtt.METRIC, "srtt.mean", 0.02, 0.04),
        (state.METRIC, "state.startup", 1.0, 3 / 7),
    ],
)
def test_samples_after_the_end_of_the_cell_are_of_what_drains(
    tmp_path: Path, metric: Metric, value: str, until_end: float, of_completed: float
) -> None:
    """Seven samples, one each 100 ms, in a cell that ended after 250 ms. A flow that was completed
    has nothing left: its last samples are those of its last round trip.
    """
    made = hand_made("ab" * 20, transports=("quic", "tcp"))
    measurement = load(made.cell, made.write(tmp_path))
    flow = measurement.flows[0]
    mtu = QUIC_SAMPLE["mtu"]
    assert mtu is not None
    events = [
        {
            "t_ns": number * 10**8,
            "connection": 0,
            **QUIC_SAMPLE,
            "cwnd_bytes": (number + 1) * 10 * mtu,
            "rtt_us": (number + 1) * 10_000,
            "state": "startup" if number < 3 else "drain",
        }
        for number in range(7)
    ]
    object.__setattr__(flow, "ended_s", 0.25)
    object.__setattr__(flow.endpoints, "samples", read(events, "quic", "made up"))
    for completed, expected in ((False, until_end), (True, of_completed)):
        object.__setattr__(flow.endpoints, "completed", completed)
        found = by_name(measurement, metric.name, "a")
        assert found[value] == pytest.approx(expected)
