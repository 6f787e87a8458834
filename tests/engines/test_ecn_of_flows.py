"""ECN belongs to a connection: flows of the same hosts that differ in it, on the real kernel."""

from __future__ import annotations

import json
from pathlib import Path

import kept_cells
import numpy as np
import pytest
from left_behind import events, flow_of
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load

MIXED = """fexp 1
experiment mixed {
  topology = bottleneck(rate: 40Mbit/s, rtt: 20ms, queue: codel(1000pkt, ecn: on)) with {
    link right -> left { queue = codel(1000pkt, ecn: on) }
  }
  flow dctcp { cca = dctcp  workload = bulk }
  flow off   { cca = cubic  initial_window = 4pkt  workload = bulk }
  flow on    { cca = reno   ecn = on  count = 2  workload = bulk }
  flow up    { from = client  to = server  cca = dctcp  workload = bulk }
  flow upoff { from = client  to = server  cca = bbr    workload = bulk }
  flow quic  { over = quic  cca = cubic  ecn = on  workload = bulk }
  flow plain { over = quic  cca = reno  workload = bulk }
  flow page  { cca = cubic  ecn = on  workload = load(page(html: 100kB), client: plain, http: h2, loads: 2, idle: 1s) }
  flow other { cca = cubic  workload = load(page(html: 100kB), client: plain, http: h1, loads: 2, idle: 1s) }
  duration = 6s
  measure  = [goodput, marks]
}
"""
ASKING = {"dctcp", "on", "up", "quic", "page"}

TWO_PATHS = """fexp 1
experiment two_paths {
  topology {
    node server, client
    router core, wifi, mobile
    link server -- core { rate = 1Gbit/s }
    link core -- wifi { rate = 8Mbit/s  delay = 10ms  queue = codel(100pkt, ecn: on) }
    link core -- mobile { rate = 8Mbit/s  delay = 20ms  queue = codel(100pkt, ecn: on) }
    link mobile -- client, wifi -- client { rate = 1Gbit/s }
  }
  flow on    { over = mptcp  cca = cubic  ecn = on  workload = bulk }
  flow off   { over = mptcp  cca = cubic  workload = bulk }
  flow dctcp { over = mptcp  cca = dctcp  workload = bulk }
  duration = 5s
  measure  = [goodput, marks]
}
"""

ACCURATE = """fexp 1
experiment accurate {
  topology = bottleneck(rate: 20Mbit/s, rtt: 20ms, queue: codel(1000pkt, ecn: on)) with {
    link right -> left { queue = codel(1000pkt, ecn: on) }
  }
  flow down { cca = dctcp  ecn = accurate  workload = bulk }
  flow up   { from = client  to = server  cca = cubic  workload = bulk }
  flow more { from = client  to = server  cca = cubic  ecn = on  workload = bulk }
  duration = 5s
  measure  = [goodput, marks]
}
"""

LOST = """fexp 1
experiment lost {
  topology = bottleneck(rate: 20Mbit/s, rtt: 20ms, loss: loss(both: 30%), queue: codel(1000pkt, ecn: on))
  flow f { count = 40  cca = dctcp  workload = file(20kB) }
  flow g { count = 20  cca = cubic  workload = file(20kB) }
  duration = 20s
  measure  = [goodput]
}
"""

SPLIT = """fexp 1
experiment split {
  topology = geo(pep: split(connections: 3))
  flow on    { cca = cubic  ecn = on  workload = file(100kB) }
  flow off   { cca = cubic  workload = file(100kB) }
  flow dctcp { cca = dctcp  workload = file(100kB) }
  measure = [goodput]
}
"""

Run = tuple[Cell, Path]


@pytest.fixture(scope="module")
def runs(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The artefacts of each cell."""
    found = {}
    for text in (MIXED, TWO_PATHS, ACCURATE, LOST, SPLIT):
        cell = only_cell_of(text)
        name = text.split()[3]
        found[name] = cell, kept_cells.artefacts(engine, cell, tmp_path_factory.mktemp(name))
    return found


def capable(measurement: Measurement, name: str) -> float:
    """Return the share of a flow's full packets that could be marked as they reached its queues."""
    flow = flow_of(measurement, name)
    found = [
        one.queue.entered.tos[one.entered & (one.queue.entered.frame_bytes > 1000)] & 3
        for one in flow.passages
    ]
    return float(np.mean(np.concatenate(found) > 0))


def marked(measurement: Measurement, name: str) -> int:
    """Return how many packets of a flow left its queues with a mark."""
    passages = flow_of(measurement, name).passages
    return sum(int((one.queue.left.tos[one.left] & 3 == 3).sum()) for one in passages)


def agreed(folder: Path, name: str) -> set[tuple[bool, bool]]:
    """Return what connections of a flow have negotiated: ECN, AccECN."""
    accepted = events(folder, f"{name}.server", "accepted")
    return {(event["ecn"], event["accurate_ecn"]) for event in accepted}


@pytest.mark.parametrize("name", ["mixed", "two_paths", "accurate", "lost", "split"])
def test_every_cell_is_valid(runs: dict[str, Run], name: str) -> None:
    assert validity.judge(load(*runs[name])) == ("valid", ())


def test_those_that_ask_are_capable_and_marked_and_no_others(runs: dict[str, Run]) -> None:
    """Retransmissions of TCP are not (RFC 3168, 6.1.5), but those of DCTCP are."""
    measured = load(*runs["mixed"])
    for flow in measured.flows:
        share = capable(measured, flow.name)
        if flow.name not in ASKING:
            assert (share, marked(measured, flow.name)) == (0.0, 0), flow.name
            continue
        assert share > 0.95, flow.name
        if flow.name != "page":
            assert marked(measured, flow.name) > 0, flow.name
    first = {flow: events(runs["mixed"][1], f"{flow}.server", "accepted") for flow in ("off", "on")}
    assert [each["initial_window_packets"] for each in first["off"]] == [4]
    assert [each["initial_window_packets"] for each in first["on"]] == [10, 10]


def test_every_subflow_is_as_its_flow(runs: dict[str, Run]) -> None:
    measured = load(*runs["two_paths"])
    for name, asks in (("on", True), ("off", False), ("dctcp", True)):
        for one in flow_of(measured, name).passages:
            full = one.entered & (one.queue.entered.frame_bytes > 1000)
            share = float(np.mean(one.queue.entered.tos[full] & 3 > 0))
            assert (share > 0.95) if asks else (share == 0.0), (name, one.queue.name)


def test_a_host_that_accepts_accurate_ecn_need_not_ask_for_it(runs: dict[str, Run]) -> None:
    """The server of the download opens the connections of the uploads."""
    folder = runs["accurate"][1]
    assert agreed(folder, "down") == {(True, True)}
    assert agreed(folder, "up") == {(False, False)}
    assert agreed(folder, "more") == {(True, False)}
    sysctls = json.loads((folder / "system.json").read_text())["sysctl"]
    assert sysctls["client"]["net.ipv4.tcp_ecn"] == "3"
    assert sysctls["server"]["net.ipv4.tcp_ecn"] == "5"


def test_a_lost_handshake_leaves_dctcp_as_it_is(runs: dict[str, Run]) -> None:
    """At 30 % both ways, half of all handshakes lose a packet."""
    cell, folder = runs["lost"]
    assert len(events(folder, "f.server", "accepted")) > 35
    assert agreed(folder, "f") == {(True, False)}
    assert load(cell, folder).flows[0].endpoints.ccas == {"dctcp"}
    assert agreed(folder, "g") == {(False, False)}


def test_a_gateway_asks_in_place_of_the_client(runs: dict[str, Run]) -> None:
    folder = runs["split"][1]
    asked = {name: agreed(folder, name) for name in ("on", "off", "dctcp")}
    assert asked == {"on": {(True, False)}, "off": {(False, False)}, "dctcp": {(True, False)}}
