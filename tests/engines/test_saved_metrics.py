"""What TCP keeps between connections (`tcp_metrics_save`): a later one begins with the slow-start
threshold that an earlier one has left.
"""

from __future__ import annotations

from pathlib import Path

import kept_cells
import pytest
from left_behind import events
from specs import only_cell_of

from fairc.runtime.engines.base import Engine

SPEC = """fexp 1
experiment saved {{
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: fifo(1bdp))
  hosts {{ tcp_metrics_save = {state} }}
  flow first  {{ cca = reno  workload = file(4MB) }}
  flow second {{ cca = reno  workload = file(1MB)  start = 6s }}
  deadline = 10s
  measure = [goodput]
}}
"""
INFINITE = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH (include/net/tcp.h)


@pytest.mark.parametrize("state", ["on", "off"])
def test_a_later_connection_begins_with_the_threshold(
    engine: Engine, state: str, tmp_path: Path
) -> None:
    cell = only_cell_of(SPEC.format(state=state))
    assert cell.saves_metrics == (state == "on")
    artefacts = kept_cells.artefacts(engine, cell, tmp_path)
    last = events(artefacts, "first.server", "sample")[-1]
    first = events(artefacts, "second.server", "sample")[0]
    assert last["ssthresh"] < 100  # the earlier connection met losses
    if state == "off":
        assert first["ssthresh"] == INFINITE
    else:
        # tcp_update_metrics(): the larger of the threshold and half of the window at the end.
        window = max(last["ssthresh"], last["cwnd"] // 2)
        assert last["ssthresh"] <= first["ssthresh"] <= window + 1
