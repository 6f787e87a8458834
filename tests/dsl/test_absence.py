"""Flows that a configuration does not have."""

from __future__ import annotations

from collections.abc import Callable

from fairc.dsl.experiment import Experiment

from .conftest import Build, Check

SWEEP = "sweep { n = [0, 1, 2] }"
ENDS = "duration = 5s"
DUMBBELL = "topology = dumbbell(rate: 10Mbit/s, rtt: 20ms)"
A = "flow a { cca = cubic  count = n  workload = bulk }"
B = "flow b { cca = cubic  count = 2 - n  workload = bulk }"


def test_a_flow_with_a_count_of_zero_is_absent_with_its_hosts(build: Build) -> None:
    configurations = build(SWEEP, DUMBBELL, A, B, ENDS)
    flows = [[f.name for f in c.scenario.flows] for c in configurations]
    assert flows == [["b"], ["a", "b"], ["a"]]
    nodes = [[n.name for n in c.scenario.network.nodes] for c in configurations]
    assert nodes[0] == ["left", "right", "b-client", "b-server"]
    assert nodes[2] == ["left", "right", "a-client", "a-server"]


def test_flows_of_a_group_without_users_are_absent(build: Build) -> None:
    configurations = build(
        SWEEP,
        DUMBBELL,
        "users many { count = n }",
        "flow a { users = many  cca = cubic  workload = bulk }",
        "flow b { cca = cubic  workload = bulk }",
        ENDS,
    )
    flows = [[f.name for f in c.scenario.flows] for c in configurations]
    assert flows == [["b"], ["a-1", "b"], ["a-1", "a-2", "b"]]


def test_a_claim_is_about_the_configurations_that_have_its_flows(
    experiment: Callable[..., Experiment],
) -> None:
    claim = (
        'claim "c" { holds = median(goodput, flow: a) > median(goodput, flow: b) }'
        ' claim "d" { holds = median(goodput, flow: a) > 1Mbit/s }'
    )
    made = experiment(SWEEP, DUMBBELL, A, B, ENDS, "repeat = 20", claim)
    about = [[term.cells for unit in c.units for term in unit.terms] for c in made.claims]
    assert about == [[("1",), ("1",)], [("1",), ("2",)]]


def test_a_flow_that_is_never_there_is_nothing_to_claim_about(check: Check) -> None:
    claim = 'claim "c" { holds = median(goodput, flow: b) > 1Mbit/s }'
    flow = "flow b { cca = cubic  count = 0  workload = bulk }"
    found = check("flow a { cca = cubic  workload = bulk }", flow, ENDS, claim)
    assert [d.code for d in found.errors] == ["absent-flow"]
