"""Which frames are shown, lost or late, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from computed import by_name
from madeartefacts import hand_made
from numpy.typing import NDArray

from fairc.mechanisms.workloads.media.cell import MediaVideo, MediaWorkload
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.frames import Frames
from fairc.runtime.measurement.record import Window
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


def _lasts_s(shown: NDArray[np.float64], usual_s: float, end_s: float) -> Iterator[float]:
    """Yield how long each freeze lasts, s."""
    for before_s, after_s in freezes_s(shown, usual_s, end_s):
        yield after_s - before_s


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
    assert list(_lasts_s(even, 0.1, 4.0)) == []
    gap = _times(even, even[-1] + 0.31 + np.arange(3) * 0.1)
    assert list(_lasts_s(gap, 0.1, gap[-1])) == pytest.approx([0.31])
    fast = _times(np.arange(40) * 0.02, 0.78 + np.array([0.165, 0.165 + 0.18]))
    mean_s = (29 * 0.02 + 0.165) / 30
    assert mean_s + 0.15 < 0.18
    assert list(_lasts_s(fast, 0.02, fast[-1])) == pytest.approx([0.18])


def test_the_end_is_a_freeze_too_and_the_first_interval_has_the_usual_time() -> None:
    assert list(_lasts_s(np.array([0.0]), 0.1, 0.301)) == pytest.approx([0.301])
    assert list(_lasts_s(np.array([0.0]), 0.1, 0.29)) == []
    assert list(_lasts_s(np.array([0.0, 0.1]), 0.1, 2.0)) == pytest.approx([1.9])


def _call(folder: Path, found: Frames) -> Measurement:
    """Return a cell of 10 s with frames of a video."""
    made = hand_made("a" * 1000, flows=1)
    measurement = load(made.cell, made.write(folder))
    (flow,) = measurement.flows
    video = MediaVideo(rate_bps=8000, frames_per_s=10.0, group_frames=40, key=5.0, varies=False)
    media = MediaWorkload(video=video, largest_bytes=1228, carried="packets", seed=1)
    call = replace(
        flow,
        plan=replace(flow.plan, workload=media),
        endpoints=replace(flow.endpoints, frames={("down", "video"): found}),
    )
    return replace(measurement, flows=(call,))


def _groups_of_40(arrived_s: NDArray[np.floating[Any]]) -> Frames:
    """Return frames that are captured every 100 ms from 0.02 s on, in groups of 4 s."""
    captured = 0.02 + 0.1 * np.arange(len(arrived_s))
    groups = np.arange(len(arrived_s)) // 40
    return _frames(captured.tolist(), arrived_s.tolist(), groups.tolist())


def _freezes(measurement: Measurement, begin_s: float, until_s: float) -> tuple[float | None, ...]:
    found = by_name(measurement.within(Window(begin_s, until_s)), "freezes")
    return tuple(found[f"freezes.{name}"] for name in ("count", "time", "share"))


def test_a_window_in_a_group_shows_what_the_frames_before_it_let_be_shown(tmp_path: Path) -> None:
    """The group's key frame came before the window, so all its frames are shown."""
    call = _call(tmp_path, _groups_of_40(0.05 + 0.1 * np.arange(98)))
    assert _freezes(call, 5.0, 7.0) == (0, 0, 0)


def test_parts_of_a_freeze_add_up_to_it(tmp_path: Path) -> None:
    """From 2.35 s to 5.25 s nothing comes, then all of it at once."""
    at_s = 0.05 + 0.1 * np.arange(98)
    call = _call(tmp_path, _groups_of_40(np.where((at_s > 2.4) & (at_s < 5.2), 5.25, at_s)))
    assert _freezes(call, 0.0, 10.0) == pytest.approx((1, 2.9, 2.9 / 9.94))
    assert _freezes(call, 0.0, 3.0) == pytest.approx((1, 0.65, 0.65 / 2.95))
    assert _freezes(call, 3.0, 5.0) == pytest.approx((1, 2.0, 1.0))
    assert _freezes(call, 5.0, 9.0) == pytest.approx((1, 0.25, 0.0625))
    assert _freezes(call, 6.0, 10.0) == (0, 0, 0)


def test_a_video_that_begins_after_a_window_has_no_freezes_in_it(tmp_path: Path) -> None:
    call = _call(tmp_path, _groups_of_40(np.maximum(3.0, 0.05 + 0.1 * np.arange(98))))
    assert _freezes(call, 0.0, 2.0) == (None, None, None)
    assert _freezes(call, 2.0, 4.0) == (0, 0, 0)


def test_media_have_a_rate_over_the_whole_window(tmp_path: Path) -> None:
    """A frame of 100 B every 100 ms: from 1.05 s to 1.55 s five are captured, from 1.12 s on."""
    call = _call(tmp_path, _groups_of_40(0.05 + 0.1 * np.arange(98)))
    found = by_name(call.within(Window(1.05, 1.55)), "media_rate")
    assert found["media_rate"] == found["media_rate.sent"] == pytest.approx(8 * 500 / 0.5)
    begun = by_name(call.within(Window(0.0, 0.52)), "media_rate")
    assert begun["media_rate"] == pytest.approx(8 * 500 / 0.5)
