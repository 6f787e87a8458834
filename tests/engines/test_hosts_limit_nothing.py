"""Cells of the real kernel in which nothing but the network and congestion control limits a flow, and
connections that outlive an outage, end by themselves, or pause.
"""

from __future__ import annotations

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

QUIC = """fexp 1
experiment quic {
  topology = bottleneck(rate: 20Mbit/s, rtt: 100ms, queue: fifo(1bdp))
  flow d { over = quic  cca = cubic  workload = file(5MB) }
  measure = [fct]
}
"""
PRAGUE = """fexp 1
experiment prague {
  topology = bottleneck(down: 25Mbit/s, up: 12.5Mbit/s, rtt: 100ms, queue: fifo(100pkt), mtu: 1420B)
  flow f0 { from = client  to = server  count = 3  cca = bbr  workload = bulk }
  flow f1 { from = client  to = server  over = quic  cca = copa  workload = file(1MB) }
  flow f2 { over = quic  cca = prague  workload = bulk }
  duration = 5s
  measure  = [goodput, rtt]
}
"""
LONG = """fexp 1
experiment long {
  topology = bottleneck(rate: 50Mbit/s, rtt: 300ms, loss: 1%, queue: fifo(62kB))
  flow a { cca = cubic  workload = bulk }
  flow b { cca = bbr    workload = bulk }
  duration = 9s
  measure  = [goodput]
}
"""
PATHS = """fexp 1
topology two(x, y) {
  node server, client
  router a, b
  link server -- a, server -- b { rate = 1Gbit/s }
  link a -- client { rate = x  delay = 10ms  queue = fifo(2bdp) }
  link b -- client { rate = y  delay = 25ms  queue = fifo(2bdp) }
}
experiment paths {
  topology = two(10Mbit/s, 2Mbit/s)
  flow m { over = mptcp(paths: fullmesh)  cca = cubic  workload = bulk }
  duration = 10s
  measure  = [goodput]
}
"""
SMALL = """fexp 1
experiment small {
  topology = bottleneck(rate: 20Mbit/s, rtt: 100ms, queue: fifo(1bdp))
  hosts { receive_buffer = 60kB }
  flow a { cca = cubic  workload = bulk }
  flow b { over = quic  cca = cubic  workload = bulk }
  duration = 4s
  measure = [goodput]
}
"""
DOWN_S, UP_S = 10.0, 35.0
OUTAGE = """fexp 1
experiment outage {
  sweep { silence = [quic, quic(idle_timeout: 20s)] }
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(1bdp)) with { link left -- right { down from 10s to 35s } }
  flow d { over = silence  cca = reno  workload = bulk }
  duration = 60s
  measure = [recovery_time(after: 35s)]
}
"""
PAUSES = """fexp 1
experiment pauses {
  sweep { restart = [on, off] }
  hosts { idle_restart = restart }
  topology = dumbbell(rate: 20Mbit/s, rtt: 50ms, queue: fifo(500pkt))
  flow t { over = tcp   cca = cubic  workload = onoff(rate: 8Mbit/s, on: 2s, off: 3s) }
  flow q { over = quic  cca = cubic  start = 2500ms  workload = onoff(rate: 8Mbit/s, on: 2s, off: 3s) }
  duration = 9s
  measure  = [cwnd]
}
"""

Cells = dict[str, list[Measurement]]
SPECS = {
    "quic": QUIC,
    "prague": PRAGUE,
    "long": LONG,
    "paths": PATHS,
    "small": SMALL,
    "outage": OUTAGE,
    "pauses": PAUSES,
}


@pytest.mark.parametrize("name", ["quic", "prague", "long", "paths", "outage", "pauses"])
def test_a_cell_with_default_buffers_is_valid(runs: Cells, name: str) -> None:
    for measured in runs[name]:
        assert validity.judge(measured) == ("valid", ())


@pytest.mark.parametrize("name", ["quic", "prague", "long", "paths"])
def test_default_buffers_never_limit(runs: Cells, name: str) -> None:
    """By the kernel's own count, to the microsecond; QUIC has nothing to send before the request only
    and after the last byte.
    """
    for flow in runs[name][0].flows:
        samples = flow.endpoints.samples
        if flow.plan.transport == "tcp":
            assert float(samples.rwnd_limited_s.max()) == 0.0
            assert float(samples.sndbuf_limited_s.max()) == 0.0
        else:
            sending = samples.app_limited_s[samples.t_s <= flow.end_s - 2 * samples.rtt_s.max()]
            assert sending[-1] - sending[0] == 0.0, flow.name


def test_a_buffer_that_the_file_sets_is_flagged_and_named(runs: Cells) -> None:
    verdict, reasons = validity.judge(runs["small"][0])
    assert verdict == "flagged"
    tcp, quic = reasons
    assert "flow a" in tcp and "limited by the receiver's window for " in tcp
    assert "flow b" in quic and "limited by its hosts for " in quic
    for reason in reasons:
        assert reason.endswith(
            "`receive_buffer = 60000B` of `hosts` is too small; raise it, or leave it out"
        )


def received_s(measured: Measurement, begin_s: float) -> float:
    """Return when a flow's client first reported more bytes than at a time, s."""
    (flow,) = measured.flows
    ((t_s, data),) = flow.endpoints.progress.reports
    before = data[t_s <= begin_s][-1]
    return float(t_s[data > before][0])


def test_a_transfer_goes_on_with_the_next_probe_after_an_outage(runs: Cells) -> None:
    """Probe timeouts of about 0.16 s that double end 0.16, 0.5, 1.1, ... 20 and 40 s after the last
    packet: the last one 15 s after the outage (RFC 9002, section 6.2.1). Nothing else is sent.
    """
    measured = runs["outage"][0]
    assert received_s(measured, UP_S) == pytest.approx(UP_S + 15, abs=2.0)
    assert measured.flows[0].endpoints.given_up == ()


def test_an_idle_timeout_ends_a_connection_with_a_time_and_is_no_failure(runs: Cells) -> None:
    """20 s after the last packet came, or three probe timeouts (RFC 9000, section 10.1)."""
    measured = runs["outage"][1]
    (flow,) = measured.flows
    (ended,) = flow.endpoints.given_up
    assert ended.at_s == pytest.approx(DOWN_S + 20, abs=0.2)
    assert ended.reason.startswith("nothing has come from the ")
    assert ended.reason.endswith("for longer than the idle timeout of 20 s")
    assert flow.end_s == pytest.approx(DOWN_S + 20, abs=0.2)
    assert measured.ending.ended_by == "duration"


@pytest.mark.parametrize("name", ["t", "q"])
def test_idle_restart_is_the_same_over_both_transports(runs: Cells, name: str) -> None:
    """3 s are more than ten timeouts of 250 ms, so the window is the initial one, 10 packets, or what
    it was before.
    """
    for measured, restarts in zip(runs["pauses"], (True, False), strict=True):
        (flow,) = (each for each in measured.flows if each.name == name)
        samples = flow.endpoints.samples
        begin_s = 5.0 if name == "t" else 7.5
        before = samples.cwnd_packets[samples.t_s < begin_s - 0.2][-1]
        after = samples.cwnd_packets[(samples.t_s > begin_s) & (samples.t_s < begin_s + 0.3)]
        assert before > 50
        least = float(np.min(after))
        assert (10 <= least <= 30) if restarts else least >= before
