"""A token bucket in front of a link: the kernel's policer against the reference model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from fairc.compiler import Cell
from fairc.compiler.plan import MetricRequest
from fairc.mechanisms.devices.policer.cell import TokenBucket
from fairc.mechanisms.devices.policer.record import buckets_of
from fairc.mechanisms.devices.policer.token_bucket import decide
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.record import Window
from fairc.runtime.metrics import METRICS

SPEC = """fexp 1
experiment policed {
  topology {
    node s, t, a, b
    router provider, edge, other
    link s -- provider, t -- provider { rate = 100Mbit/s }
    link provider -> edge  { rate = 20Mbit/s  delay = 10ms  policer = token_bucket(rate: 2Mbit/s, burst: 30kB) }
    link provider -> other { rate = 20Mbit/s  policer = token_bucket(rate: 1.5Mbit/s, burst: 8kB) }
    link edge -> provider, other -> provider { rate = 20Mbit/s  delay = 10ms }
    link edge -- a, other -- b { rate = 100Mbit/s }
  }
  flow cubic { from = s  to = a  cca = cubic  workload = bulk }
  flow bbr   { from = t  to = a  cca = bbr    workload = bulk }
  flow thin  { from = t  to = b  over = udp   rate = 3Mbit/s  workload = bulk }
  duration = 8s
  measure  = [goodput, loss_rate]
}
"""


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())


def test_the_kernel_drops_what_the_model_drops(measured: Measurement, folder: Path) -> None:
    after = json.loads((folder / "qdisc-after.json").read_text())
    assert len(buckets_of(measured)) == 2
    for bucket in buckets_of(measured):
        (clsact,) = [
            q
            for q in after[bucket.place[0]]
            if q["kind"] == "clsact" and q["dev"] == bucket.place[1]
        ]
        assert clsact["drops"] == bucket.dropped.sum() > 20


def test_drops_of_flows_are_those_that_the_kernel_counts(
    measured: Measurement, folder: Path
) -> None:
    """Of the whole cell: the kernel's counter knows no warm-up."""
    after = json.loads((folder / "qdisc-after.json").read_text())
    counted = [q["drops"] for queues in after.values() for q in queues if q["kind"] == "clsact"]
    found = METRICS["policing"].compute(
        measured.within(Window(0.0)), MetricRequest(name="policing")
    )
    drops = {v.flow: v.value or 0 for v in found if v.metric == "policing.drops"}
    assert sorted((drops["cubic"] + drops["bbr"], drops["thin"])) == sorted(counted)
    shares = {v.flow: v.value for v in found if v.metric == "policing.loss"}
    # 3 Mbit/s of UDP through 1.5: half of it is dropped.
    assert shares["thin"] == pytest.approx(0.5, abs=0.02)
    levels = [v for v in found if v.metric == "policing.level"]
    assert {v.reason for v in levels} == {"a token bucket polices bytes, and counts no congestion"}


def test_what_the_model_passes_reaches_the_queue_and_nothing_else(measured: Measurement) -> None:
    for queue in measured.queues:
        assert not queue.through.strangers.any()
        assert not queue.through.lost.any(), "the queue behind is never full"
        assert len(queue.left) > 200


@pytest.mark.parametrize("length_s", [0.1, 1.0, 5.0])
def test_no_time_sees_more_than_the_burst_and_the_rate(
    measured: Measurement, length_s: float
) -> None:
    """Of a bucket of depth b and rate r at most b + r t passes in any time t."""
    for bucket in buckets_of(measured):
        passed = bucket.packets.select(~bucket.dropped)
        before = np.concatenate(([0], np.cumsum(passed.frame_bytes)))
        ends = np.searchsorted(passed.time_ns, passed.time_ns + int(length_s * 1e9), side="right")
        most = (before[ends] - before[:-1]).max()
        plan = bucket.plan
        assert most <= plan.burst_bytes + plan.rate_bps / 8 * length_s + 1


def test_another_bucket_makes_the_cell_invalid(measured: Measurement) -> None:
    bucket, *others = buckets_of(measured)
    plan = dataclasses.replace(bucket.plan, burst_bytes=2 * bucket.plan.burst_bytes)
    dropped = decide(plan, bucket.packets.time_ns, bucket.packets.frame_bytes)
    wrong = dataclasses.replace(bucket, dropped=dropped)
    verdict, reasons = validity.judge(
        dataclasses.replace(measured, devices={"policer": (wrong, *others)})
    )
    assert verdict == "invalid"
    assert "token bucket" in reasons[0]


def bucket_of(rate_bps: int, burst_bytes: int) -> TokenBucket:
    return TokenBucket(
        name="p",
        node="h",
        ingress="eth0",
        egress="eth1",
        rate_bps=rate_bps,
        burst_bytes=burst_bytes,
    )


def test_the_model_by_hand() -> None:
    """Frames of 1000 bytes, a bucket of two, filled at one in 8 ms."""
    times = np.array([0, 0, 0, 4, 8, 9, 16, 100, 100, 100], np.int64) * 1_000_000
    frames = np.full(len(times), 1000, np.int64)
    dropped = decide(bucket_of(1_000_000, 2000), times, frames)
    assert dropped.tolist() == [False, False, True, True, False, True, False, False, False, True]


def test_the_plan_has_the_bucket_where_packets_arrive(cell: Cell) -> None:
    buckets = [each for each in cell.devices if isinstance(each, TokenBucket)]
    found = {each.node: (each.rate_bps, each.burst_bytes) for each in buckets}
    assert found == {
        "provider-policer": (2_000_000, 30_000),
        "provider-policer-2": (1_500_000, 8000),
    }
    nodes = {node.name: node for node in cell.nodes}
    for each in buckets:
        into, out = nodes[each.node].interfaces
        assert (each.ingress, each.egress) == (into.name, out.name) and out.shaper is not None
