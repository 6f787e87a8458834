"""Many flows of one statement are one line, and one column with its spread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from requested_figures import subject_of

from fairc.compiler.plan import FigureRequest
from fairc.dsl.model.expressions import Selection
from fairc.dsl.model.names import statement_of
from fairc.runtime.repetitions.crowds import MOST_FLOWS, crowds, means
from fairc.runtime.repetitions.reading import Measure, Outcome, Value
from fairc.runtime.repetitions.samples import Group, samples
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.report.answer import answer
from fairc.runtime.report.build import _Report
from fairc.runtime.report.figures import Drawing
from fairc.runtime.report.figures.chart import Axis, Chart, Panel
from fairc.runtime.report.figures.marks import Line
from fairc.runtime.report.figures.query import load
from fairc.runtime.report.figures.style import paper_style
from fairc.runtime.report.run import Run
from fairc.runtime.report.summary import Results

Maker = Callable[..., Path]
GOODPUT = "goodput"

MANY = tuple(f"light-{i}" for i in range(1, 14))


@pytest.fixture(scope="module")
def report(make_run: Maker) -> _Report:
    """Four configurations with a flow of its own, and thirteen of one statement."""
    path = make_run(
        flows=("heavy", *MANY),
        users=dict.fromkeys(MANY, "light"),
        sweep={"n": ("1", "2", "3", "4")},
        fairness=False,
        repeat=2,
        duration_s=2.0,
    )
    return _Report(path)


def names(chart: object) -> set[str]:
    assert isinstance(chart, Chart)
    marks = [mark for panel in chart.panels for mark in panel.marks]
    return {m.label for m in marks if isinstance(m, Line) and m.label}


def test_the_answer_is_what_measure_names_over_the_sweep(report: _Report) -> None:
    (lead,) = [d for d in report.figures if d.section == "lead"]
    assert isinstance(lead, Drawing)
    assert (lead.name, lead.title) == ("answer-line", "goodput against n by flow")
    assert names(lead.picture) == {"heavy", "\N{BLACK SQUARE} light"}
    assert "A cell has the mean over its flows." in lead.caption


def test_a_table_has_one_column_with_the_spread(report: _Report) -> None:
    run, results = report.run, report.subject.results
    found = answer(run, results)
    assert [e.what for e in found.columns] == ["goodput of heavy", "goodput of light (mean)"]
    light = found.columns[1]
    (configuration, *_) = run.configurations
    own = [m for m in results.each(GOODPUT) if m.flow in MANY]
    outcome = configuration.counted[0]
    group = results.group(light.measure, configuration)
    assert {*group.crowd} == {m.flow for m in own} == {*MANY}
    numbers = [values[0] for values in group.crowd.values()]
    assert group.numbers[outcome.cell] == pytest.approx(sum(numbers) / len(MANY))
    entry = found.groups[0].entry(light.measure)
    assert entry is not None
    assert entry.aside.startswith("13 flows: ")
    every = [v for values in group.crowd.values() for v in values]
    low, high = entry.aside.removeprefix("13 flows: ").split(" to ")
    assert float(low) * 1e6 == pytest.approx(min(every), rel=0.1)
    assert float(high) * 1e6 == pytest.approx(max(every), rel=0.1)


def test_flows_without_a_value_are_named_beside_the_mean_of_the_others() -> None:
    outcome = Outcome("c", "x", 0, "1", "ok", "valid", ())
    measure, why = Measure("rtt.min", None, "s"), "no packet was acknowledged in the window"
    singles = {
        f"light-{n}": [
            Value(measure._replace(flow=f"light-{n}"), outcome, number, "" if number else why)
        ]
        for n, number in enumerate((0.1, None, 0.3, None))
    }
    measured = cast(Any, SimpleNamespace(plan=SimpleNamespace(formulas=())))
    every = [value for own in singles.values() for value in own]
    group = Group(measured, "rtt.min", {"flow": "light"}, means("light", every), singles=singles)
    assert group.values == pytest.approx([0.2])
    assert group.remark == f"the means leave out 2 of 4 values of single flows: {why}"


def test_the_page_has_the_groups_of_a_table(make_run: Maker) -> None:
    flows = ("heavy", *(f"light[{i}]" for i in range(1, MOST_FLOWS + 2)))
    bad = {(0, 2): ("ok", "invalid", ["x"]), (1, 5): ("failed", None, ["x"])}
    path = make_run(
        flows=flows, sweep={"n": ("1", "2")}, bad=bad, fairness=False, repeat=7, duration_s=1.0
    )
    results = Results(run := Run(path))
    _, _, groups = samples(run.measured, GOODPUT, together=True)
    shown = [results.group(m, c) for c in run.configurations for m in results.select(GOODPUT)]
    assert [group.by["flow"] for group in groups] == ["heavy", "light"] * 2
    for of_page, of_table in zip(shown, groups, strict=True):
        assert len(of_page.values) == 6
        assert of_page.values == of_table.values
        assert of_page.median == of_table.median
        assert (of_page.crowd, of_page.left_out) == (of_table.crowd, of_table.left_out)


def test_a_table_of_the_command_has_the_groups_of_the_page(report: _Report) -> None:
    """Users of a group, too: the page and `fairc table` have one rule."""
    rows = summarise(report.run.measured, GOODPUT, together=True)
    shown = [(row["by"]["flow"], row.get("flows")) for row in rows]
    assert shown == [("heavy", None), ("light", len(MANY))] * 4
    results = report.subject.results
    assert [m.flow for m in results.select(GOODPUT)] == ["heavy", "light"]


def test_flows_that_are_chosen_by_name_keep_it(report: _Report) -> None:
    chosen = {"light-2", "light-3"}
    rows = summarise(
        report.run.measured, GOODPUT, where=lambda names: names["flow"] in chosen, together=True
    )
    assert {row["by"]["flow"] for row in rows} == chosen
    assert not any("flows" in row for row in rows)


def test_a_figure_names_flows_that_it_chooses(make_run: Maker) -> None:
    flows = ("heavy", *(f"q[{i}]" for i in range(1, MOST_FLOWS + 2)))
    subject = subject_of(make_run(flows=flows, fairness=False, repeat=1, duration_s=1.0))

    def named(where: Selection | None) -> set[str]:
        request = FigureRequest(kind="line", metric=GOODPUT, where=where)
        return {sample.keys["flow"] for sample in load(subject, request).samples}

    assert named(None) == {"heavy", "q"}
    chosen = Selection(text="flow == q[2]", names=("flow",), rows=(("q[2]",),))
    assert named(chosen) == {"q[2]"}


@pytest.mark.parametrize(
    ("cells", "shown_as_one"),
    [
        ([[f"q[{i}]" for i in range(MOST_FLOWS + 1)]], {"q"}),
        ([[f"heavy-{i}" for i in range(MOST_FLOWS + 1)]], {"heavy"}),
        ([[f"web[{i}]-{user}" for user in range(13) for i in (1, 2)]], {"web[1]", "web[2]"}),
        ([[f"q[{i}]" for i in range(MOST_FLOWS)]], set()),
        ([[f"q[{i}]"] for i in range(MOST_FLOWS + 1)], set()),  # never together in a cell
        ([["q[1]"], [f"q[{i}]" for i in range(MOST_FLOWS + 1)]], {"q"}),
    ],
)
def test_many_flows_are_more_than_twelve_of_a_statement_in_a_cell(
    cells: list[list[str]], shown_as_one: set[str]
) -> None:
    every = {flow for flows in cells for flow in flows}
    found = crowds(cells, every)
    assert {*found.values()} == shown_as_one
    assert found.keys() == ({*every} if shown_as_one else set())
    assert not crowds(cells, [*every][:MOST_FLOWS])
    assert {*crowds(cells, every, above=0).values()} == {statement_of(flow) for flow in every}


def test_figures_over_time_have_one_line_with_a_band(report: _Report) -> None:
    drawn = {d.name: d for d in report.figures if isinstance(d, Drawing)}
    for name in ("rates", "window"):
        assert names(drawn[name].picture) == {"heavy", "light"}
        assert "all flows light together" in drawn[name].caption


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (
            ("dualpi2(target: 15ms), prague", "dualpi2(target: 15ms), cubic", "fifo(2bdp), cubic"),
            {"dualpi2, prague", "dualpi2, cubic", "fifo, cubic"},
        ),
        (("fifo(1bdp), prague", "fifo(2bdp), prague"), {"fifo(1b…, prague", "fifo(2b…, prague"}),
        (("fifo(1bdp), bbr", "fifo(2bdp), bbr"), {"fifo(1bdp), bbr", "fifo(2bdp), bbr"}),
        (
            ("cake(1000pkt), a", "cake(1000pkt, rtt: 300ms), a", "red(1000pkt, ecn: on), a"),
            {"cake(1000pkt), a", "cake(10…00ms), a", "red, a"},
        ),
    ],
)
def test_names_beside_lines_lose_arguments_unless_they_tell_lines_apart(
    labels: tuple[str, ...], shown: set[str]
) -> None:
    lines = [Line([0, 1], [i, i], "#000000", label=label) for i, label in enumerate(labels)]
    chart = Chart([Panel("", lines)], Axis("time (s)"), Axis("rate"), heights=(1.5, 1.0))
    with paper_style():
        figure = chart.draw("page")
    assert {text.get_text() for axes in figure.axes for text in axes.texts} == shown


def test_names_without_room_beside_their_lines_are_a_legend() -> None:
    lines = [Line([0, 1], [i, i], "#000000", label=f"flow {i}") for i in range(90)]
    chart = Chart([Panel("", lines)], Axis("time (s)"), Axis("rate"), heights=(1.5, 1.0))
    with paper_style():
        figure = chart.draw("column")
    assert not any(axes.texts for axes in figure.axes)
    assert {text.get_text() for text in figure.texts} == {f"flow {i}" for i in range(90)}
