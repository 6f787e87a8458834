"""Requests in the plan: sizes in packets, and arrivals that flows share."""

from __future__ import annotations

import pytest
from specs import compilation_of

from fairc.compiler.estimate import offered_bps
from fairc.compiler.plan import Cell, Flow
from fairc.mechanisms.workloads.requests.cell import RequestsWorkload


def cells(flows: str, topology: str = "= access(rate: 10Mbit/s, rtt: 100ms)") -> list[Cell]:
    text = f"""fexp 1
experiment e {{
  topology {topology}
  users heavy {{ count = 2 }}
  users light {{ count = 5 }}
  {flows}
  duration = 10s
  repeat = 2
  measure = [fct]
}}
"""
    return list(compilation_of(text).cells())


def of(flow: Flow) -> RequestsWorkload:
    assert isinstance(flow.workload, RequestsWorkload)
    return flow.workload


SHARED = """
  flow h { users = heavy  cca = cubic  count = 2  workload = requests(10pkt, gamma(6ms, 0.5), 80%) }
  flow l { users = light  cca = cubic  workload = requests(10pkt, gamma(6ms, 0.5), share: 20%) }
"""


@pytest.mark.parametrize(
    ("over", "size", "parameters"),
    [
        ("tcp", "10pkt", {"value": 14_480}),
        ("quic", "10pkt", {"value": 14_390}),
        ("tcp", "14480B", {"value": 14_480}),
        ("tcp", "uniform(1pkt, 10pkt)", {"low": 1448, "high": 14_480}),
        ("tcp", "pareto(10pkt, 1.5)", {"mean": 14_480, "shape": 1.5}),
    ],
)
def test_a_packet_is_the_payload_of_a_full_one(
    over: str, size: str, parameters: dict[str, float]
) -> None:
    users = "flow u { users = light  cca = cubic  workload = bulk }"
    made = f"flow a {{ over = {over}  cca = cubic  workload = requests({size}, 1s) }}"
    workload = of(cells(users + made)[0].flows[-1])
    assert workload.size.parameters == parameters
    assert workload.shared is None
    assert "shared" not in workload.plain()


def test_a_packet_follows_the_mtu_of_the_path() -> None:
    topology = """{
    node server, client
    link server -- client { rate = 10Mbit/s  delay = 5ms  mtu = 1000B }
  }"""
    flow = "flow u { users = light  cca = cubic  workload = requests(10pkt, 1s) }"
    (first, *_) = cells(flow, topology)
    assert of(first.flows[0]).size.parameters == {"value": 9480}


def test_shares_are_parts_of_one_process() -> None:
    first, second = cells(SHARED)
    for cell in (first, second):
        parts = [of(flow).shared for flow in cell.flows]
        known = [part for part in parts if part is not None]
        assert len(known) == len(parts) == 7
        # One after the other, without a gap, from 0 to 1.
        assert [part.low for part in known] == [0, *(part.high for part in known[:-1])]
        assert known[-1].high == 1
        assert [part.high - part.low for part in known] == pytest.approx([0.4] * 2 + [0.04] * 5)
        assert len({part.seed for part in known}) == 1
        assert len({of(flow).seed for flow in cell.flows}) == 7, "sizes are their own"
        assert len({start for flow in cell.flows for start in flow.starts_ns}) == 1
    assert of(first.flows[0]).shared != of(second.flows[0]).shared
    assert first.flows[0].starts_ns != second.flows[0].starts_ns


def test_a_share_is_of_all_connections_together() -> None:
    flows = cells(SHARED)[0].flows
    total = 8 * 14_480 / 0.006
    assert [offered_bps(flow) for flow in flows] == pytest.approx(
        [total * 0.4] * 2 + [total * 0.04] * 5
    )


def test_requests_without_a_share_have_starts_of_their_own() -> None:
    flows = cells(SHARED.replace(", 80%", "").replace(", share: 20%", ""))[0].flows
    assert len({flow.start_ns for flow in flows}) == 7


def swept(workload: str, more: str = "") -> list[Cell]:
    """Two queues, two repetitions, in the order of repetitions."""
    queues = "sweep { q = [fifo(1bdp), codel()] }\n  "
    flows = f"flow f {{ cca = cubic  workload = {workload}  start = exponential(1s) }}\n  {more}"
    return cells(queues + flows, "= bottleneck(rate: 10Mbit/s, rtt: 100ms, queue: q)")


def test_queues_are_compared_under_the_same_requests() -> None:
    one, two, again, _ = swept("requests(exponential(30kB), exponential(500ms))")
    assert of(one.flows[0]).seed == of(two.flows[0]).seed != of(again.flows[0]).seed
    assert one.flows[0].starts_ns == two.flows[0].starts_ns != again.flows[0].starts_ns
    assert one.seed != two.seed  # losses have streams of their own


def test_requests_of_their_own() -> None:
    made = swept("requests(exponential(30kB), exponential(500ms))", "draws = own")
    assert len({of(cell.flows[0]).seed for cell in made}) == 4


def test_a_sample_of_configurations_draws_its_own() -> None:
    made = swept("requests(exponential(30kB), exponential(500ms))", "sample = 2")
    assert len({of(cell.flows[0]).seed for cell in made}) == 4
    asked = swept("requests(exponential(30kB), exponential(500ms))", "sample = 2  draws = common")
    assert len({of(cell.flows[0]).seed for cell in asked}) == 2


def test_requests_without_chance_keep_their_seed() -> None:
    """Nothing is drawn, so nothing about the cell may change."""
    common, own = (swept("requests(30kB, 500ms)", f"draws = {w}") for w in ("common", "own"))
    assert [of(c.flows[0]).seed for c in common] == [of(c.flows[0]).seed for c in own]
