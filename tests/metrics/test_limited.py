"""What limits flows beside the network: shares worked out by hand, and what the report says of
them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from madeartefacts import QUIC_SAMPLE, TCP_SAMPLE, hand_made

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import load
from fairc.runtime.measurement.samples import Samples, read
from fairc.runtime.metrics import limited

SHARED = "a....b.... aaaaaabbbb aaaaaaaaaa ababababab bbbbaabbbb a....b...b"


def sampled(transport: str, *columns: dict[str, Any]) -> Samples:
    """Samples of connection 0, one a second from 0 s on."""
    usual = {"tcp": TCP_SAMPLE, "quic": QUIC_SAMPLE}[transport]
    events = [
        {"t_ns": number * 10**9, "connection": 0, **usual, **column}
        for number, column in enumerate(columns)
    ]
    return read(events, transport, "made up")


def shares(
    folder: Path,
    samples: Samples,
    transport: str,
    warmup_s: float = 0.0,
    ended_s: float = 60.0,
    **parameters: Any,
) -> dict[str, float | None]:
    """Return what the metric says of a flow with these samples, in a cell that ended then."""
    made = hand_made(SHARED, transports=(transport, "tcp"))
    measurement = load(made.cell, made.write(folder))
    flow = measurement.flows[0]
    plan = replace(flow.plan, cca_parameters=parameters)
    object.__setattr__(flow, "plan", plan)
    object.__setattr__(flow, "ended_s", ended_s)
    object.__setattr__(flow.endpoints, "samples", samples)
    cell = replace(measurement.cell, warmup_ns=int(warmup_s * 1e9))
    object.__setattr__(measurement, "cell", cell)
    found = limited.METRIC.compute(measurement, MetricRequest(name="limited", sessions=("a",)))
    return {value.metric: value.value for value in found}


def test_what_drains_after_the_end_of_the_cell_does_not_count(tmp_path: Path) -> None:
    busy_us = (0, 1_000_000, 2_000_000, 2_000_000, 2_000_000, 2_000_000)
    samples = sampled("tcp", *({"busy_us": busy} for busy in busy_us))
    assert shares(tmp_path / "whole", samples, "tcp")["limited.application"] == pytest.approx(0.6)
    ended = shares(tmp_path / "ended", samples, "tcp", ended_s=2.5)
    assert ended["limited.application"] == pytest.approx(0.0)


def test_tcp_by_hand(tmp_path: Path) -> None:
    """Of 4 s, 1 s without data, 0.4 s with a closed receive window, 0.2 s with a full send
    buffer.
    """
    samples = sampled(
        "tcp",
        {"busy_us": 0},
        {"busy_us": 1_000_000, "rwnd_limited_us": 100_000},
        {"busy_us": 2_000_000, "rwnd_limited_us": 400_000},
        {"busy_us": 2_500_000, "rwnd_limited_us": 400_000, "sndbuf_limited_us": 200_000},
        {"busy_us": 3_000_000, "rwnd_limited_us": 400_000, "sndbuf_limited_us": 200_000},
    )
    assert shares(tmp_path, samples, "tcp") == pytest.approx(
        {
            "limited": 0.25,
            "limited.window_cap": 0.0,
            "limited.receiver": 0.1,
            "limited.send_buffer": 0.05,
            "limited.application": 0.25,
        }
    )
    late = shares(tmp_path / "late", samples, "tcp", warmup_s=2.0)
    assert late["limited.application"] == pytest.approx(0.5)
    assert late["limited.receiver"] == 0.0


def test_quic_at_its_cap_by_hand(tmp_path: Path) -> None:
    """A window counts until the next sample: at the cap in 2 of 4 s.

    The last two RTTs (0.16 s) count not.
    """
    mtu = QUIC_SAMPLE["mtu"]
    assert mtu is not None
    windows = (10, 20, 20, 19, 20)
    idle_us = (0, 0, 600_000, 600_000, 9_000_000)
    samples = sampled(
        "quic",
        *(
            {"cwnd_bytes": w * mtu, "flow_limited_us": None, "app_limited_us": a}
            for w, a in zip(windows, idle_us, strict=True)
        ),
    )
    found = shares(tmp_path, samples, "quic", max_window_packets=20)
    assert found["limited.window_cap"] == pytest.approx(0.5)
    assert found["limited.application"] == pytest.approx(0.2)
    assert found["limited.receiver"] is None and found["limited.send_buffer"] is None
    assert found["limited"] == pytest.approx(0.5)
    assert shares(tmp_path / "free", samples, "quic")["limited.window_cap"] == 0.0


def test_one_sample_says_nothing(tmp_path: Path) -> None:
    assert set(shares(tmp_path, sampled("tcp", {"busy_us": 0}), "tcp").values()) == {None}
