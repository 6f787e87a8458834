"""MTUs: what they change in a plan, what does not fit them, and that 1500 changes nothing."""

from __future__ import annotations

import json

import pytest
from documents import constants, interface_lines
from specs import cells_of, compilation_of, only_cell_of
from tables import rows

from fairc import dsl
from fairc.compiler import Cell
from fairc.compiler.plan import Interface, cell_json, parse_cell
from fairc.compiler.plan.identity import identity_of
from fairc.compiler.targets.containers import BRIDGE_MTU, bridge_options
from fairc.dsl.core.diagnostics import Diagnostics
from fairc.mechanisms.workloads.onoff.cell import OnOffWorkload

TEXT = """fexp 1
topology two(first = 1500B, slow = 1500B, last = 1500B, queue = fifo(10pkt), more = 0s) {{
  node server, client
  router left, right
  link server -- left {{ rate = 100Mbit/s  mtu = first }}
  link left -> right {{ rate = 1Mbit/s  delay = 20ms + more  queue = queue  mtu = slow  {change} }}
  link right -> left {{ rate = 1Mbit/s  delay = 20ms }}
  link right -- client {{ rate = 100Mbit/s  mtu = last }}
}}
experiment e {{
  {sweep}
  topology = two({topology})
  flow a {{ {flow} }}
  duration = 20s
  measure = [goodput]
}}
"""
BULK = "cca = cubic  start = 0s  workload = bulk"


def compiled(
    topology: str = "", flow: str = BULK, sweep: str = "", change: str = ""
) -> tuple[list[Cell], Diagnostics]:
    """Return the cells, none where there is an error, and what was found."""
    text = TEXT.format(topology=topology, flow=flow, sweep=sweep, change=change)
    compilation = compilation_of(text)
    return cells_of(compilation), compilation.diagnostics


def cell_of(topology: str = "", flow: str = BULK, change: str = "") -> Cell:
    (cell,), _ = compiled(topology, flow, change=change)
    return cell


def interfaces(cell: Cell) -> dict[str, Interface]:
    return {i.name: i for node in cell.nodes for i in node.interfaces}


def limits(cell: Cell) -> dict[str, dict[str, int]]:
    """Node -> destination -> MTU of a route."""
    return {
        node.name: {route.destination: route.mtu for route in node.routes if route.mtu}
        for node in cell.nodes
        if any(route.mtu for route in node.routes)
    }


def test_both_ends_of_every_cable_of_a_link_have_its_mtu() -> None:
    found = interfaces(cell_of("first: 9kB, slow: 576B"))
    assert {name: i.mtu for name, i in found.items()} == {
        "server-eth0": 9000,
        "left-eth0": 9000,
        "left-eth1": 576,
        "left-right-eth0": 576,
        "left-right-eth1": 576,
        "right-eth0": 576,
        "right-eth1": 1500,
        "client-eth0": 1500,
    }


@pytest.mark.parametrize(
    ("topology", "mtu", "expected"),
    [
        ("", 1500, {}),
        ("first: 9kB, slow: 9kB, last: 9kB", 9000, {}),
        ("first: 576B, slow: 576B, last: 576B", 576, {}),
        # In the middle: both hosts need to know.
        ("slow: 1280B", 1280, {"server": 1280, "left": None, "client": 1280}),
        # At one end: the other one, and the router that could send more.
        ("last: 600B", 600, {"server": 600, "left": 600}),
        ("first: 9kB, slow: 4kB", 1500, {"server": 1500, "left": 1500}),
    ],
)
def test_senders_know_the_smallest_mtu_before_them(
    topology: str, mtu: int, expected: dict[str, int | None]
) -> None:
    cell = cell_of(topology)
    (flow,) = cell.flows
    found = limits(cell)
    assert flow.mtu == mtu
    assert {name: next(iter(routes.values())) for name, routes in found.items()} == {
        name: value for name, value in expected.items() if value is not None
    }
    for name, routes in found.items():
        assert list(routes) == [
            f"{flow.address if name in ('client', 'right') else flow.client_address}/32"
        ]


def test_the_emitted_program_has_them() -> None:
    cell = cell_of("slow: 1280B", BULK + "  initial_window = 30pkt")
    text = str(constants(cell)["IP"])
    (flow,) = cell.flows
    assert "link set dev left-eth1 mtu 1280 gso_max_segs 1 up" in text
    assert "link set dev left-eth0 mtu 1500 gso_max_segs 1 up" in text
    assert f"route add {flow.address}/32 via 10.0.0.13 mtu 1280" in text
    # The route that sets the initial window keeps the MTU.
    words = f"route add {flow.client_address}/32 via 10.0.0.2 table 101 mtu 1280 initcwnd 30"
    assert words in text


@pytest.mark.parametrize(("slow", "expected"), [("1280B", "1500"), ("9kB", "9000")])
def test_a_bridge_between_containers_takes_what_any_link_takes(slow: str, expected: str) -> None:
    assert bridge_options(cell_of(f"slow: {slow}"))[BRIDGE_MTU] == expected


def test_an_mtu_of_1500_is_not_in_the_json_and_changes_no_identity() -> None:
    """The ids are those that a plan without MTUs has."""
    cell = cell_of()
    assert "mtu" not in cell_json(cell)
    assert identity_of(cell) == cell.id == BEFORE
    again = parse_cell(cell_json(cell))
    assert again == cell
    assert again.flows[0].mtu == 1500
    small = cell_of("slow: 1280B")
    assert small.id != cell.id
    assert parse_cell(cell_json(small)) == small


def test_mtus_can_be_swept() -> None:
    cells, _ = compiled("slow: size", sweep="sweep { size = [576B, 1500B, 9kB] }")
    assert [interfaces(cell)["left-eth1"].mtu for cell in cells] == [576, 1500, 9000]
    assert [cell.flows[0].mtu for cell in cells] == [576, 1500, 1500]
    assert [cell.bindings for cell in cells] == [{"size": s} for s in ("576B", "1500B", "9kB")]


@pytest.mark.parametrize("mtu", [576, 1280, 1500, 9000])
def test_what_a_full_packet_is_on_a_link(mtu: int) -> None:
    """By hand: 14 bytes of Ethernet, 100 us of slack at 1 Mbit/s, ten packets."""
    interface = interfaces(cell_of(f"slow: {mtu}B"))["left-eth1"]
    frame = mtu + 14
    assert interface.frame_bytes == frame
    rate = "htb rate 1000000bit ceil 1000000bit burst 12 cburst 12"
    assert list(interface_lines(interface)) == [
        "qdisc add dev left-eth1 root handle 1: htb default 1",
        f"class add dev left-eth1 parent 1: classid 1:1 {rate} quantum {frame}",
        "qdisc add dev left-eth1 parent 1:1 handle 2: pfifo limit 10",
    ]


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("red(10pkt)", "gred vq 0 limit 5900 min 491 max 1475 avpkt 245 burst 5"),
        # 20 ms at 1 Mbit/s are 2500 bytes
        ("codel(20ms)", "codel limit 5 "),
        ("fq_codel(20ms)", "fq_codel limit 5 flows 1024 quantum 590 "),
        ("fq(10pkt)", "fq limit 10 flow_limit 100 quantum 1180 initial_quantum 5900 "),
        ("sfq(10pkt)", "quantum 590"),
        # a frame takes 4.72 ms: one and a half of them are above the 5 ms
        ("codel(10pkt, scaled: on)", "target 7080us interval 141600us"),
        ("cake(10pkt)", f"memlimit {10 * (576 + 844)}"),
    ],
)
def test_queues_count_in_full_packets_of_the_link(queue: str, words: str) -> None:
    lines = list(interface_lines(interfaces(cell_of(f"slow: 576B, queue: {queue}"))["left-eth1"]))
    assert words in lines[-1] + " "


def test_small_queues_are_small_for_the_packets_of_the_link() -> None:
    experiment_of = TEXT.format(
        topology="slow: 9kB, queue: fifo(15kB)", flow=BULK, sweep="", change=""
    )
    _, found = dsl.load(dsl.Source("t.fexp", experiment_of))
    assert [(d.code, d.note) for d in found] == [("small-queue", "about 1.7 packets of 9014 bytes")]
    assert not compiled("slow: 576B, queue: fifo(1500B)")[1]
    cells, diagnostics = compiled("slow: 9kB, queue: fifo(9kB)")
    assert not cells
    assert [d.code for d in diagnostics] == ["useless-queue"]


def test_a_hop_holds_the_smallest_frames_whatever_the_mtu() -> None:
    """2 x 1 Mbit/s x 10.02 s / 8 = 2,505,000 bytes, in frames of 64 bytes."""
    impairment = interfaces(cell_of("last: 576B, more: 10s"))["left-right-eth1"].impairment
    assert impairment is not None
    assert impairment.limit_packets == -(-2_505_000 // 64)


@pytest.mark.parametrize(
    ("change", "times"),
    [
        ("at 4s { rate = 3Mbit/s }", 3),
        ("at 4s over 2s { rate = 5Mbit/s }", 5),
        ("every 4s for 1s { rate = 2Mbit/s }", 2),
        ("at 4s { delay = 30.02s }", 3),
        ("at 4s { rate = 500kbit/s }", 1),
    ],
)
def test_a_hop_holds_what_the_fastest_and_longest_link_carries(change: str, times: int) -> None:
    """A link whose rate or delay rises has more on its way than at first."""
    impairment = interfaces(cell_of("more: 10s", change=change))["left-right-eth1"].impairment
    assert impairment is not None
    most = times * 2_505_000 // 64
    assert 0.98 * most < impairment.limit_packets <= most + 1


def test_buffers_grow_where_small_segments_take_more_than_twice_their_payload() -> None:
    """Linux takes 844 bytes for a segment beside its IP packet: 1420 for 524 at an MTU of 576."""
    queue = "queue: fifo(200kB)"
    usual, small = (cell_of(f"{queue}, slow: {mtu}B").flows[0].buffer_bytes for mtu in (1500, 576))
    assert usual == 2**19  # 2 x (5 kB + 200 kB)
    assert small == 2**20  # the same, times 1420 / 524 / 2


def test_a_stop_is_a_full_packet_of_the_link() -> None:
    text = """fexp 1
    experiment e {
      topology {
        node s, c
        link s -- c { rate = 8Mbit/s  mtu = 9kB  at 1s { rate = 0bit/s }  at 3s { rate = 8Mbit/s } }
      }
      flow a { from = s  to = c  cca = cubic  workload = bulk }
      duration = 5s
      measure = [goodput]
    }
    """
    cell = only_cell_of(text)
    changing = interfaces(cell)["s-eth0"]
    assert changing.changes[0].rate_bps == 8 * (9014 // 2)
    assert changing.changes[-1].rate_bps == 8_000_000
    assert next(line for line in interface_lines(changing) if "htb rate" in line).endswith(
        "quantum 9014"
    )


def test_packets_of_a_source_are_as_large_as_the_path_takes() -> None:
    source = "over = udp  workload = onoff(100kbit/s, on: 1s, off: 1s{})"
    for topology, packet, expected in (
        ("", "", 1500),
        ("slow: 1280B", "", 1280),
        ("first: 9kB, slow: 9kB, last: 9kB", "", 9000),
        ("slow: 1280B", ", packet: 1280B", 1280),
        ("slow: 9kB", ", packet: 400B", 400),
    ):
        workload = cell_of(topology, source.format(packet)).flows[0].workload
        assert isinstance(workload, OnOffWorkload)
        assert workload.packet_bytes == expected


def test_files_over_udp_are_cut_into_packets_of_the_path() -> None:
    cell = cell_of("slow: 1280B", "over = udp  rate = 100kbit/s  workload = bulk")
    assert json.dumps(constants(cell)["DOCUMENT"]).count('"packet_bytes": 1280') == 2


# TCP cuts what it sends by itself.
FITTING = """
last: 1227B | cca = cubic  over = quic  workload = bulk | mtu-below-quic
last: 1228B | cca = cubic  over = quic  workload = bulk |
first: 9kB, slow: 9kB, last: 9kB | cca = cubic  over = quic  workload = bulk | quic-below-mtu
first: 9kB, slow: 9kB, last: 9kB | cca = cubic  workload = bulk |
last: 1277B | cca = cubic  workload = load(page(9kB), http: h3, loads: 2) | mtu-below-quic
last: 1278B | cca = cubic  workload = load(page(9kB), http: h3, loads: 2) |
last: 1277B | cca = cubic  workload = load(page(9kB), http: h3, loads: 2, client: plain) |
last: 576B | cca = cubic  workload = load(page(9kB), loads: 2) |
last: 1000B | over = udp  workload = onoff(1kbit/s, 1s, 1s, packet: 1001B) | packet-above-mtu
last: 1000B | over = udp  workload = onoff(1kbit/s, 1s, 1s, packet: 1000B) |
last: 1000B | cca = cubic  workload = onoff(1kbit/s, 1s, 1s, packet: 1001B) |
"""


@pytest.mark.parametrize(("topology", "flow", "code"), rows(FITTING))
def test_what_does_not_fit_is_said(topology: str, flow: str, code: str) -> None:
    cells, found = compiled(topology, flow)
    assert [d.code for d in found] == ([code] if code else [])
    assert bool(cells) == (code in ("", "quic-below-mtu"))
    for diagnostic in found:
        assert diagnostic.span is not None
        assert diagnostic.help


BEFORE = "9cdf5951fe11502a"
