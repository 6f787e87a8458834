"""Coupled queues and accurate ECN in the real kernel (RFC 9332; docs/learn/links/l4s.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from left_behind import events

from fairc.cell.hosts import ACCURATE_ECN
from fairc.runtime import validity
from fairc.runtime.measurement import FlowRecord, Measurement

SPEC = """fexp 1
experiment l4s {
  topology {
    node s1, s2, c1, c2
    router a, b
    link s1 -- a, s2 -- a, c1 -- b, c2 -- b { rate = 1Gbit/s }
    link a -- b { rate = 40Mbit/s  delay = 5ms  queue = dualpi2(l4s: any) }
  }
  flow scalable { from = s1  to = c1  cca = dctcp  ecn = accurate  workload = bulk }
  flow classic  { from = s2  to = c2  cca = reno   workload = bulk }
  duration = 12s
  warmup = 4s
  measure = [goodput]
}
"""


def flows(measured: Measurement) -> tuple[FlowRecord, FlowRecord]:
    by_name = {flow.name: flow for flow in measured.flows}
    return by_name["scalable"], by_name["classic"]


def bottleneck(folder: Path, name: str) -> dict[str, Any]:
    document = json.loads((folder / name).read_text())
    (queue,) = [q for q in document["a"] if q["kind"] == "dualpi2"]
    found: dict[str, Any] = queue
    return found


def test_the_cell_is_valid(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())


def test_accurate_ecn_is_agreed_on_where_it_is_asked_for(folder: Path) -> None:
    (scalable,) = events(folder, "scalable.server", "accepted")
    (classic,) = events(folder, "classic.server", "accepted")
    assert (scalable["ecn"], scalable["accurate_ecn"]) == (True, True)
    assert (classic["ecn"], classic["accurate_ecn"]) == (False, False)
    sysctls = json.loads((folder / "system.json").read_text())["sysctl"]
    assert {sysctls[node]["net.ipv4.tcp_ecn"] for node in ("s1", "c1")} == {ACCURATE_ECN}
    assert {sysctls[node]["net.ipv4.tcp_ecn"] for node in ("s2", "c2")} == {"2"}


def test_each_flow_is_in_its_queue_and_waits_as_long_as_it_aims_at(measured: Measurement) -> None:
    """Around 1 ms (`step`) and 15 ms (`target`); a frame takes 0.3 ms."""
    scalable, classic = (
        float(np.nanmean(f.queue.delay_s[f.left & (f.queue.left_s > 4)])) for f in flows(measured)
    )
    assert 0.0003 < scalable < 0.0015
    assert 0.010 < classic < 0.020


def test_the_coupling_shares_the_link_between_unequal_queues(measured: Measurement) -> None:
    """At equal windows the rates are as the RTTs: 11 ms and 25 ms."""
    scalable, classic = (int((f.left & (f.queue.left_s > 4)).sum()) for f in flows(measured))
    assert 1.0 < scalable / classic < 3.0


def test_counters_of_the_queue_are_read(folder: Path, measured: Measurement) -> None:
    before, after = bottleneck(folder, "qdisc-before.json"), bottleneck(folder, "qdisc-after.json")
    scalable, classic = flows(measured)
    assert before["pkts-in-l"] == 0
    for flow, count in (
        (scalable, after["pkts-in-l"]),
        (classic, after["pkts-in-c"] - before["pkts-in-c"]),
    ):
        came = int(flow.left.sum()) + (after["drops"] if flow is classic else 0)
        assert count == pytest.approx(came, abs=12)  # beside handshakes
    assert after["drops"] - before["drops"] == int(classic.queue.through.lost.sum())
    assert after["ecn-mark"] > after["step-mark"] > 0
