"""Flows with a way of their own: past a router, and by the hashes of equal-cost multipath."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import kept_cells
import numpy as np
import pytest
from specs import compilation_of, only_cell_of

from fairc.compiler.plan import Node, Route
from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import FlowRecord, Measurement, load
from fairc.runtime.measurement.pcap import concatenate
from fairc.runtime.validity.ways import ways as check

ROUTERS = """topology {
    node server, client
    router a, b, up, low
    link server -- a, b -- client { rate = 1Gbit/s }
    link a -- up, up -- b { rate = 10Mbit/s  delay = 5ms  queue = fifo(1000pkt) }
    link a -- low, low -- b { rate = 10Mbit/s  delay = LOWms  queue = fifo(1000pkt) }
  }"""
PINNED = """fexp 1
experiment pinned {
  TOPOLOGY
  flow f { cca = cubic  workload = bulk }
  flow g { cca = cubic  via = low  initial_window = 20pkt  ecn = on  workload = bulk }
  flow q { over = quic  cca = cubic  via = low  workload = bulk }
  flow u { over = udp  via = low  workload = ping(every: 20ms) }
  flow w { over = udp  via = up  count = 3  workload = ping(every: 20ms) }
  duration = 4s
  measure = [goodput, rtt]
}
""".replace("TOPOLOGY", ROUTERS.replace("LOW", "15"))
SPREAD = """fexp 1
experiment spread {
  TOPOLOGY
  routes = ecmp(hash: HASH)
  flow f[i] for i in 1..8 { cca = cubic  workload = bulk }
  duration = 4s
  repeat = REPEAT
  measure = [goodput.group]
}
""".replace("TOPOLOGY", ROUTERS.replace("LOW", "5"))
NEXT = ("up", "low")


@pytest.fixture(scope="module")
def pinned(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Measurement:
    """The cell of pinned flows, measured."""
    cell = only_cell_of(PINNED)
    return kept_cells.measured(engine, cell, tmp_path_factory.mktemp("pinned"))


def test_the_cell_of_pinned_flows_is_valid(pinned: Measurement) -> None:
    assert validity.judge(pinned) == ("valid", ())


def test_packets_take_the_way_that_is_written(pinned: Measurement) -> None:
    """At each queue there are packets of the flows that are to pass it, and of no other."""
    ports = {flow.plan.port: flow.name for flow in pinned.flows}
    onward = {flow.name: pinned.paths.of(flow.plan) for flow in pinned.flows}
    for queue in pinned.queues:
        seen = {ports[p] for p in np.unique(queue.left.source_port).tolist() if p in ports}
        assert seen == {name for name, way in onward.items() if queue.place in way}, queue.name
        assert seen in ({"g", "q", "u"}, {"f", "w"}), queue.name


def without_sources(node: Node) -> Node:
    """A host that sends to each server from its usual address."""
    return replace(node, routes=tuple(replace(route, source=None) for route in node.routes))


def turned(node: Node) -> Node:
    """A router that sends what is for the client's address of `g` the usual way."""
    usual = [route for route in node.routes if route.destination == "10.0.0.6/32"]
    if node.kind == "host" or node.name in ("low", "a-low", "low-b") or not usual:
        return node
    routes = [route for route in node.routes if route.destination != "10.255.255.253/32"]
    turned = Route("10.255.255.253/32", usual[0].via)
    return replace(node, routes=(*routes, turned))


def flow_of(measured: Measurement, name: str) -> FlowRecord:
    return next(flow for flow in measured.flows if flow.name == name)


@pytest.mark.parametrize(("wrong", "flows"), [(without_sources, "gq"), (turned, "g")])
def test_a_flow_that_went_another_way_makes_a_cell_invalid(
    engine: Engine, tmp_path: Path, wrong: Callable[[Node], Node], flows: str
) -> None:
    """Routes other than those of the plan: as containers once had them, and at a router."""
    (cell,) = compilation_of(PINNED).cells()
    result = engine.run(replace(cell, nodes=tuple(map(wrong, cell.nodes))), tmp_path)
    assert result.error == ""
    measured = load(cell, result.artefacts)
    verdict, reasons = validity.judge(measured)
    assert verdict == "invalid"
    for name in flows:
        for said in (f"with data of flow {name} left by up/", f"client of flow {name} got did not"):
            assert any(said in each for each in reasons), reasons
    found = [finding.reason for finding in check(measured)]
    assert not any(f"flow {name} " in each for name in {*"fgquw"} - {*flows} for each in found)


def test_packets_of_a_flow_that_are_missing_on_its_way(pinned: Measurement) -> None:
    """More than were under way at the end, or sent twice, did not pass a queue."""
    (queue,) = (each for each in pinned.queues if each.place[0] == "low")
    ours = np.flatnonzero(queue.left.source_port == flow_of(pinned, "g").plan.port)
    left = queue.left.select(np.setdiff1d(np.arange(len(queue.left)), ours[: len(ours) // 2]))
    forged = replace(
        pinned, queues=tuple(replace(q, left=left) if q is queue else q for q in pinned.queues)
    )
    assert not [*check(pinned)]
    (reason,) = (finding.reason for finding in check(forged))
    assert "of flow g got did not pass low/" in reason


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("what", ["data", "acknowledgements"])
def test_each_connection_over_udp_has_its_ways(pinned: Measurement, number: int, what: str) -> None:
    """All of them have the server's port; at the client each has its own."""
    there, other = (next(q for q in pinned.queues if q.place[0] == name) for name in ("up", "low"))
    port = flow_of(pinned, "w").plan.port + number
    moved = there.left.select(there.left.destination_port == port).select(np.arange(2))
    if what == "acknowledgements":
        moved = replace(
            moved,
            source=moved.destination,
            source_port=moved.destination_port,
            destination=moved.source,
            destination_port=moved.source_port,
        )
    mixed = replace(other, left=concatenate((other.left, moved)))
    forged = replace(pinned, queues=tuple(mixed if q is other else q for q in pinned.queues))
    (reason,) = (finding.reason for finding in check(forged))
    assert reason.startswith(f"2 packets with {what} of flow w left by low/")


def test_packets_of_a_flow_in_the_capture_of_another_way(pinned: Measurement) -> None:
    there, other = (next(q for q in pinned.queues if q.place[0] == name) for name in ("low", "up"))
    port = flow_of(pinned, "g").plan.port
    moved = there.left.select(there.left.source_port == port).select(np.arange(3))
    mixed = replace(other, left=concatenate((other.left, moved)))
    forged = replace(pinned, queues=tuple(mixed if q is other else q for q in pinned.queues))
    (reason,) = (finding.reason for finding in check(forged))
    assert reason.startswith("3 packets with data of flow g left by up/")


def test_base_round_trips_are_those_of_the_way(pinned: Measurement) -> None:
    assert {f.name: f.plan.base_rtt_ns for f in pinned.flows} == {
        **dict.fromkeys("gqu", 60_000_000),
        **dict.fromkeys("fw", 20_000_000),
    }


@pytest.mark.parametrize("repetition", [1, 2])
def test_flows_are_spread_as_the_plan_says(engine: Engine, tmp_path: Path, repetition: int) -> None:
    text = SPREAD.replace("HASH", "ports").replace("REPEAT", "2")
    cell = next(c for c in compilation_of(text).cells() if c.repetition == repetition)
    measured = kept_cells.measured(engine, cell, tmp_path)
    assert validity.judge(measured) == ("valid", ())
    for flow in measured.flows:
        way, port = measured.paths.of(flow.plan), flow.plan.port
        for queue in measured.queues:
            passes = bool((queue.left.source_port == port).any())
            assert passes == (queue.place in way), (flow.name, queue.name)


def ways(text: str) -> list[tuple[tuple[str, str], ...]]:
    """Of each cell, by which next hop each flow's data and acknowledgements leave `a` and `b`."""
    found = []
    for cell in compilation_of(text).cells():
        routes = {node.name: {r.destination: r.via for r in node.routes} for node in cell.nodes}
        found.append(
            tuple(
                (
                    routes["a"][f"{flow.client_address}/32"],
                    routes["b"][f"{flow.address}/32"],
                )
                for flow in cell.flows
            )
        )
    return found


def test_hashes_are_uniform_and_independent_both_ways() -> None:
    """100 repetitions of 8 flows: each of the four pairs of ways a quarter, within 4.4 sigma."""
    counted = Counter(
        pair
        for cell in ways(SPREAD.replace("HASH", "ports").replace("REPEAT", "100"))
        for pair in cell
    )
    total = sum(counted.values())
    assert total == 800 and len(counted) == 4
    sigma = (total * 0.25 * 0.75) ** 0.5
    assert all(abs(number - total / 4) < 4.4 * sigma for number in counted.values())


def test_a_hash_of_hosts_sends_all_flows_one_way() -> None:
    for cell in ways(SPREAD.replace("HASH", "hosts").replace("REPEAT", "6")):
        assert len(set(cell)) == 1


def test_ways_repeat() -> None:
    text = SPREAD.replace("HASH", "ports").replace("REPEAT", "3")
    assert ways(text) == ways(text)
    assert len(set(ways(text))) > 1
