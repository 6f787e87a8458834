"""What held flows back is said next to the answer, where it did for a notable share of the time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairc.runtime.report.build import build
from fairc.runtime.report.limits import NOTABLE, limits
from fairc.runtime.report.run import Run

pytestmark = pytest.mark.usefixtures("without_drawing")
Maker = Callable[..., Path]


def test_what_is_notable_is_said_at_the_answer(make_run: Maker) -> None:
    told = {(0, "window_cap"): 0.634, (0, "receiver"): NOTABLE, (0, "send_buffer"): 0.051}
    run = make_run(repeat=2, duration_s=3.0, limits=told)
    (sentence,) = limits(Run(run))
    assert sentence.endswith(
        "for more than 5 % of the time: cubic by the cap of its congestion window (63 % of"
        " its time) and"
        " cubic by its send buffer (5 % of its time)."
    )
    for path in build(run, ["html", "md"]):
        answer = path.read_text("utf-8").partition("Over time</h2>")[0].partition("## Over time")[0]
        assert "the cap of its congestion window (63 % of its time)" in answer


def test_a_sweep_says_in_how_many_configurations(make_run: Maker) -> None:
    told = {(0, "receiver"): 0.2, (1, "receiver"): 0.6, (2, "receiver"): 0.01}
    run = make_run(sweep={"n": ("1", "2", "3")}, repeat=2, duration_s=3.0, limits=told)
    (sentence,) = limits(Run(run))
    assert (
        "cubic by its receive window (20 % to 60 % of its time in 2 of 3 configurations)"
        in sentence
    )


def test_cells_that_do_not_count_say_nothing(make_run: Maker) -> None:
    bad = {(0, r): ("ok", "invalid", ["too slow"]) for r in (1, 2)}
    run = make_run(repeat=2, duration_s=3.0, limits={(0, "receiver"): 0.9}, bad=bad)
    assert limits(Run(run)) == ()


def test_nothing_notable_is_not_said(make_run: Maker) -> None:
    assert limits(Run(make_run(repeat=2, duration_s=3.0, limits={(0, "application"): 0.01}))) == ()
