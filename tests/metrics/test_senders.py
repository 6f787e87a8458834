"""`acks` and `bursts` by hand: what a sender's interface saw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from computed import by_name

from fairc.compiler.plan import MetricRequest, Shaper
from fairc.mechanisms.queues.fifo.cell import Fifo
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.record import Window
from fairc.runtime.metrics import METRICS
from fairc.runtime.metrics.bursts import sizes

from .test_rtt import ACK, RST, SYN, Answer, Data, Packet, made, measured, records_of

FRAME_MS = (1000 + 66) * 8 / 100e3
"""Of a segment of 1000 bytes at the made-up server's 100 Mbit/s, ms."""


def of_a(metric: str, measurement: Measurement, **options: float) -> dict[str, float | None]:
    return by_name(measurement, metric, "a", **options)


def seen(folder: Path, packets: list[Packet]) -> Measurement:
    """The made-up cell, whose first server has a link of 100 Mbit/s."""
    base = made()
    first, *others = base.cell.nodes
    (end,) = first.interfaces
    shaped = replace(end, shaper=Shaper(100_000_000), queue=Fifo(limit_packets=1000))
    base.cell = replace(base.cell, nodes=(replace(first, interfaces=(shaped,)), *others))
    return measured(folder, records_of(packets), base).within(Window(0.0))


def test_acks_for_each_packet_with_data(tmp_path: Path) -> None:
    """Two ACKs for three segments; a SYN, a reset and what the client asks for are none."""
    packets: list[Packet] = [
        Answer(5, 0, flags=SYN),
        Data(6, 0, size=0, flags=SYN | ACK),
        Data(100, 0),
        Data(101, 1000),
        Answer(151, 2000),
        Data(160, 2000),
        Answer(210, 3000),
        Answer(220, 3000, flags=ACK | RST),
    ]
    found = of_a("acks", seen(tmp_path, packets))
    assert found == {"acks": pytest.approx(2 / 3), "acks.count": 2}


def test_a_window_counts_what_is_in_it(tmp_path: Path) -> None:
    packets: list[Packet] = [Data(100, 0), Answer(151, 1000), Data(200, 1000), Answer(251, 2000)]
    whole = measured(tmp_path, records_of(packets))
    assert of_a("acks", whole.within(Window(0.16, 0.24))) == {"acks": 0, "acks.count": 0}
    assert of_a("acks", whole.within(Window(0.3, 0.4)))["acks"] is None


@pytest.mark.parametrize(
    ("starts_ms", "gap_ms", "expected"),
    [
        ([0, 1, 2, 3], 0.0, [4]),
        ([0, 1, 2.1, 3.1], 0.0, [2, 2]),
        ([0, 1, 2.1, 3.1], 0.1, [4]),
        ([0, 5, 10], 0.0, [1, 1, 1]),
        ([0, 0.5, 1.4], 0.0, [3]),  # never faster than the link, but for what is rounded
        ([7], 0.0, [1]),
        ([], 0.0, []),
    ],
)
def test_bursts_by_hand(starts_ms: list[float], gap_ms: float, expected: list[int]) -> None:
    """Each packet takes 1 ms."""
    starts = np.array(starts_ms, np.float64) / 1e3
    found = sizes(starts, np.full(len(starts), 1e-3), gap_ms / 1e3)
    assert found.tolist() == expected


def test_every_packet_is_in_one_burst(tmp_path: Path) -> None:
    """Three in a row, two in a row, one alone; ACKs between them separate nothing."""
    starts = [100 + n * FRAME_MS for n in range(3)]
    starts += [150, 150 + 1.05 * FRAME_MS, 200]
    packets: list[Packet] = [Data(at, 1000 * n) for n, at in enumerate(starts)]
    packets.append(Answer(100.05, 0))
    found = of_a("bursts", seen(tmp_path, packets))
    assert found["bursts.mean"] == 2 and found["bursts.max"] == 3 and found["bursts.count"] == 3
    assert found["bursts.p50"] == 2
    strict = of_a("bursts", seen(tmp_path, packets), gap=0.0)
    assert strict["bursts.count"] == 4
    assert of_a("bursts", seen(tmp_path, packets), gap=1.0)["bursts.max"] == 6


def test_udp_has_bursts_and_no_acks(tmp_path: Path) -> None:
    base = made(("udp", "tcp", "tcp"))
    measurement = measured(tmp_path, records_of([]), base).within(Window(0.0))
    (value, _) = METRICS["acks"].compute(measurement, MetricRequest(name="acks", sessions=("a",)))
    assert value.reason == "nobody acknowledges datagrams of UDP"
