"""Groups of users become plain nodes, links and flows; presets have the rates and delays they
say.
"""

from __future__ import annotations

import pytest

from fairc.dsl.model import Flow, Scenario

from .conftest import Build, Check

ACCESS = "topology = access(rate: 10Mbit/s, rtt: 100ms, queue: fifo(1bdp))"


def rtt_ns(scenario: Scenario) -> int:
    return sum(
        way.delay_ns for link in scenario.network.links for way in (link.forward, link.backward)
    )


def ends(flow: Flow) -> tuple[str, str, str]:
    return flow.name, flow.server, flow.client


def test_each_user_has_a_host_a_server_and_a_flow(build: Build) -> None:
    (configuration,) = build(
        ACCESS,
        "users heavy { count = 1 }",
        "users light { count = 2 }",
        "flow heavy { users = heavy  cca = cubic  count = 5  workload = file(1MB) }",
        "flow light { users = light  cca = bbr  from = client  to = server  workload = file(1MB) }",
    )
    scenario = configuration.scenario
    assert [node.name for node in scenario.network.nodes] == [
        *("left", "right", "heavy-1", "heavy-1-server"),
        *("light-1", "light-1-server", "light-2", "light-2-server"),
    ]
    assert [ends(flow) for flow in scenario.flows] == [
        ("heavy-1", "heavy-1-server", "heavy-1"),
        ("light-1", "light-1", "light-1-server"),
        ("light-2", "light-2", "light-2-server"),
    ]
    assert {(f.declared, f.users) for f in scenario.flows} == {
        ("heavy", "heavy"),
        ("light", "light"),
    }
    joined = {frozenset((link.a, link.b)) for link in scenario.network.links}
    assert joined == {
        frozenset(("left", "right")),
        *(frozenset((f"{user}-server", "left")) for user in ("heavy-1", "light-1", "light-2")),
        *(frozenset((user, "right")) for user in ("heavy-1", "light-1", "light-2")),
    }


def test_a_flow_beside_users_keeps_its_own_hosts(build: Build) -> None:
    (configuration,) = build(
        ACCESS,
        "users u { count = 1 }",
        "flow a { users = u  cca = cubic  workload = file(1MB) }",
        "flow b { cca = cubic  workload = file(1MB) }",
    )
    names = {node.name for node in configuration.scenario.network.nodes}
    assert {"client", "server", "u-1", "u-1-server"} <= names


def test_the_number_of_users_may_be_swept(build: Build) -> None:
    found = build(
        ACCESS,
        "sweep { n = 1..3 }",
        "users u { count = n }",
        "flow a { users = u  cca = cubic  workload = file(1MB) }",
    )
    assert [len(c.scenario.flows) for c in found] == [1, 2, 3]
    assert len({id(c.scenario.network) for c in found}) == 3


def test_configurations_with_equal_users_share_their_network(build: Build) -> None:
    found = build(
        ACCESS,
        "sweep { s = [1MB, 2MB] }",
        "users u { count = 2 }",
        "flow a { users = u  cca = cubic  workload = file(s) }",
    )
    assert found[0].scenario.network is found[1].scenario.network


def test_more_users_than_any_machine_has_room_for(check: Check) -> None:
    found = check(
        ACCESS,
        "users u { count = 20000 }",
        "flow a { users = u  cca = cubic  workload = file(1MB) }",
    )
    first = next(iter(found))
    assert first.span is not None
    assert (first.code, first.span.text) == ("out-of-range", "20000")


def test_users_without_a_flow(check: Check) -> None:
    found = check(ACCESS, "users u { count = 1 }")
    assert [d.code for d in found] == ["unused-name"]


@pytest.mark.parametrize(
    ("preset", "down_bps", "up_bps", "rtt_ms"),
    [
        ("geo", 25_000_000, 5_000_000, 750),
        ("geo(pep: none, rtt: 600ms)", 25_000_000, 5_000_000, 600),
        ("4g", 5_000_000, 2_500_000, 80),
        ("lte(down: 10Mbit/s)", 10_000_000, 2_500_000, 80),
        ("access(up: 1Mbit/s, down: 8Mbit/s, rtt: 30ms)", 8_000_000, 1_000_000, 30),
    ],
)
def test_presets(build: Build, preset: str, down_bps: int, up_bps: int, rtt_ms: int) -> None:
    (configuration,) = build(f"topology = {preset}")
    scenario = configuration.scenario
    assert rtt_ns(scenario) == rtt_ms * 10**6
    rates = [(link.forward.rate_bps, link.backward.rate_bps) for link in scenario.network.links]
    assert (down_bps, up_bps) in rates
    assert all(down >= down_bps for down, _ in rates if down is not None)


def test_a_chain_has_any_number_of_bottlenecks(build: Build) -> None:
    (configuration,) = build(
        "topology = chain(hops: 5, rate: 5Mbit/s, hop: 20ms)",
        "flow all { cca = cubic  workload = file(1MB) }",
        "flow cross[i] for i in 1..5 { from = s[i]  to = c[i]  cca = cubic  workload = file(1MB) }",
    )
    links = configuration.scenario.network.links
    slow = [(link.a, link.b) for link in links if link.forward.rate_bps == 5_000_000]
    assert slow == [(f"r-{i}", f"r-{i + 1}") for i in range(1, 6)]
    assert rtt_ns(configuration.scenario) == 5 * 2 * 20_000_000


def test_a_parking_lot_has_three_bottlenecks(build: Build) -> None:
    (configuration,) = build("topology = parking_lot(rate: 5Mbit/s, hop: 20ms)")
    slow = [
        link for link in configuration.scenario.network.links if link.forward.rate_bps == 5_000_000
    ]
    assert [(link.a, link.b) for link in slow] == [("r1", "r2"), ("r2", "r3"), ("r3", "r4")]
    assert rtt_ns(configuration.scenario) == 3 * 40 * 10**6


def test_a_file_may_replace_a_preset(build: Build) -> None:
    own = "topology geo(r) { node server, client  link server -- client { rate = r  delay = 1ms } }"
    (configuration,) = build("topology = geo(3Mbit/s)", before=f"{own}\n")
    assert [link.forward.rate_bps for link in configuration.scenario.network.links] == [3_000_000]
