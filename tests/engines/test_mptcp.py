"""Multipath TCP of the real kernel: both paths add up, a backup waits, a second path opens on
failure.
"""

from __future__ import annotations

import numpy as np
import pytest
from computed import results

from fairc.compiler.plan import MetricRequest
from fairc.runtime import validity
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.metrics import rtt

SPEC = """fexp 1
experiment mptcp {
  topology {
    node server, client
    router core, wifi, mobile
    link server -- core { rate = 1Gbit/s }
    link core -- wifi { rate = 8Mbit/s  delay = 10ms  queue = fifo(100ms) }
    link core -- mobile { rate = 4Mbit/s  delay = 20ms  queue = fifo(100ms) }
    link mobile -- client { rate = 1Gbit/s }
    link wifi -- client { rate = 1Gbit/s  down from 8s to 14s }
  }
  sweep {  # both paths, a backup, a second path on failure
    way = [mptcp, mptcp(backup: mobile), mptcp(paths: on_failure)]
  }
  flow one { over = way  cca = cubic  workload = bulk }
  duration = 14s
  measure  = [goodput, goodput.subflow, rtt.subflow, throughput]
}
"""
FAILURE_S = 8.0


def frames(flow: FlowRecord, begin_s: float, end_s: float) -> list[float]:
    """Return the rate of each path between two times, bit/s of frames."""
    edges_s = np.array([begin_s, end_s])
    return [
        8 * float(one.apportion(one.queue.left.frame_bytes, edges_s)[0]) / (end_s - begin_s)
        for one in flow.passages
    ]


def test_every_cell_is_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measured in each_measured:
        assert validity.judge(measured) == ("valid", ())


def test_two_paths_add_up(each_measured: tuple[Measurement, ...]) -> None:
    """12 Mbit/s of frames, less headers of 78 bytes in 1514 with MPTCP's options."""
    (flow,) = each_measured[0].flows
    wifi, mobile = frames(flow, 2.0, FAILURE_S)
    assert wifi == pytest.approx(8e6, rel=0.02)
    assert mobile == pytest.approx(4e6, rel=0.02)
    delivered = float(flow.delivered_bytes(np.array([2.0, FAILURE_S]))[0])
    assert 8 * delivered / (FAILURE_S - 2.0) == pytest.approx(12e6 * 1428 / 1514, rel=0.05)


@pytest.mark.parametrize("which", [1, 2])
def test_a_second_path_carries_no_data_until_the_first_is_down(
    each_measured: tuple[Measurement, ...], which: int
) -> None:
    (flow,) = each_measured[which].flows
    second = flow.passages[1]
    data = second.left & (second.queue.left.payload_bytes > 0)
    assert float(second.queue.left_s[data].min()) > FAILURE_S
    assert frames(flow, 11.0, 14.0)[1] == pytest.approx(4e6, rel=0.05)


def test_a_path_on_failure_opens_with_the_failure(each_measured: tuple[Measurement, ...]) -> None:
    (flow,) = each_measured[2].flows
    second = flow.passages[1]
    first_s = float(second.queue.left_s[second.left].min())
    assert FAILURE_S < first_s < FAILURE_S + 0.1
    (flow,) = each_measured[1].flows  # a backup is opened with the connection
    second = flow.passages[1]
    assert float(second.queue.left_s[second.left].min()) < 0.5


def test_the_kernel_moves_the_transfer_within_seconds(
    each_measured: tuple[Measurement, ...],
) -> None:
    """It leaves a subflow after four intervals of retransmission without progress
    (net.mptcp.stale_loss_cnt).
    """
    for measured in each_measured:
        (flow,) = measured.flows
        edges_s = np.arange(FAILURE_S, 14.01, 0.5)
        used = 16 * flow.frame_bytes(edges_s) - 16 * flow.passages[0].apportion(
            flow.passages[0].queue.left.frame_bytes, edges_s
        )
        assert float(edges_s[int(np.argmax(used >= 0.8 * 4e6))]) < FAILURE_S + 4.0


def test_each_path_has_its_values(each_measured: tuple[Measurement, ...]) -> None:
    found = {v.flow: v.value or 0 for v in results(each_measured[0], "goodput", "one")}
    assert found.keys() == {"one", "one-wifi", "one-mobile"}
    trips = rtt.METRIC.compute(each_measured[0], MetricRequest(name="rtt", sessions=("one",)))
    means = {v.flow: v.value or 0 for v in trips if v.metric == "rtt.subflow"}
    assert 0.020 < means["one-wifi"] < 0.13
    assert 0.040 < means["one-mobile"] < 0.15


def test_samples_of_paths_are_those_of_connections(each_measured: tuple[Measurement, ...]) -> None:
    samples = each_measured[0].flows[0].endpoints.samples
    assert {*samples.connection.tolist()} == {0, 1}
    late = samples.t_s > 4.0
    assert float(samples.rtt_s[late & (samples.connection == 0)].min()) >= 0.020
    assert float(samples.rtt_s[late & (samples.connection == 1)].min()) >= 0.040
