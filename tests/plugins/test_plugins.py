"""Words of another package: `example/` is what one looks like when it is installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from waiting import completed

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

SPEC = """fexp 1
experiment e {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: rack_codel(100pkt, target: 2ms))
  flow a { cca = cubic  workload = file(1MB) }
  measure = [flows_seen]
}
"""

PROGRAM = """
from dataclasses import asdict
from fairc import compiler, dsl
from fairc.compiler import plan
experiment, found = dsl.load(dsl.Source("e.fexp", SPEC))
print(sorted((d.code, d.message, d.notes[0]) for d in found))
(cell,) = compiler.compile(experiment).cells()
print([asdict(i.queue) for n in cell.nodes for i in n.interfaces if i.bottleneck])
head_drop = SPEC.replace("rack_codel(100pkt, target: 2ms)", "head_drop(30pkt)")
experiment, found = dsl.load(dsl.Source("e.fexp", head_drop))
(cell,) = compiler.compile(experiment).cells()
cell = plan.parse_cell(plan.cell_json(cell))
from fairc.cell.queues import queue_lines
from fairc.compiler.targets import find, mininet
(queue,) = [i.queue for n in cell.nodes for i in n.interfaces if i.bottleneck]
print(queue_lines("eth0", queue, 10**6), "pfifo_head_drop limit 30" in mininet.render(cell))
from fairc.runtime.engines import ENGINES
from fairc.runtime.metrics import METRICS
from fairc.runtime.report.figures import FIGURES
print(find(["names"])[0].about, METRICS["flows_seen"].values[0].unit, "dots" in FIGURES)
print(type(ENGINES["example"].make(print)).__name__)
from fairc.runtime.engines.doctor import plugged
found = [finding for finding in plugged() if "fairc-example" in finding.what]
print(sorted((finding.what, finding.well) for finding in found))
"""


def lines() -> list[str]:
    """What a Python says that has the package installed."""
    paths = os.pathsep.join([str(HERE / "example"), str(ROOT)])
    done = completed(
        [sys.executable, "-c", f"SPEC = {SPEC!r}{PROGRAM}"], env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_package_adds_words_and_what_cannot_be_used_is_reported() -> None:
    warned, queue, head_drop, others, engine, doctor = lines()
    line = "qdisc add dev eth0 parent 1:1 handle 2: pfifo_head_drop limit 30"
    assert head_drop == f"[{line!r}] True"
    assert eval(queue) == [
        {
            "limit_bytes": None,
            "limit_packets": 100,
            "kind": "codel",
            "target_ns": 2_000_000,
            "interval_ns": 40_000_000,
            "ecn": True,
            "ce_threshold_ns": None,
        }
    ]
    assert others == "nothing but the plan 1 False"
    assert engine == "ExampleEngine"
    plugin = "the plug-in `{}` of fairc-example (fairc.queues) cannot be used"
    assert eval(warned) == [
        ("plugin-failed", plugin.format("again"), "two entries are called 'fifo' among the queues"),
        (
            "plugin-failed",
            plugin.format("broken"),
            "ModuleNotFoundError: No module named 'fairc_example.nowhere'",
        ),
        (
            "plugin-failed",
            plugin.format("wrong"),
            "fairc_example.words:METRIC is not of type Discipline",
        ),
    ]
    assert eval(doctor) == [
        ("`again` of fairc-example (fairc.queues)", False),
        ("`broken` of fairc-example (fairc.queues)", False),
        ("`dots` of fairc-example (fairc.figures)", False),
        ("`example` of fairc-example (fairc.engines)", True),
        ("`flows_seen` of fairc-example (fairc.metrics)", True),
        ("`head_drop` of fairc-example (fairc.queues)", True),
        ("`names` of fairc-example (fairc.targets)", True),
        ("`rack_codel` of fairc-example (fairc.queues)", True),
        ("`wrong` of fairc-example (fairc.queues)", False),
    ]
