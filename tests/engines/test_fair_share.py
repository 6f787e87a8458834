"""Fair shares against what is known by hand: a video that takes 2 of 8 Mbit/s when it is alone,
beside a bulk flow, whose share is the other 6.
"""

from __future__ import annotations

import numpy as np
import pytest
from storedcells import result_of

from fairc.compiler import Cell
from fairc.compiler.plan import Comparison, Requests
from fairc.dsl.model.requests import MetricRequest
from fairc.runtime import validity
from fairc.runtime.analysis.values import values
from fairc.runtime.measurement import Measurement
from fairc.runtime.store.baselines import Baselines

# 1514 bytes of a frame carry 1448 of a video, which is sent at 1.25 times its bit rate.
SPEC = """fexp 1
experiment watched {
  topology = dumbbell(rate: 8Mbit/s, rtt: 40ms, queue: fifo(1bdp))
  flow film {
    cca      = cubic
    workload = video(bitrate: 1.53Mbit/s, length: 60s, burst: 0s, chunk: 16KiB, factor: 1.25)
  }
  flow bulk { cca = cubic  workload = bulk }
  duration = 12s
  warmup   = 4s
  measure  = [share.fair]
}
"""
ON_THE_WIRE = 1514 / 1448
REQUESTS = Requests(
    measure=(MetricRequest(name="share"), MetricRequest(name="throughput")),
    comparisons=(Comparison(name="share.fair", metric="throughput"),),
)


def test_the_video_has_what_it_wants_and_the_bulk_flow_the_rest(
    cells: tuple[Cell, ...], each_measured: tuple[Measurement, ...]
) -> None:
    alone, beside = cells
    assert alone.baseline and [flow.name for flow in alone.flows] == ["film"]
    assert beside.baselines == {"film": alone.configuration}
    for measured in each_measured:
        assert validity.judge(measured)[0] == "valid"
    baselines = Baselines(REQUESTS)
    baselines.add(alone, result_of(alone, values(each_measured[0], REQUESTS)))
    found, rows = baselines.compared(beside, result_of(beside, values(each_measured[1], REQUESTS)))
    (row,) = rows
    assert row.value == pytest.approx(1.53e6 * 1.25 * ON_THE_WIRE, rel=0.01)
    shares = {v.flow: v.value for v in found.metrics if v.metric == "share.fair"}
    # Second method: what the clients read of the stream.
    for flow, fair_bps in zip(each_measured[1].flows, (2e6, 6e6), strict=True):
        (got,) = flow.delivered_bytes(np.array([4.0, 12.0]))
        expected = 8 * got / (12 - 4) * ON_THE_WIRE / fair_bps
        assert shares[flow.name] == pytest.approx(expected, rel=0.02)
