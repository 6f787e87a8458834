"""Chains of losses in the real kernel, step by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kept_cells
import pytest
from specs import compilation_of

from fairc.compiler import Cell
from fairc.compiler.plan import cell_json, parse_cell
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import load
from fairc.runtime.validity import judge
from fairc.runtime.validity.loss import loss_bursts, random_loss

SPEC = """fexp 1
experiment chains {
  sweep { chain = [gilbert_elliott(p: 100%, r: 100%), gilbert_elliott(p: 3%, r: 30%)] }
  topology {
    node server, client
    router a, b
    link server -- a, b -- client { rate = 10Mbit/s }
    link a -- b { rate = 1Mbit/s  delay = 10ms  queue = fifo(20pkt)  loss = chain }
  }
  flow u { over = udp  rate = 800kbit/s  workload = bulk(packet: 150B) }
  flow d { cca = cubic  workload = bulk }
  flow q { over = quic  cca = cubic  workload = bulk }
  flow b { from = client  to = server  cca = cubic  workload = bulk }
  duration = 2s
  repeat   = 3
  measure  = [goodput]
}
"""


@pytest.fixture(scope="module")
def runs(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Cell, Path]]:
    return [
        (cell, kept_cells.artefacts(engine, cell, tmp_path_factory.mktemp("chain")))
        for cell in compilation_of(SPEC).cells()
    ]


def planned(cell: Cell, p: float, r: float) -> Cell:
    """The same cell with another chain in its plan."""
    document: dict[str, Any] = json.loads(cell_json(cell))
    for node in document["nodes"]:
        for interface in node["interfaces"]:
            impairment = interface.get("impairment")
            if impairment and impairment["bursts"]:
                impairment["bursts"].update(p=p, r=r)
                impairment.update(loss=p / (p + r))
    return parse_cell(json.dumps(document))


def test_cells_with_chains_are_valid(runs: list[tuple[Cell, Path]]) -> None:
    """Also where every second packet is lost, and resets that no flow sends are among them."""
    for run in runs:
        assert judge(load(*run)) == ("valid", ())


def test_another_chain_with_as_many_losses_is_found(runs: list[tuple[Cell, Path]]) -> None:
    for cell, folder in runs:
        (chain,) = {
            each.impairment.bursts
            for node in cell.nodes
            for each in node.interfaces
            if each.impairment and each.impairment.bursts
        }
        other = (0.5, 0.5) if chain.p == 1 else (0.09, 0.9)
        measured = load(planned(cell, *other), folder)
        assert [*random_loss(measured)] == []
        reasons = [finding.reason for finding in loss_bursts(measured)]
        assert any("bursts of losses end after" in reason for reason in reasons), reasons
