"""iperf3 whose control connection takes longer than the cell, in the real kernel."""

from __future__ import annotations

from pathlib import Path

import kept_cells
from specs import compilation_of, only_cell_of

from fairc.runtime.engines.base import Engine
from fairc.runtime.validity import judge

# Acknowledgements of the other flow fill the way to iperf3's server.
SPEC = """fexp 1
experiment late {
  topology = bottleneck(down: 2Mbit/s, up: 20kbit/s, rtt: 100ms, queue: fifo(30pkt))
  flow a { count = 3  cca = cubic  start = 0s  workload = bulk }
  flow i { cca = cubic  start = 2s  workload = iperf3(time: 2s) }
  duration = 4s
  measure  = [throughput]
}
"""

# An acknowledgement of the other test takes 26 ms, which a SYN may wait for.
SLOW = """fexp 1
experiment slow {
  topology = bottleneck(rate: 20kbit/s, rtt: 1s, queue: fifo(5pkt))
  flow i { cca = cubic  workload = iperf3(time: 3s) }
  flow j { over = udp  start = 3s  rate = 10kbit/s  workload = iperf3(time: 2s) }
  duration = 5s
  repeat   = 8
  measure  = [throughput(i)]
}
"""


def test_a_test_that_cannot_begin_is_no_failure_of_iperf3(engine: Engine, tmp_path: Path) -> None:
    measured = kept_cells.measured(engine, only_cell_of(SPEC), tmp_path)
    verdict, reasons = judge(measured)
    assert verdict == "flagged", reasons
    (reason,) = reasons
    assert reason.startswith("iperf3 of flow i was stopped before it had opened a stream")
    late = next(flow for flow in measured.flows if flow.name == "i")
    assert late.endpoints.first_byte_s is None
    assert not late.endpoints.completed


def test_a_control_connection_behind_another_test_is_not_late(
    engine: Engine, tmp_path: Path
) -> None:
    """Of eight correct cells one was called late, by 73 ms."""
    for number, cell in enumerate(compilation_of(SLOW).cells()):
        work = tmp_path / str(number)
        work.mkdir()
        verdict, reasons = judge(kept_cells.measured(engine, cell, work))
        assert verdict != "invalid", reasons
        assert not any("late" in reason for reason in reasons)
