"""Delay, loss and AQMs in containers, on a kernel that has them: in fairc's own virtual machine."""

from __future__ import annotations

import json
from pathlib import Path

import docker_machine
import numpy as np
from specs import compilation_of

from fairc.mechanisms.queues.codel.cell import CoDel
from fairc.mechanisms.queues.fq_codel.cell import FqCoDel
from fairc.runtime import validity
from fairc.runtime.engines.host import QDISCS
from fairc.runtime.measurement import load
from fairc.runtime.validity.service import backlogged_rate

SPEC = """fexp 1
topology pair() {
  node s  router r  node c
  link s -- r { rate = 100Mbit/s }
  link r -> c { rate = 4Mbit/s  delay = 10ms  loss = 2%  queue = fq_codel(60pkt) }
  link c -> r { rate = 4Mbit/s  delay = 10ms  queue = codel(60pkt) }
}
experiment pair {
  topology = pair()
  flow f { from = s  to = c  cca = cubic  count = 2  workload = file(1200kB) }
  measure = [goodput, queue_delay]
}
"""
BASE_RTT_S, WITHIN_S = 20e-3, 1e-3
RATE_BPS, WITHIN_SHARE = 4e6, 0.02
COARSE_US = 2.0  # the kernel keeps CoDel's times in units of 1024 ns


def test_delay_loss_and_aqms_of_a_cell_are_those_of_its_plan(tmp_path: Path) -> None:
    """One test: a machine is booted for it, and test processes share nothing."""
    compilation = compilation_of(SPEC)
    (cell,) = compilation.cells()
    failure = docker_machine.run(compilation, tmp_path)
    assert failure == ""
    measured = load(cell, tmp_path)
    assert validity.judge(measured) == ("valid", ())

    (flow,) = measured.flows
    assert flow.endpoints.completed
    assert flow.endpoints.progress.total == 2_400_000
    assert flow.pings is not None and len(flow.pings.rtts_s) >= 10
    assert abs(float(np.median(flow.pings.rtts_s)) - BASE_RTT_S) < WITHIN_S
    assert float(np.ptp(flow.pings.rtts_s)) < WITHIN_S

    (queue,) = measured.queues
    frames, slowest_bps, fastest_bps = backlogged_rate(queue, slack_s=0.0)
    assert frames > 1000
    assert abs(slowest_bps / RATE_BPS - 1) < WITHIN_SHARE
    assert abs(fastest_bps / RATE_BPS - 1) < WITHIN_SHARE

    (count,) = validity.loss_counts(measured)
    assert count.expected == 0.02 and count.sent > 1000 and count.lost > 0
    assert count.plausible, count

    document = json.loads((tmp_path / "qdisc-after.json").read_text())
    (netem,) = [q["options"] for q in document["r-c"] if q["dev"] == "r-c-eth1"]
    assert netem["delay"]["delay"] == 0.01 and netem["loss-random"]["loss"] == 0.02
    (back,) = [q["options"] for q in document["r-c"] if q["dev"] == "r-c-eth0"]
    assert back["delay"]["delay"] == 0.01 and "loss-random" not in back
    queues = {i.name: i.queue for node in cell.nodes for i in node.interfaces}
    for node, interface, kind in (("r", "r-eth1", FqCoDel), ("c", "c-eth0", CoDel)):
        planned = queues[interface]
        assert isinstance(planned, kind)
        (child,) = [q for q in document[node] if q["dev"] == interface and q.get("parent") == "1:1"]
        options = child["options"]
        assert (child["kind"], options["limit"]) == (planned.tc_name, 60)
        assert abs(options["target"] - planned.target_ns / 1000) < COARSE_US
        assert abs(options["interval"] - planned.interval_ns / 1000) < COARSE_US
        assert options.get("ecn", False) is planned.ecn
    (dropped,) = [
        q["drops"] for q in document["r"] if q.get("parent") == "1:1" and q["dev"] == "r-eth1"
    ]
    assert dropped > 0, "the AQM had nothing to do"

    # Debian's cloud kernel may have been built without DualPI2.
    there = set(json.loads((tmp_path / "probe.json").read_text()))
    assert set(QDISCS) - {"dualpi2"} <= there <= set(QDISCS)
