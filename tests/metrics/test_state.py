"""States of a CCA by hand: parts of the time, and estimates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from madeartefacts import QUIC_SAMPLE, hand_made

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import load
from fairc.runtime.measurement.record import Window
from fairc.runtime.measurement.samples import read
from fairc.runtime.metrics import state


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
    request = MetricRequest(name="state", sessions=("a",))
    found = state.METRIC.compute(measurement, request)
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
