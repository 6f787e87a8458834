"""Recovery times by hand: frames of a link that never changes, counted from some time on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from computed import results
from madeartefacts import hand_made

from fairc.compiler.plan import Change
from fairc.runtime.measurement import load
from fairc.runtime.measurement.changes import AppliedChange
from fairc.runtime.measurement.results import MetricValue


def _found(folder: Path, frames: str, flow: str = "a", **options: Any) -> list[MetricValue]:
    made = hand_made(frames)
    measured = load(made.cell, made.write(folder))
    return list(results(measured, "recovery_time", flow, **options))


def test_the_first_slot_that_is_used_ends_the_recovery(tmp_path: Path) -> None:
    """Frames take 10 ms. From 0.2 s on a has none of a slot, then half of one, then all of it."""
    frames = "a" * 20 + "b" * 10 + "ab" * 5 + "a" * 30
    for to, expected_s in [(0.8, 0.3), (0.4, 0.2)]:
        time, reached = _found(tmp_path / str(to), frames, after=0.2, slot=0.1, to=to)
        assert time.value == pytest.approx(expected_s)
        assert reached.value == 1
        assert (time.censored, time.started) == (0, 1)


def test_one_slot_is_the_least(tmp_path: Path) -> None:
    time, _ = _found(tmp_path, "a" * 60, after=0.2, slot=0.1)
    assert time.value == pytest.approx(0.1)


def test_what_leaves_into_a_link_that_is_down_is_no_recovery(tmp_path: Path) -> None:
    """The link is down from 0.2 to 0.43 s. The queue goes on sending, and a is back at 0.5 s."""
    made = hand_made("a" * 30 + "." * 20 + "a" * 30)
    measured = load(made.cell, made.write(tmp_path))
    place = measured.paths.delivery(measured.queues[0].place)
    assert place is not None
    up = measured.histories[place].interface.impairment
    assert up is not None
    states = ((0.2, replace(up, loss=1.0)), (0.43, up))
    done = tuple(
        (AppliedChange(*3 * (at_s,)), Change(round(at_s * 1e9), impairment=state))
        for at_s, state in states
    )
    history = replace(measured.histories[place], done=done)
    changed = replace(measured, histories={**measured.histories, place: history})
    for each, expected_s in ((measured, 0.1), (changed, 0.4)):
        time, reached = results(each, "recovery_time", "a", after=0.2, slot=0.1)
        assert time.value == pytest.approx(expected_s)
        assert reached.value == 1


def test_a_flow_that_never_recovers_is_censored(tmp_path: Path) -> None:
    time, reached = _found(tmp_path, "a" * 20 + "ab" * 20, after=0.2, slot=0.1)
    assert (time.value, time.censored, time.started) == (None, 1, 1)
    assert time.reason == "no slot of 0.1 s in the 0.3 s after the change reached 80% of the rate"
    assert reached.value == 0


def test_a_flow_that_ends_before_a_slot_shows_nothing(tmp_path: Path) -> None:
    time, reached = _found(tmp_path, "a" * 20, after=0.15, slot=0.1)
    assert (time.value, time.censored, reached.value) == (None, 0, None)


def test_several_changes_have_a_median_and_a_share(tmp_path: Path) -> None:
    """Frames take 10 ms. Changes at 0.1, 0.4 and 0.7 s; a recovers at once, in 0.2 s, never."""
    frames = "b" * 10 + "a" * 30 + "b" * 10 + "a" * 20 + "ab" * 16
    time, reached = _found(tmp_path, frames, after=0.1, every=0.3, slot=0.1)
    assert time.value == pytest.approx(0.2)
    assert reached.value == pytest.approx(2 / 3)


def test_where_most_changes_are_not_recovered_from_the_median_is_censored(tmp_path: Path) -> None:
    time, reached = _found(tmp_path, "a" * 40 + "ab" * 32, after=0.1, every=0.3, slot=0.1)
    assert (time.value, time.censored, time.started) == (None, 1, 1)
    assert time.reason.endswith("after 2 of 3 changes")
    assert reached.value == pytest.approx(1 / 3)


def test_why_a_flow_shows_no_recovery_from_repeated_changes(tmp_path: Path) -> None:
    """It is there at the change, but not until the next one."""
    time, reached = _found(tmp_path, "a" * 40, after=0.1, every=5, slot=0.1)
    assert (time.value, reached.value) == (None, None)
    assert "before the change at 5.1 s" in time.reason
    assert "was not there" not in time.reason
