"""The figures of `report { ... }`, from the text of an experiment to the page."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.lines import Line2D
from representatives import few
from requested_figures import (
    SWEEP,
    Maker,
    planned,
    requested,
    requested_table,
    run_of,
    subject_of,
    texts_of,
    values_of,
)

from fairc.compiler.plan import FigureRequest, Shown
from fairc.runtime.formatting import Number
from fairc.runtime.repetitions.sides import LEAST
from fairc.runtime.report.build import build
from fairc.runtime.report.figures import (
    Drawing,
    NothingToDraw,
    cdf,
    convergence,
    fairness,
    heatmap,
    histogram,
    line,
    matrix,
    rows,
    scatter,
    style,
)
from fairc.runtime.report.figures.axis import NamedAxis
from fairc.runtime.report.figures.chart import Axis, Chart, Panel
from fairc.runtime.report.figures.heatmap import Heat
from fairc.runtime.report.figures.layout import Key
from fairc.runtime.report.figures.marks import Line
from fairc.runtime.report.figures.query import Summing, load
from fairc.runtime.report.figures.rows import Rows
from fairc.runtime.report.figures.style import VARIABLES
from fairc.runtime.report.render import render
from fairc.runtime.report.run import Run
from fairc.runtime.statistics import median

F = "fairness.F"

EVERY = """
    heatmap(fairness.F, x: repetition, y: loss, facet: n)
    heatmap(fairness.F, x: n, y: loss)
    heatmap(goodput, x: n, y: loss, facet: flow)
    line(goodput, x: n, by: loss)
    line(goodput, x: repetition, by: flow, facet: [loss, n])
    line(rtt, x: time, by: flow)
    boxplot(fairness.F, by: [n, loss], notch: on, test: welch)
    boxplot(goodput, by: flow, facet: loss, test: wilcoxon)
    cdf(goodput, by: loss, where: n == 5)
    cdf(fairness.F, by: n, facet: loss)
    histogram(fairness.F, by: loss, bins: 7)
    table(fairness.F, by: (loss, n), percentile: 10)
    table(goodput, by: loss, stat: mean, ci: 90%)
    convergence(fairness.F, percentile: 90, draws: 50)
"""


@pytest.mark.usefixtures("page_width")
@pytest.mark.parametrize("suffix", few(["svg", "pdf"], "svg"))
def test_every_figure_stands_on_the_page(make_run: Maker, suffix: str) -> None:
    path = run_of(make_run, EVERY)
    built = build(path, ("html", "md", suffix))
    page = html.unescape(built[0].read_text(encoding="utf-8"))
    text = (path / "report.md").read_text(encoding="utf-8")
    assert "No figure" not in page
    plan = Run(path).plan
    for place, request in enumerate(plan.figures, 1):
        stem = f"{place:02}-{request.kind}-"
        assert f'id="figure-{stem}' in page
        files = {p.suffix for p in built if p.name.startswith(stem)}
        assert files == (set() if request.kind == "table" else {f".{suffix}"})
    assert "10th percentile of fairness" in text


@pytest.mark.usefixtures("page_width")
@pytest.mark.parametrize(
    "bad",
    [
        dict.fromkeys([(c, r) for c in range(6) for r in range(1, 7)], ("ok", "invalid", ["no"])),
        dict.fromkeys([(c, r) for c in range(6) for r in range(1, 7)], ("failed", None, ["no"])),
        dict.fromkeys([(c, r) for c in range(6) for r in range(2, 7)], ("failed", None, ["no"])),
    ],
    ids=["all invalid", "all failed", "one repetition"],
)
def test_a_run_with_little_to_show_has_a_report(make_run: Maker, bad: dict[Any, Any]) -> None:
    path = run_of(make_run, EVERY, bad=bad)
    page = html.unescape(build(path)[0].read_text(encoding="utf-8"))
    if len(bad) == 36:
        assert page.count("no cell that counts has a value of") >= len(Run(path).plan.figures)
    else:
        assert "No figure" not in page
        assert "left out: 30 failed" in page


def test_a_figure_of_one_flow_shows_that_flow_alone(make_run: Maker) -> None:
    path = run_of(make_run, "line(goodput(bbr), x: n, by: loss)")
    subject, drawing = requested(path)
    assert drawing.title == "goodput of bbr against n by loss"
    assert drawing.name == "01-line-goodput-bbr"
    values = values_of(subject, "goodput", n="2", loss="1%")
    texts = texts_of(render(drawing).svg["page"])
    assert "goodput of bbr (Mbit/s)" in texts and not any("cubic" in text for text in texts)
    query = load(subject, subject.run.plan.figures[0])
    shown = [s.value for s in query.samples if (s.keys["n"], s.keys["loss"]) == ("2", "1%")]
    assert shown == values["bbr"] != values["cubic"]


def test_an_expression_is_what_a_claim_about_it_would_find(make_run: Maker) -> None:
    gain = "median(goodput(bbr), where: n == 5) / median(goodput(bbr), where: n == 1) - 1"
    bad = {(0, 3): ("ok", "invalid", ["base RTT is 70 ms"])}
    path = run_of(make_run, f"line({gain}, x: loss)", bad=bad, common=("starts",))
    subject, drawing = requested(path)
    assert drawing.caption.startswith(f"Line: `{gain}`; band or bar: its 95 % interval")
    assert "n = 23 cells; left out: 1 invalid." in drawing.caption
    query = load(subject, subject.run.plan.figures[0])
    for (loss,), samples in query.groups(("loss",)):
        one = values_of(subject, "goodput", n="1", loss=loss)["bbr"]
        five = values_of(subject, "goodput", n="5", loss=loss)["bbr"]
        if loss == "0%":
            five = [v for i, v in enumerate(five, 1) if i != 3]  # compared in each repetition
        ratios = [b / a - 1 for a, b in zip(one, five, strict=True)]
        found = Summing(query)(samples)
        assert found.n == len(ratios)
        assert found.value is not None and min(ratios) < found.value < max(ratios)
        assert found.n < 6 or (found.low, found.high) == pytest.approx((min(ratios), max(ratios)))


def test_each_point_of_a_scatter_plot_is_a_repetition(make_run: Maker) -> None:
    path = run_of(
        make_run,
        "scatter(goodput(bbr), x: fairness.F, by: n, facet: loss, ellipse: 2, reverse: x)",
        undefined={(0, 2): "no time together"},
    )
    subject, drawing = requested(path)
    assert drawing.title == "goodput of bbr against fairness.F by n and loss"
    assert "Each small point is a repetition, 5 to 6 in a group" in drawing.caption
    assert "which holds 86 % of it" in drawing.caption
    assert "Reversed: larger values are at the left." in drawing.caption
    chart = drawing.picture
    assert isinstance(chart, Chart) and isinstance(chart.x, Axis)
    assert chart.x.low is not None and chart.x.high is not None and chart.x.low > chart.x.high
    first = [mark for mark in chart.panels[0].marks if isinstance(mark, Line)]
    points, mean, ring = first[:3]
    f = values_of(subject, F, n="1", loss="0%")[None]
    assert points.x == pytest.approx(f) and len(f) == 5
    assert mean.x == pytest.approx([np.mean(f)])
    assert len(ring.x) == len(ring.y) == 73  # type: ignore[arg-type]


def test_a_scatter_plot_of_many_groups_has_a_panel_for_each_flow(make_run: Maker) -> None:
    """Ten groups of two flows are too many for a panel, and ten are not."""
    sweep = {"n": tuple(str(n) for n in range(1, 11))}
    path = run_of(make_run, "scatter(utilization, x: goodput, by: n)", sweep)
    _, drawing = requested(path)
    assert isinstance(drawing.picture, Chart)
    assert [panel.heading for panel in drawing.picture.panels] == ["flow = cubic", "flow = bbr"]
    assert [key.text for key in drawing.picture.keys] == [f"n = {n}" for n in sweep["n"]]


@pytest.mark.parametrize(
    ("figure", "names"),
    [
        ("scatter(goodput, x: rtt.mean(cubic), where: flow != cubic)", []),
        ("scatter(rtt.mean(cubic), x: goodput, where: flow != cubic)", []),
        ("scatter(goodput, x: rtt.mean(cubic), by: flow)", ["flow = cubic", "flow = bbr"]),
    ],
)
def test_where_chooses_flows_of_the_metric_that_names_none(
    make_run: Maker, figure: str, names: list[str]
) -> None:
    _, drawing = requested(run_of(make_run, figure, {"n": ("1",)}))
    assert isinstance(drawing.picture, Chart)
    points_and_means = len(drawing.picture.panels[0].marks)
    assert points_and_means == 2 * max(1, len(names))  # one group has no name
    assert [key.text for key in drawing.picture.keys] == names


def test_a_legend_of_several_lines_stands_in_columns() -> None:
    keys = [Key("long, " * place, style.SERIES[0], marker="o") for place in range(1, 6)]
    chart = Chart([Panel("", [])], Axis("x"), Axis("y"), heights=(1.7, 1.15), keys=keys)
    drawn = [text.get_position() for text in chart.draw("page").texts]
    assert len({x for x, _ in drawn}) == 2 and len({y for _, y in drawn}) == 3


def test_words_that_would_look_alike_when_cut_stand_upright() -> None:
    """Then they have room below the panel; others are cut, and numbers are left out."""
    alike = [f"{name}[{rtt}ms]" for name in ("down", "up", "ping") for rtt in (10, 50, 200, 500)]
    axis = NamedAxis("flow", {text: float(i) for i, text in enumerate(alike)}, numeric=False)
    assert axis.height_below(5.2) > 0.5 and axis.height_below(20.0) == 0.0
    words = ["fifo(1000pkt)", "codel(1000pkt)", "pie(1000pkt)"]
    assert (
        NamedAxis("q", {w: float(i) for i, w in enumerate(words)}, numeric=False).height_below(2.0)
        == 0
    )
    queues = {word: float(i) for i, word in enumerate(("fifo", "fq_codel", "cake"))}
    brief = NamedAxis("q", queues, numeric=False)
    assert brief.height_below(1.6) == 0 and brief.height_below(1.1) > 0, "`fq…el` is no queue"
    numbers = {str(10**i): float(10**i) for i in range(12)}
    assert NamedAxis("n", numbers, numeric=True).height_below(1.0) == 0.0


def test_labels_stand_upright_below_every_column() -> None:
    """Panels of a row share the axis, but each has labels of its own."""
    flows = [f"{name}[{rtt}ms]" for name in ("down", "up", "ping") for rtt in (10, 50, 200, 500)]
    axis = NamedAxis("flow", {text: float(i) for i, text in enumerate(flows)}, numeric=False)
    line = Line(range(12), range(12), style.SERIES[0], "none", marker="o")
    panels = [Panel(f"n = {n}", [line]) for n in range(4)]
    drawn = Chart(panels, axis, Axis("rate"), heights=(1.7, 1.15)).draw("page")
    turned = [{text.get_rotation() for text in axes.get_xticklabels()} for axes in drawn.axes]
    assert turned == [set(), set(), {90.0}, {90.0}]


def test_points_of_one_colour_have_different_markers(make_run: Maker) -> None:
    """The seventh line begins the colours anew, and no dash can tell points apart."""
    path = run_of(make_run, "line(goodput, x: flow, by: n)", {"n": tuple("1234567")})
    _, drawing = requested(path)
    assert isinstance(drawing.picture, Chart)
    lines = [
        mark
        for mark in drawing.picture.panels[0].marks
        if isinstance(mark, Line) and mark.label is not None
    ]
    first, *_, last = lines
    assert first.colour == last.colour and (first.label, last.label) == ("1", "\N{BLACK SQUARE} 7")
    markers: dict[str, list[str]] = {mark.colour: [] for mark in lines}
    for mark in drawing.picture.panels[0].marks:
        if isinstance(mark, Line) and mark.marker:
            markers[mark.colour].append(mark.marker)
    assert set(markers[first.colour]) == {"o", "s"}


def test_fairness_among_some_flows_is_drawn_too(make_run: Maker) -> None:
    """Of `fairness(a, b)`, whose values carry the names, and of no other."""
    more = [(0, r, "fairness.jain_session(a, b)", None, 0.9, "1", "") for r in range(1, 7)]
    path = make_run(sweep={}, repeat=6, duration_s=3.0, fairness=False, more=tuple(more))
    drawing = fairness.by_default(subject_of(path))
    assert isinstance(drawing.picture, Rows)
    assert [panel.heading for panel in drawing.picture.panels] == ["Jain's index, session of a, b"]


@pytest.mark.full
def test_figures_that_a_run_no_longer_has_are_removed(make_run: Maker) -> None:
    """Those on record: what the user has put there stays."""
    path = run_of(make_run, "boxplot(goodput, by: loss)")
    written = build(path, ("svg",))
    old = next(file for file in written if file.name.startswith("01-boxplot"))
    mine = old.parent / "mine.svg"
    mine.write_text("<svg/>")
    plan = json.loads((path / "plan.json").read_text())
    (path / "plan.json").write_text(json.dumps(plan | {"figures": []}))
    build(path, ("html",))
    assert old.exists()
    build(path, ("svg",))
    assert not old.exists() and mine.exists()


def test_the_ellipse_is_a_contour_of_the_fitted_normal_distribution() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal(200), rng.standard_normal(200)
    y = 0.5 * x + y
    ring = np.stack(scatter.ellipse(x, y, 2.0)) - np.array([[x.mean()], [y.mean()]])
    inverse = np.linalg.inv(np.cov(x, y, bias=True))
    distances = np.sqrt(np.einsum("in,ij,jn->n", ring, inverse, ring))
    assert distances == pytest.approx(np.full(73, 2.0))


def test_a_matrix_shows_each_pair_at_both_of_its_places(make_run: Maker) -> None:
    path = run_of(make_run, "heatmap(goodput, x: loss, y: n)")
    subject = subject_of(path)
    request = FigureRequest(
        kind="matrix",
        metric="goodput",
        flow="cubic",
        second=Shown(metric="goodput", flow="bbr"),
        options={"x": "loss", "y": "n", "stat": "median"},
    )
    drawing = matrix.KIND.make(subject, request)
    assert isinstance(drawing, Drawing) and isinstance(drawing.picture, Heat)
    (found,) = drawing.picture.maps
    one = values_of(subject, "goodput", loss="1%", n="2")
    factor = drawing.picture.query.scale.factor
    assert found.tiles["2", "1%"].value * factor == pytest.approx(np.median(one["cubic"]))
    assert found.tiles["1%", "2"].value * factor == pytest.approx(np.median(one["bbr"]))
    assert drawing.title == "goodput of cubic and goodput of bbr for each pair of loss and n"


def test_f_is_shown_as_colour_and_side(make_run: Maker) -> None:
    report = "heatmap(fairness.F, x: repetition, y: loss, where: n == 2)"
    bad = {(1, 3): ("ok", "invalid", ["base RTT is 70 ms"]), (4, 1): ("failed", None, ["no"])}
    path = run_of(make_run, report, bad=bad, undefined={(4, 2): "no time together"})
    subject, drawing = requested(path)
    values = values_of(subject, F, n="2")[None]
    assert len(values) == 9
    squares, circles = sum(v <= -LEAST for v in values), sum(v >= LEAST for v in values)
    assert f"cubic dominates in {squares} and bbr dominates in {circles} of 9" in drawing.alt
    assert "n = 9 cells; left out: 1 invalid, 1 failed and 1 without a value." in drawing.caption
    assert "where n == 2" in drawing.title
    for svg in render(drawing).svg.values():
        fills = re.findall(r'fill="(#[0-9a-f]{6})"', svg)
        shades = {shade_of(abs(v)) for v in values}
        assert shades <= set(fills)
        assert {"cubic dominates", "bbr dominates"} <= set(texts_of(svg))
        assert svg.count("url(#") >= 3  # a hatched place for each of those left out


def test_noise_of_f_fills_no_mark(make_run: Maker) -> None:
    """A median of -0.0014 whose interval excludes 0 is open, and nobody dominates by it."""
    more = tuple(
        (place, r, F, None, value * (1 + r / 20), "1", "")
        for place, value in enumerate((-0.0014, -0.2))
        for r in range(1, 7)
    )
    sweep = {"loss": ("0%", "1%"), "n": ("1",)}
    path = run_of(
        make_run,
        "heatmap(fairness.F, x: n, y: loss)",
        sweep=sweep,
        repeat=6,
        more=more,
        fairness=False,
    )
    _, drawing = requested(path)
    assert isinstance(drawing.picture, Heat)
    (found,) = drawing.picture.maps
    assert [(t.side, t.sure) for t in found.tiles.values()] == [(-1, False), (-1, True)]
    assert "cubic dominates in 1 and bbr dominates in 0 of 2 tiles" in drawing.alt
    assert "Open: |F| < 0.01, the 95 % interval contains 0" in drawing.caption


def shade_of(value: float) -> str:
    from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex

    paint = LinearSegmentedColormap.from_list("fair", style.FAIR_TO_UNFAIR)
    return to_hex(paint(Normalize(0, 0.5)(value)))


def test_a_side_is_open_where_the_interval_holds_0(make_run: Maker) -> None:
    path = run_of(make_run, "heatmap(fairness.F, x: n, y: loss)")
    subject, drawing = requested(path)
    estimates = [
        median(values_of(subject, F, n=n, loss=loss)[None])
        for n in SWEEP["n"]
        for loss in SWEEP["loss"]
    ]
    undecided = sum(e.low is None or not (e.low > 0 or (e.high or 0) < 0) for e in estimates)
    assert ("open: undecided" in texts_of(render(drawing).svg["page"])) == bool(undecided)
    assert "Each tile is the median of 6 cells" in drawing.caption


def test_scales_grow_darker_and_keep_their_colours() -> None:
    from matplotlib.colors import to_rgb

    lightness = [style.luminance(to_rgb(c)) for c in style.FAIR_TO_UNFAIR]
    assert all(a - b > 0.03 for a, b in pairwise(lightness))
    assert not {*style.FAIR_TO_UNFAIR, style.DARK, style.LIGHT} & set(VARIABLES)
    for c in style.FAIR_TO_UNFAIR:
        ink = style.luminance(to_rgb(style.ink_on(to_rgb(c))))
        light, dark = max(ink, style.luminance(to_rgb(c))), min(ink, style.luminance(to_rgb(c)))
        assert (light + 0.05) / (dark + 0.05) > 3


def test_a_line_is_the_median_of_its_cells(
    make_run: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run_of(make_run, "line(goodput, x: n, by: loss)")
    seen: list[Any] = []
    monkeypatch.setattr(line, "_chart", lambda query, lines, axis: seen.append(lines))
    subject, _ = requested(path)
    (lines,) = seen
    assert [found.name for found in lines] == ["0%, cubic", "0%, bbr", "1%, cubic", "1%, bbr"]
    expected = median(values_of(subject, "goodput", loss="1%", n="5")["bbr"])
    point = lines[3].points[-1]
    assert (point.x, point.value, point.low, point.high, point.n) == (
        5.0,
        expected.value,
        expected.low,
        expected.high,
        6,
    )


def test_a_line_over_time_is_what_the_slots_hold(
    make_run: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = {"light-1": "light", "light-2": "light", "heavy-1": "heavy"}
    report = "line(goodput, x: time, by: users, where: loss == 1%)"
    sweep = {"loss": ("0%", "1%")}
    with pytest.raises(AssertionError, match="not-an-axis"):
        planned(report, sweep)
    plan = planned(report.replace("users", "flow"), sweep)
    (request,) = plan.figures
    request = request.model_copy(update={"options": {**request.options, "by": "users"}})
    path = make_run(
        sweep=sweep,
        axes=plan.axes,
        figures=(request,),
        flows=tuple(users),
        users=users,
        repeat=3,
        duration_s=40.0,
        fairness=False,
    )
    seen: list[Any] = []
    monkeypatch.setattr(line, "_chart", lambda query, lines, axis: seen.append(lines))
    subject, _ = requested(path)
    (lines,) = seen
    light = next(found for found in lines if found.name == "light")
    rows = subject.run.rows(
        "SELECT cell, sum(delivered_bytes) * 8 / 0.5 / 2 FROM slots JOIN cells USING (cell)"
        " WHERE loss = '1%' AND flow IN ('light-1', 'light-2') AND slot BETWEEN 10 AND 14 GROUP BY cell"
    )
    at = next(p for p in light.points if p.x == pytest.approx(1.25))
    assert at.n == 3
    assert at.value == pytest.approx(float(np.median([v for _, v in rows])))


def test_a_line_of_the_window_over_time_is_drawn(make_run: Maker) -> None:
    plan = planned("line(goodput, x: time)", {}, 2)
    (request,) = plan.figures
    window = request.model_copy(update={"metric": "cwnd"})
    rows = tuple(
        (0, n, "cwnd.mean", flow, 9.0, "packets", "") for n in (1, 2) for flow in ("cubic", "bbr")
    )
    path = make_run(figures=(window,), repeat=2, duration_s=3.0, more=rows)
    _, drawing = requested(path)
    assert "mean congestion window of a flow's connections" in drawing.caption
    assert any("cwnd.mean (packets)" in text for text in texts_of(render(drawing).svg["page"]))


@pytest.mark.parametrize(("factor", "own"), [(8, False), (100, True)])
def test_panels_whose_values_differ_tenfold_have_axes_of_their_own(
    make_run: Maker, factor: int, own: bool
) -> None:
    sweep = {"n": ("1", "2"), "loss": ("0%", "1%")}
    plan = planned("line(goodput, x: n, facet: loss)", sweep, 2)
    (request,) = plan.figures
    delays = request.model_copy(update={"metric": "bursts.mean"})
    rows = tuple(
        (i, r, "bursts.mean", "cubic", 5.0 * (factor if i % 2 else 1) * r, "packets", "")
        for i in range(4)
        for r in (1, 2)
    )
    path = make_run(sweep=sweep, axes=plan.axes, figures=(delays,), repeat=2, more=rows)
    _, drawing = requested(path)
    assert isinstance(drawing.picture, Chart)
    ends = [panel.y.high for panel in drawing.picture.panels if panel.y]
    assert ends == pytest.approx([1.05 * 7.5, 1.05 * 750] if own else [])
    assert ("Each panel has a vertical axis of its own." in drawing.caption) == own


def test_where_keeps_what_it_says(make_run: Maker) -> None:
    path = run_of(make_run, "cdf(fairness.F, where: n > 1 and repetition <= 2)")
    subject, drawing = requested(path)
    ((names, rows),) = [(f.where.names, f.where.rows) for f in subject.run.plan.figures if f.where]
    assert names == ("n", "repetition")
    assert set(rows) == {("2", "1"), ("2", "2"), ("5", "1"), ("5", "2")}
    assert "n = 8 cells" in drawing.caption


def test_steps_of_a_distribution() -> None:
    few = [float(v) for v in range(5)]
    assert cdf.steps(few) == ([0.0, *few], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    many = tuple(v**2 / 1e6 for v in range(10_000))
    x, y = cdf.steps(list(many))
    assert len(x) == cdf.MAX_STEPS + 1
    endless = [1.0, 2.0, math.inf, math.inf]
    assert cdf.steps(endless) == ([1.0, 1.0, 2.0], [0.0, 0.25, 0.5])
    assert cdf.steps([math.inf]) == ([], [])
    assert (x[0], x[-1], y[-1]) == (many[0], many[-1], 1.0)
    for value, share in list(zip(x, y, strict=True))[1:]:
        assert share == pytest.approx(np.searchsorted(many, value, side="right") / len(many))


def test_bins_hold_every_value_and_are_symmetrical() -> None:
    values = [-0.1, 0.0, 0.05, 0.3, 0.3]
    edges = histogram.bin_edges(values, 6)
    assert [edges[0], edges[3], edges[-1]] == pytest.approx([-0.3, 0, 0.3])
    assert sum(histogram.counts(values, edges)) == len(values)
    assert histogram.counts(values, edges)[-1] == 2
    assert sum(histogram.counts([2.0, 2.0], histogram.bin_edges([2.0, 2.0], 5))) == 2


def test_convergence_says_how_many_configurations_are_enough(make_run: Maker) -> None:
    path = run_of(make_run, "convergence(utilization, percentile: 50, draws: 50)")
    _, drawing = requested(path)
    assert re.search(
        r"(\d+ of 6|Not even half of the 6) configurations are enough", drawing.caption
    )
    assert "Not shown" not in drawing.caption  # its one group has enough


def test_draws_are_subsets_of_up_to_half_of_the_configurations() -> None:
    values = np.random.RandomState(3).rand(60).tolist()
    sizes = convergence.sizes_for(60)
    assert (sizes[0], sizes[-1]) == (3, 30)
    spread = convergence.spread_of(values, 90, sizes, 400, seed=7)
    whole = np.percentile(values, 90)
    assert convergence.spread_of(values, 90, (60,), 400, seed=7)[:, 0] == pytest.approx([whole] * 3)
    widths = spread[2] - spread[0]
    assert widths[0] > widths[-1]
    assert (spread == convergence.spread_of(values, 90, sizes, 400, seed=7)).all()
    assert not (spread == convergence.spread_of(values, 90, sizes, 400, seed=8)).all()
    # The largest of k of n is the j-th smallest of all with C(j-1, k-1) / C(n, k).
    ordered = sorted(values)
    chance = [math.comb(j - 1, 5) / math.comb(60, 6) for j in range(1, 61)]
    total = np.cumsum(chance)
    top = convergence.spread_of(values, 100, (6,), 4000, seed=1)
    middle = [ordered[int(np.searchsorted(total, q))] for q in (0.47, 0.53)]
    assert middle[0] <= top[1, 0] <= middle[1]


def test_a_table_holds_the_numbers(make_run: Maker) -> None:
    path = run_of(
        make_run, "table(fairness.F, by: [loss, n], percentile: 50)  table(goodput, by: n)"
    )
    subject, sheet = requested_table(path)
    expected = median(values_of(subject, F, loss="1%", n="1")[None])
    *value, n, found, interval = sheet.rows[3]
    assert (value, n) == (["1%", "1"], Number("6", "6"))
    assert isinstance(found, Number)
    assert isinstance(interval, tuple)
    assert float(found.exact) == pytest.approx(expected.value)
    assert [float(end.exact) for end in interval] == [expected.low, expected.high]
    _, goodput = requested_table(path, 1)
    assert [name for name, _ in goodput.head] == [
        "n",
        "flow",
        "cells",
        "median (Mbit/s)",
        "95 % interval",
    ]
    assert {row[-1] for row in goodput.rows} == {"mixes loss"}
    assert (
        "no interval and no test: add `loss` to `by` or `facet`, or fix it with" in goodput.caption
    )


def test_too_much_for_a_figure_is_said(make_run: Maker) -> None:
    flows = tuple(f"flow{i}" for i in range(19))
    figures = planned("cdf(goodput, by: flow)  histogram(goodput, by: flow)").figures
    path = make_run(flows=flows, repeat=2, duration_s=1.0, figures=figures)
    for index, told in ((0, "19 groups are more than 18 lines"), (1, "19 panels are more than")):
        with pytest.raises(NothingToDraw, match=told):
            requested(path, index)


def test_a_caption_says_which_flows_some_configurations_do_not_have(make_run: Maker) -> None:
    subject, _ = requested(run_of(make_run, "line(goodput, x: n, by: loss)"))
    request = subject.run.plan.figures[0]
    assert "Absent" not in load(subject, request).basis(("n", "loss"))
    scenes = subject.run.scenes
    for name in sorted(scenes)[:2]:
        kept = tuple(flow for flow in scenes[name].flows if flow.name != "bbr")
        scenes[name] = replace(scenes[name], flows=kept)
    assert " Absent: `bbr` from 2 configurations." in load(subject, request).basis(("n", "loss"))


def test_a_line_of_a_mixture_does_not_call_its_cells_too_few(make_run: Maker) -> None:
    path = run_of(make_run, "line(goodput, x: n, by: flow) line(goodput, x: n, by: [loss, flow])")
    mixed, apart = (requested(path, index)[1].caption for index in (0, 1))
    assert "12 cells of each point. " in mixed and "Groups mix configurations" in mixed
    assert "too few" not in mixed and "interval (" not in mixed
    assert "band or bar: its 95 % interval" in apart


@pytest.mark.parametrize(
    "figure",
    [
        "line(fairness.F, x: n, by: loss)",
        "cdf(fairness.F, by: n)",
        "boxplot(fairness.F, by: [n, loss])",
        "histogram(fairness.F, by: loss)",
    ],
)
def test_a_caption_says_whose_side_of_zero_is_whose(make_run: Maker, figure: str) -> None:
    _, drawing = requested(run_of(make_run, figure))
    assert drawing.caption.count("F below 0: cubic dominates; above 0: bbr.") == 1


def test_neighbours_have_different_markers() -> None:
    """In grey all colours of lines look alike."""
    markers = [style.marker_of(index)[0] for index in range(18)]
    assert all(a != b for a, b in pairwise(markers[:6]))
    assert len({(style.colour(i), marker) for i, marker in enumerate(markers)}) == 18


def test_no_word_of_an_axis_is_left_out() -> None:
    """Short words cannot be cut, so in a narrow panel they stand upright."""
    axis = NamedAxis("cca", {w: float(i) for i, w in enumerate(("reno", "cubic", "bbr"))}, False)
    line = Line(range(3), range(3), style.SERIES[0], "none", marker="o")
    panels = [Panel(f"n = {n}", [line]) for n in range(3)]
    keys = [Line([2], [n], style.SERIES[0], label="a long name here") for n in range(3)]
    panels = [replace(panel, marks=[line, *keys]) for panel in panels]
    drawn = Chart(panels, axis, Axis("rate"), heights=(1.7, 1.15)).draw("page")
    for axes in drawn.axes:
        assert [text.get_text() for text in axes.get_xticklabels()] == ["reno", "cubic", "bbr"]


def test_tiles_have_two_digits_and_whole_numbers_none_behind_the_point() -> None:
    texts = heatmap._texts
    assert [*texts([0.44, 2.13, 17.6, math.inf], False).values()] == ["0.44", "2.1", "18", "∞"]
    assert [*texts([3.0, 120.0], False).values()] == ["3", "120"]
    assert [*texts([-0.000033, 0.076], True).values()] == ["0.00", "0.08"]


def test_rows_of_long_names_say_in_what_they_differ() -> None:
    names = [
        f"kind = fifo, air = {air}, first = cubic, second = cubic" for air in ("calm", "ideal")
    ]
    panel = rows.Panel("F", [rows.Row(name, 0.4) for name in names], Axis(low=0, high=1))
    (axes,) = Rows([panel], 1).draw("column").axes
    assert [text.get_text() for text in axes.texts[:2]] == names
    narrow = Rows([panel] * 3, 3).draw("page").axes[0]
    assert [text.get_text() for text in narrow.texts[:2]] == [
        "fifo, calm, cubic, cubic",
        "fifo, ideal, cubic, cubic",
    ]


def test_points_without_room_for_their_names_have_them_in_the_legend() -> None:
    names = [f"{style.marker_of(i)[1]}name {i}" for i in range(18)]
    marks = [
        Line([0], [i], style.colour(i), "none", label=name, marker=style.marker_of(i)[0])
        for i, name in enumerate(names)
    ]
    panels = [Panel(f"n = {n}", marks) for n in range(6)]
    drawn = Chart(panels, Axis("cca"), Axis("rate"), heights=(1.7, 1.15)).draw("column")
    assert {f"name {i}" for i in range(18)} <= {text.get_text() for text in drawn.texts}
    shapes = [line.get_marker() for line in drawn.artists if isinstance(line, Line2D)]
    assert shapes == [style.marker_of(i)[0] for i in range(18)]


@pytest.mark.parametrize(("panels", "named"), [(3, [0, 1, 2]), (11, [1, 3, 5, 7, 9])])
def test_names_of_low_axes_do_not_overlap(panels: int, named: list[int]) -> None:
    marks = [Line([0, 1], [0, 1], style.SERIES[0])]
    every = [Panel(f"n = {n}", marks) for n in range(panels)]
    drawn = Chart(every, Axis("x"), Axis("share of packets"), heights=(1.7, 1.15)).draw("column")
    assert [i for i, axes in enumerate(drawn.axes) if axes.get_ylabel()] == named
