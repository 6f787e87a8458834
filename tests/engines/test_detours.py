"""Packets that are under way while a link goes down or comes back: each of them is on the wire of
a link until its other end, is in captures at every queue that it comes to, and is lost nowhere else
than on the link that is down, or in a queue.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import kept_cells
import numpy as np
import pytest
from left_behind import flow_of
from specs import only_cell_of

from fairc.cell import expansion
from fairc.compiler import Cell
from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load, packets_of
from fairc.runtime.measurement.queues import QueueRecord

NETWORK = """fexp 1
experiment detours {
  topology {
    node server, client
    router left, short, long, right
    link server -- left, right -- client { rate = 1Gbit/s }
    link left -- short { rate = 10Mbit/s  delay = 10ms  queue = QUEUE  FIRST }
    link short -- right { rate = 10Mbit/s  delay = 15ms  queue = QUEUE  SECOND }
    link left -- long, long -- right { rate = 5Mbit/s  delay = 20ms  queue = QUEUE }
    TUNNEL
  }
  flow tcp  { cca = cubic  workload = bulk }
  flow quic { over = quic  cca = cubic  workload = bulk }
  flow back { from = client  to = server  cca = reno  workload = bulk }
  flow u    { over = udp  rate = 9Mbit/s  stop = 1700ms  workload = bulk(packet: 1000B) }
  flow late { start = 1050ms  over = OVER  cca = cubic  workload = WORKLOAD }
  duration = 2s
  measure  = [throughput]
}
"""
ONCE, OFTEN = "down from 1s to 1400ms", "down every 300ms from 500ms for 25ms"
RANDOM = "down every exponential(250ms) for exponential(120ms)"
REQUESTS = "requests(size: 20kB, every: exponential(100ms))"


def spec(
    queue: str,
    first: str = "",
    second: str = "",
    tunnel: str = "",
    late: tuple[str, str] = ("tcp", REQUESTS),
) -> str:
    words = dict(zip(("OVER", "WORKLOAD"), late, strict=True))
    words |= {"QUEUE": queue, "FIRST": first, "SECOND": second, "TUNNEL": tunnel}
    text = NETWORK
    for name, value in words.items():
        text = text.replace(name, value)
    return text


CELLS = {
    "the first link": spec("fifo(100pkt)", first=ONCE, late=("tcp", "file(100kB)")),
    "the second link": spec("fifo(100pkt)", second=ONCE),
    "again and again": spec("codel", second=OFTEN, late=("quic", "file(200kB)")),
    "both, at random": spec("fq_codel", first=RANDOM, second=RANDOM),
    "in a tunnel": spec(
        "fifo(100pkt)", second=ONCE, tunnel="tunnel vpn { from = left  to = right  header = 60B }"
    ),
}
CELLS["alone"] = re.sub(
    r"(?m)^  flow tcp (.*\n)+  duration",
    "  flow f { start = 1100ms  cca = cubic  workload = bulk }\n  duration",
    CELLS["the first link"],
)
Run = tuple[Cell, Path, Measurement]


@pytest.fixture(scope="module")
def runs(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Each cell, its artefacts, and what they show."""
    found = {}
    for name, text in CELLS.items():
        cell = only_cell_of(text)
        folder = kept_cells.artefacts(engine, cell, tmp_path_factory.mktemp("detour"))
        found[name] = cell, folder, load(cell, folder)
    return found


def queue_at(measurement: Measurement, name: str) -> QueueRecord:
    return next(queue for queue in measurement.queues if queue.place[1] == name)


def came_back(measurement: Measurement) -> int:
    """Return how many packets came to the short way's first router and left it to where they came
    from.
    """
    queue = queue_at(measurement, "short-eth0")
    client = int(IPv4Address(measurement.paths.client_address(flow_of(measurement, "u").plan)))
    return int((queue.left.towards == client).sum())


@pytest.mark.parametrize("name", CELLS)
def test_correct_cells_are_valid(runs: dict[str, Run], name: str) -> None:
    _, _, measurement = runs[name]
    assert validity.judge(measurement) == ("valid", ())


@pytest.mark.parametrize("name", ["the second link", "again and again", "both, at random"])
def test_packets_turn_back_at_a_router_alone(runs: dict[str, Run], name: str) -> None:
    """What waits for the first link when the second one goes down crosses it, and comes back by its
    queue for the other direction.
    """
    _, _, measurement = runs[name]
    assert came_back(measurement) > 20
    first, back, long = (
        queue_at(measurement, name) for name in ("left-eth1", "short-eth0", "left-eth2")
    )
    for queue in (first, back, long):
        assert not queue.through.strangers.any()
        assert not queue.behind.strangers.any()


@pytest.mark.parametrize("name", ["the first link", "the second link", "both, at random"])
def test_every_datagram_is_somewhere(runs: dict[str, Run], name: str) -> None:
    """What was sent was dropped by a queue, lost by a link that was down, or came to the last
    router.
    """
    _, _, measurement = runs[name]
    flow = flow_of(measurement, "u")
    (sent,) = flow.endpoints.reports["sent"]
    dropped = lost = arrived = 0
    for one in itertools.chain(*measurement.crossed(flow)):
        dropped += int((one.queue.through.lost & one.entered).sum())
        lost += int((one.queue.behind.lost & one.left).sum())
        if one.queue.place[1] in ("short-eth1", "long-eth1"):
            arrived += int((one.queue.behind.found[one.left] >= 0).sum())
    assert min(dropped, lost, arrived) > 0
    assert sent["packets"] == dropped + lost + arrived


def test_hops_without_their_rules_are_found(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hop that routes by destination sends packets that come back to it round and round."""
    monkeypatch.setattr(expansion, "_straight_rules", lambda *_: ())
    cell = only_cell_of(CELLS["the second link"])
    result = engine.run(cell, tmp_path)
    assert result.error == ""
    verdict, reasons = validity.judge(load(cell, result.artefacts))
    assert verdict == "invalid"
    assert any("packets were lost at random" in reason for reason in reasons), reasons


def test_packets_that_a_hop_loses_as_routes_change_are_found(runs: dict[str, Run]) -> None:
    """Three datagrams of those that turn back."""
    _, _, measurement = runs["the second link"]
    queue = queue_at(measurement, "short-eth0")
    ours = packets_of(measurement.cell, flow_of(measurement, "u").plan, queue.left)
    came = np.flatnonzero(ours & (queue.behind.found >= 0))
    lost, found = queue.behind.lost.copy(), queue.behind.found.copy()
    lost[came[:3]], found[came[:3]] = True, -1
    behind = replace(queue.behind, lost=lost, found=found)
    queues = tuple(
        replace(each, behind=behind) if each is queue else each for each in measurement.queues
    )
    verdict, reasons = validity.judge(replace(measurement, queues=queues))
    assert verdict == "invalid"
    assert any(re.match("3 of .* lost at random", reason) for reason in reasons), reasons


def test_a_queue_to_which_packets_come_unseen_is_found(runs: dict[str, Run]) -> None:
    """The same artefacts, without the capture of what comes back."""
    cell, artefacts, _ = runs["the second link"]
    seen = [each for each in cell.captures if each.name != "entry.left.left-eth2.left-eth1"]
    assert len(seen) == len(cell.captures) - 1
    verdict, reasons = validity.judge(load(replace(cell, captures=tuple(seen)), artefacts))
    assert verdict == "invalid"
    assert any("without having been captured at its entry" in reason for reason in reasons)


def test_a_flow_that_begins_as_the_link_is_down_is_late_where_it_is(runs: dict[str, Run]) -> None:
    """Its first packet is at the other way's bottleneck, long before it comes to its own; had it
    been due 50 ms before, it would be late there.
    """
    _, _, measurement = runs["alone"]
    (flow,) = measurement.flows
    own, other = (one.queue.seconds(one.queue.entered)[one.entered] for one in flow.passages)
    assert float(other.min()) < 1.2
    assert float(own.min()) > 1.4
    due_ns = tuple(ns - 50_000_000 for ns in flow.plan.starts_ns)
    early = replace(flow, plan=replace(flow.plan, starts_ns=due_ns))
    verdict, reasons = validity.judge(replace(measurement, flows=(early,)))
    assert verdict == "invalid"
    assert any("flow f started " in reason for reason in reasons), reasons
