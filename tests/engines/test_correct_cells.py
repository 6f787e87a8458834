"""Cells of the real kernel that do what they should and were once called wrong: they are valid, and
have the values that they should have.
"""

from __future__ import annotations

from pathlib import Path

import kept_cells
import numpy as np
import pytest
from specs import compilation_of

from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement

# The kernel lets frames of 114, 66 and 1506 bytes last 1 ns less than length / rate.
SMALL = """fexp 1
experiment small_frames {
  sweep { rate = [12Mbit/s, 15Mbit/s] }
  topology = bottleneck(rate: rate, rtt: 2ms, queue: fifo(50kB))
  flow voice { over = udp  rate = 1.2 * rate  workload = bulk(packet: 100B) }
  duration = 1s
  measure  = [throughput]
}
"""
UPLINK = """fexp 1
experiment two_way {
  topology = bottleneck(down: 12Mbit/s, up: 3Mbit/s, rtt: 100ms)
  flow down { count = 2  cca = cubic  workload = bulk }
  flow back { count = 2  from = client  to = server  cca = cubic  workload = bulk }
  duration = 5s
  measure  = [goodput]
}
"""
PPPOE = """fexp 1
experiment pppoe {
  topology = bottleneck(rate: 12Mbit/s, rtt: 20ms, mtu: 1492B, queue: fifo(4bdp))
  flow d { cca = cubic  workload = bulk }
  duration = 4s
  measure = [goodput]
}
"""
JITTER = """fexp 1
experiment jitter_way_back {
  topology {
    node server, client
    router left, right
    link server -- left, right -- client { rate = 1Gbit/s }
    link left -> right { rate = 20Mbit/s  delay = 100ms }
    link right -> left { rate = 20Mbit/s  delay = 100ms  jitter = jitter(15ms, normal) }
  }
  flow d { cca = cubic  workload = file(100kB) }
  repeat  = 8
  measure = [fct]
}
"""
# More packets than its limit wait in `fq` within `prio`, as in `fq` alone: those that it has not
# classified yet.
INNER_FQ = """fexp 1
experiment inner_fq {
  topology = bottleneck(rate: 500kbit/s, rtt: 22900us, queue: prio(ef: fq_pie(100ms), cs0: fq(3bdp + 30pkt)))
  flow a { cca = cdg  workload = requests(size: 20kB, every: exponential(500ms))  count = 3  dscp = cs1 }
  flow b { cca = lp   workload = bulk }
  duration = 12s
  seed     = 60661
  measure  = [goodput(b)]
}
"""
# Ticks of the kernel's clock coincide with packets for half a second, so it counts itself as busy.
TICKS = """fexp 1
experiment ticks {
  topology = geo(pep: split(window: 2bdp), down: 48.3Mbit/s, up: 5.95Mbit/s)
  hosts { receive_buffer = 128kB }
  flow a { over = udp  rate = 1Mbit/s  workload = bulk(packet: 100B)  from = client  to = server }
  flow b { cca = lp  workload = bulk  ecn = on  count = 40 }
  duration = 12s
  seed     = 883029
  measure  = [datagrams(a), rtt(b)]
}
"""
HYBLA = """fexp 1
experiment hybla {
  topology = bottleneck(rate: 10Mbit/s, rtt: 80ms, queue: fq(10pkt))
  flow d { cca = hybla  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""

OUTGROWS = """fexp 1
experiment outgrows {
  topology = bottleneck(rate: 2Mbit/s, rtt: 700ms, queue: fifo(1000pkt))
  flow d { cca = hybla  workload = bulk }
  duration = 6s
  measure = [goodput]
}
"""
RISING = """fexp 1
experiment rate_rises {
  topology = bottleneck(rate: 20Mbit/s, rtt: 1s, queue: fifo(100pkt)) with { link left -> right { at 500ms { rate = 60Mbit/s } } }
  flow down { over = udp  rate = 55Mbit/s  start = 0s  workload = bulk }
  flow up   { from = client  to = server  over = udp  rate = 18Mbit/s  start = 0s  workload = bulk }
  duration = 2500ms
  measure  = [throughput]
}
"""
THIN = """fexp 1
experiment thin {
  topology = bottleneck(rate: 10Mbit/s, rtt: 400ms)
  flow voice { over = udp  rate = 5Mbit/s  workload = bulk(packet: 100B) }
  duration = 2s
  measure  = [datagrams.lost, throughput]
}
"""
REPAIRED = """fexp 1
experiment repaired {
  sweep { changes = [outage, handover] }
  topology {
    node server, client
    router a, b
    link server -- a, b -- client { rate = 1Gbit/s }
    link a -> b when changes == outage { rate = 10Mbit/s  delay = 20ms  down from 1s to 1400ms  repair = arq(tries: 3, delay: 5ms)  loss = 5% }
    link a -> b when changes == handover { rate = 10Mbit/s  delay = 20ms  every 300ms from 700ms { delay = uniform(10ms, 35ms) }  every 300ms from 650ms for 50ms { loss = 20% }  repair = arq(tries: 3, delay: 5ms)  loss = 5% }
    link b -> a { rate = 3Mbit/s  delay = 20ms }
  }
  flow q { over = quic  cca = cubic  workload = bulk }
  flow p { over = udp  workload = ping(every: 5ms) }
  duration = 3s
  measure  = [throughput]
}
"""
LAST_HOP = """fexp 1
experiment last_hop {
  topology {
    node server, client
    router a, b
    link server -- a { rate = 1Gbit/s }
    link a -- b { rate = 5Mbit/s  delay = 10ms }
    link b -> client { rate = 40Mbit/s  delay = 1ms  loss = 20%  repair = arq(tries: 2, delay: 3ms) }
    link client -> b { rate = 20Mbit/s  delay = 1ms }
  }
  flow q { over = quic  cca = cubic  workload = bulk }
  duration = 3s
  measure  = [throughput]
}
"""
# System calls of 20 us hold up what the kernel does meanwhile.
CALLS = """fexp 1
experiment calls {
  topology {
    node server, client
    router a, b
    link server -- a { rate = 2Mbit/s  delay = 5ms }
    link a -- b { rate = 20Mbit/s  delay = 20ms }
    link b -- client { rate = 20Mbit/s  delay = 1ms  repair = arq(tries: 3, delay: 4ms)  loss = 3% }
  }
  hosts { syscall_cost = 20us }
  flow d { cca = cubic  workload = bulk }
  flow p { over = udp  workload = ping(every: 5ms, packet: 100B) }
  duration = 2s
  measure  = [goodput(d)]
}
"""
# TCP's packets overtake each other in front of fq, which must not sort them again.
OVERTAKEN = """fexp 1
experiment overtaken {
  topology {
    node server, client
    router a, b
    link server -- a { rate = 1Gbit/s }
    link a -> b { rate = 20Mbit/s  delay = 10ms  jitter = jitter(3ms, overtake: on) }
    link b -> client { rate = 5Mbit/s  queue = fq(4bdp) }
    link client -> b, b -> a { rate = 1Gbit/s }
  }
  flow d { cca = cubic  workload = bulk }
  duration = 3s
  measure  = [goodput]
}
"""
CUT = """fexp 1
experiment cut_fibre {
  topology {
    node server, client
    router a, b, far
    link server -- a, b -- client { rate = 1Gbit/s }
    link a -- b { rate = 20Mbit/s  delay = 5ms  queue = fifo(50ms)  down from 2s to 4s }
    link a -- far, far -- b { rate = 20Mbit/s  delay = 15ms  queue = fifo(50ms) }
  }
  flow f { over = udp  rate = 21Mbit/s  workload = bulk }
  duration = 5s
  measure  = [throughput]
}
"""


# What clients answer fills the way back: small packets leave little between one acknowledgement and
# the next, and a ping comes back as large as it went.
ANSWERS = {
    "small packets": """fexp 1
experiment small_packets {
  topology = bottleneck(
    down: 2Mbit/s, up: 102kbit/s, rtt: 20ms, mtu: 576B, queue: fifo(20kB)
  ) with {
    link right -> left { queue = fifo(100pkt) }
  }
  flow a { cca = cubic  start = 0s  workload = bulk }
  flow b { cca = cubic  start = 2s  workload = bulk }
  duration = 3s
  measure  = [goodput]
}
""",
    "pings": """fexp 1
experiment pings {
  topology = bottleneck(down: 5Mbit/s, up: 300kbit/s, rtt: 20ms, queue: fifo(20kB)) with {
    link right -> left { queue = fifo(50pkt) }
  }
  flow a { over = udp  start = 0s  workload = ping(every: 10ms, packet: 500B) }
  flow b { cca = cubic  start = 2s  workload = bulk }
  duration = 3s
  measure  = [goodput(b)]
}
""",
}

# A datagram of QUIC's handshake takes a second, and is sent again meanwhile.
SLOW = """fexp 1
experiment slow {
  topology = bottleneck(rate: 10kbit/s, rtt: 100ms, queue: fifo(20pkt))
  flow a { over = quic  cca = cubic  start = 0s     workload = bulk }
  flow b { over = quic  cca = cubic  start = 1.2s   workload = bulk }
  flow c { cca = cubic               start = 2.4s   workload = bulk }
  duration = 8s
  measure  = [goodput]
}
"""


def run(engine: Engine, text: str, folder: Path) -> list[Measurement]:
    """Run the cells of a spec; each must be valid."""
    found = []
    for number, cell in enumerate(compilation_of(text).cells()):
        work = folder / str(number)
        work.mkdir()
        measured = kept_cells.measured(engine, cell, work)
        assert validity.judge(measured) == ("valid", ())
        found.append(measured)
    return found


def test_small_frames_keep_a_link_busy(engine: Engine, tmp_path: Path) -> None:
    for measured, rate_bps in zip(run(engine, SMALL, tmp_path), (12e6, 15e6), strict=True):
        bits = 8 * float(measured.flows[0].frame_bytes(np.array([0.2, 1.0]))[0])
        assert bits == pytest.approx(0.8 * rate_bps, rel=1e-4)


@pytest.mark.parametrize("text", [UPLINK, PPPOE], ids=["both ways", "an MTU of 1492"])
def test_links_that_are_busy_for_seconds(engine: Engine, tmp_path: Path, text: str) -> None:
    (measured,) = run(engine, text, tmp_path)
    for queue in measured.queues:
        shape = np.diff(queue.left_s[queue.left_s > 1.0])
        assert len(shape) > 500


def test_a_random_delay_on_the_way_to_the_server(engine: Engine, tmp_path: Path) -> None:
    """Requests come up to 60 ms after the mean; which do is the network's doing."""
    later_s = []
    for measured in run(engine, JITTER, tmp_path):
        (flow,) = measured.flows
        first_s = float(flow.queue.seconds(flow.queue.entered)[flow.entered].min())
        later_s.append(first_s - flow.start_s - 0.1)
    assert len(later_s) == 8
    assert max(later_s) > 0.01 > min(later_s)


def test_what_a_cca_and_a_queue_do_in_their_own_way(engine: Engine, tmp_path: Path) -> None:
    """Hybla begins with RTT / 25 ms packets; fq holds up to eight packets beyond its limit."""
    (measured,) = run(engine, HYBLA, tmp_path)
    (accepted,) = measured.flows[0].endpoints.reports["accepted"]
    assert accepted["initial_window_packets"] == 3


@pytest.mark.parametrize(
    ("text", "full_frames"),
    [(RISING, 2 * 20e6 * 0.5 / (8 * 1514)), (THIN, 1000)],
    ids=["a rate that rises", "small packets"],
)
def test_a_delay_line_drops_nothing(
    engine: Engine, tmp_path: Path, text: str, full_frames: float
) -> None:
    """More is under way than twice the first rate x delay in full frames."""
    (measured,) = run(engine, text, tmp_path)
    for queue in measured.queues:
        assert not queue.behind.lost.any()
    queue = measured.flows[0].queue
    left_s, delivered_s = queue.left_s, np.sort(queue.seconds(queue.delivered))
    under_way = np.arange(len(left_s)) - np.searchsorted(delivered_s, left_s)
    assert under_way.max() > full_frames


def test_a_window_that_outgrows_every_receiver(engine: Engine, tmp_path: Path) -> None:
    """Over 700 ms, Hybla's window is 65,535 packets after the first acknowledgement."""
    (measured,) = run(engine, OUTGROWS, tmp_path)
    samples = measured.flows[0].endpoints.samples
    assert samples.cwnd_packets.max() == 65_535
    assert samples.rwnd_limited_s.max() > 1.0


def test_what_is_under_way_on_a_detour_goes_on_to_its_end(engine: Engine, tmp_path: Path) -> None:
    """When the short link is back, packets in the middle of the long one are not sent back."""
    (measured,) = run(engine, CUT, tmp_path)
    _, long = (one.queue for one in measured.flows[0].passages)
    assert not long.behind.lost.any()
    # What waited for 50 ms leaves towards the long link after the short one is back.
    assert 4.03 < float(long.seconds(long.left).max()) < 4.06


def test_a_loss_that_changes_on_a_link_that_repairs_it(engine: Engine, tmp_path: Path) -> None:
    """What was given up, or sent again, before a change holds back what is sent after it."""
    for measured in run(engine, REPAIRED, tmp_path):
        assert measured.flows[0].queue.behind.lost.any()


def test_a_fast_link_that_repairs_its_losses(engine: Engine, tmp_path: Path) -> None:
    """Nothing waits in front of it, but its packets are captured: when each begins to be sent."""
    (measured,) = run(engine, LAST_HOP, tmp_path)
    (last,) = (queue for queue in measured.queues if queue.place[0] == "b")
    assert not last.interface.bottleneck
    took_ms = 1e3 * (last.seconds(last.delivered)[last.behind.found] - last.left_s)
    large = (last.behind.found >= 0) & (last.left.frame_bytes > 1400)
    alone = took_ms[large] - 8 * last.left.frame_bytes[large] / 40e3
    assert np.percentile(alone, 50) == pytest.approx(1.0, abs=1e-3)
    assert np.percentile(alone, 99) > 4.0 - 1e-3


def test_system_calls_hold_up_repairs(engine: Engine, tmp_path: Path) -> None:
    (measured,) = run(engine, CALLS, tmp_path)
    (last,) = (queue for queue in measured.queues if queue.place[0] == "b")
    arrived = last.behind.found >= 0
    came_s = last.seconds(last.delivered)[last.behind.found[arrived]]
    late_us = 1e6 * (came_s - last.sent_s[arrived] - 1e-3) % 4000
    assert ((late_us > 2) & (late_us < 20)).sum() > 5  # otherwise nothing was tried


def test_fq_leaves_what_came_out_of_order_as_it_came(engine: Engine, tmp_path: Path) -> None:
    (measured,) = run(engine, OVERTAKEN, tmp_path)
    queue = measured.flows[0].queue
    left = queue.through.found[queue.through.found >= 0]
    assert len(left) > 500
    assert (np.diff(left) > 0).all()
    came = queue.entered.sequence.astype(np.int64)
    assert (np.diff(came) < 0).sum() > 20  # otherwise nothing was tried


def test_fq_within_prio_holds_what_fq_holds(engine: Engine, tmp_path: Path) -> None:
    (measured,) = run(engine, INNER_FQ, tmp_path)
    (queue,) = (q for q in measured.queues if q.interface.queue and q.interface.queue.inner)
    most, _ = queue.largest_backlog(measured.ended_s)
    planned = queue.interface.queue
    assert planned is not None and planned.limit_packets is not None
    assert most > planned.limit_packets + 1  # so one frame of slack is not what makes it valid


@pytest.mark.parametrize("what", ANSWERS)
def test_a_handshake_that_waits_behind_answers(engine: Engine, tmp_path: Path, what: str) -> None:
    (measured,) = run(engine, ANSWERS[what], tmp_path)
    late = measured.flows[1]
    came_s = late.queue.seconds(late.queue.entered)[late.entered]
    assert 2.05 < came_s.min() < 2.9


def test_a_handshake_that_waits_behind_earlier_ones(engine: Engine, tmp_path: Path) -> None:
    (measured,) = run(engine, SLOW, tmp_path)
    waited_s = [
        float(flow.queue.seconds(flow.queue.entered)[flow.entered].min()) - flow.start_s
        for flow in measured.flows
    ]
    assert waited_s[0] < 1.1
    assert min(waited_s[1:]) > 2


def test_ticks_that_coincide_with_packets(engine: Engine, tmp_path: Path) -> None:
    """Nothing computes for any time, whatever the kernel's samples say."""
    (measured,) = run(engine, TICKS, tmp_path)
    assert measured.busy.share.max() > 0.9
