"""Radio links on the emulated machine: the disciplines of uml's kernel as modules of Debian's, under
what only this machine runs, a CCA in BPF and iperf3.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fairc.cell.links import EMULATED_SLACK_NS
from fairc.cell.workloads import Distribution
from fairc.runtime import validity
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.measurement import FlowRecord, Measurement

ENGINE = VmEngine
FOLDER = Path(__file__).parents[2] / "examples" / "bpf"
SPEC = """fexp 1
experiment radio_on_vm {
  topology {
    node s, held, slotted, repaired, thinned
    router r, o
    link s -- r { rate = 1Gbit/s }
    link r -> held     { rate = 10Mbit/s  delay = 5ms  release = batch(hold: 4ms, size: 8pkt) }
    link r -> slotted  { rate = 10Mbit/s  delay = 5ms  queue = fq_codel(1000pkt)  release = batch(every: 10ms) }
    link r -> repaired { rate = 10Mbit/s  delay = 10ms  loss = 20%  repair = arq(tries: 2, delay: 8ms, order: off) }
    link r -> o        { rate = 10Mbit/s  delay = 5ms  queue = fifo(50pkt) }
    link o -> r        { rate = 10Mbit/s  acks = thin(4) }
    link thinned -- o  { rate = 1Gbit/s }
    link held -> r, slotted -> r, repaired -> r { rate = 1Gbit/s  delay = 5ms }
  }
  flow held     { from = s  to = held      over = udp  count = 4  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 15ms), packet: 1000B) }
  flow slotted  { from = s  to = slotted   cca = bpf("gentle.bpf.o")  workload = bulk }
  flow repaired { from = s  to = repaired  over = udp  rate = 5Mbit/s  workload = iperf3(time: 3s) }
  flow thinned  { from = s  to = thinned   cca = reno  workload = bulk }
  duration = 4s
  measure  = [goodput]
}
"""


def flow_of(measured: Measurement, name: str) -> FlowRecord:
    return next(each for each in measured.flows if each.name == name)


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict == "valid", reasons


def test_aggregates_leave_when_the_model_says_a_little_late(measured: Measurement) -> None:
    """The first packet of one leaves some us after its time, each further one 2 us later."""
    for name in ("held", "slotted"):
        queue = flow_of(measured, name).queue
        assert queue.aggregates is not None
        late_ns = queue.left.time_ns - queue.epoch_ns - queue.aggregates.end_ns
        first = np.diff(queue.aggregates.number, prepend=-1) > 0
        assert first.sum() > 100
        assert (~first).sum() > 100
        assert 0 < np.median(late_ns[first]) < EMULATED_SLACK_NS
        assert late_ns.min() >= 0


def test_slots_are_a_grid_that_begins_with_the_cell(measured: Measurement) -> None:
    queue = flow_of(measured, "slotted").queue
    left_ns = queue.left.time_ns - queue.epoch_ns
    first = np.flatnonzero(np.diff(left_ns, prepend=left_ns[0] - 10**6) > 20_000)
    sizes = np.add.reduceat(queue.left.frame_bytes, first)
    begin_ns = left_ns[first] - sizes * 8 * 10**9 // 10_000_000
    apart_ns = (begin_ns + 5_000_000) % 10_000_000 - 5_000_000
    assert len(first) > 200
    assert np.median(np.abs(apart_ns)) < EMULATED_SLACK_NS


def test_loss_becomes_delay(measured: Measurement) -> None:
    queue = flow_of(measured, "repaired").queue
    counted = ~queue.behind.pending
    lost = int((queue.behind.lost & counted).sum())
    assert stats.binomtest(lost, int(counted.sum()), 0.2**3).pvalue > 1e-4
    arrived = queue.behind.found >= 0
    took_s = queue.seconds(queue.delivered)[queue.behind.found[arrived]] - queue.sent_s[arrived]
    again = (took_s - 10e-3) / 8e-3
    assert np.median(np.abs(again - again.round())) * 8e-3 < 100e-6
    seen = np.bincount(again.round().astype(int), minlength=3)
    assert len(seen) == 3
    shares = 0.2 ** np.arange(3) * 0.8
    assert stats.chisquare(seen, shares / shares.sum() * seen.sum()).pvalue > 1e-4


def test_one_of_four_acknowledgements_passes(measured: Measurement, folder: Path) -> None:
    (root,) = (
        each
        for each in json.loads((folder / "qdisc-after.json").read_text())["o"]
        if each["kind"] == "radio"
    )
    back = next(each for each in measured.queues if each.place[0] == "o")
    assert back.thinned is not None
    assert root["thinned"] == len(back.thinned) > 500
    assert (back.left.payload_bytes == 0).sum() < len(flow_of(measured, "thinned").queue.left) / 3


@pytest.mark.parametrize("hold_s", [3.8e-3, 4.1e-3])
def test_another_hold_makes_the_cell_invalid(measured: Measurement, hold_s: float) -> None:
    queue = flow_of(measured, "held").queue
    shaper = queue.interface.shaper
    assert shaper is not None and shaper.medium is not None
    hold = Distribution(kind="constant", parameters={"value": hold_s})
    medium = dataclasses.replace(shaper.medium, hold=hold)
    interface = dataclasses.replace(
        queue.interface, shaper=dataclasses.replace(shaper, medium=medium)
    )
    history = dataclasses.replace(queue.history, interface=interface)
    other = dataclasses.replace(queue, interface=interface, history=history)
    queues = tuple(other if each is queue else each for each in measured.queues)
    verdict, reasons = validity.judge(dataclasses.replace(measured, queues=queues))
    assert verdict == "invalid"
    assert any("should have been sent" in reason for reason in reasons)
