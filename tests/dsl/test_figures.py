"""`report`: what the plan is told about each figure."""

from __future__ import annotations

from typing import Any

import pytest
from specs import compilation_of, experiment_of

from fairc.compiler import compile
from fairc.compiler.plan import FigureRequest, Plan
from fairc.dsl import Source, load, render_full
from fairc.words.figures import FIGURES

HEAD = """fexp 1
let most = 2
experiment e {
  sweep {
    latency = [50ms, 300ms]
    n       = [1, 2, 5]
    m       = [1, n]
    size    = [1500B, 3kB]
  }
"""
TAIL = """
  topology = bottleneck(rate: 1Mbit/s, rtt: latency, queue: fifo(size * 4))
  flow a { cca = cubic  count = n  workload = bulk }
  flow b { cca = bbr    count = m  workload = bulk }
  duration = 20s
  repeat   = 3
  measure  = [goodput, fairness]
}
"""


def plan_of(report: str) -> Plan:
    return compilation_of(f"{HEAD}  report {{ {report} }}{TAIL}").plan


def figure(report: str) -> FigureRequest:
    (made,) = plan_of(report).figures
    return made


@pytest.mark.parametrize(
    ("where", "names", "rows"),
    [
        ("latency == 300ms", ("latency",), {("300ms",)}),
        (
            "n > 1 and latency < 1s",
            ("latency", "n"),
            {(t, n) for t in ("50ms", "300ms") for n in "25"},
        ),
        ("m == n", ("n", "m"), {("1", "1"), ("2", "2"), ("5", "5")}),
        ("n <= most", ("n",), {("1",), ("2",)}),
        ("repetition > 1 and n == 5", ("n", "repetition"), {("5", "2"), ("5", "3")}),
        ("not (n == 1)", ("n",), {("2",), ("5",)}),
        ("flow == b", ("flow",), {("b",)}),
        ("n == 2 and flow in [a, b]", ("n", "flow"), {("2", "a"), ("2", "b")}),
    ],
)
def test_a_condition_becomes_the_values_for_which_it_holds(
    where: str, names: tuple[str, ...], rows: set[tuple[str, ...]]
) -> None:
    selection = figure(f"cdf(goodput, where: {where})").where
    assert selection is not None
    assert (selection.text, selection.names) == (where, names)
    assert len(selection.rows) == len(rows)
    assert set(selection.rows) == rows


def test_a_metric_may_be_called_with_its_flow() -> None:
    made = figure("line(goodput(b), x: n, by: [latency, m, size], where: size == 3kB)")
    assert (made.metric, made.flow) == ("goodput", "b")
    assert "flow" not in figure("line(goodput, x: n)").model_dump(mode="json")


GAIN = "median(goodput(a), where: n == 2) / median(goodput(a), where: n == 1) - 1"


def test_an_expression_has_a_value_for_each_configuration_that_its_statistics_share() -> None:
    made = figure(f"line({GAIN}, x: latency, where: size == 3kB and m == 1)")
    shown = made.expression
    assert made.metric is None and shown is not None
    assert (shown.name, shown.form, shown.unit) == ("", "ratio", "1")
    assert shown.shared == ("latency", "m", "size") and shown.text == GAIN
    assert [[t.cells for t in unit.terms] for unit in shown.units] == [
        [(latency, "2", "1", "3kB"), (latency, "1", "1", "3kB")] for latency in ("50ms", "300ms")
    ]
    assert {unit.contrast.shift for unit in shown.units} == {-1.0}
    named = f"fexp 1 let gain = {GAIN} " + HEAD.replace("fexp 1", "")
    text = f"{named} report {{ line(gain, x: latency, where: size == 3kB and m == 1) }}{TAIL}"
    experiment = experiment_of(text)
    (other,) = experiment.figures
    assert other.expression is not None
    assert (other.expression.name, other.expression.text) == ("gain", GAIN)
    assert other.expression.units == shown.units


PAIRS = """fexp 1
experiment e {
  sweep { (first, second) = pairs(cubic, bbr, reno)  n = [1, 2]  also = [cubic, bbr] }
  topology = dumbbell(rate: 1Mbit/s, rtt: 50ms)
  flow a { cca = first   count = n  workload = bulk }
  flow b { cca = second  workload = bulk }
  flow c { cca = also    workload = bulk }
  duration = 20s
  repeat   = 3
  measure  = [goodput, rtt(b), srtt(a), fairness(a, b)]
  report { FIGURE }
}
"""


@pytest.mark.parametrize(
    ("report", "shown", "second", "options"),
    [
        (
            "matrix(goodput(a), goodput(b), x: first, y: second, facet: [n, also])",
            ("goodput", "a"),
            ("goodput", "b"),
            {"x": "first", "y": "second", "facet": ("n", "also"), "stat": "median"},
        ),
        (
            "matrix(fairness.jain_session, x: second, y: first)",
            ("fairness.jain_session", ""),
            None,
            {"x": "second", "y": "first", "stat": "median"},
        ),
        (
            "scatter(goodput(a), x: rtt.p95(b), by: [first], ellipse: 1, reverse: x)",
            ("goodput", "a"),
            ("rtt.p95", "b"),
            {"by": ("first",), "ellipse": 1.0, "reverse": "x"},
        ),
        ("scatter(goodput, x: srtt)", ("goodput", ""), ("srtt", ""), {}),
    ],
)
def test_a_figure_of_two_metrics(
    report: str, shown: tuple[str, str], second: tuple[str, str] | None, options: dict[str, Any]
) -> None:
    plan = compilation_of(PAIRS.replace("FIGURE", report)).plan
    (made,) = plan.figures
    assert (made.metric, made.flow) == shown
    assert (made.second and (made.second.metric, made.second.flow)) == second
    assert made.options == options
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ("matrix(goodput(a), goodput(b), x: first, y: flow)", "not-pairs"),
        ("matrix(goodput, x: first, y: second)", "missing-argument"),
        ("matrix(goodput(a), x: first, y: second)", "missing-argument"),
        ("matrix(goodput(a), goodput, x: first, y: second)", "missing-argument"),
        ("matrix(goodput(a), goodput(b), x: first)", "missing-argument"),
        ("scatter(goodput(a))", "missing-argument"),
        ("scatter(goodput(a), x: n)", "unknown-metric"),
        ("scatter(goodput(a), x: rtt(d))", "unknown-flow"),
        ("scatter(goodput(a), x: rtt, ellipse: 0)", "out-of-range"),
        ("scatter(goodput(a), x: rtt, reverse: z)", "unknown-word"),
        ("scatter(median(goodput(a)), x: rtt)", "wrong-type"),
    ],
)
def test_what_two_metrics_cannot_show_is_refused(report: str, code: str) -> None:
    _, diagnostics = load(Source("e.fexp", PAIRS.replace("FIGURE", report)))
    assert {d.code for d in diagnostics} == {code}


def test_a_figure_may_be_of_all_flows_of_an_index_or_of_one() -> None:
    indexed = PAIRS.replace("flow c { ", "flow c[i] for i in 1..2 { ")
    for flow in ("c", "c[2]"):
        text = indexed.replace("FIGURE", f"line(goodput({flow}), x: time, by: flow)")
        experiment = experiment_of(text)
        assert experiment.figures[0].flow == flow


def test_a_condition_chooses_flows_by_every_name_that_they_have() -> None:
    indexed = PAIRS.replace("flow c { ", "flow c[i] for i in 1..2 { ")
    for condition, flows in (
        ("flow == c", {"c[1]", "c[2]"}),
        ("flow == c[2]", {"c[2]"}),
        ("not flow == c and flow != b", {"a"}),
    ):
        figure = f"line(goodput, x: time, by: flow, where: {condition})"
        experiment = experiment_of(indexed.replace("FIGURE", figure))
        where = experiment.figures[0].where
        assert where is not None and where.names == ("flow",)
        assert {flow for (flow,) in where.rows} == flows


@pytest.mark.parametrize("figure", ["cdf(rtt(a, from: 5s))", "line(rtt(a, from: 5s), x: time)"])
def test_a_figure_within_cells_has_a_window(figure: str) -> None:
    """It is drawn from what the request of the window has, also where `measure` has it."""
    for measure in ("goodput", "goodput, rtt", "goodput, rtt(a, from: 5s)"):
        tail = TAIL.replace("[goodput, fairness]", f"[{measure}]")
        experiment = experiment_of(f"{HEAD}  report {{ {figure} }}{tail}")
        (drawn,) = [r for r in experiment.requests.implied if r.is_drawn]
        assert drawn.label == "rtt(from: 5s)" and drawn.window is not None
        assert experiment.figures[0].metric == "rtt(from: 5s)"


def test_one_statistic_is_an_expression_too() -> None:
    made = figure("line(percentile(goodput(b), 90), x: n, by: [latency, m, size], where: n > 1)")
    assert made.expression is not None and len(made.expression.units) == 16
    plan = plan_of("line(percentile(goodput(b), 90), x: n, by: [m, size], where: latency == 50ms)")
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_defaults_are_written_out() -> None:
    made = figure("line(goodput, x: n, by: (latency, m), ci: 90%)")
    assert made.options == {"x": "n", "by": ("latency", "m"), "ci": 0.9, "stat": "median"}
    assert made.where is None
    assert figure("convergence(fairness.F)").options == {"percentile": 50.0, "draws": 1000.0}


def test_an_axis_of_quantities_has_numbers() -> None:
    axes = {axis.name: axis for axis in plan_of("cdf(goodput)").axes}
    assert (axes["latency"].numbers, axes["latency"].unit) == ((0.05, 0.3), "s")
    assert (axes["size"].numbers, axes["size"].unit) == ((1500.0, 3000.0), "B")
    assert (axes["n"].numbers, axes["n"].unit) == ((1.0, 2.0, 5.0), "1")
    plan = plan_of("cdf(goodput)")
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ("line(goodput, x: time, by: time)", "not-an-axis"),
        ("line(goodput)", "missing-argument"),
        ("heatmap(goodput, x: n)", "missing-argument"),
        ("heatmap(goodput, x: speed, y: n)", "unknown-name"),
        ("cdf(goodput, where: n > 10ms)", "wrong-dimension"),
        ("histogram(goodput, facet: [n, latency, size, repetition])", "too-many"),
        ("cdf(goodput, by: [n, latency, m, size])", "too-many"),
        ("table(goodput, percentile: 101)", "out-of-range"),
        ("histogram(goodput, bins: 0)", "out-of-range"),
        ("line(goodput, x: n, ci: 100%)", "out-of-range"),
        ("cdf(goodput, by: load)", "not-an-axis"),
        ("cdf(goodput, where: load == 2)", "not-an-axis"),
        ("cdf(goodput, where: flow == c)", "unknown-flow"),
        ("cdf(utilization, where: flow == a)", "not-an-axis"),
        (f"line({GAIN}, x: latency, where: size == 3kB and m == 1 and flow == a)", "not-an-axis"),
        ("line(fairness(from: 5s), x: time)", "no-time-series"),
        ("sequence(by: n)", "not-an-axis"),
        ("cdf(goodput(c))", "unknown-flow"),
        ("cdf(goodput(a, b))", "too-many-arguments"),
        ("cdf(fairness(a))", "unknown-argument"),
        ("cdf(goodput + 1)", "wrong-type"),
        (f"cdf({GAIN})", "wrong-type"),
        (f"line({GAIN}, x: n, where: size == 3kB and m == 1)", "not-an-axis"),
        (f"line({GAIN}, x: repetition, where: size == 3kB and m == 1)", "not-an-axis"),
        (f"line({GAIN}, x: latency, where: m == 1)", "several-configurations"),
        (f"line({GAIN}, x: latency, by: m, where: size == 3kB)", "empty-figure"),
        (
            f"line({GAIN}, x: latency, stat: mean, where: size == 3kB and m == 1)",
            "unknown-argument",
        ),
        ("line(median(goodput), x: n)", "missing-argument"),
        ("line(median(goodput(a)) * median(goodput(b)), x: n)", "claim-form"),
        ("line(median(goodput(a)) > 1Mbit/s, x: n)", "claim-form"),
    ],
)
def test_what_cannot_be_drawn_is_refused(report: str, code: str) -> None:
    _, diagnostics = load(Source("e.fexp", f"{HEAD}  report {{ {report} }}{TAIL}"))
    assert {d.code for d in diagnostics} == {code}


def test_where_makes_room() -> None:
    report = "histogram(goodput, facet: [n, latency, size, repetition]{})"
    assert figure(report.format(", where: n == 1 and latency == 50ms")).where is not None


def test_a_figure_has_at_least_a_group_in_each_panel() -> None:
    assert all(0 < entry.panels <= entry.groups for entry in FIGURES)


PAGES = """fexp 1
experiment e {{
  sweep {{ http = [h2, h3]  loads = [2, 3] }}
  topology = 4g
  flow web {{ cca = bbr  workload = load(page(11kB), client: plain, http: http, loads: loads) }}
  repeat  = 7
  measure = [plt, sequence, goodput]
  report {{ {report} }}
}}
"""


def pages(report: str) -> tuple[Plan | None, set[str]]:
    experiment, diagnostics = load(Source("e.fexp", PAGES.format(report=report)))
    plan = compile(experiment).plan if experiment and not diagnostics.errors else None
    return plan, {d.code for d in diagnostics.errors}


def test_load_is_a_name_where_pages_are_loaded() -> None:
    plan, codes = pages(
        "boxplot(plt, by: [load, http], test: welch) cdf(plt, by: http, where: load > 1)"
    )
    assert plan is not None and not codes
    boxes, cdf = plan.figures
    assert boxes.options["by"] == ("load", "http")
    assert cdf.where is not None
    assert (cdf.where.names, set(cdf.where.rows)) == (("load",), {("2",), ("3",)})


def test_load_and_repetition_and_a_swept_name_in_one_condition() -> None:
    plan, _ = pages("cdf(plt, where: load == 2 and repetition < 3 and http == h3)")
    assert plan is not None and plan.figures[0].where is not None
    assert plan.figures[0].where.names == ("http", "repetition", "load")
    assert set(plan.figures[0].where.rows) == {("h3", "1", "2"), ("h3", "2", "2")}


def test_a_figure_measures_what_it_shows() -> None:
    plan = plan_of(
        "line(srtt, x: time)  cdf(loss_rate(a))  line(median(rtt(a)), x: n, by: [latency, m, size])"
    )
    assert [request.name for request in plan.measure] == ["goodput", "fairness"]
    implied = {request.name: request.is_drawn for request in plan.implied}
    assert implied == {"srtt": True, "loss_rate": True, "rtt": False}
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_a_figure_of_a_metric_that_needs_an_option_names_it() -> None:
    source = f"{HEAD}  report {{ cdf(recovery_time) }}{TAIL}"
    _, diagnostics = load(Source("e.fexp", source))
    assert {d.code for d in diagnostics.errors} == {"missing-argument"}


def test_a_figure_of_too_many_panels_has_sheets() -> None:
    sheets = plan_of("cdf(goodput, facet: [n, latency, size, m], where: repetition > 1)").figures
    assert [s.where.text for s in sheets if s.where] == [
        f"n == {n} and (repetition > 1)" for n in (1, 2, 5)
    ]
    assert {s.options["facet"] for s in sheets} == {("latency", "size", "m")}
    (first, *_) = sheets
    assert first.where is not None and first.where.names == ("n", "repetition")
    assert set(first.where.rows) == {("1", "2"), ("1", "3")}
    (whole,) = plan_of("cdf(goodput, facet: [n, latency])").figures
    assert whole.where is None


def test_a_matrix_shows_two_metrics_of_different_flows() -> None:
    own = "metric left = goodput(a)  metric right = goodput(b)  report { FIGURE }"
    source = PAIRS.replace("report { FIGURE }", own)
    source = source.replace("FIGURE", "matrix(left, right, x: first, y: second)")
    experiment, diagnostics = load(Source("e.fexp", source))
    assert experiment is not None, render_full(diagnostics)
    assert [formula.name for formula in experiment.requests.formulas] == ["left", "right"]
    assert not any(d.code == "unused-name" for d in diagnostics)


def test_a_sequence_shows_the_metric_of_its_name() -> None:
    plan, _ = pages("sequence(by: http, where: load == 2)")
    assert plan is not None
    assert (plan.figures[0].kind, plan.figures[0].metric) == ("sequence", "sequence")


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ("cdf(goodput, by: load)", "not-an-axis"),  # no value for each load
        ("cdf(plt, where: load == 4)", "empty-figure"),
        ("boxplot(plt, facet: [load, repetition])", "too-many"),
        ("cdf(plt, by: [load, repetition])", "too-many"),
    ],
)
def test_what_cannot_be_drawn_of_loads_is_refused(report: str, code: str) -> None:
    assert pages(report) == (None, {code})


@pytest.mark.parametrize(
    "figure", ["line(goodput(b), x: n, by: [latency, m, size])", "cdf(rtt(b), by: n)"]
)
def test_a_figure_may_name_a_flow_that_measure_leaves_out(figure: str) -> None:
    tail = TAIL.replace("[goodput, fairness]", "[goodput(a), rtt(a)]")
    experiment = experiment_of(f"{HEAD}  report {{ {figure} }}{tail}")
    assert experiment.figures[0].flow == "b"
    assert [r.sessions for r in experiment.requests.implied] == [("b",)]
