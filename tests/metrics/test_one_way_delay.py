"""Delays of datagrams by hand: what the client wrote, windows, what has none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from computed import by_name
from madeartefacts import hand_made

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.artefacts import ArtefactError
from fairc.runtime.measurement.record import Window
from fairc.runtime.measurement.transits import RECORD
from fairc.runtime.metrics import one_way_delay

MS = 10**6


def received(folder: Path, *datagrams: tuple[int, int], records: int | None = None) -> Measurement:
    """Return a cell whose UDP flow `a` has received datagrams: when, ms, and how long each took."""
    made = hand_made("ab" * 5, transports=("udp", "tcp"))
    path = made.write(folder)
    rows = [(arrived * MS, transit * MS) for arrived, transit in datagrams]
    (path / "a.client.transits").write_bytes(np.array(rows, RECORD).tobytes())
    with (path / "a.client.ndjson").open("a") as lines:
        counted = len(rows) if records is None else records
        event = {"t_ns": 10**9, "event": "logged", "file": "a.client.transits", "records": counted}
        lines.write(json.dumps(event) + "\n")
    return load(made.cell, path)


def values(measurement: Measurement, *sessions: str) -> dict[str, float | None]:
    return by_name(measurement, "one_way_delay", *sessions)


def test_percentiles_are_over_the_datagrams_that_arrived(tmp_path: Path) -> None:
    measurement = received(tmp_path, *((100 + n, 20 + n) for n in range(101)))
    found = values(measurement)
    assert found["one_way_delay.mean"] == pytest.approx(0.07)
    assert found["one_way_delay.p95"] == pytest.approx(0.115)
    assert found["one_way_delay.p5"] == pytest.approx(0.025)
    assert (found["one_way_delay.min"], found["one_way_delay.max"]) == pytest.approx((0.02, 0.12))
    within = values(measurement.within(Window(begin_s=0.150, end_s=0.1605)))
    assert within["one_way_delay.min"] == pytest.approx(0.07)
    assert within["one_way_delay.max"] == pytest.approx(0.08)
    (curve,) = one_way_delay.curves(measurement, MetricRequest(name="one_way_delay"))
    assert (curve.flow, curve.scale) == ("a", 101)
    assert curve.x[100] == pytest.approx(0.07), "half of them take at most this long"


def test_what_has_no_delay_says_why(tmp_path: Path) -> None:
    of_tcp = one_way_delay.compute(
        received(tmp_path), MetricRequest(name="one_way_delay", sessions=("a", "b"))
    )
    assert {v.flow: v.reason for v in of_tcp} == {
        "a": "no datagram arrived",
        "b": "the flow is not over UDP",
    }
    made = hand_made("ab" * 5, transports=("udp", "tcp"))
    silent = load(made.cell, made.write(tmp_path / "silent"))
    (first, *_) = one_way_delay.compute(silent, MetricRequest(name="one_way_delay"))
    assert first.reason == "its client does not say when datagrams arrive"


def test_files_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"a\.client\.transits has 16 bytes"):
        received(tmp_path, (100, 20), records=2)
    with pytest.raises(ArtefactError, match="before it was sent"):
        received(tmp_path, (100, -1))


@pytest.mark.parametrize(
    ("delays", "left", "censored"),
    [
        (range(20, 121), 3, (3, 106)),  # the queue grows, and 3 of 106 are on their way
        (range(20, 121), 1, (0, 0)),  # 1 %: these cannot matter
        (range(120, 19, -1), 3, (0, 0)),  # the queue has emptied
        ([30] * 101, 3, (0, 0)),
        ([30] * 100 + [40], 3, (0, 0)),  # a full queue, which happens to end with its longest delay
    ],
)
def test_the_longest_delays_are_missing_where_a_queue_still_grows(
    tmp_path: Path, delays: Sequence[int], left: int, censored: tuple[int, int]
) -> None:
    measurement = received(tmp_path, *((100 + n, delay) for n, delay in enumerate(delays)))
    (flow, *_) = measurement.flows
    reports = {
        **flow.endpoints.reports,
        "received": ({"packets": 101, "lost": 2},),
        "sent": ({"packets": 103 + left},),
    }
    flow = replace(flow, endpoints=replace(flow.endpoints, reports=reports))
    whole = replace(measurement, flows=(flow, *measurement.flows[1:]))
    request = MetricRequest(name="one_way_delay", sessions=("a",))
    found = {v.metric: (v.censored, v.started) for v in one_way_delay.compute(whole, request)}
    assert found.pop("one_way_delay.min") == (0, 0)
    assert set(found.values()) == {censored}
