"""Distributions inside cells: over requests, each cell on its own, with an interval over the
cells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from requested_figures import requested

from fairc.compiler.plan import Amount, FigureRequest, MetricRequest
from fairc.dsl.model.requests import Window
from fairc.runtime.report.figures import Drawing, NothingToDraw, cdf
from fairc.runtime.report.render import render
from fairc.runtime.store.columns import TABLES

from .conftest import SCHEMAS, write_table

Row = tuple[object, ...]
CDF = FigureRequest(kind="cdf", metric="fct", options={"by": "users"})
GROUPS = {"heavy-1": "heavy", "light-1": "light"}


def run_with(
    make_run: Callable[..., Path], rows: Callable[[int, str], Sequence[float | None]]
) -> Path:
    """Write a run of six cells whose requests took `rows(repetition, flow)`, s; None: for ever."""
    flows = tuple(GROUPS)
    path = make_run(
        flows=flows, repeat=6, duration_s=1.0, fairness=False, users=GROUPS, figures=(CDF,)
    )
    requests: list[Row] = []
    metrics: list[Row] = []
    for repetition in range(1, 7):
        for flow in flows:
            took, cell = rows(repetition, flow), f"{0:08d}{repetition:08d}"
            requests += [(cell, flow, 0, n, 0.1 * n, s, 1000) for n, s in enumerate(took)]
            metrics.append(
                (cell, "fct.count", flow, float(len(took)), "1", "", None, None, None, None)
            )
    write_table(path / "tables/requests.parquet", SCHEMAS["requests"], requests)
    write_table(path / "tables/metrics.parquet", SCHEMAS["metrics"], metrics)
    return path


def drawing(path: Path) -> Drawing:
    return requested(path)[1]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The lines of distributions within cells."""
    seen: dict[str, Any] = {}
    chart = cdf._chart

    def keep(query: Any, lines: Any, places: Any, word: str, by: Any, log: bool) -> Any:
        groups = [key.text for key in query.keys(by)]
        seen.update(lines=lines, groups=groups, places=places, word=word)
        return chart(query, lines, places, word, by, log)

    monkeypatch.setattr(cdf, "_chart", keep)
    return seen


def test_each_cell_has_its_own_distribution(
    make_run: Callable[..., Path], shown: dict[str, Any]
) -> None:
    """A cell with many slow requests is one of six, however many they are."""

    def rows(repetition: int, flow: str) -> list[float | None]:
        return [4.0] * 1000 if repetition == 1 else [1.0, 1.0, 1.0, 2.0]

    made = drawing(run_with(make_run, rows))
    assert shown["groups"] == ["users = heavy", "users = light"]
    for line in shown["lines"]:
        assert line.cells == 6
        assert (line.share[0], line.share[-1]) == (0.75, 1)
        # Over all requests together it would be 15 of 1020.
        assert (line.low[0], line.high[0]) == (0, 0.75)
    assert "median over 6 cells, each with 4 to 1000 requests" in made.caption
    assert "95 % interval (order statistics)" in made.caption


def test_what_never_ended_is_at_no_time(
    make_run: Callable[..., Path], shown: dict[str, Any]
) -> None:
    def rows(repetition: int, flow: str) -> list[float | None]:
        return [1.0, 2.0 + repetition / 10, None, None] if flow == "heavy-1" else [None, None]

    made = drawing(run_with(make_run, rows))
    heavy, light = shown["lines"]
    assert (heavy.share[0], heavy.share[-1]) == (0.25, 0.5)
    assert set(light.share) == {0}
    assert "light: less than half ended" in made.alt


def test_requests_of_the_warm_up_are_left_out(
    make_run: Callable[..., Path], shown: dict[str, Any]
) -> None:
    path = run_with(make_run, lambda *_: [9.0, 1.0, 1.0])
    cells = path / "cells.jsonl"
    cells.write_text(cells.read_text().replace('"warmup_ns":0', '"warmup_ns":50000000'))
    drawing(path)
    assert set(shown["places"]) == {1.0}


def test_nothing_that_ended_is_nothing_to_draw(make_run: Callable[..., Path]) -> None:
    with pytest.raises(NothingToDraw, match="no requests with a value"):
        drawing(run_with(make_run, lambda *_: [None]))


def test_it_is_drawn(make_run: Callable[..., Path]) -> None:
    path = run_with(make_run, lambda repetition, _: [0.1 * repetition, 5.0 * repetition, None])
    assert "share of requests" in str(render(drawing(path)))


def test_files_have_a_value_for_each_cell(make_run: Callable[..., Path]) -> None:
    """No request, so the figure is that of any other metric."""
    path = run_with(make_run, lambda *_: [])
    metrics: list[Row] = [
        (f"{0:08d}{r:08d}", name, flow, 1.0 * r, "s", "", None, None, None, None)
        for r in range(1, 7)
        for flow in GROUPS
        for name in ("fct.count", "fct.mean")
    ]
    write_table(path / "tables/metrics.parquet", SCHEMAS["metrics"], metrics)
    assert drawing(path).caption.startswith("Share of the values that are at most this")


def test_packets_are_what_a_queueing_delay_is_distributed_over(
    make_run: Callable[..., Path], shown: dict[str, Any]
) -> None:
    """Each cell has its distribution function as a curve; half of the packets wait 1 ms to 2 ms."""
    request = FigureRequest(kind="cdf", metric="queue_delay", options={"by": "flow"})
    path = make_run(repeat=6, duration_s=1.0, fairness=False, figures=(request,))
    curves: list[Row] = []
    metrics: list[Row] = []
    for repetition in range(1, 7):
        for flow in ("cubic", "bbr"):
            cell = f"{0:08d}{repetition:08d}"
            packets = 1000 * repetition
            delays = [1e-3 + k / 200 * 2e-3 for k in range(201)]
            curves += [
                (cell, "queue_delay", flow, "distribution", packets, d, k / 200, None, None)
                for k, d in enumerate(delays)
            ]
            metrics.append((cell, "queue_delay.mean", flow, 2e-3, "s", "", None, None, None, None))
    write_table(path / "tables/curves.parquet", SCHEMAS["curves"], curves)
    write_table(path / "tables/metrics.parquet", SCHEMAS["metrics"], metrics)
    made = drawing(path)
    assert shown["word"] == "packets"
    assert "6 cells, each with 1000 to 6000 packets a line" in made.caption
    for line in shown["lines"]:
        at = dict(zip(shown["places"], line.share, strict=True))
        assert at[min(at, key=lambda x: abs(x - 2e-3))] == pytest.approx(0.5, abs=0.01)


def test_a_window_has_samples_of_its_own(
    make_run: Callable[..., Path], shown: dict[str, Any]
) -> None:
    """Round trips of 1 ms until 0.5 s, then of 2 ms, and of 9 ms from 0.8 s on."""
    mark = "(from: 0.5s, to: 0.8s)"
    figure = FigureRequest(kind="cdf", metric=f"srtt{mark}", options={"by": "flow"})
    path = make_run(repeat=6, duration_s=1.0, fairness=False, figures=(figure,))
    begin, end = (Amount(text=f"{s}s", numbers=(s,)) for s in (0.5, 0.8))
    request = MetricRequest(name="srtt", window=Window(begin=begin, end=end), mark=mark)
    plan = json.loads((path / "plan.json").read_text())
    plan["implied"] = [json.loads(request.model_dump_json())]
    (path / "plan.json").write_text(json.dumps(plan))
    cells = [f"{0:08d}{repetition:08d}" for repetition in range(1, 7)]
    trips = [(0.1, 1e-3), (0.4, 1e-3), (0.5, 2e-3), (0.7, 2e-3), (0.8, 9e-3)]
    columns = [column.name for column in TABLES["samples"].columns]
    known = [
        {"cell": cell, "flow": flow, "connection": 0, "t_s": t_s, "rtt_s": rtt_s}
        for cell in cells
        for flow in ("cubic", "bbr")
        for t_s, rtt_s in trips
    ]
    samples: list[Row] = [tuple(row.get(column) for column in columns) for row in known]
    write_table(path / "tables/samples.parquet", SCHEMAS["samples"], samples)
    metrics: list[Row] = [
        (cell, f"srtt.mean{mark}", flow, 2e-3, "s", "", None, None, None, None)
        for cell in cells
        for flow in ("cubic", "bbr")
    ]
    write_table(path / "tables/metrics.parquet", SCHEMAS["metrics"], metrics)
    made = drawing(path)
    assert {*shown["places"]} == {2e-3}
    assert "smoothed RTT in the window" in made.caption and "2 to 2 samples" in made.caption


def test_a_mixture_of_configurations_has_no_band(
    make_run: Callable[..., Path], shown: dict[str, Any]
) -> None:
    path = make_run(
        repeat=6,
        duration_s=1.0,
        fairness=False,
        sweep={"n": ("1", "2")},
        figures=(FigureRequest(kind="cdf", metric="srtt", options={"by": "flow"}),),
    )
    made = drawing(path)
    assert all(line.low == line.high for line in shown["lines"])
    assert "add `n` to `by` or `facet`" in made.caption
    assert shown["word"] == "samples"
