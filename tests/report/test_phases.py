"""Lanes of states above lines over time: which there are, their colours, and the legend."""

from __future__ import annotations

import re

import pytest
from requested_figures import Maker, planned, requested, texts_of

from fairc.runtime.measurement.samples import STATES
from fairc.runtime.report.figures import Drawing
from fairc.runtime.report.figures.chart import Chart
from fairc.runtime.report.figures.phases import Lane, Paints, Phase, merged
from fairc.runtime.report.figures.style import SERIES, VARIABLES
from fairc.runtime.report.render import render
from fairc.runtime.report.svg import themed

BBR3 = ((0.0, "startup"), (1.0, "drain"), (1.5, "probe_bw_cruise"))


def drawing_of(make_run: Maker, metric: str, **spec: object) -> Drawing:
    """Return a line over time by flow of a run of two flows, of which the first says its states."""
    (request,) = planned("line(goodput, x: time, by: flow)", {}, 2).figures
    values = tuple(
        (0, n, name, flow, 9.0, unit, "")
        for n in (1, 2)
        for flow in ("cubic", "bbr")
        for name, unit in (("cwnd.mean", "packets"),)
    )
    path = make_run(
        figures=(request.model_copy(update={"metric": metric}),),
        repeat=2,
        duration_s=3.0,
        more=values,
        **spec,
    )
    return requested(path)[1]


def lanes(drawing: Drawing) -> list[Lane]:
    assert isinstance(drawing.picture, Chart)
    return [m for panel in drawing.picture.panels for m in panel.marks if isinstance(m, Lane)]


def test_a_line_of_a_window_has_a_lane_with_the_states_of_its_flow(make_run: Maker) -> None:
    drawing = drawing_of(make_run, "cwnd", states={"cubic": BBR3})
    (lane,) = lanes(drawing)
    assert [phase.state for phase in lane.phases] == [state for _, state in BBR3]
    assert [phase.begin_s for phase in lane.phases] == pytest.approx([0.0, 1.0, 1.5])
    assert lane.phases[-1].end_s == pytest.approx(3.0)
    assert lane.colour == SERIES[0], "the colour of its line"
    assert "state of its congestion controllers" in drawing.caption
    for width in ("page", "column"):
        texts = texts_of(render(drawing).svg[width])
        for state in ("startup", "drain", "probe bw cruise"):
            assert state in texts


def test_lanes_follow_light_and_dark(make_run: Maker) -> None:
    """On the page every colour of a lane and of its legend is one of the page's variables."""
    drawing = drawing_of(make_run, "cwnd", states={"cubic": BBR3})
    svg = themed(render(drawing).svg["page"], "figure")
    without = themed(render(drawing_of(make_run, "cwnd")).svg["page"], "figure")
    for colour in (SERIES[number] for number in range(3)):
        assert colour not in svg
        variable = re.compile(rf"--{VARIABLES[colour]}\b")
        assert len(variable.findall(svg)) > len(variable.findall(without))


@pytest.mark.parametrize(
    ("metric", "spec"),
    [
        ("cwnd", {}),
        ("goodput", {"states": {"cubic": BBR3}}),
    ],
    ids=["no states", "not of a sender"],
)
def test_other_lines_have_none(make_run: Maker, metric: str, spec: dict[str, object]) -> None:
    drawing = drawing_of(make_run, metric, **spec)
    assert lanes(drawing) == []
    assert "congestion controllers" not in drawing.caption


def test_data_stay_below_the_lanes(make_run: Maker) -> None:
    tops: list[float] = []
    for states in ({}, {"cubic": BBR3}, {"cubic": BBR3, "bbr": BBR3}):
        picture = drawing_of(make_run, "cwnd", states=states).picture
        assert isinstance(picture, Chart)
        assert picture.y.high is not None
        tops.append(picture.y.high)
    assert tops[0] < tops[1] < tops[2]


def test_bins_with_the_same_state_are_one_phase() -> None:
    bins = [(0, "a"), (1, "a"), (2, "b"), (5, "b")]
    assert merged(bins, 0.5) == [Phase(0, 1, "a"), Phase(1, 1.5, "b"), Phase(2.5, 3, "b")]


def test_every_state_has_a_colour_of_its_own_among_twelve() -> None:
    every = [[Phase(0, 1, state) for state in STATES[:12]]]
    paints = Paints.of(every)
    assert len({paints.of_state(state) for state in paints.states}) == 12
    assert [key.text for key in paints.keys][:2] == ["slow start", "css"]
