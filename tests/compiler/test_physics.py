"""Queues, bottlenecks, buffers, deadlines and warnings, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from specs import compilation_of, only_cell_of

from fairc.cell.links import bucket_bytes
from fairc.compiler.passes.delay_nodes import netem_of, netem_packets
from fairc.compiler.plan import Cell, Change, Interface
from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.model import Distribution, Event, Workload
from fairc.mechanisms.workloads.bulk.cell import BulkWorkload
from fairc.mechanisms.workloads.bulk.declaration import Bulk
from fairc.mechanisms.workloads.file.cell import FileWorkload

S = 10**9


def bottleneck(cell: Cell) -> Interface:
    """The only interface of a cell that is a bottleneck."""
    (found,) = [i for node in cell.nodes for i in node.interfaces if i.bottleneck]
    return found


@pytest.mark.parametrize(
    ("amount", "unit", "limit_bytes", "limit_packets"),
    [
        (2, "bdp", 12_500, None),  # 2 x 1 Mbit/s x 50 ms / 8
        (1, "bdp", 6_250, None),
        (11_250, "B", 11_250, None),
        (0.1, "s", 12_500, None),  # 100 ms at 1 Mbit/s
        (50, "pkt", None, 50),
    ],
)
def test_queue_sizes(
    make: SimpleNamespace,
    amount: float,
    unit: str,
    limit_bytes: int | None,
    limit_packets: int | None,
) -> None:
    cell = make.cell(make.quickstart(queue=make.size(amount, unit)))
    queue = bottleneck(cell).queue
    assert queue is not None
    assert (queue.limit_bytes, queue.limit_packets) == (limit_bytes, limit_packets)


def test_bdp_takes_the_longest_rtt_and_warns(make: SimpleNamespace) -> None:
    slow = make.way(8_000_000, queue=make.size(1, "bdp"))
    links = [make.link("s1", "r1", slow)]
    links += [make.link("r1", f"c{n}", make.way(100_000_000, 5 * n)) for n in (1, 2)]
    net = make.network(["s1", "c1", "c2"], ["r1"], links)
    made = make.scenario(net, [make.flow("near"), make.flow("far", client="c2")])
    cell = make.cell(made)
    assert [flow.base_rtt_ns for flow in cell.flows] == [10_000_000, 20_000_000]
    queue = bottleneck(cell).queue
    assert queue is not None and queue.limit_bytes == 20_000  # 8 Mbit/s x 20 ms
    warning = make.found(made)["unequal-rtts"]
    assert warning.severity is Severity.WARNING
    assert warning.span == slow.queue.size.span
    assert "10 ms, 20 ms" in warning.notes[0]


@pytest.mark.parametrize(
    ("options", "code", "severity"),
    [
        ({"rtt_ms": 50, "amount": 1513, "unit": "B"}, "useless-queue", Severity.ERROR),
        ({"rtt_ms": 50, "amount": 0, "unit": "pkt"}, "useless-queue", Severity.ERROR),
        ({"rtt_ms": 50, "amount": 0.4, "unit": "bdp"}, "small-queue", Severity.WARNING),
    ],
)
def test_sizes_that_mean_little(
    make: SimpleNamespace, options: dict[str, Any], code: str, severity: Severity
) -> None:
    size = make.size(options["amount"], options["unit"])
    diagnostic = make.found(make.quickstart(rtt_ms=options["rtt_ms"], queue=size))[code]
    assert (diagnostic.span, diagnostic.severity) == (size.span, severity)


def test_a_queue_of_two_frames_is_fine(make: SimpleNamespace) -> None:
    assert make.found(make.quickstart(queue=make.size(3028, "B"))) == {}


def test_an_unshaped_link_has_neither_shaper_nor_queue(make: SimpleNamespace) -> None:
    links = [make.link("s1", "r1", make.way(1_000_000, 5)), make.link("r1", "c1", make.way())]
    made = make.scenario(make.network(["s1", "c1"], ["r1"], links), [make.flow("f")])
    cell = make.cell(made)
    free = [i for n in cell.nodes for i in n.interfaces if i.name in ("r1-eth1", "c1-eth0")]
    assert len(free) == 2
    assert all(i.shaper is None and i.queue is None and i.impairment is None for i in free)


def test_a_queue_without_a_rate_is_refused(make: SimpleNamespace) -> None:
    unshaped = make.way(None, queue=make.size(10))
    links = [make.link("s1", "r1", make.way(1_000_000, 5)), make.link("r1", "c1", unshaped)]
    made = make.scenario(make.network(["s1", "c1"], ["r1"], links), [make.flow("f")])
    assert make.found(made)["queue-without-rate"].span == unshaped.queue.span


def test_a_link_that_no_flow_crosses_keeps_the_default(make: SimpleNamespace) -> None:
    idle = make.way(1_000_000, 5, queue=make.size(1, "bdp"))
    links = [make.link("s1", "c1", make.way(1_000_000, 5)), make.link("s1", "x1", idle)]
    made = make.scenario(make.network(["s1", "c1", "x1"], [], links), [make.flow("f")])
    assert make.found(made)["idle-link"].severity is Severity.WARNING
    (node,) = [n for n in make.cell(made).nodes if n.name == "x1"]
    assert node.interfaces[0].queue is not None
    assert node.interfaces[0].queue.limit_packets == 1000


def test_every_link_has_one_transmitter(make: SimpleNamespace) -> None:
    """The slow link's hop, a netem instead of the routers' plain queues, and one below each
    host.
    """
    cell = make.cell(make.quickstart())
    found = {
        (node.kind, i.shaper.rate_bps, i.shaper.transmitter)
        for node in cell.nodes
        for i in node.interfaces
        if i.shaper
    }
    assert found == {
        ("router", 1_000_000, "hop"),
        ("router", 100_000_000, "here"),
        ("host", 100_000_000, "below"),
    }
    (hop,) = [node for node in cell.nodes if node.kind == "hop"]
    assert [i.impairment.rate_bps for i in hop.interfaces if i.impairment] == [1_000_000] * 2


@pytest.mark.parametrize("rate_bps", [1, 10**5, 10**8, 10**9, 10**11])
def test_a_bucket_never_sends_two_full_frames_at_once(rate_bps: int) -> None:
    assert 1514 <= bucket_bytes(rate_bps, 1514, slack_ns=0) < 2 * 1514


def test_delay_and_loss_sit_on_a_hop_and_the_queue_does_not(make: SimpleNamespace) -> None:
    cell = make.cell(make.quickstart(loss=0.01))
    (hop,) = [node for node in cell.nodes if node.kind == "hop"]
    assert all(i.shaper is None and i.queue is None for i in hop.interfaces)
    towards_server, towards_client = [i.impairment for i in hop.interfaces]
    assert towards_server is not None and towards_client is not None
    assert (towards_server.delay_ns, towards_server.loss) == (25_000_000, 0)
    assert (towards_client.delay_ns, towards_client.loss) == (25_000_000, 0.01)
    assert towards_server.seed is None, "nothing is random there"
    assert towards_client.seed is not None
    others = [i for n in cell.nodes if n.kind != "hop" for i in n.interfaces]
    assert all(i.impairment is None for i in others)


def test_netem_holds_the_smallest_frames_of_its_link() -> None:
    assert netem_packets(1_000_000, 25_000_000) == 1000
    # 2 x 1 Gbit/s x 100 ms / 8 = 25,000,000 bytes in frames of 64 bytes
    assert netem_packets(1_000_000_000, 100_000_000) == 390_625
    assert netem_packets(0, 100_000_000) == 1_000_000  # without a rate, what sources send


def test_acknowledgements_of_a_faster_way_there_fit_on_the_way_back() -> None:
    """75 Mbit/s over 75 ms hold 464 full frames; ACKs of 150 Mbit/s were too many for 1000."""
    cell = only_cell_of("""fexp 1
experiment rate_rises {
  topology = bottleneck(down: 75Mbit/s, up: 75Mbit/s, rtt: 150ms, queue: dualpi2(1000pkt)) with {
    link left -> right { at 4s { rate = 150Mbit/s } }
  }
  flow f0 { cca = bbr  workload = bulk }
  flow f2 { from = client  to = server  cca = reno  workload = bulk }
  duration = 12s
  measure  = [goodput]
}
""")
    (hop,) = [node for node in cell.nodes if node.kind == "hop"]
    limits = [each.impairment.limit_packets for each in hop.interfaces if each.impairment]
    assert limits == [21_973, 43_946]


def test_the_limit_is_for_the_fastest_rate_and_the_longest_delay(make: SimpleNamespace) -> None:
    way = make.way(1_000_000, 5)
    state = replace(way.impairment, delay_ns=200_000_000, jitter_ns=10_000_000)
    changes = (Change(at_ns=0, impairment=state),)
    changed = replace(way, rates=(Change(at_ns=0, rate_bps=10_000_000),), changes=changes)
    limits = {each.limit_packets for each in netem_of(changed)[0:1] if each is not None}
    later = {each.impairment.limit_packets for each in netem_of(changed)[1] if each.impairment}
    assert limits == later == {2 * 10_000_000 * 24 // (100 * 8 * 64)}


def test_of_equal_rates_the_first_on_the_path_is_the_bottleneck(make: SimpleNamespace) -> None:
    way = make.way(1_000_000, 5)
    links = [make.link(a, b, way) for a, b in (("s1", "r1"), ("r1", "r2"), ("r2", "c1"))]
    cell = make.cell(
        make.scenario(make.network(["s1", "c1"], ["r1", "r2"], links), [make.flow("f")])
    )
    assert cell.flows[0].bottleneck == ("s1", "s1-eth0")


def test_a_path_without_any_rate_is_refused(make: SimpleNamespace) -> None:
    links = [make.link("s1", "c1", make.way(None, 5))]
    flow = make.flow("f")
    made = make.scenario(make.network(["s1", "c1"], [], links), [flow])
    found = make.found(made)["no-bottleneck"]
    assert found.span == flow.span
    assert "a virtual clock would stand still" in found.notes[0]


def test_a_path_on_which_no_time_passes_is_refused(make: SimpleNamespace) -> None:
    def found(rate_bps: int, delay_ms: int = 0, fastest_bps: int = 0) -> dict[str, Diagnostic]:
        way = make.way(rate_bps, delay_ms)
        if fastest_bps:
            change = Change(at_ns=10**9, rate_bps=fastest_bps)
            way = replace(way, rates=(change,))
        links = [make.link("s1", "r1", make.way(None, 0)), make.link("r1", "c1", way)]
        network = make.network(["s1", "c1"], ["r1"], links)
        diagnostics: dict[str, Diagnostic] = make.found(make.scenario(network, [make.flow("f")]))
        return diagnostics

    # A full frame has 12,112 bits.
    assert "no-time-passes" not in found(12_112 * 10**9)
    assert "no-time-passes" not in found(12_113 * 10**9, delay_ms=1)
    refused = found(12_113 * 10**9)["no-time-passes"]
    assert refused.severity is Severity.ERROR
    assert refused.help is not None and "at most 12112Gbit/s" in refused.help
    assert "no-time-passes" in found(10**9, fastest_bps=10**14)


@pytest.mark.parametrize(
    ("rate_bps", "rtt_ms", "amount", "buffer_bytes"),
    [
        (1_000_000, 50, 2, 256 * 1024),  # 2 x (6,250 + 12,500) is below the least
        (100_000_000, 100, 1, 8 * 2**20),  # 2 x (1.25 MB + 1.25 MB) = 5 MB
        (100_000_000, 100, 0.5, 4 * 2**20),  # 2 x (1.25 MB + 0.625 MB) = 3.75 MB
    ],
)
def test_buffers(
    make: SimpleNamespace, rate_bps: int, rtt_ms: float, amount: float, buffer_bytes: int
) -> None:
    made = make.quickstart(rate_bps=rate_bps, rtt_ms=rtt_ms, queue=make.size(amount, "bdp"))
    assert {flow.buffer_bytes for flow in make.cell(made).flows} == {buffer_bytes}


@pytest.mark.parametrize(
    ("sack", "loss", "times"), [("on", "0%", 4), ("off", "0%", 16), ("on", "1%", 16)]
)
def test_a_tcp_receiver_has_room_for_repairs(sack: str, loss: str, times: int) -> None:
    """For four losses of one packet in a row; more without SACK, or with losses at random."""
    (flow,) = only_cell_of(f"""fexp 1
experiment e {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, loss: {loss}, queue: fifo(2bdp))
  hosts {{ sack = {sack} }}
  flow f {{ cca = reno  workload = bulk }}
  duration = 1s
  measure = [goodput]
}}
""").flows
    assert flow.receiver_bytes == times * flow.buffer_bytes


def test_buffers_that_no_socket_can_have(make: SimpleNamespace) -> None:
    made = make.quickstart(rate_bps=10**11, rtt_ms=1000)
    assert make.found(made)["buffer-too-large"].severity is Severity.ERROR


def test_the_default_deadline_is_ten_times_the_fair_share(make: SimpleNamespace) -> None:
    # 2 x 10 MB at 1 Mbit/s: 160 s; four round trips of 50 ms; starts within 50 ms
    assert make.cell(make.quickstart()).deadline_ns == 10 * (160 * S + S // 5) + S // 20


def test_other_deadlines(make: SimpleNamespace) -> None:
    net, bulk = make.dumbbell(), [make.flow("f", workload=Bulk(BulkWorkload()), stop_ns=200 * S)]
    assert make.cell(make.scenario(net, bulk)).deadline_ns == 201 * S
    assert make.cell(make.scenario(net, bulk, duration_ns=60 * S)).deadline_ns == 61 * S
    assert make.cell(make.scenario(net, bulk, deadline_ns=7 * S)).deadline_ns == 7 * S
    tiny = [make.flow("f", workload=Workload(FileWorkload(bytes=1000)))]
    assert make.cell(make.scenario(net, tiny)).deadline_ns == 10 * S + S // 20


def test_durations_that_are_too_short(make: SimpleNamespace) -> None:
    net = make.dumbbell()
    few_rtts = make.scenario(
        net, [make.flow("f", workload=Bulk(BulkWorkload()))], duration_ns=S // 4
    )
    assert "less than 10 base RTTs" in make.found(few_rtts)["short-duration"].message
    # 1 MB at half of 1 Mbit/s takes 16 s
    flows = [
        make.flow("a", workload=Workload(FileWorkload(bytes=10**6))),
        make.flow("b", "s2", "c2", workload=Bulk(BulkWorkload())),
    ]
    assert (
        "file"
        in make.found(make.scenario(net, flows, duration_ns=16 * S - 1))["short-duration"].message
    )
    assert make.found(make.scenario(net, flows, duration_ns=16 * S)) == {}


def test_rates_that_an_engine_may_not_follow(make: SimpleNamespace) -> None:
    net = make.dumbbell(rate_bps=100_000_001)
    fast = [make.link(a, b, make.way(10**9)) for a, b in (("s1", "r1"), ("r2", "c1"))]
    slow = net.links[-1]
    made = make.scenario(make.network(["s1", "c1"], ["r1", "r2"], [*fast, slow]), [make.flow("f")])
    warning = make.found(made)["fast-link"]
    assert (warning.span, warning.severity) == (slow.forward.span, Severity.WARNING)


def test_captures_of_the_quickstart(make: SimpleNamespace) -> None:
    cell = make.cell(make.quickstart())
    assert [(c.point, c.node, c.interface, c.direction) for c in cell.captures] == [
        ("entry", "r1", "r1-eth0", "in"),
        ("entry", "r1", "r1-eth1", "in"),
        ("exit", "r1", "r1-eth2", "out"),
        ("delivered", "r1-r2", "r1-r2-eth1", "out"),
        ("sender", "s1", "s1-eth0", "both"),
        ("sender", "s2", "s2-eth0", "both"),
    ]
    assert {capture.queue for capture in cell.captures} == {("r1", "r1-eth2")}


def test_every_flow_that_crosses_a_bottleneck_is_seen_entering_it(make: SimpleNamespace) -> None:
    """`long` has its bottleneck before r2, and shares the queue of r2 with `short`."""
    access, slow = make.way(100_000_000), make.way(1_000_000, 5)
    links = [make.link(a, b, access) for a, b in (("s1", "r1"), ("s2", "r2"), ("r3", "c1"))]
    links += [make.link("r1", "r2", make.way(900_000, 5)), make.link("r2", "r3", slow)]
    net = make.network(["s1", "s2", "c1"], ["r1", "r2", "r3"], links)
    cell = make.cell(make.scenario(net, [make.flow("long"), make.flow("short", "s2")]))
    assert [flow.bottleneck[0] for flow in cell.flows] == ["r1", "r2"]
    entries = {(c.queue[0], c.interface) for c in cell.captures if c.point == "entry"}
    assert entries == {("r1", "r1-eth0"), ("r2", "r2-eth0"), ("r2", "r2-eth1")}


def test_of_equal_links_the_one_that_most_flows_cross_is_the_bottleneck(
    make: SimpleNamespace,
) -> None:
    access, slow = make.way(100_000_000), make.way(1_000_000, 5)
    links = [make.link(a, b, access) for a, b in (("s1", "r1"), ("s2", "r2"), ("r3", "c1"))]
    links += [make.link("r1", "r2", slow), make.link("r2", "r3", slow)]
    net = make.network(["s1", "s2", "c1"], ["r1", "r2", "r3"], links)
    shared = make.scenario(net, [make.flow("long"), make.flow("short", "s2")])
    assert [flow.bottleneck[0] for flow in make.cell(shared).flows] == ["r2", "r2"]
    alone = make.scenario(net, [make.flow("long")])
    assert [flow.bottleneck[0] for flow in make.cell(alone).flows] == ["r1"]


def test_captures_without_a_hop_and_without_an_entry(make: SimpleNamespace) -> None:
    links = [make.link("s1", "r1", make.way(1_000_000)), make.link("r1", "c1", make.way(2_000_000))]
    made = make.scenario(make.network(["s1", "c1"], ["r1"], links), [make.flow("f")])
    assert [(c.point, c.node, c.interface, c.direction) for c in make.cell(made).captures] == [
        ("exit", "s1", "s1-eth0", "out"),
        ("delivered", "r1", "r1-eth0", "in"),
    ]
    assert make.found(made)["no-entry-capture"].severity is Severity.WARNING


def test_a_flow_that_never_starts_is_not_short(make: SimpleNamespace) -> None:
    """The front end says that it starts too late; a duration of less than nothing says no more."""
    late = make.quickstart().network
    flows = [make.flow("f", workload=Bulk(BulkWorkload()), start_ns=20 * S)]
    assert "short-duration" not in make.found(make.scenario(late, flows, duration_ns=10 * S))


def test_a_change_after_the_end_is_said(make: SimpleNamespace) -> None:
    def made(event: Event) -> dict[str, Diagnostic]:
        slow = replace(make.way(1_000_000, 5), events=(event,))
        links = [make.link("s1", "r1", make.way()), make.link("r1", "c1", slow)]
        net = make.network(["s1", "c1"], ["r1"], links)
        flows = [make.flow("f", workload=Bulk(BulkWorkload()))]
        found: dict[str, Diagnostic] = make.found(make.scenario(net, flows, duration_ns=10 * S))
        return found

    late = Event(10 * S, make.span(9), is_up=False)
    warning = made(late)["late-change"]
    assert warning.severity is Severity.WARNING
    assert "from `r1` to `c1` comes after" in warning.message
    assert "late-change" not in made(replace(late, begin_ns=10 * S - 1))
    assert "late-change" not in made(replace(late, begin_ns=S, length_ns=20 * S))
    faster = Distribution("constant", {"value": Fraction(2_000_000)})
    ramp = Event(9 * S, late.span, ramp_ns=S, rate=faster)
    assert "is not over" in made(ramp)["late-change"].message
    assert "late-change" not in made(replace(ramp, ramp_ns=S - 1))


@pytest.mark.parametrize(("far", "note"), [("0", ""), ("1", "in 2 of 4 configurations: ")])
def test_a_warning_counts_all_configurations_that_share_a_network(far: str, note: str) -> None:
    """CCAs do not change the network's part, which is computed once for all of them."""
    text = f"""fexp 1
experiment e {{
  sweep {{ near = [5ms, 10ms]  cca = [cubic, reno]  far = [{far}] }}
  topology = dumbbell(rate: 8Mbit/s, rtt: 50ms, queue: fifo(1bdp))
  flow a {{ cca = cca  workload = file(1MB)  rtt = near }}
  flow b {{ cca = cca  workload = file(1MB)  rtt = 5ms * far }}
  measure = [goodput]
}}
"""
    compilation = compilation_of(text)
    list(compilation.cells())
    (warning,) = [d for d in compilation.diagnostics if d.code == "unequal-rtts"]
    assert warning.notes[0].startswith(note)
    assert ("configurations" in warning.notes[0]) == bool(note)
