"""The report of page loads, shaped like the satellite study: figures by load, verdicts, theory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fairc.compiler.plan import FigureRequest, Requests, Selection
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.formatting import Number
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.report.build import build
from fairc.runtime.report.comparisons import comparisons
from fairc.runtime.report.figures import (
    FIGURES,
    Drawing,
    NothingToDraw,
    Subject,
    loads,
)
from fairc.runtime.report.figures.marks import Line as Steps
from fairc.runtime.report.figures.sequence import Line, Panel, _chart, _curves, _scale
from fairc.runtime.report.run import Run
from fairc.runtime.report.sheet import Sheet
from fairc.runtime.report.summary import Results
from fairc.runtime.store import tables
from fairc.runtime.store.columns import Stored
from fairc.runtime.store.folder import read_cells, read_plan
from fairc_fake.engine import FakeEngine

from pageplans import ACCESSES, HTTP, METRICS, SECOND, TARGETS, write_plan  # isort: skip

REPEAT = 8
# Load 2 of this repetition over h3 fails, over 4g.
FAILED = 4


def stored(folder: Path, work: Path) -> Iterator[Stored]:
    """Yield every cell of a plan, invented and analysed."""
    requests = read_plan(folder).measure
    for cell in read_cells(folder):
        workdir = work / cell.id
        workdir.mkdir()
        raw = FakeEngine().run(cell, workdir)
        if cell.repetition == FAILED and cell.bindings["http"] == "h3":
            _fail_second(raw.artefacts / "web.client.ndjson")
        made = analyse(cell, raw.artefacts, Requests(measure=tuple(requests)))
        result = CellResult(
            cell=cell.id,
            key=cell.id,
            status="ok",
            verdict=made.verdict,
            reasons=made.reasons,
            ended_by=made.ended_by,
            virtual_s=1.0,
            wall_s=1.0,
            engine="fake",
            image="invented",
            flows=made.flows,
            metrics=made.metrics,
            conditions=made.conditions,
            series=tables.write_series(workdir, made.series),
        )
        yield Stored(cell, result, workdir)


def _fail_second(file: Path) -> None:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if line.get("load") == 2:
            line.update(error="timed out", load_event_end_ns=None)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_plan(tmp_path_factory.mktemp("pages") / "run", REPEAT)
    (folder / "lock.json").write_text('{"fairc": {"version": "0.1.0"}}')
    work = tmp_path_factory.mktemp("work")
    tables.write(folder / "tables", ("access", "target", "http"), stored(folder, work))
    return folder


@pytest.fixture(scope="module")
def subject(path: Path) -> Subject:
    run = Run(path)
    return Subject(run, Results(run), run.configurations, "")


def asked(subject: Subject, index: int) -> Drawing | Sheet:
    request = subject.run.plan.figures[index]
    return {kind.name: kind for kind in FIGURES}[request.kind].make(subject, request)


def test_every_cell_is_valid(subject: Subject) -> None:
    assert {o.verdict for o in subject.run.outcomes.values()} == {"valid"}


def test_boxes_are_per_load_and_tests_within_a_load(subject: Subject) -> None:
    drawing = asked(subject, 0)
    assert isinstance(drawing, Drawing)
    assert drawing.title == "plt by load, http, access and target"
    assert "adjusted for the number of tests in this figure (Holm)" in drawing.caption
    assert "values of one cell" not in drawing.caption  # nothing is pooled
    # 64 cells with 3 loads each, less 4 that failed: one for each access and target.
    assert "n = 64 cells, 188 loads; left out: 4 larger than any value (loads)." in drawing.caption


def test_where_chooses_loads(subject: Subject) -> None:
    drawing = asked(subject, 1)
    assert isinstance(drawing, Drawing)
    assert "32 values per line" in drawing.caption
    assert "where load == 2" in drawing.title


def test_loads_are_told_apart_without_being_asked(subject: Subject) -> None:
    request = FigureRequest(
        kind="boxplot",
        metric="plt",
        options={
            "by": "http",
            "facet": ("access", "target"),
            "notch": "on",
            "test": "welch",
            "ci": 0.95,
        },
    )
    plan = subject.run.plan.model_copy(update={"figures": (request,)})
    run = Run(subject.run.path)
    run.plan = plan
    made = {kind.name: kind for kind in FIGURES}["boxplot"].make(
        Subject(run, Results(run), run.configurations, ""), request
    )
    assert made.title == "plt by load, http, access and target"


def test_the_axis_of_bytes_has_the_unit_of_the_largest_connection() -> None:
    lines = [
        Line(0, (0.0, 1.0, 2.0), (0.0, 900.0, last), ends=True, marks=(1.0, 2.0))
        for last in (1e3, 2e6, 5e5)
    ]
    chart = _chart([Panel("", "1", (lines[0],), None), Panel("", "1", (*lines[1:],), None)], [])
    assert chart.y.name == "bytes received (MB)"
    drawn = [mark for panel in chart.panels for mark in panel.marks if isinstance(mark, Steps)]
    assert [np.max(mark.y) for mark in drawn][::3] == [0.001, 2.0, 0.5]  # the others: two markers


def test_the_sequence_figure_scales_a_test_unit(subject: Subject) -> None:
    drawing = asked(subject, 3)
    assert isinstance(drawing, Drawing)
    assert drawing.title == "Bytes received by http, access and target, where load == 2"
    assert "ends where its largest TCP connection does" in drawing.caption
    # Both lines of a panel end at the same value, so the description has it twice.
    first = drawing.alt.split("page(53kB), ")[1:3]
    assert first[0].split(": ")[1].split(" until")[0] == first[1].split(": ")[1].split(" until")[0]


def test_the_factor_is_of_all_loads_of_a_unit(subject: Subject) -> None:
    """53,000 bytes of the stream over TCP; over QUIC 37 frames, 24 more bytes of IP in each."""
    run = subject.run
    unit = {
        o.cell
        for c in run.configurations
        if dict(c.bindings)["access"] == "4g" and dict(c.bindings)["target"] == TARGETS[0]
        for o in c.outcomes
        if o.repetition == 1
    }
    assert len(unit) == 2
    packets = -(-53_000 // 1448)
    assert _scale(_curves(run, unit)) == pytest.approx(53_000 / (53_000 + 52 * packets))
    # The unit of an h3 cell alone has its first load over TCP; one of h2 alone has no QUIC.
    h2, h3 = sorted(unit)
    assert _scale(_curves(run, {h3})) == pytest.approx(53_000 / (53_000 + 52 * packets))
    assert _scale(_curves(run, {h2})) is None


def test_loads_measured_and_in_theory(subject: Subject) -> None:
    sheet = loads.by_default(subject)
    names = [name for name, _ in sheet.head]
    assert len(sheet.rows) == len(ACCESSES) * len(TARGETS) * len(HTTP) * 3
    rows = [dict(zip(names, row, strict=True)) for row in sheet.rows]

    def text(value: object) -> object:
        return value.text if isinstance(value, Number) else value

    told = {
        (row["access"], row["http"], row["load"]): (
            row["over"],
            text(row["n"]),
            text(row["failed"]),
            text(row["slow start (s)"]),
        )
        for row in rows
        if row["target"] == TARGETS[0]
    }
    assert told[(ACCESSES[0], "h2", "2")] == ("h2", "8", "0", "split")
    assert told[(ACCESSES[0], "h3", "1")] == ("h2", "8", "0", "split")
    assert told[(ACCESSES[0], "h3", "2")] == ("h3", "7", "1", "4.20")
    assert told[(ACCESSES[1], "h2", "2")] == ("h2", "8", "0", "0.0036")


def test_what_figures_test_is_compared_in_words(subject: Subject) -> None:
    found = comparisons(subject.run, subject.results)
    assert found.by == ("http",)
    rows = found.pairs.rows
    assert len(rows) <= len(METRICS) * 4 * 3
    plt = [row for row in rows if row[0] == "Page load time of web, load 3"]
    assert [(first, second) for _, _, first, second, *_ in plt] == [("http = h2", "http = h3")] * 4
    assert plt[0][1] == f"access = {ACCESSES[0]}, target = {TARGETS[0]}"
    assert "medians differ" in str(plt[0][-1])
    assert "stochastic dominance holds: the first is larger" in str(plt[0][-1])
    # One of the eight second loads over h3 failed: it is larger than all over h2, so the samples
    # cross.
    second = [row for row in rows if row[0] == "Page load time of web, load 2"]
    assert {("samples cross" in str(row[-1])) for row in second} == {True}
    assert any(
        sentence.startswith("Page load time between values of http: medians differ in")
        for sentence in found.sentences
    )


@pytest.mark.usefixtures("without_drawing")
def test_page_and_text_tell_the_same(path: Path) -> None:
    page, text = build(path, ("html", "md"))
    for told in (page.read_text(), text.read_text()):
        assert "Page loads, measured and in theory" in told
        assert "stochastic dominance holds" in told
        assert "2 round trips: of TCP, then of TLS 1.3" in told
        assert "No figure `loads`" not in told
    assert page.read_text() == build(path, ("html",))[0].read_text()


def test_the_table_of_a_metric_by_load(subject: Subject) -> None:
    rows = summarise(
        subject.run.measured,
        "plt",
        ("http",),
        lambda names: names["load"] != "1" and names["access"] == "4g",
    )
    assert [(row["by"], row["n"]) for row in rows] == [
        ({"http": "h2", "load": "2"}, 16),
        ({"http": "h2", "load": "3"}, 16),
        ({"http": "h3", "load": "2"}, 16),
        ({"http": "h3", "load": "3"}, 16),
    ]
    failed = "larger than any value in 2 of 16 repetitions: the load failed: timed out"
    assert [row["remark"] for row in rows] == ["", "", failed, ""]


def test_no_load_fulfils_the_condition(subject: Subject) -> None:
    where = Selection(text="load == 9", names=("load",), rows=(("9",),))
    request = subject.run.plan.figures[1].model_copy(update={"where": where})
    with pytest.raises(
        NothingToDraw, match="no cell that counts has a value of plt where load == 9"
    ):
        {kind.name: kind for kind in FIGURES}["cdf"].make(subject, request)
    assert SECOND.rows == (("2",),)


def test_loads_are_distributed_within_their_cells_by_protocol(subject: Subject) -> None:
    """Three loads a cell: over h3 the first one is over h2, and is not mixed with the others."""
    request = FigureRequest(
        kind="cdf", metric="plt", options={"by": "http", "facet": ("access", "target")}
    )
    run = Run(subject.run.path)
    run.plan = subject.run.plan.model_copy(update={"figures": (request,)})
    made = {kind.name: kind for kind in FIGURES}["cdf"].make(
        Subject(run, Results(run), run.configurations, ""), request
    )
    assert isinstance(made, Drawing)
    assert made.title == "Distribution of plt by http, protocol, access and target"
    assert "each with 1 to 3 loads a line" in made.caption
    assert "h3, h2" in made.alt and "h3, h3" in made.alt and "h2, h3" not in made.alt
