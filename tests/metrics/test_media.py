"""Which frames are shown, lost or late, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairc.runtime.measurement.frames import Frames
from fairc.runtime.metrics.freezes import freezes_s, shown_s

NEVER = np.inf


def _frames(captured_s: list[float], arrived_s: list[float], group: list[int]) -> Frames:
    key = np.diff(np.array([-1, *group])) != 0
    return Frames(
        captured_s=np.array(captured_s),
        arrived_s=np.array(arrived_s),
        bytes=np.full(len(group), 100),
        group=np.array(group),
        key=key,
        cancelled=np.zeros(len(group), np.bool_),
        interval_s=0.1,
        reliable=False,
    )


def _times(*parts: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    return np.concatenate(parts).astype(np.float64)


def test_a_frame_waits_for_those_that_it_refers_to() -> None:
    """The second comes late: the third waits for it, and both are there at the same time, of which
    the first one is shown first.
    """
    found = _frames([0.0, 0.1, 0.2, 0.3], [0.05, 0.28, 0.25, 0.35], [0, 0, 0, 0])
    assert shown_s(found).tolist() == [0.05, 0.28, 0.28, 0.35]


def test_a_lost_frame_hides_the_rest_of_its_group() -> None:
    found = _frames([0.0, 0.1, 0.2, 0.3], [0.05, NEVER, 0.25, 0.35], [0, 0, 0, 1])
    assert shown_s(found).tolist() == [0.05, 0.35]


def test_a_frame_that_a_later_one_has_overtaken_is_not_shown() -> None:
    """The group after it is there before its last frame."""
    found = _frames([0.0, 0.1, 0.2], [0.05, 0.60, 0.25], [0, 0, 1])
    assert shown_s(found).tolist() == [0.05, 0.25]


def test_a_group_without_its_key_frame_is_not_shown() -> None:
    found = _frames([0.0, 0.1, 0.2], [0.05, 0.15, 0.25], [0, 0, 1])
    assert shown_s(found.select(np.array([False, True, True]))).tolist() == [0.25]


def test_a_freeze_is_three_usual_intervals_and_at_least_150_ms_more() -> None:
    """With a mean of 100 ms: 300 ms. With one of 20 ms: 170 ms. The mean takes freezes in."""
    even = _times(np.arange(40) * 0.1)
    assert list(freezes_s(even, 0.1, 4.0)) == []
    gap = _times(even, even[-1] + 0.31 + np.arange(3) * 0.1)
    assert list(freezes_s(gap, 0.1, gap[-1])) == pytest.approx([0.31])
    fast = _times(np.arange(40) * 0.02, 0.78 + np.array([0.165, 0.165 + 0.18]))
    mean_s = (29 * 0.02 + 0.165) / 30
    assert mean_s + 0.15 < 0.18
    assert list(freezes_s(fast, 0.02, fast[-1])) == pytest.approx([0.18])


def test_the_end_is_a_freeze_too_and_the_first_interval_has_the_usual_time() -> None:
    assert list(freezes_s(np.array([0.0]), 0.1, 0.301)) == pytest.approx([0.301])
    assert list(freezes_s(np.array([0.0]), 0.1, 0.29)) == []
    assert list(freezes_s(np.array([0.0, 0.1]), 0.1, 2.0)) == pytest.approx([1.9])
