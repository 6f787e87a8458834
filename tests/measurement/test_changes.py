"""What applied at a link that changes, and what it can carry: by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from madeartefacts import RATE_BPS, Made
from madecell import FULL, MS, made_cell
from madepackets import Passed, Sent

from fairc.compiler.plan import Change, MetricRequest, Shaper
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.changes import AppliedChange, History
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.metrics import utilization
from fairc.runtime.validity.service import overrun

FRAME_BITS = 8 * FULL
"""Of a full frame, which the link sends in 10 ms at its first rate."""


def measured(
    folder: Path, left_ms: Sequence[float], *changes: tuple[float, float], late_s: float = 0.0
) -> Measurement:
    """A cell whose full frames leave the queue at these times; changes: (ms, share of the rate)."""
    cell = made_cell(rate_bps=RATE_BPS, delay_ns=0, flows=1)
    times = [round(at * MS) for at in left_ms]
    packets = [Passed(Sent(at - 5 * MS, 0), n, at, at) for n, at in enumerate(times)]
    whole = load(cell, Made(cell, packets, times[-1] + 50 * MS).write(folder))
    done = tuple(
        (AppliedChange(*3 * (at / 1e3,)), Change(0, rate_bps=round(share * RATE_BPS)))
        for at, share in changes
    )
    (queue,) = whole.queues
    interface = replace(queue.interface, shaper=Shaper(RATE_BPS, "below"))
    history = History(interface, done)
    changed = replace(queue, interface=interface, history=history, late_s=late_s)
    (flow,) = whole.flows
    flow = replace(flow, passages=tuple(replace(one, queue=changed) for one in flow.passages))
    return replace(whole, flows=(flow,), queues=(changed,))


def used(measurement: Measurement) -> float:
    (value,) = utilization.METRIC.compute(measurement, MetricRequest(name="utilization"))
    assert value.value is not None
    return value.value


def capacity(queue: QueueRecord, *edges_ms: float) -> list[float]:
    """In frames."""
    return [bits / FRAME_BITS for bits in queue.capacity_bits(np.array(edges_ms) / 1e3).tolist()]


def test_a_frame_keeps_its_rate_where_the_rate_falls(tmp_path: Path) -> None:
    """Half the rate from 35 ms on. The frame of 30 ms ends at 40 ms, the later ones take 20 ms:
    the link is never idle, and carries more than the rate in force: 3.5 + 6.5 / 2 = 6.75 frames.
    """
    (queue,) = measured(tmp_path, [0, 10, 20, 30, 40, 60, 80], (35, 0.5)).queues
    assert queue.sent_s[-4:] * 1e3 == pytest.approx([40, 60, 80, 100], abs=1e-4)
    assert capacity(queue, 0, 100) == pytest.approx([7], rel=1e-6)
    assert capacity(queue, 30, 36, 40, 50) == pytest.approx([0.6, 0.4, 0.5], rel=1e-6)
    # Idle from 100 ms on, at half the rate.
    assert capacity(queue, 90, 120) == pytest.approx([0.5 + 1], rel=1e-6)
    assert queue.history.capacity_bits(np.array([0, 0.1]))[0] == pytest.approx(6.75 * FRAME_BITS)


def test_a_frame_keeps_its_rate_where_the_rate_rises(tmp_path: Path) -> None:
    """Twice the rate from 35 ms on: the frame of 30 ms still takes 10 ms, the later ones 5 ms."""
    left = [0, 10, 20, 30, 40, 45, 50]
    (queue,) = measured(tmp_path, left, (35, 2.0)).queues
    assert capacity(queue, 0, 55) == pytest.approx([7], rel=1e-6)
    assert capacity(queue, 55, 65) == pytest.approx([2], rel=1e-6)  # idle
    # Nothing is sent as it rises: the rate in force.
    (idle,) = measured(tmp_path, [0, 60], (35, 2.0)).queues
    assert capacity(idle, 0, 10, 35, 60, 65) == pytest.approx([1, 2.5, 5, 1], rel=1e-6)


@pytest.mark.parametrize(("share", "left"), [(0.5, [40, 60, 80]), (2.0, [40, 45, 50])])
def test_a_link_that_is_never_idle_is_used_up_and_not_more(
    tmp_path: Path, share: float, left: list[float]
) -> None:
    whole = measured(tmp_path, [0, 10, 20, 30, *left], (35, share))
    end_s = float(whole.queues[0].sent_s[-1])
    flow = replace(whole.flows[0], ended_s=end_s)
    assert flow.end_s <= end_s
    found = used(replace(whole, flows=(flow,)))
    assert 1 - 1e-9 < found <= 1
    assert not list(overrun(whole))  # no flow has more than the link


def test_frames_that_leave_early_take_their_turn(tmp_path: Path) -> None:
    """A shaper may save its slack, and a token bucket more: frames never overlap on the link."""
    (queue,) = measured(tmp_path, [0, 9.999, 19.998, 20.5, 50]).queues
    assert queue.begin_s * 1e3 == pytest.approx([0, 10, 20, 30, 50], abs=1e-4)
    assert capacity(queue, 0, 60) == pytest.approx([6], rel=1e-6)


def test_what_is_within_a_microsecond_of_a_change_is_unknown(tmp_path: Path) -> None:
    t_s = np.array([34.9985, 34.9995, 35, 35.0005, 35.0015]) / 1e3
    (queue,) = measured(tmp_path, [0], (35, 0.5)).queues
    assert queue.history.settled(t_s).tolist() == [True, False, False, False, True]
    # A host takes up to 2 us until the packet is on its link.
    late = queue.history.settled(np.array([34.9965, 34.9975]) / 1e3, late_s=2e-6)
    assert late.tolist() == [True, False]


def test_a_frame_that_leaves_with_a_change_keeps_none_waiting(tmp_path: Path) -> None:
    """It is not known at which rate it was sent: at the new one it would take 1000 s."""
    (queue,) = measured(tmp_path, [0, 10, 20, 40], (10, 1e-5), (19, 1.0)).queues
    assert queue.begin_s * 1e3 == pytest.approx([0, 10, 20, 40], abs=1e-4)
    assert not queue.known_at(queue.history)[1]
    assert queue.known_at(queue.history)[2:].all()


def test_a_bucket_whose_rate_falls_gives_no_flow_more_than_its_rate(tmp_path: Path) -> None:
    """The debt of the frame of 30 ms is that of the rate until then, as of a link that transmits;
    frames that leave at once are still found.
    """

    def found(folder: Path, left: Sequence[float]) -> list[str]:
        whole = measured(folder, left, (35, 0.1))
        (queue,), (flow,) = whole.queues, whole.flows
        bucket = replace(queue, interface=replace(queue.interface, shaper=Shaper(RATE_BPS)))
        passages = tuple(replace(one, queue=bucket) for one in flow.passages)
        flow = replace(flow, passages=passages, ended_s=0.1)
        return [one.reason for one in overrun(replace(whole, queues=(bucket,), flows=(flow,)))]

    assert not [why for why in found(tmp_path / "debt", [0, 10, 20, 30, 40]) if "times" in why]
    assert [why for why in found(tmp_path / "burst", [0, 1, 2, 3, 4, 40, 41]) if "times" in why]
