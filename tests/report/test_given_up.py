"""Connections that ended by themselves are said next to the answer, and settings are listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairc.runtime.report.build import build
from fairc.runtime.report.differences import differences, settings
from fairc.runtime.report.limits import given_up
from fairc.runtime.report.run import Run

pytestmark = pytest.mark.usefixtures("without_drawing")
Maker = Callable[..., Path]
ENDS = ["connection 0 after 30.126 s: nothing has come", "connection 1 after 31.000 s: nothing"]


def test_the_first_of_a_flow_is_told_with_how_many_more(make_run: Maker) -> None:
    run = make_run(repeat=2, duration_s=3.0, given_up={(0, 1): ENDS, (0, 2): ENDS[:1]})
    (sentence,) = given_up(Run(run))
    assert sentence == f"Connections that ended by themselves: cubic, {ENDS[0]} (and 2 more)."
    for path in build(run, ["html", "md"]):
        assert "Connections that ended by themselves" in path.read_text("utf-8")


def test_cells_that_do_not_count_say_nothing(make_run: Maker) -> None:
    bad = {(0, r): ("ok", "invalid", ["too slow"]) for r in (1, 2)}
    run = make_run(repeat=2, duration_s=3.0, given_up={(0, 1): ENDS}, bad=bad)
    assert given_up(Run(run)) == ()


def test_all_settings_are_listed_and_equal_ones_are_no_difference(make_run: Maker) -> None:
    run = Run(
        make_run(
            repeat=1,
            duration_s=3.0,
            transports=("tcp", "quic"),
            conditions={"idle timeout": ("none", "none"), "idle restart": ("halved", "none")},
        )
    )
    listed = {row[0]: row[1:] for row in settings(run).rows}
    assert listed == {
        "idle restart: congestion window after an idle time": ("none", "halved"),
        "idle timeout: silence that ends a connection": ("none", "none"),
    }
    assert [row[0] for row in differences(run).rows] == [
        "idle restart: congestion window after an idle time"
    ]
