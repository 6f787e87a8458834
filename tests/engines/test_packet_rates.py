"""More than 250,000 packets a second at one interface: captures miss none, and the cells are
valid.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from specs import only_cell_of

from fairc.cell.reading import reading
from fairc.compiler.plan import MetricRequest
from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import load
from fairc.runtime.metrics import utilization

pytestmark = pytest.mark.full

SPEC = """fexp 1
experiment fast {{
  topology = bottleneck(rate: {rate}, rtt: 1ms, queue: fifo(1bdp)) with {{
    link right -> left {{ queue = fifo(1bdp) }}
  }}
  {flows}
  duration = {duration}
  measure  = [utilization, loss_rate]
}}
"""
DOWN = "flow down { cca = cubic  workload = bulk }\n"
UP = "flow up { from = client  to = server  cca = cubic  workload = bulk }"
DATAGRAMS = "flow u {{ over = udp  rate = {}  workload = bulk(packet: {}B) }}"


@pytest.mark.parametrize(
    ("rate", "flows", "duration", "packets_per_s", "used"),
    [
        ("2.5Gbit/s", DOWN + UP, "250ms", 150_000, (0.7, 1.0)),
        ("10Gbit/s", DOWN, "1s", 800_000, (0.98, 1.0)),
        ("1Gbit/s", DATAGRAMS.format("800Mbit/s", 100), "250ms", 990_000, (0.911, 0.913)),
        ("300Mbit/s", DATAGRAMS.format("236.8Mbit/s", 100), "250ms", 295_000, (0.899, 0.901)),
        ("10Gbit/s", DATAGRAMS.format("8.9Gbit/s", 1500), "100ms", 730_000, (0.897, 0.9)),
    ],
)
def test_captures_keep_up(
    engine: Engine,
    tmp_path: Path,
    rate: str,
    flows: str,
    duration: str,
    packets_per_s: int,
    used: tuple[float, float],
) -> None:
    cell = only_cell_of(SPEC.format(rate=rate, flows=flows, duration=duration))
    assert reading(cell).every_ns < 100_000_000
    result = engine.run(cell, tmp_path)
    assert result.error == ""
    measured = load(cell, result.artefacts)
    assert validity.judge(measured) == ("valid", ())
    assert not any(counts and counts.dropped for counts in measured.capture_counts.values())
    queue = measured.flows[0].queue
    second = np.searchsorted(queue.left_s, [0.0, measured.ended_s])
    assert (second[1] - second[0]) / measured.ended_s > packets_per_s
    (share,) = utilization.METRIC.compute(measured, MetricRequest(name="utilization"))[:1]
    assert share.value is not None and used[0] <= share.value <= used[1]
