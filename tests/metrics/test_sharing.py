"""Which sessions compete: fairness over several bottlenecks."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from computed import results, values
from madeartefacts import RATE_BPS, Made, hand_made
from madecell import FULL, VIDEO
from specs import compile_spec

from fairc.cell.framing import Framing
from fairc.cell.workloads import Distribution
from fairc.mechanisms.workloads.onoff.cell import OnOffWorkload
from fairc.mechanisms.workloads.requests.cell import RequestsWorkload
from fairc.runtime.measurement import FlowRecord, Measurement, load
from fairc.runtime.measurement.paths import Paths, max_min
from fairc.runtime.metrics import fairness
from fairc.runtime.metrics.sharing import apart

EXAMPLE = Path(__file__).parents[2] / "examples/custom-topology.fexp"


@pytest.fixture
def network() -> SimpleNamespace:
    """A long flow over two bottlenecks, and a short one over each of them."""
    cell = next(iter(compile_spec(EXAMPLE).cells()))
    flows = {
        flow.name: SimpleNamespace(
            name=flow.name, plan=flow, queue=SimpleNamespace(place=flow.bottleneck)
        )
        for flow in cell.flows
    }
    paths = Paths(cell)
    data_paths = {flow.name: paths.of(flow) for flow in cell.flows}
    queues = [flow.queue for flow in flows.values()]
    return SimpleNamespace(paths=paths, data_paths=data_paths, flows=flows, queues=queues)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("long", "short1", "short2"), ""),
        (("long", "short2"), ""),
        (("short1", "short2"), "short2 and short1 share no bottleneck, so they do not compete"),
    ],
)
def test_sessions_compete_directly_or_through_others(
    network: SimpleNamespace, names: tuple[str, ...], expected: str
) -> None:
    sessions = cast("tuple[FlowRecord, ...]", tuple(network.flows[name] for name in names))
    assert apart(cast(Measurement, network), sessions) == expected


def test_the_fair_shares_of_the_example(network: SimpleNamespace) -> None:
    interfaces: dict[Any, Any] = network.paths.interfaces
    rates = {p: float(i.shaper.rate_bps) for p, i in interfaces.items() if i.shaper}
    paths = {name: network.paths.of(flow.plan) for name, flow in network.flows.items()}
    assert max_min(paths, rates) == {"long": 10e6, "short1": 10e6, "short2": 10e6}


def with_rate(made: Made, share: float) -> Made:
    """Let flow b be limited to a share of the link, on the wire."""
    a, b = made.cell.flows
    limited = replace(b, rate_bps=round(share * RATE_BPS * (FULL - 14) / FULL))
    made.cell = replace(made.cell, flows=(a, limited))
    return made


def test_a_flow_that_wants_little_is_not_starved(tmp_path: Path) -> None:
    """b sends a tenth of the frames.

    Greedy, it has a fifth of its share; if it wants no more, its share.
    """
    frames = "aaaaaaaaab" * 40
    greedy = values(hand_made(frames), tmp_path / "greedy", "fairness")
    ip = (FULL - 14) / FULL
    assert greedy["fairness.product", None] == pytest.approx(1.8 * 0.2 * ip**2, rel=0.02)
    made = with_rate(hand_made(frames), 0.1)
    for name in ("fairness", "fmp"):
        found = values(made, tmp_path / name, name)
        assert found[f"{name}.product", None] == pytest.approx(ip**2, rel=0.03)
        assert found[f"{name}.epsilon_fairness", None] == pytest.approx(1, rel=0.03)
    assert values(made, tmp_path / "f", "fairness")["fairness.jain_session", None] == pytest.approx(
        1, abs=1e-3
    )


def test_what_is_not_known_to_be_wanted_leaves_no_product(tmp_path: Path) -> None:
    made = hand_made("ab" * 50)
    a, b = made.cell.flows
    made.cell = replace(made.cell, flows=(a, replace(b, workload=VIDEO)))
    found = {v.metric: v for v in results(load(made.cell, made.write(tmp_path)), "fairness")}
    product = found["fairness.product"]
    assert (product.value, product.reason) == (
        None,
        "it is not known how much b would take, so fair shares are not",
    )


def constant(value: float) -> Distribution:
    return Distribution(kind="constant", parameters={"value": value})


def requests_of(size_bytes: float, every_s: float) -> RequestsWorkload:
    return RequestsWorkload(size=constant(size_bytes), every=constant(every_s), seed=1)


def on_off(rate_bps: int, packet_bytes: int) -> OnOffWorkload:
    return OnOffWorkload(
        rate_bps=rate_bps, on=constant(1), off=constant(1), packet_bytes=packet_bytes, seed=1
    )


@pytest.mark.parametrize(
    ("workload", "transport", "expected"),
    [
        # 1000 B of payload every 10 ms: 800 kbit/s, with the headers of full frames.
        (requests_of(1000, 0.01), "tcp", 800e3 * 1514 / 1448),
        # 1 Mbit/s of IP half of the time in datagrams of 200 B.
        (on_off(10**6, 200), "udp", 500e3 * 214 / 200),
    ],
)
def test_what_a_flow_wants_on_the_wire(
    tmp_path: Path, workload: Any, transport: Any, expected: float
) -> None:
    made = hand_made("ab" * 5)
    _, b = made.cell.flows
    changed = replace(b, workload=workload, transport=transport)
    measurement = load(made.cell, made.write(tmp_path))
    flow = replace(measurement.flows[1], plan=changed)
    assert flow.demand_bps == pytest.approx(expected)
    assert measurement.flows[0].demand_bps == math.inf


def test_a_link_adds_its_framing_to_what_a_flow_wants(tmp_path: Path) -> None:
    """A datagram of 84 B of IP and 60 of a tunnel, with 10 more: four cells of ATM. Full packets
    of 1500 B: 32 cells, of which the link sends fewer than frames of Ethernet in a slot.
    """
    made = hand_made("ab" * 5)
    b = replace(made.cell.flows[1], transport="udp", workload=on_off(10**6, 84), header_bytes=60)
    atm = Framing(overhead_bytes=10, cells=True)
    measurement = load(made.cell, made.write(tmp_path))
    framed = [
        replace(one, queue=replace(one.queue, interface=replace(one.queue.interface, framing=atm)))
        for one in (flow.passages[0] for flow in measurement.flows)
    ]
    sessions = tuple(
        replace(flow, passages=(one,)) for flow, one in zip(measurement.flows, framed, strict=True)
    )
    assert replace(sessions[1], plan=b).demand_bps == pytest.approx(500e3 * 4 * 53 / 84)
    found = results(replace(measurement, flows=sessions), "fairness", slot=0.1)
    (floor,) = (value.value for value in found if value.metric == "fairness.floor")
    assert floor == fairness.floor(int(RATE_BPS * 0.1 / (8 * 32 * 53)))


def test_handshakes_and_small_packets_are_part_of_what_a_flow_wants(tmp_path: Path) -> None:
    """Its answers of 100 B are 8 kbit/s, and with all that they need a quarter of the link."""
    made = hand_made("aaab" * 50)
    a, b = made.cell.flows
    made.cell = replace(made.cell, flows=(a, replace(b, workload=requests_of(100, 0.1))))
    found = values(made, tmp_path, "share")
    assert found["share.fair", "b"] == pytest.approx(1, rel=1e-6)
    assert found["share.fair", "a"] == pytest.approx(1, rel=0.02)
