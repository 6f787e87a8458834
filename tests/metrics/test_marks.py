"""Marks by hand: what bits packets had in front of the queue and behind it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from computed import results
from madeartefacts import hand_made

from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.record import Window

ECT0, ECT1, CE = 2, 1, 3


def _measured(folder: Path, came: list[int], left: list[int]) -> Measurement:
    """Ten packets of a alone, with these bits of ECN; DSCP is EF."""
    made = hand_made("a" * 10)
    measured = load(made.cell, made.write(folder))
    flow = measured.flows[0]
    dscp = 46 << 2
    entered, after = (
        np.full(len(packets), dscp) for packets in (flow.queue.entered, flow.queue.left)
    )
    entered[flow.entered] |= came
    after[flow.left] |= left
    queue = replace(
        flow.queue,
        entered=replace(flow.queue.entered, tos=entered),
        left=replace(flow.queue.left, tos=after),
    )
    return replace(
        measured,
        flows=(
            replace(flow, passages=(replace(flow.passages[0], queue=queue),)),
            *measured.flows[1:],
        ),
    )


def _marks(measured: Measurement, **window: float) -> list[float | None]:
    seen = measured.within(Window(**window)) if window else measured
    return [value.value for value in results(seen, "marks", "a")]


def test_marks_are_of_packets_that_could_be_marked(tmp_path: Path) -> None:
    """Two arrived without ECT and one marked already: of seven, three were marked."""
    came = [0, ECT0, ECT0, ECT1, CE, ECT0, 0, ECT0, ECT1, ECT0]
    left = [0, CE, ECT0, CE, CE, ECT0, 0, ECT0, ECT1, CE]
    measured = _measured(tmp_path, came, left)
    assert _marks(measured) == [pytest.approx(3 / 7), 3]


def test_none_marked_is_zero_and_none_to_mark_is_no_value(tmp_path: Path) -> None:
    assert _marks(_measured(tmp_path / "ect", [ECT0] * 10, [ECT0] * 10)) == [0, 0]
    assert _marks(_measured(tmp_path / "not", [0] * 10, [0] * 10)) == [None, None]


def test_a_window_counts_what_arrives_in_it(tmp_path: Path) -> None:
    measured = _measured(tmp_path, [ECT0] * 10, [CE] * 5 + [ECT0] * 5)
    times = measured.flows[0].queue.seconds(measured.flows[0].queue.entered)
    middle = float(times[measured.flows[0].entered][5])
    assert _marks(measured, begin_s=-1.0, end_s=middle) == [1, 5]
    assert _marks(measured, begin_s=middle) == [0, 0]
