"""Link models in the real kernel: what tc reads back, and what packets go through."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from left_behind import flow_of

from fairc.compiler import Cell
from fairc.runtime import validity
from fairc.runtime.measurement import FlowRecord, Measurement

SPEC = """fexp 1
topology laboratory {
  node s, steady, shaky, skipping, doubled
  router r
  link s -- r { rate = 100Mbit/s }
  link r -> steady   { rate = 3Mbit/s  delay = 20ms  queue = fifo(30pkt)  jitter = 10ms }
  link r -> shaky    { rate = 3Mbit/s  delay = 20ms  queue = fifo(30pkt)  jitter = jitter(4ms, normal, overtake: on) }
  link r -> skipping { rate = 3Mbit/s  delay = 20ms  queue = fifo(30pkt)  reorder = 3% }
  link r -> doubled  { rate = 3Mbit/s  delay = 20ms  queue = fifo(30pkt)  duplicate = 4%  loss = 1% }
  link steady -> r, shaky -> r, skipping -> r { rate = 100Mbit/s  delay = 20ms }
  link doubled -> r { rate = 100Mbit/s  delay = 20ms  jitter = jitter(5ms, pareto)  duplicate = 2% }
}
experiment links {
  topology = laboratory()
  flow steady   { from = s  to = steady    cca = cubic  workload = bulk }
  flow shaky    { from = s  to = shaky     cca = cubic  workload = bulk }
  flow skipping { from = s  to = skipping  cca = cubic  workload = bulk }
  flow doubled  { from = s  to = doubled   cca = bbr    workload = bulk }
  duration = 8s
  measure  = [goodput]
}
"""


def delays_s(flow: FlowRecord) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """From the end of the transmission to the end of the hop, of each packet that arrived."""
    queue, which = flow.queue, flow.left & (flow.queue.behind.found >= 0)
    arrived_s = queue.seconds(queue.delivered)[queue.behind.found[which]]
    return np.asarray(arrived_s - queue.sent_s[which])


def test_tc_reads_back_what_the_plan_says(cell: Cell, folder: Path) -> None:
    document = json.loads((folder / "qdisc-after.json").read_text())
    seen = 0
    for node in cell.nodes:
        for interface in node.interfaces:
            planned = interface.impairment
            if planned is None:
                continue
            (netem,) = [q for q in document[node.name] if q["dev"] == interface.name]
            options = netem["options"]
            assert options["delay"]["delay"] == pytest.approx(planned.delay_ns * 1e-9)
            assert options["delay"].get("jitter", 0) == pytest.approx(planned.jitter_ns * 1e-9)
            assert options.get("seed") == planned.seed or not planned.random
            for name, share in (("duplicate", planned.duplicate), ("reorder", planned.reorder)):
                assert options.get(name, {}).get(name, 0) == pytest.approx(share, rel=1e-6)
            assert ("rate" in options) == (planned.in_order or planned.rate_bps is not None)
            seen += 1
    assert seen == 8


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    """The guest's CPU may be busy: many hosts start at once."""
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


def test_jitter_keeps_packets_in_order(measured: Measurement) -> None:
    flow = flow_of(measured, "steady")
    took = delays_s(flow)
    assert 0.010 <= took.min() < 0.012
    assert 0.028 < took.max() < 0.0305
    found = flow.queue.behind.found
    assert (np.diff(found[found >= 0]) > 0).all()


def test_jitter_lets_packets_overtake_where_asked_for(measured: Measurement) -> None:
    flow = flow_of(measured, "shaky")
    took = delays_s(flow)
    assert float(took.mean()) == pytest.approx(0.020, abs=0.5e-3)
    assert float(took.std()) == pytest.approx(0.004, rel=0.1)
    found = flow.queue.behind.found
    assert (np.diff(found[found >= 0]) < 0).sum() > 50


def test_packets_that_are_reordered_skip_the_delay(measured: Measurement) -> None:
    took = delays_s(flow_of(measured, "skipping"))
    skipped = took < 1e-3
    assert 20 < skipped.sum() < 100
    assert float(np.median(took[~skipped])) == pytest.approx(0.020, abs=0.5e-3)


def test_copies_arrive_beside_the_packets(measured: Measurement) -> None:
    queue = flow_of(measured, "doubled").queue
    assert 30 < queue.behind.strangers.sum() < 150
    assert queue.behind.lost.sum() > 3
