"""Delays of the real kernel that differ from the plan by less than pings show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kept_cells
import pytest
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.compiler.plan import cell_json, parse_cell
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import load
from fairc.runtime.validity import judge
from fairc.runtime.validity.delay import constant_delay
from fairc.runtime.validity.processing import delays

SPEC = """fexp 1
experiment centre {
  topology = bottleneck(rate: 10Mbit/s, rtt: 2ms, queue: fifo(20pkt)) with {
    link right -> left { jitter = jitter(300us, normal) }
  }
  flow d { cca = cubic  workload = bulk }
  duration = 500ms
  measure  = [goodput]
}
"""

Run = tuple[Cell, Path]


@pytest.fixture(scope="module")
def run(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Run:
    cell = only_cell_of(SPEC)
    return cell, kept_cells.artefacts(engine, cell, tmp_path_factory.mktemp("centre"))


def planned(cell: Cell, jitter: bool, **changed: int) -> Cell:
    """The same cell with another plan of one hop: that with jitter, or that without."""
    document: dict[str, Any] = json.loads(cell_json(cell))
    for node in document["nodes"]:
        for interface in node["interfaces"]:
            impairment = interface.get("impairment")
            if impairment and bool(impairment["jitter_ns"]) == jitter:
                impairment.update(changed)
    return parse_cell(json.dumps(document))


def test_delays_as_planned_are_valid(run: Run) -> None:
    assert judge(load(*run)) == ("valid", ())


@pytest.mark.parametrize("more_ns", [-2000, 2000, 200_000])
def test_each_packet_shows_a_delay_that_is_not_planned(run: Run, more_ns: int) -> None:
    """A tenth of the way there is less than the tolerance of pings."""
    cell, folder = run
    measured = load(planned(cell, jitter=False, delay_ns=1_000_000 + more_ns), folder)
    (finding,) = constant_delay(measured)
    assert finding.verdict == "invalid"
    assert "typically 1 ms: the hop has another delay" in finding.reason
    (finding,) = delays(measured)
    assert f"delay (ns) 1000000, not {1_000_000 + more_ns}" in finding.reason
    assert judge(measured)[0] == "invalid"


@pytest.mark.parametrize("jitter_ns", [200_000, 400_000])
def test_jitter_on_the_way_of_acknowledgements_is_read_back(run: Run, jitter_ns: int) -> None:
    """No packet is seen behind that hop, and ten pings show no deviation."""
    cell, folder = run
    verdict, reasons = judge(load(planned(cell, jitter=True, jitter_ns=jitter_ns), folder))
    assert verdict == "invalid"
    (reason,) = reasons
    assert f"jitter (ns) 300000, not {jitter_ns}" in reason


def test_a_limit_is_read_back(run: Run) -> None:
    cell, folder = run
    (finding,) = delays(load(planned(cell, jitter=True, limit_packets=77), folder))
    assert "not 77" in finding.reason
