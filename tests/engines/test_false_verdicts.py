"""Cells of the real kernel whose captures leave open what a queue did, and in which it did nothing
wrong.
"""

from __future__ import annotations

import json
from pathlib import Path

import kept_cells
import numpy as np
import pytest
from computed import by_name
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.compiler.plan import MetricRequest, cell_json, parse_cell
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.matching import lines
from fairc.runtime.measurement.pcap import RST
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.metrics import METRICS
from fairc.runtime.validity import judge
from fairc.runtime.validity.buffers import buffer
from fairc.runtime.validity.captures import captures
from fairc.runtime.validity.order import queue_order
from fairc.runtime.validity.schedule import behind_others_s, schedule

ADSL = """fexp 1
topology adsl() {
  node server, client
  router isp, modem
  link server -- isp { rate = 100Mbit/s  delay = 10ms }
  link isp -> modem { rate = 8Mbit/s  delay = 10ms  queue = fifo(64pkt) }
  link modem -> isp { rate = 1Mbit/s  delay = 10ms  queue = fifo(64pkt) }
  link modem -- client { rate = 100Mbit/s }
}
experiment adsl {
  topology = adsl()
  flow down { from = server  to = client  cca = cubic  workload = bulk }
  flow up   { from = client  to = server  cca = cubic  workload = bulk }
  duration = 10s
  measure = [goodput, queue_delay]
}
"""

STOP = """fexp 1
experiment stop {
  topology = bottleneck(down: 50Mbit/s, up: 5Mbit/s, rtt: 40ms, queue: fq_codel(1000pkt)) with {
    link right -> left { queue = fq_codel(1000pkt) }
  }
  flow down[i] for i in 1..4 { cca = cubic  stop = 5s  workload = bulk }
  flow up[i]   for i in 1..4 { from = client  to = server  cca = cubic  stop = 5s  workload = bulk }
  duration = 6s
  measure  = [goodput]
}
"""

SENDERS = 24
INCAST = f"""fexp 1
topology incast() {{
  node {", ".join(f"s{n}" for n in range(SENDERS))}, client
  router switch
  link {", ".join(f"s{n} -- switch" for n in range(SENDERS))} {{ rate = 1Gbit/s  delay = 100us }}
  link switch -> client {{ rate = 100Mbit/s  delay = 100us  queue = fifo(64pkt) }}
  link client -> switch {{ rate = 100Mbit/s  delay = 100us }}
}}
experiment incast {{
  topology = incast()
  hosts {{ processing = off }}
{"".join(f"  flow f{n} {{ from = s{n}  to = client  cca = reno  start = 1s  workload = file(200kB) }}{chr(10)}" for n in range(SENDERS))}
  measure = [goodput, fct]
}}
"""

BOTH_WAYS = """fexp 1
experiment both_ways {
  topology = dumbbell(down: 10Mbit/s, up: 10Mbit/s, queue: fifo(127pkt)) with {
    link right -> left { queue = fifo(127pkt) }
  }
  flow down { cca = cubic  start = 1s  workload = bulk }
  flow far  { cca = cubic  rtt = 500ms  start = 1s  workload = bulk }
  flow up   { from = client[up]  to = server[up]  cca = cubic  start = 1s  workload = bulk }
  duration = 6s
  measure  = [goodput]
}
"""

MANY = """fexp 1
experiment many {
  topology = bottleneck(rate: 10Mbit/s, rtt: 5ms, queue: fifo(100pkt))
  flow early { count = 48  cca = cubic  start = 0s   workload = bulk }
  flow late  { count = 2   cca = cubic  start = 7ms  workload = bulk }
  duration = 1s
  measure  = [goodput]
}
"""

CALL = """fexp 1
experiment call {
  topology = bottleneck(rate: 3Mbit/s, rtt: 60ms, queue: fifo(200ms))
  flow call { over = udp  start = 0s  workload = media(video: 1Mbit/s, sizes: fixed, both: on) }
  flow late { cca = reno  start = 2010ms  workload = bulk }
  duration = 3s
  measure  = [goodput]
}
"""

SMALL = """fexp 1
experiment small {
  topology = bottleneck(rate: 300Mbit/s, rtt: 40ms, queue: fifo(1bdp))
  flow u {
    over = udp  rate = 0.9 * 300Mbit/s * 100B / 114B  start = 0s  workload = bulk(packet: 100B)
  }
  duration = 150ms
  measure  = [loss_rate]
}
"""

IN_A_ROW = """fexp 1
topology merged {
  node a, b, client
  router ra, rb, m, x, y
  link a -- ra, b -- rb, y -- client { rate = 100Mbit/s }
  link ra -> m { rate = 4Mbit/s  delay = 5ms  queue = fifo(20pkt)  at 1s { rate = 8Mbit/s } }
  link rb -> m { rate = 6Mbit/s  delay = 5ms  queue = fifo(20pkt)  loss = 1% }
  link m -> x { rate = 9Mbit/s  delay = 5ms  queue = fifo(30pkt)  loss = 1% }
  link x -> y { rate = 9Mbit/s  delay = 5ms  queue = fifo(40pkt)  at 1500ms { rate = 5Mbit/s } }
  link ra <- m, rb <- m, m <- x, x <- y { rate = 100Mbit/s  delay = 5ms }
}
experiment in_a_row {
  topology = merged
  flow one   { from = a  to = client  over = udp  rate = 7Mbit/s  start = 0s  stop = 2500ms  workload = bulk(packet: 700B) }
  flow other { from = b  to = client  over = udp  rate = 4Mbit/s  start = 0s  stop = 2500ms  workload = bulk(packet: 1000B) }
  flow tcp   { from = b  to = client  cca = cubic  start = 100ms  stop = 2500ms  workload = bulk }
  duration = 3s
  measure  = [loss_rate, datagrams]
}
"""

CELLS = (
    *(("adsl", ADSL), ("stop", STOP), ("incast", INCAST), ("both-ways", BOTH_WAYS)),
    *(("many", MANY), ("call", CALL), ("small", SMALL), ("in-a-row", IN_A_ROW)),
)

Run = tuple[Cell, Path]


@pytest.fixture(scope="module")
def runs(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The artefacts of each cell."""
    found = {}
    for name, text in CELLS:
        cell = only_cell_of(text, f"{name}.fexp")
        found[name] = cell, kept_cells.artefacts(engine, cell, tmp_path_factory.mktemp(name))
    return found


def reasons(measurement: Measurement) -> list[str]:
    checks = (buffer, queue_order, captures)
    return [finding.reason for check in checks for finding in check(measurement)]


def modem(measurement: Measurement) -> QueueRecord:
    return next(queue for queue in measurement.queues if queue.place[0] == "modem")


def test_small_packets_on_a_long_and_fast_link(runs: dict[str, Run]) -> None:
    """29,600 packets pass between two multiples of 100 ms, and 5,900 are under way: more than a
    ring of 25,000 packets and 2 rate x delay in full frames.
    """
    cell, artefacts = runs["small"]
    measurement = load(cell, artefacts)
    (queue,) = measurement.queues
    assert len(queue.left) > 40_000
    assert not queue.behind.lost.any()
    assert judge(measurement) == ("valid", ())


def test_resets_that_a_full_queue_drops(runs: dict[str, Run]) -> None:
    """A download's client ends by a reset beside an upload: the kernel answers late segments by
    equal resets.
    """
    measurement = load(*runs["adsl"])
    assert reasons(measurement) == []
    queue = modem(measurement)
    resets = queue.entered.flags & RST > 0
    assert (queue.through.lost & resets).sum() > 5
    assert (~queue.through.lost & resets).sum() > 5
    assert queue.through.certain.all()
    # They were dropped while 64 waited, so never more than that wait, even after the end of the
    # flows.
    assert queue.largest_backlog()[0] == 64


def test_resets_in_another_queue_than_their_flow(runs: dict[str, Run]) -> None:
    measurement = load(*runs["stop"])
    assert reasons(measurement) == []
    (queue,) = (queue for queue in measurement.queues if queue.place[0] == "right")
    resets = queue.left.flags & RST > 0
    assert resets.sum() > 4
    came = queue.arrival_s
    # Among all packets of a flow some resets do leave before what came before them.
    ahead = (
        (np.fmax.accumulate(came[line]) - came[line]).max() for line in lines(queue.left, "flows")
    )
    assert max(ahead) > 1e-4


def test_packets_that_come_from_many_interfaces_at_once(runs: dict[str, Run]) -> None:
    measurement = load(*runs["incast"])
    assert reasons(measurement) == []
    (queue,) = measurement.queues
    _, together = np.unique(queue.entered.time_ns, return_counts=True)
    assert together.max() >= 8
    assert queue.through.lost.sum() > 100
    assert queue.largest_backlog()[0] == 64


def test_a_handshake_that_waits_behind_other_flows(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long way's SYN meets a queue that shorter ones have filled by then: its host was not late,
    up to what the queue holds.
    """
    measurement = load(*runs["both-ways"])
    assert not list(schedule(measurement))
    far = next(flow for flow in measurement.flows if flow.name == "far")
    there = measurement.paths.back(far.plan)
    assert behind_others_s(measurement, far, there, 2.0) == pytest.approx(127 * 1514 * 8 / 10e6)
    # It did wait, longer than a host may.
    monkeypatch.setitem(schedule.__globals__, "behind_others_s", lambda *_: 0.0)
    (found,) = schedule(measurement)
    assert found.reason.startswith("flow far started")


def test_a_handshake_that_waits_behind_what_clients_send(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A SYN comes behind a key frame on its way from the client of a call: its host was not late."""
    measurement = load(*runs["call"])
    assert not list(schedule(measurement))
    monkeypatch.setitem(schedule.__globals__, "behind_others_s", lambda *_: 0.0)
    (found,) = schedule(measurement)
    assert found.reason.startswith("flow late started")


def test_a_handshake_that_waits_behind_handshakes(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where fifty clients open connections at once over a slow way, the last SYN waits for what the
    others say until they have asked.
    """
    measurement = load(*runs["many"])
    assert not list(schedule(measurement))
    monkeypatch.setitem(schedule.__globals__["HANDSHAKE_BITS"], "tcp", 0)
    (found,) = schedule(measurement)
    assert found.reason.startswith("flow late started")


@pytest.mark.parametrize(
    ("limit", "words"), [(60, "more than its limit of 60"), (68, "that had room")]
)
def test_another_limit_is_found_in_such_a_cell(
    runs: dict[str, Run], limit: int, words: str
) -> None:
    """The same captures, under a plan whose modem has a queue with another limit."""
    cell, folder = runs["adsl"]
    changed = json.loads(cell_json(cell))
    node = next(node for node in changed["nodes"] if node["name"] == "modem")
    for interface in node["interfaces"]:
        if interface.get("bottleneck"):
            interface["queue"]["limit_packets"] = limit
    (reason,) = reasons(load(parse_cell(json.dumps(changed)), folder))
    assert words in reason


def test_bottlenecks_in_a_row(runs: dict[str, Run]) -> None:
    """Data can wait, and be dropped, where a link becomes slower than the one in front of it, and
    where links together bring more than one behind them sends: no drop is without a capture that
    shows it, and the loss rate counts it, as the endpoints do.
    """
    cell, artefacts = runs["in-a-row"]
    measurement = load(cell, artefacts)
    assert judge(measurement) == ("valid", ())
    dropped = {queue.place[0]: int(queue.through.lost.sum()) for queue in measurement.queues}
    assert dropped.keys() == {"ra", "rb", "m", "x"}
    assert dropped["rb"] > 20
    assert all(dropped[node] > 500 for node in ("ra", "m", "x"))
    for flow in measurement.flows[:2]:
        found = by_name(measurement, "loss_rate", flow.name)
        total = found["loss_rate.total"]
        assert total is not None
        (sent,), (received,) = flow.endpoints.reports["sent"], flow.endpoints.reports["received"]
        gone = sent["packets"] - received["packets"]
        # The clients stop before they have what waits in the three queues then.
        assert 0 <= gone - total * sent["packets"] <= 90
        queues, later = measurement.crossed(flow)
        assert [one.queue.place[0] for one in queues] == [
            flow.plan.server.replace("a", "ra").replace("b", "rb")
        ]
        assert [one.queue.place[0] for one in later] == ["m", "x"]
    sharing = METRICS["fairness"].compute(measurement, MetricRequest(name="fairness"))
    assert {(each.value, each.reason) for each in sharing if each.metric == "fairness.F"} == {
        (
            None,
            "other, tcp and one compete where their ways meet, but have no slowest link in common",
        )
    }
