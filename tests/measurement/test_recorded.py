"""The loaders on output of real tools: tc of many kinds, and a whole cell of the vm engine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairc.compiler.plan import MetricRequest, Requests, parse_cell
from fairc.runtime.analysis.cells import Analysis, analyse
from fairc.runtime.measurement import load
from fairc.runtime.measurement.artefacts import Artefacts
from fairc.runtime.measurement.qdisc import load as load_qdiscs
from fairc.runtime.metrics import METRICS
from fairc.runtime.validity.service import backlogged_rate
from fairc.words.metrics import METRICS as WORDS

PER_LOAD = tuple(metric.name for metric in WORDS if metric.per_load)
RECORDED = Path(__file__).parent / "recorded"
CELL = parse_cell((RECORDED / "cell" / "plan-cell.json").read_bytes())
RAW = RECORDED / "cell" / "artefacts"


@pytest.mark.parametrize(
    "path", sorted((RECORDED / "qdisc").glob("*.json")), ids=lambda path: path.stem
)
def test_every_kind_of_qdisc_can_be_read(path: Path, tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps({"r1": json.loads(path.read_text())}))
    found = load_qdiscs(Artefacts(tmp_path), "q.json")
    kinds = [counters.kind for counters in found["r1", "v0"]]
    assert kinds == path.stem.split("-")
    root = found["r1", "v0"][0]
    assert root.parent == ""
    assert root.sent_packets + root.drops == 25
    assert root.sent_bytes == root.sent_packets * 98
    assert (root.drops > 0) == (path.stem == "netem")


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    groups = {"unfairness": ("cubic", "bbr")}
    chosen = (m.name for m in METRICS if m.name not in ("json", "number"))  # of programs
    measure = (MetricRequest(name=name, sessions=groups.get(name, ())) for name in chosen)
    return analyse(CELL, RAW, Requests(measure=tuple(measure)))


def test_the_recorded_cell_is_valid(analysis: Analysis) -> None:
    assert (analysis.verdict, analysis.reasons) == ("valid", ())
    assert analysis.ended_by == "finished"
    assert [(f.flow, f.bytes, f.completed) for f in analysis.flows] == [
        ("cubic", 100_000, True),
        ("bbr", 100_000, True),
    ]
    undefined = {
        value.metric: value.reason
        for value in analysis.metrics
        if value.value is None and not value.reason.startswith("too few values")
    }
    videos = ("qoe", "stalls.count", "stalls.time", "startup")
    percentiles = {
        f"fct.p{p}": f"too few transfers for a {p}th percentile: 1"
        for p in (5, 10, 25, 75, 90, 95, 99)
    } | {"fct.p50": "too few transfers for a median: 1"}
    short = {
        f"stationarity.{value}": "the throughput per slot: fewer than 30 values"
        for value in ("statistic", "p", "autocorrelation")
    }
    window = "the sessions competed for less than one window of 1 s"
    short |= dict.fromkeys(
        ("convergence_time", "convergence_time.reached", "convergence_time.held"), window
    )
    delays = ("mean", "min", "max", *(f"p{p}" for p in (5, 10, 25, 50, 75, 90, 95, 99)))
    others = dict.fromkeys((f"one_way_delay.{name}" for name in delays), "no flow is over UDP")
    others |= dict.fromkeys(videos, "no flow plays videos") | {
        f"datagrams.{value}": "no flow is over UDP"
        for value in ("lost", "reordered", "duplicates", "jitter")
    }
    others |= dict.fromkeys(PER_LOAD, "no flow loads pages")
    policed = ("tokens", "loss", "drops", "level", "empty", "unexposed")
    others |= {f"policing.{value}": "no flow is policed" for value in policed}
    others |= {
        f"rtt.{value}": "packets were not captured at its sender"
        for value in ("mean", "min", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
    }
    others |= {
        v.name: "packets were not captured at its sender"
        for metric in METRICS
        if metric.name in ("acks", "bursts")
        for v in metric.values
    }
    others |= {
        v.name: "no flow sends media"
        for metric in METRICS
        if metric.name in ("frame_delay", "frames", "freezes", "media_rate")
        for v in metric.values
    }
    between = ("connection_fairness.jain_session", "connection_fairness.jain_slots")
    others |= dict.fromkeys(between, "the flow has one connection")
    unmarked = "no packet of the flow arrived as ECT after the warm-up"
    others |= dict.fromkeys(("marks", "marks.count"), unmarked)
    unchanged = "the flow was not there at the change at 0 s, and a slot after it"
    others |= dict.fromkeys(("recovery_time", "recovery_time.reached"), unchanged)
    stateless = "its CCA said no state after the warm-up"
    others |= {
        v.name: stateless for metric in METRICS if metric.name == "state" for v in metric.values
    }
    few = "a sample every 100 ms is too rare for round trips of 117 ms"
    others |= {
        v.name: few for metric in METRICS if metric.name == "deviations" for v in metric.values
    }
    assert undefined == others | percentiles | short


def test_drops_and_losses_are_those_that_the_kernel_counted() -> None:
    measurement = load(CELL, RAW)
    queue = measurement.queues[0]
    tbf, bfifo = measurement.qdiscs_after[queue.place]
    netem = measurement.qdiscs_after["r1-r2", "r1-r2-eth1"][0]
    assert (tbf.kind, bfifo.kind, netem.kind) == ("tbf", "bfifo", "netem")
    assert int(queue.through.lost.sum()) == tbf.drops == bfifo.drops > 10
    assert int(queue.behind.lost.sum()) == netem.drops > 0
    assert not queue.through.strangers.any()
    assert not queue.behind.strangers.any()


def test_the_shaper_is_as_fast_as_planned() -> None:
    frames, slowest_bps, fastest_bps = backlogged_rate(load(CELL, RAW).queues[0], slack_s=0.0)
    assert frames > 90
    assert slowest_bps == pytest.approx(1e6, rel=0.005)
    assert fastest_bps == pytest.approx(1e6, rel=0.005)


def test_the_queue_never_holds_more_than_it_may() -> None:
    queue = load(CELL, RAW).queues[0]
    packets, data = queue.largest_backlog()
    assert 11_250 - 1514 < data <= 11_250
    assert packets <= data // 66
    assert queue.backlog_bytes(np.array([1e6])).tolist() == [0]


def test_slots_hold_every_byte_once(analysis: Analysis) -> None:
    measurement, table = load(CELL, RAW), analysis.series["slots"]
    slots = len(measurement.edges()) - 1
    for number, flow in enumerate(measurement.flows):
        sent = int(flow.queue.left.ip_bytes[flow.left].sum())
        own = slice(number * slots, (number + 1) * slots)
        assert sum(table["ip_bytes"][own]) == pytest.approx(sent)
        assert sum(table["delivered_bytes"][own]) == pytest.approx(100_000)
    capacity = 1e6 / 8 * 0.1
    assert np.reshape(table["ip_bytes"], (-1, slots)).sum(axis=0).max() <= capacity * 1.01
