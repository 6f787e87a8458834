"""Changes that wait for a state: from the file to the plan, who can run them, and their cost."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from specs import only_cell_of

from fairc.compiler import Cell, engine_choice
from fairc.compiler.engines import ENTERING, PROFILES
from fairc.compiler.estimate import wall_s
from fairc.compiler.plan import Change, Entering, Interface, cell_json, parse_cell
from fairc.runtime.measurement.samples import STATES as LOGGED
from fairc.words.enters import STATES

CONGESTION = Path(__file__).parents[2] / "endpoints" / "src" / "congestion"
SPEC = """fexp 1
experiment e {{
  topology = bottleneck(rate: 8Mbit/s, rtt: 20ms) with {{ link left -> right {{ {change} }} }}
  flow f[i] for i in 1..2 {{ over = quic  cca = bbr3  workload = bulk }}
  duration = 10s
  measure = [goodput]
}}
"""
WAITING = "at enters(f[2], drain, from: 1s) { rate = 0bit/s  delay = 30ms }"


def changing(cell: Cell) -> list[Interface]:
    return [each for node in cell.nodes for each in node.interfaces if each.changes]


def test_each_change_waits_and_its_flow_is_looked_at_often() -> None:
    cell = only_cell_of(SPEC.format(change=WAITING))
    shaped, hop = changing(cell)
    (rate,), (delay,) = shaped.changes, hop.changes
    assert rate.entering == delay.entering == Entering("f-2", "drain")
    assert rate.at_ns == delay.at_ns == 10**9
    assert rate.rate_bps and delay.impairment and delay.impairment.delay_ns == 30_000_000
    assert {flow.name: flow.sample_every_ns for flow in cell.flows} == {
        "f-1": 100_000_000,
        "f-2": 10_000_000,
    }
    assert parse_cell(cell_json(cell)) == cell


def test_only_uml_can_and_it_costs_two_runs() -> None:
    waits = only_cell_of(SPEC.format(change=WAITING))
    timed = only_cell_of(SPEC.format(change="at 1s { rate = 0bit/s  delay = 30ms }"))
    assert {name for name, each in PROFILES.items() if ENTERING not in each.lacks} == {"uml"}
    assert ENTERING in {each.feature for each in engine_choice.of_cell(waits)}
    assert ENTERING not in {each.feature for each in engine_choice.of_cell(timed)}
    costs = replace(PROFILES["uml"].costs, per_flow_s=0.0)  # its flow is sampled more often
    assert wall_s(costs, waits) == pytest.approx(2 * wall_s(costs, timed))


def test_a_plan_with_another_change_beside_it_is_refused() -> None:
    cell = only_cell_of(SPEC.format(change=WAITING))
    shaped, _ = changing(cell)
    both = replace(shaped, changes=(*shaped.changes, Change(2 * 10**9, rate_bps=8_000_000)))
    nodes = tuple(
        replace(
            node, interfaces=tuple(both if each is shaped else each for each in node.interfaces)
        )
        for node in cell.nodes
    )
    with pytest.raises(ValueError, match="changes upon a state, and in another way as well"):
        parse_cell(cell_json(replace(cell, nodes=nodes)))


def test_the_states_are_those_of_the_endpoints() -> None:
    """Each that a controller's source names, and no other."""
    for cca, states in STATES.items():
        source = (CONGESTION / f"{cca}.rs").read_text()
        if "hystartpp" in source:
            source += (CONGESTION / "hystartpp.rs").read_text()
        found = set(re.findall(r'"([a-z_]+)"', source)) & set(LOGGED)
        assert found == set(states), cca
