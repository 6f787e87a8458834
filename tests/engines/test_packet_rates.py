"""More than 250,000 packets a second at one interface: captures miss none, and the cells are
valid.
"""

from __future__ import annotations

from pathlib import Path

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
    ("rate", "flows", "duration", "used"),
    [
        ("2.5Gbit/s", DOWN + UP, "250ms", 0.5),
        ("10Gbit/s", DOWN, "1s", 0.98),
        ("1Gbit/s", DATAGRAMS.format("800Mbit/s", 100), "250ms", 0.85),
        ("300Mbit/s", DATAGRAMS.format("236.8Mbit/s", 100), "250ms", 0.85),
        ("10Gbit/s", DATAGRAMS.format("8.9Gbit/s", 1500), "100ms", 0.8),
    ],
)
def test_captures_keep_up(
    engine: Engine, tmp_path: Path, rate: str, flows: str, duration: str, used: float
) -> None:
    cell = only_cell_of(SPEC.format(rate=rate, flows=flows, duration=duration))
    assert reading(cell).every_ns < 100_000_000
    result = engine.run(cell, tmp_path)
    assert result.error == ""
    measured = load(cell, result.artefacts)
    assert validity.judge(measured) == ("valid", ())
    assert not any(counts and counts.dropped for counts in measured.capture_counts.values())
    packets = sum(int((queue.left_s < measured.ended_s).sum()) for queue in measured.queues)
    assert packets / measured.ended_s > 250_000
    shares = utilization.METRIC.compute(measured, MetricRequest(name="utilization"))
    assert shares and all(used < (each.value or 0) <= 1 for each in shares)
