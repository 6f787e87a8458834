"""Cells in containers: what one costs apart from its flows, and its bottleneck's rate."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fairc.runtime.engines.docker import DockerEngine
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.measurement import load
from fairc.runtime.validity.service import backlogged_rate

from .common import Figure, median, only_cell

CELL = """fexp 1
topology three() {{
  node s, c, d  router r
  link s -- r {{ rate = 100Mbit/s  transmit = bucket }}
  link d -- r {{ rate = 100Mbit/s  transmit = bucket }}
  link r -- c {{ rate = {rate}Mbit/s  queue = fifo(100pkt)  transmit = bucket }}
}}
experiment bench {{
  topology = three()
  flow f {{ from = s  to = c  cca = cubic  workload = {workload} }}
  flow g {{ from = d  to = c  cca = cubic  workload = {workload} }}
  {rest}
  measure = [goodput]
}}
"""


def containers() -> Iterator[Figure]:
    """Measure cells of three hosts and a router; nothing if there is no Docker engine."""
    engine = DockerEngine(lambda text: print(text, file=sys.stderr))
    try:
        engine.prepare()
    except EngineUnavailable as lacking:
        print(f"no figures of containers: {lacking}", file=sys.stderr)
        return
    try:
        yield Figure(
            "containers, three hosts and a router: start-up and tear-down",
            f"{median(lambda: _fixed_s(engine), 5):.1f} s",
            "at most 4 s",
        )
        for rate in (1, 10, 50, 100):
            yield Figure(
                f"containers: rate of a bottleneck of {rate} Mbit/s, off by",
                f"{100 * _error(engine, rate):.2f} %",
                "at most 2 %",
            )
    finally:
        engine.close()


def _fixed_s(engine: DockerEngine) -> float:
    """Return the wall time of a short cell less what the plan itself waits for, s."""
    cell = only_cell(CELL.format(rate=10, workload="file(1kB)", rest=""))
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        raw = engine.run(cell, Path(folder))
        wall_s = time.monotonic() - started
        assert not raw.error, raw.error
        ended_s = json.loads((raw.artefacts / "cell.json").read_text())["ended_ns"] / 1e9
    return wall_s - ended_s


def _error(engine: DockerEngine, rate_mbps: int) -> float:
    """Return the relative error of the bottleneck's service rate while packets wait."""
    cell = only_cell(CELL.format(rate=rate_mbps, workload="bulk", rest="duration = 10s"))
    with tempfile.TemporaryDirectory() as folder:
        raw = engine.run(cell, Path(folder))
        assert not raw.error, raw.error
        measured = load(cell, raw.artefacts)
        (queue,) = measured.seen_queues
        slack_s = measured.processing.slack_ns * 1e-9
        _, slowest_bps, fastest_bps = backlogged_rate(queue, slack_s)
    rate_bps = rate_mbps * 1e6
    return max(abs(slowest_bps - rate_bps), abs(fastest_bps - rate_bps)) / rate_bps
