"""Logarithmic axes, the height of figures, and what is drawn over time beyond the lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from madecell import with_change
from requested_figures import subject_of, texts_of

from fairc.compiler import plan
from fairc.compiler.plan import parse_cell
from fairc.dsl.model.requests import Shown
from fairc.runtime.report.build import _Report
from fairc.runtime.report.figures import (
    FIGURES,
    Drawing,
    NothingToDraw,
    Subject,
    defaults,
    fairness,
)
from fairc.runtime.report.figures.chart import ends_around
from fairc.runtime.report.figures.layout import MAX_HEIGHT, headings
from fairc.runtime.report.figures.style import WIDTHS, paper_style
from fairc.runtime.report.render import render

Maker = Callable[..., Path]
Options = dict[str, str | float | tuple[str, ...]]


NETWORKS = [
    f"rate = {rate}, rtt = {rtt}, loss = 0%, cca = {cca}: left → right"
    for rate, rtt, cca in (("1Mbit/s", "150ms", "reno"), ("2Mbit/s", "60ms", "cubic"))
]


@pytest.mark.parametrize(
    ("texts", "inches", "expected"),
    [
        (NETWORKS, 4.0, NETWORKS),
        (
            NETWORKS,
            2.5,
            ["1Mbit/s, 150ms, 0%, reno: left → right", "2Mbit/s, 60ms, 0%, cubic: left → right"],
        ),
        (NETWORKS, 1.6, ["1Mbit/s, 150ms, reno", "2Mbit/s, 60ms, cubic"]),
        (
            [f"cca = {cca}, n = 1: {what}" for cca in ("bbr", "reno") for what in ("cwnd", "RTT")],
            0.7,
            ["bbr: cwnd", "bbr: RTT", "reno: cwnd", "reno: RTT"],
        ),
        (["cca = westwood: window"], 0.7, ["westw…window"]),
        (["", ""], 1.0, ["", ""]),
    ],
)
def test_headings_of_panels_have_one_form_and_say_what_differs(
    texts: list[str], inches: float, expected: list[str]
) -> None:
    assert headings(texts, inches) == expected


def made(
    subject: Subject, kind: str, metric: str, **options: str | float | tuple[str, ...]
) -> Drawing:
    kinds = {found.name: found for found in FIGURES}
    request = plan.FigureRequest(kind=kind, metric=metric, options=options)
    drawing = kinds[kind].make(subject, request)
    assert isinstance(drawing, Drawing)
    return drawing


LINE: Options = {"x": "n", "ci": 0.95, "stat": "median"}
BOX: Options = {"by": ("n",), "notch": "off", "test": "none", "ci": 0.95}


def numbered(*values: str) -> dict[str, object]:
    axis = plan.Axis(name="n", values=values, numbers=tuple(map(float, values)), unit="1")
    return {"sweep": {"n": values}, "axes": (axis,), "repeat": 2, "duration_s": 1.0}


@pytest.mark.parametrize(
    ("kind", "options", "scales"),
    [
        ("line", LINE, ("linear", "linear")),
        ("line", LINE | {"log": "x"}, ("log", "linear")),
        ("line", LINE | {"log": "y"}, ("linear", "log")),
        ("line", LINE | {"log": "xy"}, ("log", "log")),
        ("line", LINE | {"x": "time", "log": "xy"}, ("log", "log")),
        ("cdf", {"log": "x"}, ("log", "linear")),
        ("boxplot", BOX | {"log": "x"}, ("log", "linear")),
    ],
)
def test_axes_are_logarithmic_where_asked(
    make_run: Maker, kind: str, options: Options, scales: tuple[str, str]
) -> None:
    subject = subject_of(make_run(**numbered("1", "2", "5")))
    drawing = made(subject, kind, "goodput", **options)
    for width in WIDTHS:
        with paper_style():
            axes = drawing.picture.draw(width).axes[0]
        assert (axes.get_xscale(), axes.get_yscale()) == scales


def test_logarithmic_axes_have_plain_numbers(make_run: Maker) -> None:
    path = make_run(**numbered("1", "10"))
    drawing = made(subject_of(path), "line", "goodput", **LINE, log="xy")
    texts = texts_of(render(drawing).svg["page"])
    assert not [text for text in texts if "$" in text or "10^" in text]
    assert {"0.5", "1"} & set(texts)


def test_what_is_not_positive_has_no_logarithm(make_run: Maker) -> None:
    subject = subject_of(make_run(**numbered("0", "2", "5")))
    with pytest.raises(NothingToDraw, match="takes positive values only, and one is 0"):
        made(subject, "line", "goodput", **LINE, log="x")
    with pytest.raises(NothingToDraw, match="takes positive values only, and one is -0"):
        made(subject, "cdf", "fairness.F", log="x")
    words = subject_of(make_run(sweep={"n": ("a", "b")}, repeat=1, duration_s=1.0))
    with pytest.raises(NothingToDraw, match="takes numbers, and the values of n are not"):
        made(words, "line", "goodput", **LINE, log="x")


ODD = {
    "fmp.jain": (0.0, 0.0),
    "fmp.K": (-1.0, -1.0),
    "queue_delay.mean": (1e-9, 1e-9),
    "unfairness": (1e15, 2e15),
    "convergence_time": (None, None),
}


BOTH, ACROSS, NEITHER = ("", "x", "xy"), ("", "x"), ("",)
FIGURES_OF_ODD: list[tuple[str, Options, tuple[str, ...]]] = [
    *(("line", LINE | {"x": x}, BOTH) for x in ("n", "repetition")),
    ("scatter", {"by": (), "ellipse": 1.0}, BOTH),
    ("cdf", {}, ACROSS),
    ("boxplot", BOX, ACROSS),
    ("heatmap", {"x": "n", "y": "repetition", "stat": "median"}, NEITHER),
    ("histogram", {"bins": 3.0}, NEITHER),
]


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("value", [-2.0, 0.0, 1e-300, 5.0, 1e17])
def test_an_axis_ends_around_a_single_value(value: float, log: bool) -> None:
    if value > 0 or not log:
        low, high = ends_around(value, value, 0.04, log=log)
        assert low < value < high
        assert ends_around(value, value + abs(value) + 1, 0.04, log=log)[0] < value


def test_axes_take_one_value_and_equal_ones(make_run: Maker) -> None:
    """Whatever the values of two cells are, a figure is drawn, or a sentence says why not."""
    rows = [
        (0, r, metric, None, values[r - 1], "1", "" if values[0] is not None else "it is not")
        for metric, values in ODD.items()
        for r in (1, 2)
    ]
    subject = subject_of(make_run(**numbered("5") | {"duration_s": 0.1}, more=tuple(rows)))
    of_time = [("goodput", "line", LINE | {"x": "time"}, log) for log in BOTH]
    of_odd = [
        (metric, kind, options, log)
        for metric in ODD
        for kind, options, logs in FIGURES_OF_ODD
        for log in logs
    ]
    known = {kind.name: kind for kind in FIGURES}
    drawn = set()
    for metric, kind, options, log in (*of_time, *of_odd):
        asked = options | ({"log": log} if log else {})
        second = Shown(metric=metric) if kind == "scatter" else None
        request = plan.FigureRequest(kind=kind, metric=metric, options=asked, second=second)
        try:
            drawing = known[kind].make(subject, request)
        except NothingToDraw:
            continue
        assert isinstance(drawing, Drawing)
        with paper_style():
            figure = drawing.picture.draw("page")
            figure.draw_without_rendering()
        axes = figure.axes[0]
        assert axes.get_xlim()[0] < axes.get_xlim()[1]
        drawn.add((metric, kind, log))
    positive = ("queue_delay.mean", "unfairness")
    every = [(m, kind, log) for m, kind, _, log in of_odd if m != "convergence_time"]
    wanted = {of for of in every if not of[2] or of[0] in positive}
    assert wanted | {("goodput", "line", log) for log in BOTH} <= drawn
    assert not {of for of in drawn if of[0] == "convergence_time"}
    assert not {of for of in drawn if of[0] in ("fmp.jain", "fmp.K") and "y" in of[2]}


@pytest.mark.full
def test_no_figure_is_taller_than_a_page(make_run: Maker) -> None:
    many = tuple(str(i) for i in range(1, 13))
    big = subject_of(make_run(**numbered(*many)))
    few = subject_of(make_run(**numbered("1", "2", "3", "4")))
    wide = subject_of(make_run(flows=tuple(f"f{i}" for i in range(6)), **numbered(*many)))
    drawings = [
        *(kind.make(few, None) for kind in defaults(few)),
        fairness.KIND.make(big, None),
        made(big, "line", "goodput", **LINE, facet=("n",)),
        made(big, "cdf", "goodput", facet=("n",)),
        made(big, "boxplot", "goodput", **BOX),
        made(wide, "boxplot", "goodput", **(BOX | {"by": ("flow",)}), facet=("n",)),
        made(wide, "heatmap", "goodput", x="n", y="flow", facet=("repetition",), stat="median"),
    ]
    for drawing in drawings:
        assert isinstance(drawing, Drawing)
        for width, inches in WIDTHS.items():
            with paper_style():
                figure = drawing.picture.draw(width)
            assert figure.get_figheight() <= MAX_HEIGHT + 1e-9, (drawing.name, width)
            assert figure.get_figwidth() == inches


@pytest.mark.full
def test_text_between_many_boxes_can_be_read(make_run: Maker) -> None:
    run = subject_of(make_run(**numbered(*(str(i) for i in range(1, 15)))))
    drawing = made(run, "boxplot", "goodput", **BOX)
    for width in WIDTHS:
        with paper_style():
            (axes,) = drawing.picture.draw(width).axes
        rows = [text for text in axes.texts if text.get_text().endswith("(n = 2)")]
        assert len(rows) == 28
        for upper, lower in pairwise(rows):
            points = float(upper.get_fontsize())
            assert points >= 5
            apart = upper.get_position()[1] - lower.get_position()[1]
            inches = abs(apart) / abs(axes.get_ylim()[0]) * axes.get_position().height * MAX_HEIGHT
            assert inches * 72 > 2 * points


def test_the_warm_up_is_shaded_and_a_changing_capacity_drawn(make_run: Maker) -> None:
    path = make_run(repeat=2, duration_s=5.0)
    cells = path / "cells.jsonl"
    still = {f.name: f.caption for f in _Report(path).figures}
    assert not any("Shaded" in c or "rate of the link" in c for c in still.values())
    lines = [parse_cell(line) for line in cells.read_text("utf-8").splitlines()]
    change = plan.Change(at_ns=10**9, rate_bps=5_000_000)
    moved = [with_change(replace(cell, warmup_ns=2 * 10**9), change) for cell in lines]
    cells.write_text("".join(plan.cell_json(cell) + "\n" for cell in moved), "utf-8")
    drawn = {f.name: f for f in _Report(path).figures if isinstance(f, Drawing)}
    for name in ("rates", "window", "queue"):
        assert "Shaded: the warm-up." in drawn[name].caption
        assert "Dotted: the network changes as declared." in drawn[name].caption
    assert "Dashed: the rate of the link" in drawn["rates"].caption
    with paper_style():
        (axes,) = drawn["rates"].picture.draw("page").axes
    assert max(
        float(np.nanmax(np.asarray(line.get_ydata(), float))) for line in axes.lines
    ) == pytest.approx(5)
    assert "r1 → r2" in drawn["queue"].alt
