"""Packets with a bit flipped: what checksums find is lost, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from specs import compilation_of

from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.artefacts import Artefacts
from fairc.runtime.measurement.checksums import BROKEN, UNREAD
from fairc.runtime.validity.expected_losses import LossCount

SPEC = """fexp 1
experiment corruption {
  sweep { share = [5%, 0.5%]  lost = [0%, 2%] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 30ms) with {
    link left -> right { corrupt = share  loss = lost }
    link right -> left { corrupt = share }
  }
  flow u { over = udp  start = 0s  rate = 4Mbit/s  workload = bulk }
  flow q { over = quic  cca = cubic  workload = bulk }
  flow t { cca = cubic  workload = bulk }
  duration = 8s
  measure = [goodput, datagrams.lost, retransmissions]
}
"""
BEFORE_ANOTHER = """fexp 1
experiment before {
  topology {
    node s, other, c
    router a, b
    link s -- a { rate = 100Mbit/s }
    link other -- b { rate = 100Mbit/s }
    link a -> b { rate = 10Mbit/s  delay = 5ms  corrupt = 5% }
    link b -> a { rate = 10Mbit/s  delay = 5ms }
    link b -- c { rate = 12Mbit/s  delay = 1ms }
  }
  flow u { over = udp  from = s  to = c  rate = 8Mbit/s  workload = bulk }
  flow t { cca = cubic  from = other  to = c  workload = bulk }
  duration = 8s
  measure = [goodput]
}
"""
END_S = 8.0
UNDER_WAY_S = 0.001
"""What passed the link so shortly before the end may still be on its way to the program."""
SHARES = ((0.05, 0.0), (0.05, 0.02), (0.005, 0.0), (0.005, 0.02))


def test_its_cells_are_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measured in each_measured:
        assert validity.judge(measured) == ("valid", ())


def test_a_router_drops_what_is_damaged_in_its_header(engine: Engine, tmp_path: Path) -> None:
    """The queue behind it does not drop these packets. Those with other damage come to it."""
    (cell,) = compilation_of(BEFORE_ANOTHER).cells()
    raw = engine.run(cell, tmp_path).artefacts
    measured = load(cell, raw)
    assert validity.judge(measured) == ("valid", ())
    queue = next(each for each in measured.queues if each.place == cell.flows[1].bottleneck)
    assert BROKEN in queue.entered.damage
    captures = [c for c in cell.captures if c.queue == queue.place and c.point == "entry"]
    came = [Artefacts(raw).capture(c.name, {}, True).packets.damage for c in captures]
    assert UNREAD in np.concatenate(came)


def test_a_receiver_has_just_what_has_sound_checksums(
    each_measured: tuple[Measurement, ...],
) -> None:
    """The program counts what its kernel gives it; the capture in front of it has more."""
    for measured, (share, lost) in zip(each_measured, SHARES, strict=True):
        flow = next(flow for flow in measured.flows if flow.plan.name == "u")
        (received,) = flow.endpoints.reports["received"]
        queue = flow.queue
        ours = queue.delivered.source_port == flow.plan.port
        arrived_s = np.sort(queue.seconds(queue.delivered)[ours])
        surely, at_most = np.searchsorted(arrived_s, (END_S - UNDER_WAY_S, END_S))
        assert surely <= received["packets"] <= at_most
        settled = (queue.left.source_port == flow.plan.port) & (queue.left_s < END_S - 0.1)
        gone = lost + (1 - lost) * share * (1 - 6 / 1514)
        count = int((queue.behind.lost & settled).sum())
        assert LossCount(gone, int(settled.sum()), count).plausible
