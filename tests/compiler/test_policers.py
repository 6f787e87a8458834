"""Policers in the plan and in what is emitted; what of them is refused."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

import pytest
from documents import red_weight
from specs import codes_of, compilation_of, only_cell_of

from fairc.cell.expansion import expand, mac_address
from fairc.compiler import Cell
from fairc.compiler.engines import UML
from fairc.compiler.estimate import Estimate, length, packets
from fairc.compiler.plan import cell_json
from fairc.compiler.targets import containers, mininet
from fairc.mechanisms.devices.policer.cell import Policer
from fairc.mechanisms.queues.red.cell import Red

ACCURATE = "conex(rate: 2.5pkt/s, depth: 45pkt, harshness: soft, feedback: accurate)"
RED = "red(limit: 100ms, min: 10%, max: 100%, pmax: 100%, ecn: on)"


def spec(topology: str, flows: str, more: str = "") -> str:
    return f"""fexp 1
experiment policed {{
  {topology}
  {flows}
  duration = 10s
  measure  = [goodput]
  {more}
}}
"""


def access(policer: str, queue: str = RED, rate: str = "10Mbit/s", more: str = "") -> str:
    return f"topology = access(rate: {rate}, rtt: 100ms, queue: {queue}, policer: {policer} {more})"


USERS = """users heavy { count = 2 }  users light { count = 1 }
  flow heavy { users = heavy  count = 3  cca = cubic  workload = bulk }
  flow extra { users = heavy  cca = cubic  workload = bulk }
  flow light { users = light  cca = cubic  workload = bulk }"""


def cells(text: str) -> list[Cell]:
    return list(compilation_of(text).cells())


def policer_of(cell: Cell) -> Policer:
    (policer,) = cell.devices
    assert isinstance(policer, Policer)
    return policer


def test_every_user_has_a_bucket() -> None:
    (cell,) = cells(spec(access(ACCURATE), USERS))
    policer = policer_of(cell)
    assert policer.buckets == ("heavy-1", "heavy-2", "light-1")
    assert [(p.flow, p.bucket) for p in policer.policed] == [
        ("heavy-1", 0),
        ("heavy-2", 1),
        ("extra-1", 0),
        ("extra-2", 1),
        ("light-1", 2),
    ]
    assert (policer.rate, policer.depth, policer.harshness) == (2.5, 45.0, "soft")
    assert (policer.feedback, policer.charge, policer.name) == (
        "accurate",
        "forwarded",
        "left-right",
    )
    assert all(flow.options.ecn for flow in cell.flows)


def test_a_policer_stands_in_front_of_the_queue() -> None:
    (cell,) = cells(spec(access(ACCURATE), USERS))
    policer = policer_of(cell)
    (node,) = [node for node in cell.nodes if node.name == policer.node]
    assert node.kind == "hop"
    ends = {interface.name: interface for interface in node.interfaces}
    assert ends[policer.ingress].queue is None and ends[policer.ingress].shaper is None
    assert isinstance(ends[policer.egress].queue, Red) and ends[policer.egress].bottleneck
    seen = {(c.point, c.interface, c.direction) for c in cell.captures if c.node == node.name}
    assert seen == {
        ("entry", policer.ingress, "in"),
        ("exit", policer.egress, "out"),
        ("device", policer.egress, "in"),
    }


def test_without_a_policer_nothing_is_there() -> None:
    (plain,) = cells(spec(access("none"), USERS))
    assert "policer" not in cell_json(plain)
    sweep = "sweep { p = [none, conex(1pkt/s, 5pkt), conex(2pkt/s, 5pkt)] }"
    swept = cells(spec(access("p", "fifo(100ms)"), USERS, sweep))
    assert [len(cell.devices) for cell in swept] == [0, 1, 1]
    assert len({cell.id for cell in swept}) == 3


def test_seeds_differ_by_repetition() -> None:
    made = cells(spec(access(ACCURATE), USERS, "repeat = 2"))
    seeds = {policer_of(cell).seed for cell in made}
    assert len(seeds) == 2 and all(0 <= seed < 2**63 for seed in seeds)


def test_the_source_is_not_part_of_the_identity() -> None:
    text = spec(access(ACCURATE), USERS)
    (one,), (moved,) = cells(text), cells(text.replace("fexp 1\n", "fexp 1\n# a comment\n"))
    assert one.devices[0].source != moved.devices[0].source
    assert one.id == moved.id


TOPOLOGY = """topology {{
    node s1, s2, c
    router a, b
    link s1 -- a, s2 -- a, b -- c {{ rate = 100Mbit/s }}
    link a -> b {{ rate = 10Mbit/s  delay = 10ms  queue = {queue} }}
    link b -> a {{ rate = 10Mbit/s  delay = 10ms }}
    policer gate {{ at = a  to = b  mode = {mode} }}
  }}"""
TWO = """flow one { from = s1  to = c  cca = cubic  workload = bulk }
  flow two { from = s2  to = c  cca = cubic  workload = bulk }"""


def test_without_users_every_source_has_a_bucket() -> None:
    topology = TOPOLOGY.format(queue="fifo(50pkt)", mode="conex(4pkt/s, 8pkt, charge: arrived)")
    (cell,) = cells(spec(topology, TWO))
    policer = policer_of(cell)
    assert (policer.name, policer.buckets, policer.charge) == ("gate", ("s1", "s2"), "arrived")
    assert not any(flow.options.ecn for flow in cell.flows)


def test_what_runs_on_no_users_is_cross_traffic() -> None:
    cross = "flow cross { over = udp  rate = 1Mbit/s  workload = bulk }"
    (cell,) = cells(spec(access("conex(4pkt/s, 8pkt)", "fifo(100ms)"), f"{USERS}\n  {cross}"))
    assert "cross" not in {one.flow for one in policer_of(cell).policed}


QUIC = "users u { count = 1 }  flow u { users = u  over = quic  cca = cubic  workload = bulk }"
UDP = "flow u { over = udp  rate = 1Mbit/s  workload = bulk }"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (spec(access(ACCURATE, "fifo(100ms)"), USERS), "policed-without-ecn"),
        (spec(access(ACCURATE, "red(100ms)"), USERS), "policed-without-ecn"),
        (spec(access(ACCURATE, more=", loss: 1%"), USERS), "inexact-marks"),
    ],
)
def test_what_cannot_be_policed_is_refused(text: str, code: str) -> None:
    assert code in codes_of(text)


def test_classic_feedback_bears_losses_behind_the_queue() -> None:
    classic = ACCURATE.replace("accurate", "classic")
    assert codes_of(spec(access(classic, more=", loss: 1%"), USERS)) == []


def test_the_program_starts_it_in_place_of_the_kernel() -> None:
    (cell,) = cells(spec(access(ACCURATE), USERS))
    (policer,) = expand(cell)["devices"]
    node, told = policer["node"], policer["description"]
    assert (policer["name"], node, policer["ingress"], policer["role"]) == (
        "left-right.policer",
        "left-policer",
        "eth0",
        "policer",
    )
    assert {server["bucket"] for server in told["policed"]} == {0, 1, 2}
    addresses = {i.name: i.address for n in cell.nodes if n.name == node for i in n.interfaces}
    assert told["own_mac"] == mac_address(addresses["eth1"])
    programs = (mininet.render(cell), containers.render(cell, containers.describe(cell)))
    for program, said in zip(programs, ('"role": "policer"', "Policer(\n"), strict=True):
        ast.parse(program)
        assert said in program


def test_red_averages_over_the_same_time_at_both_scales() -> None:
    """The weight is 2^-n: of 10 and 100 Mbit/s the time constants are 155 and 124 ms.

    Packets per second differ by ten, and no power of two is ten: 2^3 is the nearest, so they cannot
    be closer than this.
    """
    constants = []
    for rate_bps, rate in ((10e6, "10Mbit/s"), (100e6, "100Mbit/s")):
        (cell,) = cells(spec(access("none", rate=rate), USERS))
        (red,) = [i.queue for n in cell.nodes for i in n.interfaces if isinstance(i.queue, Red)]
        assert red.burst_packets is not None
        log = red_weight(red.min_bytes, red.burst_packets, red.average_packet_bytes)
        constants.append(2**log * 8 * red.average_packet_bytes / rate_bps)
    assert constants == [pytest.approx(0.155, abs=0.001), pytest.approx(0.124, abs=0.001)]
    assert abs(math.log2(constants[0] / constants[1])) < 0.5


def test_what_a_policer_costs_is_estimated() -> None:
    def wall_s(cell: Cell) -> float:
        estimate = Estimate(1, "uml")
        estimate.add(cell)
        return estimate.wall_s

    (cell,) = cells(spec(access(ACCURATE), USERS))
    more_s = wall_s(cell) - wall_s(replace(cell, devices=()))
    sent = packets(cell, length(cell))
    assert more_s == pytest.approx(UML.per_device_packet_s * sent) and more_s > 0.1


@pytest.mark.parametrize(
    ("upload", "limit", "rounds_s"),
    [("", 1_500_000, 0.1), ("from = client  to = server", 100_000_000, 0.325)],
)
def test_a_file_behind_a_token_bucket_is_estimated_at_its_rate(
    upload: str, limit: int, rounds_s: float
) -> None:
    """10 MB are 6907 packets of 1514 bytes: 55.8 s at 1.5 Mbit/s, one way; 0.84 s at 100 Mbit/s.

    Two round trips go by before data, and at 100 Mbit/s the windows of 10 to 320 packets leave
    0.225 of their 0.3 s unused.
    """
    text = f"""fexp 1
    experiment e {{
      topology = access(rate: 100Mbit/s, rtt: 50ms,
        policer: token_bucket(rate: 1500kbit/s, burst: 1MB))
      flow a {{ cca = cubic  workload = file(10MB)  start = 0s  {upload} }}
      flow b {{ cca = cubic  workload = file(1kB)  start = 0s }}
      measure = [goodput]
    }}"""
    cell = only_cell_of(text)
    frames = 10_000_000 / 1448
    expected = frames * 1514 * 8 / limit + rounds_s
    assert length(cell) == pytest.approx(expected, rel=0.01)
