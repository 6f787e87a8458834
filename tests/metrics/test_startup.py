"""The end of slow start by hand: when, at which window, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from madeartefacts import QUIC_SAMPLE, TCP_SAMPLE, hand_made

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import load, series
from fairc.runtime.measurement.samples import NO_THRESHOLD, read
from fairc.runtime.metrics import startup

Connection = Sequence[dict[str, Any]]
Transport = Literal["tcp", "quic"]
OPEN, CWR, RECOVERY = 0, 2, 3


def values(folder: Path, transport: Transport, *connections: Connection) -> dict[str, float | None]:
    """Return what the metric says of a flow with these samples, one each 100 ms."""
    found = computed(folder, transport, *connections)
    return {value.metric.removeprefix("startup."): value.value for value in found}


def computed(folder: Path, transport: Transport, *connections: Connection) -> list[Any]:
    made = hand_made("ab" * 20, transports=(transport, "tcp"))
    measurement = load(made.cell, made.write(folder))
    common = {"tcp": TCP_SAMPLE, "quic": QUIC_SAMPLE}[transport]
    events = [
        {"t_ns": number * 10**8 + 10**9, "connection": connection, **common, **sample}
        for connection, samples in enumerate(connections)
        for number, sample in enumerate(samples)
    ]
    endpoints = measurement.flows[0].endpoints
    object.__setattr__(endpoints, "samples", read(events, transport, "made up"))
    object.__setattr__(endpoints, "accepted_s", dict.fromkeys(range(len(connections)), 0.9))
    request = MetricRequest(name="startup", sessions=("a",))
    rows = series.collect(measurement)["samples"]
    mine = np.array(rows["flow"]) == "a"
    thresholds = np.array(rows["ssthresh_packets"])[mine]
    if transport == "tcp":
        assert not (thresholds >= NO_THRESHOLD).any(), "none is null in the table"
    return [v for v in startup.compute(measurement, request) if v.metric != "startup"]


def tcp(
    cwnd: int, ssthresh: int = NO_THRESHOLD, ca_state: int = OPEN, lost: int = 0
) -> dict[str, int]:
    return {"cwnd": cwnd, "ssthresh": ssthresh, "ca_state": ca_state, "retransmits": lost}


HYSTART = [tcp(10), tcp(20), tcp(40), tcp(60, 60), tcp(61, 60)]
LOSS = [tcp(10), tcp(20), tcp(100), tcp(70, 70, RECOVERY, 3), tcp(71, 70, OPEN, 3)]
MARK = [tcp(10), tcp(50), tcp(35, 35, CWR)]
SAVED = [tcp(10, 30), tcp(20, 30), tcp(31, 30), tcp(40, 30)]
NEVER = [tcp(10), tcp(20), tcp(40)]
# A loss in BBR's start-up does not end it: it sets its threshold as it leaves.
BBR = [
    tcp(10),
    tcp(80, NO_THRESHOLD, RECOVERY, 4),
    tcp(160, NO_THRESHOLD, OPEN, 4),
    tcp(150, 90, OPEN, 4),
]


@pytest.mark.parametrize(
    ("samples", "time_s", "cwnd", "reason"),
    [
        (HYSTART, 0.4, 60, "by_itself"),
        (LOSS, 0.4, 100, "by_loss"),
        (MARK, 0.3, 50, "by_mark"),
        (SAVED, 0.3, 31, "by_itself"),
        (BBR, 0.4, 160, "by_loss"),
    ],
)
def test_over_tcp_the_threshold_tells(
    tmp_path: Path, samples: Connection, time_s: float, cwnd: float, reason: str
) -> None:
    found = values(tmp_path, "tcp", samples)
    assert found["time"] == pytest.approx(time_s)
    assert found["cwnd"] == cwnd
    assert {name for name, value in found.items() if name[:3] == "by_" and value} == {reason}
    assert found[reason] == 1


def test_connections_are_averaged_and_endless_ones_counted(tmp_path: Path) -> None:
    of = {v.metric: v for v in computed(tmp_path, "tcp", HYSTART, LOSS, NEVER, MARK)}
    assert of["startup.time"].value == pytest.approx((0.4 + 0.4 + 0.3) / 3)
    assert of["startup.cwnd"].value == pytest.approx((60 + 100 + 50) / 3)
    assert (of["startup.time"].censored, of["startup.time"].started) == (1, 4)
    shares = [of[f"startup.by_{name}"].value for name in ("loss", "mark", "itself")]
    assert shares == [0.25, 0.25, 0.25]
    (never, *_) = computed(tmp_path, "tcp", NEVER)
    assert (never.value, never.reason) == (None, "slow start ended in none of 1 connections")


def test_a_subflow_that_joins_a_connection_starts_with_its_first_sample(tmp_path: Path) -> None:
    """The second one was not accepted: its first sample is at 1 s, its start-up over at 1.3 s."""
    made = hand_made("ab" * 20)
    measurement = load(made.cell, made.write(tmp_path))
    events = [
        {"t_ns": number * 10**8 + 10**9, "connection": connection, **TCP_SAMPLE, **sample}
        for connection in (0, 1)
        for number, sample in enumerate(HYSTART)
    ]
    endpoints = measurement.flows[0].endpoints
    object.__setattr__(endpoints, "samples", read(events, "tcp", "made up"))
    object.__setattr__(endpoints, "accepted_s", {0: 0.9})
    found = startup.compute(measurement, MetricRequest(name="startup", sessions=("a",)))
    (time,) = (value.value for value in found if value.metric == "startup.time")
    assert time == pytest.approx((0.4 + 0.3) / 2)


def test_over_quic_the_state_tells(tmp_path: Path) -> None:
    size = QUIC_SAMPLE["mtu"]
    assert size is not None

    def quic(state: str, packets: int, lost: int = 0, events: int = 0) -> dict[str, Any]:
        sizes = {"cwnd_bytes": packets * size, "ssthresh_bytes": None if state[0] == "s" else size}
        return {"state": state, **sizes, "packets_lost": lost, "congestion_events": events}

    begin = [quic("slow_start", 32), quic("slow_start", 64), quic("css", 80)]
    for after, cwnd, reason in (
        (quic("congestion_avoidance", 84), 84, "by_itself"),
        (quic("congestion_avoidance", 56, lost=2, events=1), 80, "by_loss"),
        (quic("recovery", 56, events=1), 80, "by_mark"),
    ):
        found = values(tmp_path, "quic", [*begin, after])
        assert found["time"] == pytest.approx(0.4)
        assert (found["cwnd"], found[reason]) == (cwnd, 1)
    bbr = [quic("startup", 32), quic("startup", 90), quic("drain", 90), quic("startup", 9)]
    assert values(tmp_path, "quic", bbr)["time"] == pytest.approx(0.3)
    silent = computed(tmp_path, "quic", [{}, {}])
    assert {v.reason for v in silent} == {"the sender does not say when slow start ends"}
