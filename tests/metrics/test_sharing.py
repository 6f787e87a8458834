"""Which sessions compete: fairness over several bottlenecks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairc import dsl
from fairc.compiler import compile
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.paths import Paths, max_min
from fairc.runtime.metrics.sharing import apart

EXAMPLE = Path(__file__).parents[2] / "examples/custom-topology.fexp"


@pytest.fixture
def network() -> SimpleNamespace:
    """A long flow over two bottlenecks, and a short one over each of them."""
    experiment, found = dsl.load(dsl.read(EXAMPLE))
    assert experiment is not None, dsl.render_full(found)
    cell = next(iter(compile(experiment).cells()))
    flows = {
        flow.name: SimpleNamespace(
            name=flow.name, plan=flow, queue=SimpleNamespace(place=flow.bottleneck)
        )
        for flow in cell.flows
    }
    paths = Paths(cell)
    data_paths = {flow.name: paths.of(flow) for flow in cell.flows}
    return SimpleNamespace(paths=paths, data_paths=data_paths, flows=flows)


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
