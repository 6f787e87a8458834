"""The conditions in which the compared transports differ, in the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairc.runtime.report.build import build
from fairc.runtime.report.differences import differences
from fairc.runtime.report.run import Run

pytestmark = pytest.mark.usefixtures("without_drawing")
Maker = Callable[..., Path]

CONDITIONS = {
    "pacing": ("off", "on"),
    "ECN": ("off", "off"),
    "send buffer": ("{index} B", "{index} B"),
    "window cap": ("none", "{index} packets"),
}


def test_only_what_differs_within_a_cell_is_listed(make_run: Maker) -> None:
    """The sweep changes the send buffer of both flows: no cell has two."""
    path = make_run(
        repeat=2,
        duration_s=3.0,
        transports=("tcp", "quic"),
        sweep={"n": ("1", "2", "3", "4", "5")},
        conditions=CONDITIONS,
    )
    found = differences(Run(path))
    assert [name for name, _ in found.head] == ["condition", "QUIC", "TCP"]
    pacing, cap = found.rows
    assert pacing == ("pacing: whether the sender spaces its packets", "on", "off")
    assert str(cap[0]).startswith("window cap: ")
    assert cap[1:] == ("0 packets, 1 packets, 2 packets and 2 more", "none")


def test_the_page_and_the_text_show_them(make_run: Maker) -> None:
    path = make_run(
        repeat=2, duration_s=3.0, transports=("tcp", "quic"), conditions={"pacing": ("off", "on")}
    )
    page = build(path)[0].read_text(encoding="utf-8")
    assert "Differences between the compared transports" in page
    assert "<td>on</td><td>off</td>" in page
    text = build(path, ("md",))[0].read_text(encoding="utf-8")
    table = (
        "| condition | QUIC | TCP |\n|---|---|---|\n"
        "| pacing: whether the sender spaces its packets | on | off |\n"
    )
    assert table in text


def test_one_transport_has_nothing_to_list(make_run: Maker) -> None:
    path = make_run(repeat=2, duration_s=3.0, conditions={"pacing": ("off", "on")})
    assert differences(Run(path)).rows == ()
    assert "Differences between" not in build(path)[0].read_text(encoding="utf-8")


def test_a_flow_over_several_transports_is_compared_with_itself(make_run: Maker) -> None:
    """bbr beside it is over TCP with another window cap: that is not what is compared."""
    path = make_run(
        repeat=2,
        duration_s=3.0,
        sweep={"over_cubic": ("tcp", "quic")},
        conditions={"window cap": ("{index} packets", "none"), "ECN": ("off", "on")},
    )
    found = differences(Run(path))
    assert [(str(row[0]).partition(":")[0], *row[1:]) for row in found.rows] == [
        ("window cap", "1 packets", "0 packets")
    ]
