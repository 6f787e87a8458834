"""Topologies and flows: what the statements mean, and what they may not say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairc.dsl import Diagnostics, Source
from fairc.dsl.model import Configuration, Direction, Link, Network
from fairc.dsl.text.parser import parse
from fairc.dsl.text.syntax import Topology
from fairc.mechanisms.workloads.bulk.cell import BulkWorkload
from fairc.mechanisms.workloads.bulk.declaration import Bulk
from fairc.words.presets import TOPOLOGIES

Check = Callable[..., Diagnostics]
Build = Callable[..., list[Configuration]]


def network(build: Build, *statements: str, before: str = "") -> Network:
    (configuration,) = build(*statements, before=before)
    return configuration.scenario.network


def link(build: Build, statements: str) -> Link:
    (made,) = network(build, f"topology {{ node server, client  {statements} }}").links
    return made


def numbers(direction: Direction) -> tuple[int | None, int, float]:
    return direction.rate_bps, direction.delay_ns, direction.impairment.loss


def test_both_ways_get_every_attribute(build: Build) -> None:
    made = link(build, "link server -- client { rate = 1Mbit/s  delay = 5ms  loss = 1% }")
    assert numbers(made.forward) == numbers(made.backward) == (1_000_000, 5_000_000, 0.01)


@pytest.mark.parametrize(
    "second", ["link client -> server { delay = 2ms }", "link server <- client { delay = 2ms }"]
)
def test_two_ways_of_a_pair_are_one_link(build: Build, second: str) -> None:
    made = link(build, f"link server -> client {{ rate = 2Mbit/s  loss = 2% }}  {second}")
    assert (made.a, made.b) == ("server", "client")
    assert numbers(made.forward) == (2_000_000, 0, 0.02)
    assert numbers(made.backward) == (None, 2_000_000, 0.0)


def test_loss_of_both(build: Build) -> None:
    made = link(build, "link server -> client { loss = loss(both: 1%) }  link client -> server")
    assert made.forward.impairment.loss == made.backward.impairment.loss == 0.01
    made = link(build, "link server -- client { loss = loss(3%) }")
    assert made.forward.impairment.loss == made.backward.impairment.loss == 0.03


def test_a_queue_that_is_not_given_holds_1000_packets(build: Build) -> None:
    queue = link(build, "link server -- client").forward.queue
    assert (queue.kind, queue.size.canonical) == ("fifo", "1000pkt")


@pytest.mark.parametrize(
    ("size", "canonical"),
    [
        ("10kB", "10kB"),
        ("1KiB * 4", "4096B"),
        ("3pkt", "3pkt"),
        ("2bdp", "2bdp"),
        ("100ms", "100ms"),
    ],
)
def test_sizes_of_queues(build: Build, size: str, canonical: str) -> None:
    made = link(build, f"link server -- client {{ rate = 1Mbit/s  queue = fifo({size}) }}")
    assert made.forward.queue.size.canonical == canonical


def test_bottleneck_by_its_rate(build: Build) -> None:
    made = network(build, "topology = bottleneck(rate: 50Mbit/s, rtt: 30ms, loss: 1%)")
    access, _, slow = made.links
    assert access.forward.rate_bps == 500_000_000
    assert numbers(slow.forward) == (50_000_000, 15_000_000, 0.01)
    assert numbers(slow.backward) == (50_000_000, 15_000_000, 0.0)


def test_bottleneck_by_both_its_rates(build: Build) -> None:
    made = network(build, "topology = bottleneck(up: 1Mbit/s, down: 20Mbit/s)")
    access, _, slow = made.links
    assert access.forward.rate_bps == 200_000_000
    assert (slow.forward.rate_bps, slow.backward.rate_bps) == (20_000_000, 1_000_000)


def test_bottleneck_with_loss_both_ways(build: Build) -> None:
    made = network(
        build,
        "sweep { loss = [1%] }",
        "topology = bottleneck(rate: 1Mbit/s, loss: loss(both: loss))",
    )
    assert (made.links[2].forward.impairment.loss, made.links[2].backward.impairment.loss) == (
        0.01,
        0.01,
    )


def test_a_preset_does_not_see_the_names_of_the_file(build: Build) -> None:
    before = "let down = 9Mbit/s\nlet left = 3\n"
    made = network(build, before=before)
    assert made.links[2].forward.rate_bps == 1_000_000


def test_presets_have_the_parameters_of_their_entries() -> None:
    for entry in TOPOLOGIES:
        (declared,) = parse(Source(entry.name, entry.text)).declarations
        assert isinstance(declared, Topology)
        assert [p.name.text for p in declared.parameters] == [p.name for p in entry.parameters]


def test_a_file_may_declare_a_topology_of_its_own(build: Build) -> None:
    before = """
topology bottleneck(rate = 10Mbit/s, delay = 2 * hop, hop = 5ms) {
  node server, client
  link server -- client { rate = rate  delay = delay }
}
"""
    made = network(build, "topology = bottleneck(rate: 1Mbit/s, hop: 1ms)", before=before)
    assert numbers(made.links[0].forward) == (1_000_000, 2_000_000, 0.0)


def test_a_topology_that_nothing_uses_is_checked(check: Check) -> None:
    found = check(before="topology t { node a  link a -- b }\n")
    assert [d.code for d in found] == ["unknown-node"]


def test_topologies_cannot_call_themselves(check: Check) -> None:
    found = check("topology = t", before="topology t(x = t(x)) { node server, client }\n")
    assert all(d.span for d in found)


def test_a_flow_with_everything(build: Build) -> None:
    (configuration,) = build(
        "topology { node a, b  link a -- b { rate = 1Mbit/s } }",
        (
            "flow f { from = b  to = a  count = 3  over = tcp  cca = htcp  start = 1s  stop = 9s "
            " workload = bulk }"
        ),
    )
    (flow,) = configuration.scenario.flows
    assert (flow.server, flow.client, flow.connections, flow.cca) == ("b", "a", 3, "htcp")
    assert (flow.start_ns, flow.stop_ns, flow.workload) == (10**9, 9 * 10**9, Bulk(BulkWorkload()))


@pytest.mark.parametrize(
    ("flow", "code", "place"),
    [
        ("cca = cubic  workload = file(0B)", "out-of-range", "0B"),
        ("cca = cubic  workload = file(5ms)", "wrong-dimension", "5ms"),
        ("cca = cubic  workload = file(5)", "missing-unit", "5"),
        ("cca = cubic  count = 2.5  workload = file(1MB)", "out-of-range", "2.5"),
        ("cca = cubic  count = 1e6  workload = file(1MB)", "out-of-range", "1e6"),
        ("workload = file(1MB)", "missing-key", "f"),
        ("cca = cubic  from = nobody  workload = file(1MB)", "unknown-node", "nobody"),
        ("cca = cubic  from = left  workload = file(1MB)", "unknown-node", "left"),
        ("cca = 5  workload = file(1MB)", "wrong-type", "5"),
        ("cca = cubic  cca = bbr  workload = file(1MB)", "duplicate-key", "cca"),
        ("cca = cubic(window: 5)  workload = file(1MB)", "unknown-argument", "window"),
        ("cca = cubic  rate = 0kbit/s  workload = file(1MB)", "out-of-range", "0kbit/s"),
        ("cca = cubic  start = uniform(0s, 1MB)  workload = file(1MB)", "wrong-dimension", "1MB"),
        ("cca = cubic  start = uniform(2s, 1s)  workload = file(1MB)", "out-of-range", "2s"),
        ("cca = cubic  start = normal(1s)  workload = file(1MB)", "missing-argument", "normal(1s)"),
        ("cca = cubic  start = pareto(1s, 1)  workload = file(1MB)", "out-of-range", "1"),
    ],
)
def test_wrong_flows(check: Check, flow: str, code: str, place: str) -> None:
    found = check(f"flow f {{ {flow} }}")
    assert [(d.code, d.span.text) for d in found if d.span] == [(code, place)]


@pytest.mark.parametrize(
    ("link", "code", "place"),
    [
        ("rate = 0bit/s", "out-of-range", "0bit/s"),
        ("delay = -1ms", "out-of-range", "-1ms"),
        ("loss = 100%", "out-of-range", "100%"),
        ("loss = 1", "missing-unit", "1"),
        ("loss = loss()", "missing-argument", "loss()"),
        ("queue = fifo(0pkt)", "out-of-range", "0pkt"),
        ("queue = fifo(100ms)", "queue-without-rate", "100ms"),
        ("jitter = 5ms", "jitter-above-delay", "5ms"),
        ("queue = 100pkt", "wrong-type", "100pkt"),
    ],
)
def test_wrong_links(check: Check, link: str, code: str, place: str) -> None:
    found = check(f"topology {{ node server, client  link server -- client {{ {link} }} }}")
    assert [(d.code, d.span.text) for d in found if d.span] == [(code, place)]


@pytest.mark.parametrize("state", ["offload = off", "offload = on", "tcp_metrics_save = off"])
def test_hosts_with_a_state(check: Check, state: str) -> None:
    assert len(check(f"hosts {{ {state} }}")) == 0


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("offload = tso", "unknown-word"),
        ("send_buffer = 1", "missing-unit"),
        ("sysctl = 5", "unknown-key"),
    ],
)
def test_other_hosts(check: Check, state: str, code: str) -> None:
    assert [d.code for d in check(f"hosts {{ {state} }}")] == [code]
