"""What a host whose interface segments sends (`hosts { offload = on }`): frames, back to back."""

from __future__ import annotations

import kept_cells
import numpy as np
import pytest
from left_behind import flow_of
from specs import only_cell_of

from fairc.cell.frames import FRAME_BYTES
from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment offload {{
  topology = bottleneck(rate: 1Gbit/s, rtt: 20ms, queue: fifo(200pkt))
  # Linux acknowledges each segment until the window has grown to its buffer.
  hosts {{ offload = {state}  receive_buffer = 8MB }}
  flow a {{ cca = cubic  workload = file(6MB) }}
  deadline = 5s
  measure = [goodput]
}}
"""
WIRE_NS = 8 * FRAME_BYTES / 10  # of a full frame on the host's link, 10 Gbit/s


@pytest.fixture(scope="module", params=["on", "off"])
def sent(
    engine: Engine, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Measurement:
    cell = only_cell_of(SPEC.format(state=request.param))
    return kept_cells.measured(engine, cell, tmp_path_factory.mktemp("cell"))


def test_the_cell_is_valid(sent: Measurement) -> None:
    assert validity.judge(sent) == ("valid", ())


def test_frames_of_a_burst_are_as_far_apart_as_the_wire_sends_them(sent: Measurement) -> None:
    """Nothing larger than the MTU, and nothing closer together than the host's link allows."""
    flow = flow_of(sent, "a")
    packets = flow.queue.entered
    frames = packets.frame_bytes[flow.entered]
    assert frames.max() == FRAME_BYTES
    full = np.flatnonzero((frames[1:] == FRAME_BYTES) & (frames[:-1] == FRAME_BYTES))
    gaps_ns = np.diff(packets.time_ns[flow.entered])[full]
    # Reading the clock takes 1 ns (virtual-time.md), so a frame may be late, and the next one not.
    assert np.mean(gaps_ns < WIRE_NS - 2) < 0.002
    close = gaps_ns[gaps_ns < WIRE_NS + 2]
    assert np.median(close) == pytest.approx(WIRE_NS, abs=1)
    assert (2 * len(close) > len(frames)) == sent.cell.offload


def test_bursts_are_as_large_as_tcp_makes_its_packets(sent: Measurement) -> None:
    """Linux hands over what 1 ms at the pacing rate is (tcp_tso_autosize), up to 64 KiB: 44 full
    segments. Without, a packet is one segment, and an ACK releases two.
    """
    flow = flow_of(sent, "a")
    t_ns = flow.queue.entered.time_ns[flow.entered]
    breaks = np.flatnonzero(np.diff(t_ns) > WIRE_NS + 2) + 1
    sizes = np.diff(np.concatenate(([0], breaks, [len(t_ns)])))
    steady = sizes[len(sizes) // 2 :]
    if sent.cell.offload:
        assert np.percentile(sizes, 90) > 10 and steady.max() >= 40
    else:
        assert np.percentile(steady, 90) <= 4
