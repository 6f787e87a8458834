"""Queues and losses in the real kernel: what tc reads back, and what they do to flows.

One cell has it all: a router with one link per queue. Some links carry flows, the others are there
to be read back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from computed import by_name, results

from fairc.compiler import Cell, plan
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.validity.expected_losses import LossCount, tails

SPEC = """fexp 1
topology laboratory(rate = 3Mbit/s, hop = 10ms) {
  node s, fair, unfair, early, bursty, packets, idle1, idle2, idle3, idle4, idle5, idle6, idle7, idle8, idle9, idle10, idle11,
    idle12, idle13
  router r
  link s -> r { rate = 100Mbit/s }
  link r -> s { rate = 100Mbit/s }
  link r -> fair   { rate = rate  delay = hop  queue = fq_codel(60pkt) }
  link r -> unfair { rate = rate  delay = hop  queue = fifo(60pkt) }
  link r -> early  { rate = rate  delay = hop  queue = red(limit: 100pkt, min: 5%, max: 20%, pmax: 50%) }
  link r -> bursty { rate = 8Mbit/s  delay = hop  queue = fifo(50ms)  loss = gilbert_elliott(p: 2%, r: 40%, h: 10%, k: 99.9%) }
  link fair -> r, unfair -> r, early -> r, bursty -> r { rate = 100Mbit/s  delay = hop }
  link r -- idle1 { rate = rate  queue = codel(20kB, target: 7ms, interval: 80ms, ecn: on) }
  link r -- idle2 { rate = rate  queue = pie(50ms, target: 20ms) }
  link r -- idle3 { rate = rate  queue = fq_pie(77pkt, flows: 64, ecn: on) }
  link r -- idle4 { rate = rate  queue = fq(77pkt, flow_limit: 33pkt) }
  link r -- idle5 { rate = rate  queue = sfq(77pkt) }
  link r -- idle6 { rate = rate  queue = cake(77pkt, rtt: 50ms) }
  link r -- idle7 { rate = rate  queue = red(limit: 100ms, min: 10%, max: 100%, pmax: 100%, ecn: on) }
  link r -- idle8 { rate = rate  queue = dualpi2(77pkt, step: 5ms) }
  link r -- idle9 { rate = rate  queue = dualpi2(77pkt, target: 20ms, tupdate: 10ms, alpha: 1/s, beta: 5/s, coupling: 3,
                    step: 4pkt, protection: 25%, l4s: any, drop: enqueue, overload: overflow) }
  link r -- idle10 { rate = rate  queue = fq(77pkt, flows: 1, ce_threshold: 5ms) }
  link r -- idle11 { rate = rate  queue = fq_codel(77pkt, ce_threshold: 2ms) }
  link r -- idle12 { rate = rate  queue = cake(77pkt, diffserv: diffserv4, isolate: triple, ack_filter: aggressive) }
  link r -- idle13 { rate = rate  queue = cake(77pkt, diffserv: diffserv8, isolate: none, ack_filter: on) }
  link r -- packets { rate = rate  queue = fifo(7pkt) }
}
experiment queues {
  topology = laboratory()
  flow fair1   { from = s  to = fair    cca = cubic  workload = bulk }
  flow fair2   { from = s  to = fair    cca = bbr    workload = bulk }
  flow unfair1 { from = s  to = unfair  cca = cubic  workload = bulk }
  flow unfair2 { from = s  to = unfair  cca = bbr    workload = bulk }
  flow early   { from = s  to = early   cca = reno   workload = bulk }
  flow bursty  { from = s  to = bursty  cca = bbr    workload = bulk }
  duration = 8s
  warmup   = 2s
  measure  = [fairness(fair1, fair2)]
}
"""


CODEL = (
    "limit=limit_packets target=target_ns interval=interval_ns ce_threshold=ce_threshold_ns ecn=ecn"
)
PIE = "limit=limit_packets target=target_ns tupdate=update_ns alpha=alpha beta=beta ecn=ecn"
FQ = "flows=flows quantum=quantum_bytes memory_limit=memory_bytes"
ATTRIBUTES = {
    "fifo": "",
    "red": "limit=limit_bytes min=min_bytes max=max_bytes",
    "codel": CODEL,
    "fq_codel": f"{CODEL} {FQ} drop_batch=drop_batch",
    "pie": PIE,
    "fq_pie": f"{PIE} {FQ} ecn_prob=ecn_percent",
    "fq": "limit=limit_packets flow_limit=flow_limit_packets quantum=quantum_bytes buckets=buckets"
    " initial_quantum=initial_quantum_bytes ce_threshold=ce_threshold_ns",
    "sfq": "limit=limit_packets depth=depth_packets divisor=divisor quantum=quantum_bytes",
    "cake": "diffserv=diffserv rtt=rtt_ns memlimit=memory_bytes",
    "dualpi2": "limit=limit_packets memory-limit=memory_bytes target=target_ns tupdate=update_ns"
    " coupling=coupling c-protection=protection_percent drop-overload=overload"
    " step-thresh-us=step_ns step-thresh-pkts=step_packets",
}
"""Kind of queue -> what tc shows, and the attribute of the plan. One that is None, or `ecn` that is
off, is not shown; times are shown in microseconds.
"""
ISOLATIONS = {"flows": "flows", "none": "flowblind", "triple": "triple-isolate"}
FILTERS = {"off": "disabled", "on": "enabled", "aggressive": "aggressive"}
OTHERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "fifo": lambda queue: {"limit": queue.limit_packets or queue.limit_bytes},
    "red": lambda queue: {"ecn": queue.ecn} | dict.fromkeys(("harddrop", "adaptive", "nodrop"), 0),
    "fq": lambda queue: {"orphan_mask": queue.flows - 1, "pacing": False},
    "cake": lambda queue: (
        {"flowmode": ISOLATIONS[queue.isolate], "ack-filter": FILTERS[queue.ack_filter]}
        | {"bandwidth": "unlimited", "raw": True, "overhead": 0}
        | {"nat": False, "wash": False, "split_gso": False}
    ),
    "dualpi2": lambda queue: (
        {"alpha": queue.alpha / 256, "beta": queue.beta / 256, "min-qlen-step": 0}
        | {"drop-early": f"drop-{queue.drop}"}
        | {"ecn-mask": {"ect1": "l4s-ect", "any": "any-ect"}[queue.l4s]}
    ),
}
"""What tc shows that is no attribute as it is."""


def shown(queue: plan.Queue) -> dict[str, Any]:
    """Return the options that tc is to show."""
    found = OTHERS.get(queue.kind, lambda _: {})(queue)
    for option, name in (pair.split("=") for pair in ATTRIBUTES[queue.kind].split()):
        value = getattr(queue, name)
        if value is not None and (option, value) != ("ecn", False):
            found[option] = value / 1000 if name.endswith("_ns") else value
    return found


# Microseconds: the kernel keeps CoDel's times in units of 1024 ns, PIE's update in its ticks. Gains
# are in Hz: dualpi2 scales them to 32 bits and back, each time rounded down.
COARSE = {
    "ce_threshold": 2.0,
    "target": 2.0,
    "interval": 2.0,
    "tupdate": 4000.0,
    "alpha": 1 / 256,
    "beta": 1 / 256,
}


def queues_of(cell: Cell) -> list[tuple[str, str, plan.Queue]]:
    return [
        (node.name, interface.name, interface.queue)
        for node in cell.nodes
        for interface in node.interfaces
        if interface.queue is not None and not _is_netem(interface)
    ]


def _is_netem(interface: plan.Interface) -> bool:
    """Whether a netem stands for shaper and queue."""
    return interface.shaper is not None and interface.shaper.transmitter == "here"


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_tc_reads_back_what_the_plan_says(cell: Cell, folder: Path, kind: str) -> None:
    document = json.loads((folder / "qdisc-after.json").read_text())
    queues = [(n, i, q) for n, i, q in queues_of(cell) if q.kind == kind]
    assert queues
    for node, interface, queue in queues:
        (child,) = [q for q in document[node] if q["dev"] == interface and q.get("parent") == "1:1"]
        assert child["kind"] == queue.tc_name
        expected, found = shown(queue), child["options"]
        if kind == "red":  # one of several queues that gred can have
            assert (found["dp_cnt"], found["grio"], found["ecn"]) == (1, False, False)
            (found,) = found["vqs"]
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=COARSE.get(name, 0)), (name, found)
        unsaid = set(found) - set(expected) - UNSAID.get(kind, set())
        assert not unsaid, f"{kind} has options that the plan does not say: {unsaid}"


# What tc shows beside: priorities, which one class of traffic does not use, and pacing of sockets.
UNSAID = {
    "fq": {
        *("bands", "priomap ", "weights ", "low_rate_threshold", "refill_delay", "timer_slack"),
        *("horizon", "horizon_drop", "offload_horizon"),
    },
    "cake": {"ingress", "fwmark"},
    "red": {
        *("vq", "prio", "qave", "backlog", "forced_drop", "prob_drop", "pdrop", "other"),
        *("forced_mark", "prob_mark", "packets", "bytes"),
    },
}


def test_tc_reads_back_the_chain_of_the_losses(cell: Cell, folder: Path) -> None:
    document = json.loads((folder / "qdisc-after.json").read_text())
    (netem,) = [q for q in document["r-bursty"] if "loss-gemodel" in q.get("options", {})]
    chain = {"p": 0.02, "r": 0.4, "1-h": 0.9, "1-k": 0.001}
    assert netem["options"]["loss-gemodel"] == pytest.approx(chain, rel=1e-6)


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    """The guest's CPU may be busy: many hosts start at once."""
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


def test_fq_codel_shares_equally_where_a_fifo_does_not(measured: Measurement) -> None:
    def jain(*sessions: str) -> float:
        values = by_name(measured, "fairness", *sessions)
        found = values["fairness.jain_session"]
        assert found is not None
        return found

    assert jain("fair1", "fair2") > 0.999
    assert jain("unfair1", "unfair2") < 0.95


def test_flows_that_share_no_bottleneck_are_not_compared(measured: Measurement) -> None:
    for value in results(measured, "fairness", "fair1", "unfair1"):
        assert value.value is None
        assert value.reason == "unfair1 and fair1 share no bottleneck, so they do not compete"


def test_every_bottleneck_has_its_own_queue(measured: Measurement) -> None:
    kinds = {q.name: q.interface.queue.kind for q in measured.queues if q.interface.queue}
    assert sorted(kinds.values()) == ["fifo", "fifo", "fq_codel", "red"]
    for flow in measured.flows:
        assert flow.left.sum() > 200, flow.name


def test_codel_keeps_the_delay_low(measured: Measurement) -> None:
    mean = {
        flow.name: float(np.nanmean(flow.queue.delay_s[flow.left & (flow.queue.left_s > 2)]))
        for flow in measured.flows
    }
    assert mean["fair1"] < 0.03
    assert mean["unfair1"] > 2 * mean["fair1"]


def test_red_drops_before_the_queue_is_full(measured: Measurement) -> None:
    (queue,) = [flow.queue for flow in measured.flows if flow.name == "early"]
    dropped = int(queue.through.lost.sum())
    packets = queue.backlog_packets(queue.drops_s[queue.drops_s > 2])
    assert dropped >= 5
    assert len(packets) and packets.max() < 60, "the limit is 100 packets"


def test_losses_come_in_bursts_of_the_planned_length(measured: Measurement) -> None:
    """A burst: packets in the bad state, seen as losses in a row (10 % of them pass)."""
    (flow,) = [flow for flow in measured.flows if flow.name == "bursty"]
    behind = flow.queue.behind
    lost = behind.lost[~behind.pending].astype(int)
    (count,) = [c for c in validity.loss_counts(measured) if c.bursts]
    assert count.plausible
    assert count.bursts is not None
    assert count.sent > 2000

    begins = int((np.diff(lost, prepend=0) == 1).sum())
    # From the stationary chain: P(lost) and P(lost, then lost), the latter e' D T D e.
    p, r, bad, good = 0.02, 0.4, 0.9, 0.001
    share = p / (p + r)
    one = share * bad + (1 - share) * good
    two = share * bad * ((1 - r) * bad + r * good) + (1 - share) * good * (p * bad + (1 - p) * good)
    expected = 1 / (1 - two / one)
    assert int(lost.sum()) / begins == pytest.approx(expected, abs=4 * expected / math.sqrt(begins))
    # Independent losses of the same probability would come one at a time.
    assert int(lost.sum()) / begins > 1.3 / (1 - one)


def test_independent_losses_are_judged_more_strictly(measured: Measurement) -> None:
    """The interval of a chain is wider than the binomial one: its losses are alike."""
    (count,) = [c for c in validity.loss_counts(measured) if c.bursts]
    assert count.bursts is not None
    alike = int(count.sent * count.expected * 1.4)
    assert min(tails(count.bursts, count.sent, alike)) > 1e-4
    assert not LossCount(count.expected, count.sent, alike).plausible
