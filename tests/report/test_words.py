"""What a report says: footnotes, names of nodes, bound names, versions of HTTP, infinite values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairc.compiler import plan
from fairc.dsl.model.names import labels_of_nodes
from fairc.mechanisms.workloads.load.cell import LoadWorkload
from fairc.runtime.repetitions.reading import Measure, Outcome, Value
from fairc.runtime.report.answer import answer
from fairc.runtime.report.backdrop import backdrop, explained
from fairc.runtime.report.build import build
from fairc.runtime.report.figures import FIGURES, Drawing, Subject
from fairc.runtime.report.figures.chart import Chart
from fairc.runtime.report.figures.marks import Endless, Line
from fairc.runtime.report.figures.rows import Rows
from fairc.runtime.report.protocols import other_protocol, sentences
from fairc.runtime.report.run import Run
from fairc.runtime.report.summary import Results

Maker = Callable[..., Path]
F, FCT = "fairness.F", "fct.mean"


def drawn(path: Path, kind: str, metric: str, **options: Any) -> Drawing:
    run = Run(path)
    subject = Subject(run, Results(run), run.configurations, "")
    found = FIGURES[kind].make(
        subject, plan.FigureRequest(kind=kind, metric=metric, options=options)
    )
    assert isinstance(found, Drawing)
    return found


@pytest.mark.usefixtures("without_drawing")
def test_a_remark_that_repeats_is_one_footnote(make_run: Maker) -> None:
    why = {(i, 1): f"the sessions competed for {i + 3} slots only" for i in (0, 1)}
    path = make_run(sweep={"n": ("1", "2", "3", "4")}, undefined=why, repeat=1, duration_s=1.0)
    run = Run(path)
    found = answer(run, Results(run))
    notes = set(found.footnotes.values())
    texts = {note.text: note.mark for note in notes}
    assert "the sessions competed for 3-4 slots only" in texts
    page = build(path)[0].read_text(encoding="utf-8")
    assert page.count("the sessions competed for 3-4 slots only") == 1
    mark = texts["the sessions competed for 3-4 slots only"]
    title = "the sessions competed for 3 slots only"
    assert f'<sup><abbr title="{title}">{mark}</abbr></sup>' in page


def test_names_that_are_bound_together_are_not_mixed(make_run: Maker) -> None:
    """(rate, rtt) = [(1, 150), (2, 60)]: a tile has one rtt."""
    points = tuple(
        {"rate": rate, "rtt": rtt, "loss": loss}
        for rate, rtt in (("1", "150"), ("2", "60"))
        for loss in ("0", "1")
    )
    sweep = {"rate": ("1", "2"), "rtt": ("150", "60"), "loss": ("0", "1")}
    path = make_run(sweep=sweep, points=points, fairness=False, repeat=1, duration_s=1.0)
    figure = drawn(path, "heatmap", "goodput", x="rate", y="loss", facet=(), stat="median")
    assert "mix" not in figure.caption
    figure = drawn(path, "line", "goodput", x="rate", by=(), facet=(), ci=0.95, stat="median")
    assert "mix configurations" in figure.caption
    assert "add `loss`" in figure.caption


def test_an_infinite_median_is_drawn_and_printed(make_run: Maker) -> None:
    def row(index: int, repetition: int, value: float | None) -> tuple[object, ...]:
        why = "" if value is not None else "no transfer was completed"
        return (index, repetition, FCT, "cubic", value, "s", why, None, None, int(bool(why)), 1)

    more = tuple(
        row(i, r, None if i == 2 or (i, r) == (1, 3) else 1.0 + i)
        for i in range(4)
        for r in (1, 2, 3)
    )
    axes = (plan.Axis(name="n", values=("1", "2", "3", "4"), numbers=(1, 2, 3, 4), unit="1"),)
    path = make_run(
        sweep={"n": ("1", "2", "3", "4")}, axes=axes, more=more, repeat=3, duration_s=1.0
    )
    figure = drawn(path, "line", FCT, x="n", by=(), facet=(), ci=0.95, stat="median")
    assert isinstance(figure.picture, Chart)
    (mark,) = [m for p in figure.picture.panels for m in p.marks if isinstance(m, Endless)]
    assert [*mark.x] == [3]
    assert "\N{INFINITY}: larger than any value" in figure.caption
    figure = drawn(path, "boxplot", FCT, by=("n",), facet=(), notch="off", test="none", ci=0.95)
    assert isinstance(figure.picture, Rows)
    (panel,) = figure.picture.panels
    rows = [row.text for row in panel.rows]
    assert rows == ["n = 1 (n = 3)", "n = 2 (n = 2, and 1 infinite)", "n = 4 (n = 3)"]
    assert all(isinstance(mark, Line) for row in panel.rows for mark in row.marks), "dots, no box"
    run = Run(path)
    results = Results(run)
    (measure,) = results.select(FCT)
    median = results.group(measure, run.configurations[2]).median
    assert (median.value, median.is_endless) == (None, True)


def test_nodes_have_their_names_of_the_language() -> None:
    def flow(name: str, declared: str, users: str | None = None) -> SimpleNamespace:
        return SimpleNamespace(name=name, declared=declared, users=users, server="", client="")

    names = ("r-1", "s-1-2", "lone", "heavy-1", "heavy-1-server", "f-2-client")
    network = SimpleNamespace(
        nodes=[SimpleNamespace(name=name) for name in names],
        flows=[flow("f-2", "f"), flow("web-1", "web", "heavy")],
    )
    found = labels_of_nodes(cast(Any, network))
    assert found == {name: name for name in names} | {"r-1": "r[1]", "s-1-2": "s[1, 2]"}


def test_outages_and_steps_are_marked_and_a_recording_is_not() -> None:
    def impairment(loss: float, delay_ms: int = 10, seed: int = 1) -> plan.Impairment:
        return plan.Impairment(loss=loss, delay_ns=delay_ms * 10**6, seed=seed)

    def interface(name: str, **fields: Any) -> plan.Interface:
        return plan.Interface(name=name, address="10.0.0.1/30", source="x:1", **fields)

    def change(at_s: float, **fields: Any) -> plan.Change:
        return plan.Change(at_ns=round(at_s * 1e9), **fields)

    steps = tuple(change(t, rate_bps=1_000_000 * (1 + t % 2)) for t in (4, 9))
    recording = tuple(change(t, rate_bps=1_000_000 + t) for t in range(1, 31))
    down = (
        change(5, impairment=impairment(1.0)),
        change(5.08, impairment=impairment(0.0, seed=2)),
        change(7, impairment=impairment(0.0, 20, seed=3)),
    )
    shaper = plan.Shaper(rate_bps=2_000_000, transmitter=None)
    interfaces = (
        interface("eth0", shaper=shaper, changes=recording),
        interface("eth1", shaper=shaper, changes=steps),
        interface("eth2", impairment=impairment(0.0), changes=down, repeat_ns=15 * 10**9),
    )
    node = SimpleNamespace(name="r", interfaces=interfaces, route_changes=())
    scene = SimpleNamespace(nodes=[node], flows=(), warmup_ns=2 * 10**9)
    run = SimpleNamespace(scenes={"c": scene}, rows=lambda *_: [(30.0,)])
    found = backdrop(cast(Any, run), cast(Any, SimpleNamespace(id="c")))
    assert found.outages == ((5.0, 5.08), (20.0, 20.08))
    # From 20 ms of delay back to 10 with the end of the second outage.
    assert found.steps == (4.0, 7.0, 9.0, 22.0)
    assert "down" in explained([found])
    assert "warm-up" in explained([found])


def test_a_change_upon_a_state_is_marked_when_the_flow_entered_it() -> None:
    change = plan.Change(
        at_ns=0, rate_bps=1_000_000, entering=plan.Entering(flow="f-1", state="drain")
    )
    interface = plan.Interface(name="eth0", address="10.0.0.1/30", source="x:1", changes=(change,))
    flow = SimpleNamespace(name="f-1", declared="f", users=None)
    scene = SimpleNamespace(
        nodes=[SimpleNamespace(name="r", interfaces=(interface,), route_changes=())],
        flows=(flow,),
        warmup_ns=0,
    )
    asked = list[Any]()

    def rows(sql: str, parameters: list[Any]) -> list[tuple[float]]:
        asked.append(parameters)
        return [(3.0,), (4.5,)] if "models" in sql else [(30.0,)]

    run = SimpleNamespace(scenes={"c": scene}, rows=rows)
    found = backdrop(cast(Any, run), cast(Any, SimpleNamespace(id="c")))
    assert found.steps == (3.002, 4.502)  # of two repetitions, each 2 ms after the entry
    assert asked[1] == ["c", "f[1]", "drain", 0.0]


def test_a_load_over_another_version_of_http_says_so() -> None:
    load = LoadWorkload(
        page=(plan.PageObject(path="/", bytes=1000, type="text/html", parent=None),),
        client="plain",
        protocols=("h2", "h3"),
        idle_ns=(0, 0),
        timeout_ns=10**9,
    )
    flow = SimpleNamespace(name="site", declared="site", users=None, workload=load)
    run = cast(Any, SimpleNamespace(scenes={"c": SimpleNamespace(flows=(flow,))}))
    outcome = Outcome("x", "c", 1, "1", "ok", "valid", ())
    values = [
        Value(Measure("plt", "site", "s", number), outcome, 1.0, protocol=protocol)
        for number, protocol in ((1, "h2"), (2, "h3"))
    ]
    assert [other_protocol(run, v) for v in values] == ["HTTP/2, not HTTP/3", ""]
    said = "Load 1 over HTTP/2, not HTTP/3 in 1 configuration: "
    assert sentences(run, values).startswith(said)
