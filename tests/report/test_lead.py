"""The picture that a page begins with: made without being asked for, and the one that suits what
was swept.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from representatives import few

from fairc.compiler import plan
from fairc.runtime.repetitions.reading import Measure, Outcome
from fairc.runtime.report.answer import answer
from fairc.runtime.report.build import _Report, build
from fairc.runtime.report.description import headline
from fairc.runtime.report.figures import Drawing
from fairc.runtime.report.key_figures import SECTION, _axes, _candidates, _distributions, tiles
from fairc.runtime.report.run import Configuration, Run
from fairc.runtime.report.summary import Results

GOODPUT = "goodput"

Maker = Callable[..., Path]


def numeric(name: str, *values: float) -> plan.Axis:
    return plan.Axis(name=name, values=tuple(f"{v:g}" for v in values), numbers=values, unit="1")


def words(name: str, *values: str) -> plan.Axis:
    return plan.Axis(name=name, values=values)


def picture(path: Path) -> Drawing:
    found = [d for d in _Report(path).figures if d.section == SECTION]
    (drawing,) = found
    assert isinstance(drawing, Drawing)
    return drawing


Q, M, N = words("q", "a", "b"), numeric("m", 1, 2), numeric("n", 1, 2, 4)
LONG = numeric("n", 1, 2, 3, 4)
SWEPT: list[tuple[tuple[plan.Axis, ...], str, str]] = [
    ((), "rates", "Rates of the flows"),
    ((M, N), "answer-line", "fairness.F against n by m"),
    ((numeric("m", 1, 2, 3), LONG), "answer-heatmap", "fairness.F over n and m"),
    ((Q,), "answer-boxplot", "fairness.F by q"),
    ((LONG,), "answer-line", "fairness.F against n"),
    ((words("q", *"abcd"),), "answer-line", "fairness.F against q"),
    ((Q, N), "answer-line", "fairness.F against n by q"),
    ((Q, M, words("r", "a", "b")), "answer-heatmap", "fairness.F over m and r by q"),
    ((Q, words("r", *"abc")), "answer-line", "fairness.F against r by q"),
]


@pytest.mark.parametrize(("axes", "name", "title"), few(SWEPT, *SWEPT[:3]))
def test_the_picture_suits_what_was_swept(
    make_run: Maker, axes: tuple[plan.Axis, ...], name: str, title: str
) -> None:
    sweep = {axis.name: axis.values for axis in axes}
    drawing = picture(make_run(sweep=sweep, axes=axes, repeat=2, duration_s=1.0))
    assert (drawing.name, drawing.title) == (name, title)


def test_flows_of_an_index_that_are_too_many_lines_are_one(make_run: Maker) -> None:
    """Nine flows under two queues: a line for each queue, of their means, and not the rates."""
    flows = tuple(f"f[{i}]" for i in range(1, 10))
    axes = (words("q", "a", "b"), numeric("n", 1, 2, 3))
    path = make_run(
        flows=flows,
        sweep={axis.name: axis.values for axis in axes},
        axes=axes,
        repeat=2,
        duration_s=1.0,
        fairness=False,
    )
    drawing = picture(path)
    assert (drawing.name, drawing.title) == ("answer-line", "goodput against n by q")
    assert "A cell has the mean over its flows." in drawing.caption


def test_a_name_that_another_one_decides_is_no_axis() -> None:
    """`(rate, queue) = [...]` sweeps one thing."""
    axes = (numeric("rate", 1, 2, 3), numeric("queue", 5, 6, 7), words("cca", "a", "b"))
    found = tuple(
        Configuration(
            str(i),
            (("rate", rate), ("queue", queue), ("cca", cca)),
            (Outcome(f"{i}{cca}", str(i), 1, "1", "ok", "valid", ()),),
        )
        for i, (rate, queue) in enumerate((("1", "5"), ("2", "6"), ("3", "7")))
        for cca in ("a", "b")
    )
    run = SimpleNamespace(configurations=found, plan=SimpleNamespace(axes=axes))
    assert [axis.name for axis in _axes(cast(Any, run))] == ["rate", "cca"]


def test_what_the_experiment_asks_for_is_not_drawn_twice(make_run: Maker) -> None:
    options: dict[str, str | float | tuple[str, ...]] = {"x": "n", "ci": 0.95, "stat": "median"}
    request = plan.FigureRequest(kind="line", metric="fairness.F", options=options)
    path = make_run(
        sweep={"n": ("1", "2", "3", "4")},
        axes=(numeric("n", 1, 2, 3, 4),),
        figures=(request,),
        repeat=1,
        duration_s=1.0,
    )
    assert picture(path).name == "01-line-fairness-F"
    assert [f.name for f in _Report(path).figures].count("01-line-fairness-F") == 1


@pytest.mark.parametrize(
    ("facet", "name"), [(("q",), "01-boxplot-fairness-F"), ((), "answer-line")]
)
def test_what_is_asked_for_comes_first_where_it_tells_all_configurations_apart(
    make_run: Maker, facet: tuple[str, ...], name: str
) -> None:
    options: dict[str, str | float | tuple[str, ...]] = {
        "by": ("n",),
        "facet": facet,
        "notch": "off",
        "test": "none",
        "ci": 0.95,
    }
    request = plan.FigureRequest(kind="boxplot", metric="fairness.F", options=options)
    axes = (words("q", "a", "b"), numeric("n", 1, 2, 4))
    sweep = {axis.name: axis.values for axis in axes}
    path = make_run(sweep=sweep, axes=axes, figures=(request,), repeat=2, duration_s=1.0)
    assert picture(path).name == name


@pytest.mark.usefixtures("without_drawing")
def test_the_picture_comes_before_words_and_tables(make_run: Maker) -> None:
    path = make_run(sweep={"n": ("1", "2", "3", "4")}, repeat=1, duration_s=1.0)
    page = build(path)[0].read_text(encoding="utf-8")
    main = page.split("<main>")[1]
    assert main.index("<svg") < main.index("<table")
    assert main.index("<svg") < main.index("2 flows over a 1 Mbit/s bottleneck")
    assert "<p" not in main[: main.index("<svg")]


def test_flows_of_one_statement_are_one_number_and_four_numbers_are_not_three(
    make_run: Maker,
) -> None:
    flows = ("heavy", "light-1", "light-2", "light-3")
    users = dict.fromkeys(flows[1:], "light")
    path = make_run(flows=flows, users=users, fairness=False, repeat=6, duration_s=1.0)
    run = Run(path)
    results = Results(run)
    (tile,) = tiles(results, answer(run, results))
    assert [e.what for e in tile.numbers] == ["goodput of heavy", "goodput of light (mean)"]
    assert tile.numbers[1].aside.startswith("3 flows: ")
    (configuration,) = run.configurations
    light = [m for m in results.select(GOODPUT) if m.flow in users]
    own = [results.group(m, configuration).values for m in light]
    means = sorted(sum(of_cell) / 3 for of_cell in zip(*own, strict=True))
    found = tile.numbers[1].median
    assert found and float(found.exact) == pytest.approx((means[2] + means[3]) / 2)

    run = Run(make_run(flows=("a", "b", "c", "d"), fairness=False, repeat=2, duration_s=1.0))
    results = Results(run)
    (tile,) = tiles(results, answer(run, results))
    assert [e.measure.flow for e in tile.numbers] == ["a", "b", "c", "d"]


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    ("flows", "shown", "others"),
    [
        ("abcd", "abcd", ""),
        ("abcdef", "abc", "goodput of d, goodput of e and goodput of f"),
    ],
)
def test_a_tile_drops_no_number_without_saying_so(
    make_run: Maker, flows: str, shown: str, others: str
) -> None:
    """Three configurations have less room each than two, and four numbers fit there, too."""
    path = make_run(
        flows=tuple(flows), sweep={"n": ("1", "2", "3")}, fairness=False, repeat=1, duration_s=1.0
    )
    results = Results(Run(path))
    found = tiles(results, answer(results.run, results))
    assert [[e.measure.flow for e in tile.numbers] for tile in found] == [[*shown]] * 3
    assert [tile.others for tile in found] == [others] * 3
    page = build(path)[0].read_text(encoding="utf-8")
    assert page.count("Only in the table below: ") == (3 if others else 0)


def test_a_sample_is_told_apart_by_its_first_two_words() -> None:
    """Nine pairs of CCAs over 5 x 5 x 5 networks fill no grid: the pairs are compared, not
    pooled.
    """
    ccas, steps = ("reno", "bbr", "pcc"), ("1", "2", "3", "4", "5")
    axes = (
        words("first", *ccas),
        words("second", *ccas),
        numeric("rtt", 1, 2, 3, 4, 5),
        numeric("loss", 1, 2, 3, 4, 5),
    )
    points = [
        (a, b, steps[(i * k) % 5], steps[(i + k) % 5])
        for i, a in enumerate(ccas)
        for k, b in enumerate(ccas)
    ]
    found = tuple(
        Configuration(
            str(i),
            tuple(zip(("first", "second", "rtt", "loss"), point, strict=True)),
            (Outcome(str(i), str(i), 1, "1", "ok", "valid", ()),),
        )
        for i, point in enumerate(points)
    )
    run = SimpleNamespace(configurations=found, plan=SimpleNamespace(axes=axes), origins={})
    measure = Measure("fmp.fairness", None, "1")
    requests = list(_distributions(cast(Any, run), measure))
    asked = [(r.kind, r.options.get("by"), r.options.get("facet")) for r in requests]
    assert asked == [("cdf", ("first",), ("second",)), ("cdf", None, None)]


def test_maps_have_the_name_on_the_other_axis_that_leaves_no_holes() -> None:
    """Of n and tcps only five of nine pairs occur: no map of one over the other, but one for each
    pair.
    """
    axes = (
        words("latency", "50ms", "300ms"),
        numeric("loss", 0, 1, 2, 3, 4, 5),
        numeric("n", 1, 2, 5),
        numeric("tcps", 1, 2, 5),
    )
    points = [
        (latency, loss, n, tcps)
        for latency in axes[0].values
        for loss in axes[1].values
        for n, tcps in (("1", "1"), ("2", "1"), ("5", "1"), ("2", "2"), ("5", "5"))
    ]
    found = tuple(
        Configuration(
            str(i),
            tuple(zip((a.name for a in axes), point, strict=True)),
            (Outcome(str(i), str(i), 1, "1", "ok", "valid", ()),),
        )
        for i, point in enumerate(points)
    )
    run = SimpleNamespace(configurations=found, plan=SimpleNamespace(axes=axes), origins={})
    measure = Measure("fairness.F", None, "1")
    results = SimpleNamespace(select=lambda _: (measure,))
    of = SimpleNamespace(run=run, results=results, crowds=lambda flows: {})
    first = next(_candidates(cast(Any, of), measure))
    assert (first.kind, first.options["x"], first.options["y"]) == ("heatmap", "loss", "latency")
    assert set(cast(Any, first.options["facet"])) == {"n", "tcps"}


@pytest.mark.usefixtures("page_width")
@pytest.mark.parametrize(("values", "marks"), [(("1", "2", "3", "4"), True), (("1", "2"), False)])
def test_the_picture_is_offered_for_choosing_where_it_has_marks(
    make_run: Maker, values: tuple[str, ...], marks: bool
) -> None:
    page = build(make_run(sweep={"n": values}, repeat=1, duration_s=1.0))[0].read_text("utf-8")
    picture = page.split('id="answer"')[1].split('id="explore-panel"')[0]
    assert ("data-pick" in picture) == marks == ("or in the picture" in page)


@pytest.mark.usefixtures("without_drawing")
def test_a_configuration_without_a_value_has_a_tile_with_the_reason(make_run: Maker) -> None:
    why = "the sessions never competed"
    path = make_run(repeat=1, sweep={"loss": ("0%", "1%")}, undefined={(0, 1): why})
    results = Results(Run(path))
    shown = tiles(results, answer(results.run, results))
    (first,) = shown[0].numbers
    assert len(shown) == 2 and (first.median, first.why) == (None, why)
    page = build(path)[0].read_text(encoding="utf-8")
    assert f'<strong>\N{EN DASH}</strong><span class="remark">{why}</span>' in page


def test_the_lead_names_the_flow_that_configurations_change(make_run: Maker) -> None:
    run = Run(make_run(sweep={"over_bbr": ("tcp", "quic")}, repeat=1, duration_s=3.0))
    flows = "cubic (10 MB file, CCA cubic) and bbr (10 MB file, CCA bbr or CCA bbr over QUIC)"
    assert flows in headline(run)
