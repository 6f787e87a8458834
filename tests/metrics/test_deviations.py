"""The metric `deviations`, from samples to values, and a cell without captures."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from madeartefacts import TCP_SAMPLE, Made, hand_made, write_json, write_lines
from walks import P, walk

from fairc.compiler.plan import Cell, MetricRequest, Requests
from fairc.mechanisms.queues.fifo.cell import Fifo
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.measurement import load
from fairc.runtime.validity import judge
from fairc_deviations.metric import METRIC, compute
from fairc_deviations.metric import curves as curves_of
from fairc_deviations.windows import averages

MS = 1_000_000


def sampled(folder: Path, rounds: int = 3000, **changes: Any) -> tuple[Cell, Path]:
    """A cell whose flow a walked the chain: rounds of 80 ms, eight samples each.

    changes: of the flow.
    """
    made = hand_made("a....b....")
    a, b = made.cell.flows
    given: dict[str, Any] = {"cca": "reno", "sample_every_ns": 10 * MS} | changes
    flow = replace(a, **given)
    end_ns = rounds * 80 * MS
    cell = replace(made.cell, flows=(flow, b))
    Made(cell, made.packets, end_ns).write(folder)
    lines: list[dict[str, Any]] = [{"t_ns": 0, "event": "listening", "cca": flow.cca}]
    for number, (window, lost) in enumerate(zip(*walk(P, rounds, 9), strict=True)):
        for step in range(8):
            # The sender learns of a loss in the middle of a round.
            state = 3 if lost and step >= 4 else 0
            sample = {**TCP_SAMPLE, "cwnd": int(window), "ssthresh": 7, "ca_state": state}
            t_ns = (number * 8 + step) * 10 * MS
            lines.append({"t_ns": t_ns, "event": "sample", "connection": 0, **sample})
    write_lines(folder / "a.server.ndjson", lines)
    ends = [(0, "opened"), (1, "first-byte"), (end_ns, "stopped")]
    write_lines(
        folder / "a.client.ndjson",
        [{"t_ns": t, "event": event, "connection": 0, "bytes": 1} for t, event in ends],
    )
    return cell, folder


REQUEST = MetricRequest(
    name="deviations", sessions=("a",), options={"scales": "[20, 50, 100]", "every": 0.01}
)


def values(cell: Cell, folder: Path) -> dict[tuple[str, str | None], Any]:
    found = compute(load(cell, folder), REQUEST)
    assert {v.metric for v in found} == {v.name for v in METRIC.values}
    return {
        (v.metric.removeprefix("deviations."), v.flow): v.reason if v.value is None else v.value
        for v in found
    }


def test_the_metric_from_samples(tmp_path: Path) -> None:
    cell, folder = sampled(tmp_path)
    windows, losses = walk(P, 3000, 9)
    found = values(cell, folder)
    assert found["inside", "a"] == 1.0
    # The last round ends beyond the last sample.
    assert found["rounds", "a"] == 2999
    assert found["mean", "a"] == pytest.approx(windows[:-1].mean())
    assert found["losses", "a"] == pytest.approx(losses[:-1].mean())
    assert found["largest", "a"] == windows[:-1].max()
    assert found["windows", "a, n = 50"] == 59
    assert found["alpha_max", "a, n = 50"] == averages(windows[:-1], 50).max()
    assert found["theory_min", "a, n = 50"] < found["theory_max", "a, n = 50"]
    assert found["alpha_min", "a, n = 100"] == "29 windows of 100 rounds: fewer than 30"
    assert found["inside_gaussian", "a"] == "b is not a source of known rate: it runs over TCP"
    measurement = load(cell, folder)
    names = {curve.name for curve in curves_of(measurement, REQUEST)}
    assert {"spectrum", "spectrum.theory", "range", "range.bernoulli", "loss"} <= names


def test_other_ccas_have_empirical_spectra_only(tmp_path: Path) -> None:
    cell, folder = sampled(tmp_path, cca="cubic")
    found = values(cell, folder)
    assert (
        found["inside", "a"] == "the theory covers only Reno over TCP, and this is cubic over TCP"
    )
    assert found["alpha_min", "a, n = 20"] < found["mean", "a"] < found["alpha_max", "a, n = 20"]
    names = {curve.name for curve in curves_of(load(cell, folder), REQUEST)}
    assert names == {"spectrum", "range", "loss"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sample_every_ns": 100 * MS}, "every 100 ms is too rare for round trips of 80 ms"),
        ({"connections": 2, "starts_ns": (0, 0)}, "the flow has several"),
    ],
)
def test_flows_without_deviations(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    cell, folder = sampled(tmp_path, rounds=50, **changes)
    found = values(cell, folder)
    assert {why in str(value) for value in found.values()} == {True}


def test_samples_of_before_the_state_was_written(tmp_path: Path) -> None:
    cell, folder = sampled(tmp_path, rounds=1000)
    file = folder / "a.server.ndjson"
    file.write_text(re.sub(r', "ca_state": \d', "", file.read_text()))
    found = values(cell, folder)
    assert found["inside", "a"] == "the samples do not include the congestion state"
    assert found["losses", "a"] == found["inside", "a"]
    assert isinstance(found["alpha_max", "a, n = 20"], float)


def test_a_cell_without_captures(tmp_path: Path) -> None:
    cell, folder = sampled(tmp_path, rounds=1000)
    bare = replace(cell, captured="none", captures=())
    for capture in folder.glob("*.pcap"):
        capture.unlink()
    measurement = load(bare, folder)
    verdict, reasons = judge(measurement)
    assert verdict == "flagged" and "no packets were captured" in reasons[0]
    assert isinstance(values(bare, folder)["alpha_max", "a, n = 20"], float)
    metrics = [
        MetricRequest(name=m) for m in ("throughput", "utilization", "loss_rate", "fairness")
    ]
    lost = analyse(bare, folder, Requests(measure=tuple(metrics)))
    assert {v.reason for v in lost.metrics} == {"no packets were captured (`captures = none`)"}
    # It may send after the end what it holds then: here for as long as the cell lasted.
    router = next(node for node in bare.nodes if node.name == "r1")
    holds = int(1e6 / 8 * measurement.ended_s)
    queues = [
        replace(i, queue=Fifo(limit_bytes=holds) if i.queue else None) for i in router.interfaces
    ]
    others = [node for node in bare.nodes if node is not router]
    long = replace(bare, nodes=(*others, replace(router, interfaces=tuple(queues))))
    counters = json.loads((folder / "qdisc-after.json").read_text())
    counters["r1"][0]["bytes"] = int(1.8 * holds)
    write_json(folder / "qdisc-after.json", counters)
    assert not [reason for reason in judge(load(long, folder))[1] if "more than the" in reason]
    assert [reason for reason in judge(load(bare, folder))[1] if "more than the" in reason]
    # A bottleneck that carried more than its rate is no bottleneck.
    counters["r1"][0]["bytes"] = 10**9
    write_json(folder / "qdisc-after.json", counters)
    verdict, reasons = judge(load(bare, folder))
    assert verdict == "invalid" and "more than the" in reasons[0]


def test_late_samples_are_late_by_their_own_interval(tmp_path: Path) -> None:
    cell, folder = sampled(tmp_path, rounds=100)
    assert not [r for r in judge(load(cell, folder))[1] if "took a sample" in r]
    file = folder / "a.server.ndjson"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:200] + lines[203:]))
    assert [r for r in judge(load(cell, folder))[1] if "a sample 30.0 ms late" in r]
