"""Radio links: the kernel's aggregates, slots, repairs and thinning against models of their own."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from fairc.cell.workloads import Distribution
from fairc.compiler import Cell
from fairc.mechanisms.links.radio.cell import Arq, RadioMedium, times_ns
from fairc.mechanisms.links.radio.check import media
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

SPEC = """fexp 1
experiment radio {
  topology {
    node s, plain, single, hold, drawn, slots, uneven, repaired, passing, varied, thinned
    router r, o
    link s -- r { rate = 1Gbit/s }
    link r -> plain    { rate = 10Mbit/s  delay = 5ms }
    link r -> single   { rate = 10Mbit/s  delay = 5ms  release = batch(size: 1pkt) }
    link r -> hold     { rate = 20Mbit/s  delay = 5ms  queue = fifo(12pkt)  release = batch(hold: 4ms, size: 8pkt) }
    link r -> drawn    { rate = 20Mbit/s  delay = 5ms  release = batch(hold: exponential(mean: 2ms)) }
    link r -> slots    { rate = 20Mbit/s  delay = 5ms  queue = fq_codel(1000pkt)  release = batch(every: 10ms) }
    link r -> uneven   { rate = 20Mbit/s  delay = 5ms  release = batch(every: uniform(5ms, 15ms), size: 6pkt) }
    link r -> repaired { rate = 20Mbit/s  delay = 10ms  loss = 30%  repair = arq(tries: 2, delay: 8ms) }
    link r -> passing  { rate = 20Mbit/s  delay = 10ms  loss = 30%  repair = arq(tries: 2, delay: 8ms, order: off) }
    link r -> varied   {
      rate = 20Mbit/s  delay = 5ms  loss = 5%  queue = codel(100pkt)
      release = batch(hold: 2ms, size: 16pkt)  repair = arq(tries: 3, delay: 4ms)
      at 2s { rate = 5Mbit/s  loss = 20% }
      at 3s { rate = 0bit/s }
      at 3500ms { rate = 20Mbit/s  delay = 8ms }
      every 1s from 4s for 100ms { delay = 20ms }
    }
    link thinned -- o { rate = 1Gbit/s }
    link o -> r { rate = 10Mbit/s  acks = thin(4) }
    link r -> o { rate = 20Mbit/s  delay = 5ms  queue = fifo(50pkt) }
    link plain -> r, single -> r, hold -> r, drawn -> r, uneven -> r { rate = 1Gbit/s  delay = 5ms }
    link slots -> r    { rate = 20Mbit/s  delay = 5ms  release = batch(every: 15ms) }
    link repaired -> r, passing -> r, varied -> r { rate = 1Gbit/s  delay = 5ms }
  }
  hosts { processing = off }
  flow plain    { from = s  to = plain     over = udp  count = 4  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 7ms), packet: 1000B) }
  flow single   { from = s  to = single    over = udp  count = 4  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 7ms), packet: 1000B) }
  flow hold     { from = s  to = hold      over = udp  count = 8  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 5ms), packet: 1000B) }
  flow drawn    { from = s  to = drawn     over = udp  count = 4  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 5ms), packet: 1000B) }
  flow slots    { from = s  to = slots     cca = cubic  count = 3  workload = bulk }
  flow uneven   { from = s  to = uneven    over = udp  count = 4  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 9ms), packet: 1000B) }
  flow repaired { from = s  to = repaired  over = udp  workload = onoff(rate: 2Mbit/s, on: 10s, off: 1ms, packet: 500B) }
  flow passing  { from = s  to = passing   over = udp  workload = onoff(rate: 2Mbit/s, on: 10s, off: 1ms, packet: 500B) }
  flow varied   { from = s  to = varied    cca = cubic  count = 2  workload = bulk }
  flow thinned  { from = s  to = thinned   cca = reno   count = 2  workload = bulk }
  duration = 6s
  measure  = [goodput]
}
"""
EXACT_NS = 1000

Int64s = NDArray[np.int64]


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())


def test_aggregates_of_one_packet_are_todays_link(measured: Measurement) -> None:
    """Lindley's recursion for both: a frame begins when it has come and the one ahead was sent."""
    for name in ("plain", "single"):
        queue = queue_of(measured, name)
        came_ns, frames = arrivals(queue), queue.left.frame_bytes
        free, worst = 0, 0
        for came, size, left in zip(
            came_ns.tolist(), frames.tolist(), (queue.left_s * 1e9).tolist(), strict=True
        ):
            begin = max(came, free)
            free = begin + size * 8 * 10**9 // 10_000_000
            worst = max(worst, abs(left - begin))
        assert len(came_ns) > 1000
        assert worst < 2 * EXACT_NS


def test_an_aggregate_closes_by_size_or_by_time(measured: Measurement) -> None:
    queue = queue_of(measured, "hold")
    assert queue.through.lost.sum() > 20, "the queue drops what does not fit"
    by_size, by_time = 0, 0
    free, at, came = 0, 0, arrivals(queue).tolist()
    left = (queue.left.time_ns - queue.epoch_ns).tolist()
    while at < len(came):
        first = max(free, came[at])
        inside = [n for n in range(at, min(at + 8, len(came))) if came[n] <= first + 4_000_000]
        full = len(inside) == 8
        close = max(first, came[inside[-1]]) if full else first + 4_000_000
        free = close + int(queue.left.frame_bytes[inside].sum()) * 8 * 10**9 // 20_000_000
        for n in inside:
            assert abs(left[n] - free) <= EXACT_NS
        by_size, by_time, at = by_size + full, by_time + (not full), at + len(inside)
    assert by_size > 50
    assert by_time > 50


def test_slots_are_a_grid_that_begins_with_the_cell(measured: Measurement) -> None:
    queue = queue_of(measured, "slots")
    begin_ns, sizes, _ = groups(queue, 20_000_000)
    apart = (begin_ns + 5_000_000) % 10_000_000 - 5_000_000
    assert len(begin_ns) > 300
    assert np.abs(apart).max() <= EXACT_NS
    assert 8 * sizes.max() / 20e6 <= 10e-3, "a slot has no more than fits"
    assert 8 * sizes.max() / 20e6 > 8.5e-3


def test_acknowledgements_arrive_in_slots(measured: Measurement) -> None:
    """Their way back has slots of its own: the sender sees them 5 ms after one of these begins, and
    what fits it has passed.
    """
    queue = queue_of(measured, "slots", back=True)
    begin_ns, sizes, packets = groups(queue, 20_000_000)
    apart = (begin_ns + 7_500_000) % 15_000_000 - 7_500_000
    assert len(begin_ns) > 200
    assert np.abs(apart).max() <= EXACT_NS
    assert (queue.left.payload_bytes == 0).mean() > 0.99
    assert packets.max() > 4, "several at once"
    came_ns = queue.delivered.time_ns - queue.epoch_ns - 5_000_000
    ends_ns = begin_ns + sizes * 8 * 10**9 // 20_000_000
    nearest = ends_ns[np.clip(np.searchsorted(ends_ns, came_ns - EXACT_NS), 0, len(ends_ns) - 1)]
    assert np.abs(came_ns - nearest).max() <= EXACT_NS


def test_drawn_times_are_of_their_distributions(measured: Measurement) -> None:
    """Slots that are used may be anywhere; what lies between used neighbours is a sum of lengths."""
    queue = queue_of(measured, "drawn")
    assert queue.aggregates is not None
    first = np.flatnonzero(np.diff(queue.aggregates.number, prepend=-1))
    held = []
    left, came = queue.left.time_ns - queue.epoch_ns, arrivals(queue)
    ends = np.append(first[1:], len(left))
    free = 0
    for begin, end in zip(first.tolist(), ends.tolist(), strict=True):
        sent = int(queue.left.frame_bytes[begin:end].sum()) * 8 * 10**9 // 20_000_000
        held.append(int(left[begin]) - sent - max(free, int(came[begin])))
        free = int(left[end - 1])
    assert len(held) > 500
    assert stats.kstest(np.array(held) / 2e6, "expon").pvalue > 1e-4
    uneven, _, _ = groups(queue_of(measured, "uneven"), 20_000_000)
    gaps_ms = np.diff(uneven[uneven > 0]) / 1e6
    single = gaps_ms[gaps_ms < 10 - 1e-6]  # two of them are 10 ms or more
    assert len(single) > 100
    assert stats.kstest(single, "uniform", (5, 5)).pvalue > 1e-4


def test_loss_becomes_delay(measured: Measurement) -> None:
    """With three transmissions of 30 % loss 2.7 % of the packets are lost; others come a geometric
    number of waits later.
    """
    queue = queue_of(measured, "passing")
    lost = int((queue.behind.lost & ~queue.behind.pending).sum())
    sent = len(queue.left)
    assert stats.binomtest(lost, sent, 0.3**3).pvalue > 1e-4
    arrived = queue.behind.found >= 0
    took = queue.seconds(queue.delivered)[queue.behind.found[arrived]] - queue.sent_s[arrived]
    again = (took - 10e-3) / 8e-3
    assert np.abs(again - again.round()).max() < 1e-3
    seen = np.bincount(again.round().astype(int), minlength=3)
    assert len(seen) == 3
    shares = 0.3 ** np.arange(3) * 0.7
    expected = shares / shares.sum() * seen.sum()
    assert stats.chisquare(seen, expected).pvalue > 1e-4
    order = np.diff(queue.behind.found[arrived])
    assert (order < 0).sum() > 100, "packets pass those that are repaired"


def test_repaired_packets_keep_their_order(measured: Measurement) -> None:
    queue = queue_of(measured, "repaired")
    lost = queue.behind.lost & ~queue.behind.pending
    assert stats.binomtest(int(lost.sum()), len(queue.left), 0.3**3).pvalue > 1e-4
    arrived = queue.behind.found >= 0
    assert (np.diff(queue.behind.found[arrived]) > 0).all()
    through = queue.seconds(queue.delivered)[queue.behind.found[arrived]] - 10e-3
    took = through - queue.sent_s[arrived]
    assert took.max() > 8e-3, "later ones wait for those ahead"
    # A packet gets through with one ahead, or a whole number of waits after it was sent.
    whole = np.abs(took / 8e-3 - (took / 8e-3).round()) < 1e-3
    given_up = queue.sent_s[lost] + 16e-3
    with_another = np.isin((through * 1e6).round(), ((given_up) * 1e6).round())
    with_another[1:] |= np.diff(through) < 1e-6
    assert (whole | with_another).all()
    assert with_another.sum() > 500


def test_one_of_n_acknowledgements_passes(measured: Measurement, folder: Path) -> None:
    queue = queue_of(measured, "thinned", back=True)
    place = ["/".join(queue.place)]
    assert place == ["o/o-eth1"]
    found = json.loads((folder / "qdisc-after.json").read_text())["o"]
    (root,) = [each for each in found if each["dev"] == "o-eth1" and "root" in each]
    assert root["kind"] == "radio"
    assert queue.kept_out is not None
    assert root["thinned"] == len(queue.kept_out) > 1000
    assert root["untracked"] == 0
    flow = next(f for f in measured.flows if f.name == "thinned")
    data = int((flow.left & (queue_of(measured, "thinned").left.payload_bytes > 0)).sum())
    # Delayed acknowledgements are of two packets; a quarter of them is left.
    for port in np.unique(queue.left.source_port[queue.left.payload_bytes == 0]):
        assert (queue.left.source_port == port).sum() < data / 4


def test_another_medium_makes_the_cell_invalid(measured: Measurement) -> None:
    changed = []
    for queue in measured.queues:
        shaper = queue.interface.shaper
        medium = None if shaper is None else shaper.medium
        if shaper is None or not isinstance(medium, RadioMedium) or medium.hold is None:
            changed.append(queue)
            continue
        longer = Distribution(kind="constant", parameters={"value": 4.1e-3})
        medium = dataclasses.replace(medium, hold=longer)
        interface = dataclasses.replace(
            queue.interface, shaper=dataclasses.replace(shaper, medium=medium)
        )
        history = dataclasses.replace(queue.history, interface=interface)
        changed.append(dataclasses.replace(queue, interface=interface, history=history))
    verdict, reasons = validity.judge(dataclasses.replace(measured, queues=tuple(changed)))
    assert verdict == "invalid"
    assert any("aggregates should have been sent" in reason for reason in reasons)


@pytest.mark.parametrize(("cost_ns", "late"), [(None, True), (1_000, True), (5_000, False)])
def test_an_aggregate_may_be_as_late_as_a_system_call_takes(
    measured: Measurement, cost_ns: int | None, late: bool
) -> None:
    """The last packet of each queue leaves 4 us later."""
    changed = []
    for queue in measured.queues:
        if queue.aggregates is None:  # nothing but the slots of its plan is known
            continue
        times_ns = queue.left.time_ns.copy()
        times_ns[-1] += 4_000
        left = dataclasses.replace(queue.left, time_ns=times_ns)
        changed.append(dataclasses.replace(queue, left=left))
    cell = dataclasses.replace(measured.cell, syscall_cost_ns=cost_ns)
    found = media(dataclasses.replace(measured, cell=cell, queues=tuple(changed)))
    assert any("at other times than their aggregates" in each.reason for each in found) == late


@pytest.mark.parametrize(
    ("kind", "parameters", "law"),
    [
        ("uniform", {"low": 0.01, "high": 0.03}, stats.uniform(0.01, 0.02)),
        ("exponential", {"mean": 0.02}, stats.expon(scale=0.02)),
        ("pareto", {"mean": 0.02, "shape": 2.5}, stats.pareto(2.5, scale=0.02 * 1.5 / 2.5)),
        ("gamma", {"mean": 0.02, "shape": 0.5}, stats.gamma(0.5, scale=0.04)),
        ("gamma", {"mean": 0.02, "shape": 9.0}, stats.gamma(9, scale=0.02 / 9)),
        ("normal", {"mean": 0.02, "deviation": 0.001}, stats.norm(0.02, 0.001)),
    ],
)
def test_a_table_has_the_quantiles_of_its_distribution(
    kind: str, parameters: dict[str, float], law: stats.rv_continuous
) -> None:
    table = times_ns(Distribution(kind=kind, parameters=parameters))  # type: ignore[arg-type]
    expected = law.ppf((np.arange(1024) + 0.5) / 1024)
    np.testing.assert_allclose(np.array(table) / 1e9, expected, atol=6e-7, rtol=1e-9)


def test_loss_after_repair_is_a_power() -> None:
    assert Arq(tries=3, wait_ns=1).lost(0.1) == pytest.approx(1e-4)


def test_the_plan_has_a_stream_for_each_random_medium(cell: Cell) -> None:
    drawn = {
        interface.address: interface.shaper.medium
        for node in cell.nodes
        for interface in node.interfaces
        if interface.shaper and interface.shaper.medium
    }
    seeds = [medium.seed for medium in drawn.values() if medium.random]
    assert len(seeds) == len(set(seeds)) == 2
    assert all(medium.seed is None for medium in drawn.values() if not medium.random)


def queue_of(measured: Measurement, name: str, back: bool = False) -> QueueRecord:
    """Return the bottleneck of a flow, or the radio link that its acknowledgements cross."""
    flow = next(each for each in measured.flows if each.name == name)
    if not back:
        return flow.queue
    places = measured.paths.back(flow.plan)
    return next(queue for queue in measured.queues if queue.place in places)


def arrivals(queue: QueueRecord) -> Int64s:
    """Return when each packet that left came, ns after the epoch."""
    return np.round(queue.arrival_s * 1e9).astype(np.int64)


def groups(queue: QueueRecord, rate_bps: int) -> tuple[Int64s, Int64s, Int64s]:
    """Return when aggregates began, their bytes and their number of packets, as they were seen to
    leave.
    """
    left = queue.left.time_ns - queue.epoch_ns
    first = np.flatnonzero(np.diff(left, prepend=left[0] - 10**6) > 20_000)
    size = np.add.reduceat(queue.left.frame_bytes, first)
    return left[first] - size * 8 * 10**9 // rate_bps, size, np.diff(np.append(first, len(left)))
