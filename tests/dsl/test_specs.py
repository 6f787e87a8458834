"""The eight specs: they parse and check, and what can run becomes scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.dsl import load, read
from fairc.dsl.model import Workload
from fairc.mechanisms.devices.policer.declaration import Policer
from fairc.mechanisms.workloads.file.cell import FileWorkload
from fairc.mechanisms.workloads.load.declaration import Load

CELLS = {
    "conex": (42, 1260, 0, 0),
    "custom-topology": (2, 7, 3, 0),
    "fmp": (1200, 1200, 0, 1050),
    "large-deviations": (4, 4, 0, 0),
    "quic-fairness": (120, 1200, 0, 0),  # n = 1 makes both values of tcps the same
    "quickstart": (1, 6, 0, 0),
    "satcom": (8, 320, 0, 0),
    "youtube": (4, 120, 0, 0),
}


SPECS = tuple(CELLS)


def test_examples_are_the_specs(examples: Path) -> None:
    assert set(SPECS) <= {path.stem for path in examples.glob("*.fexp")}


@pytest.mark.parametrize("name", SPECS)
def test_spec_checks_without_errors(name: str, examples: Path) -> None:
    experiment, found = load(read(examples / f"{name}.fexp"))
    assert [d.message for d in found.errors] == []
    assert {d.code for d in found} <= {"not-yet"}
    assert experiment is not None
    assert experiment.count() == CELLS[name]


def test_quickstart_is_a_scenario(examples: Path) -> None:
    experiment, found = load(read(examples / "quickstart.fexp"))
    assert experiment is not None and len(found) == 0
    assert experiment.title == "CUBIC against BBR on a 1 Mbit/s link"
    assert [m.name for m in experiment.requests.measure] == ["fct", "fairness"]
    (configuration,) = experiment.configurations()
    assert configuration.repetitions == (1, 2, 3, 4, 5, 6)
    scenario = configuration.scenario
    assert [(n.name, n.kind) for n in scenario.network.nodes] == [
        ("server", "host"),
        ("client", "host"),
        ("left", "router"),
        ("right", "router"),
    ]
    slow = scenario.network.links[2]
    assert (slow.a, slow.b) == ("left", "right")
    assert (slow.forward.rate_bps, slow.forward.delay_ns) == (1_000_000, 25_000_000)
    assert (slow.backward.rate_bps, slow.backward.delay_ns) == (1_000_000, 25_000_000)
    assert slow.forward.queue.size.canonical == "2bdp"
    assert slow.forward.queue.size.span.text == "2bdp"
    assert [(f.name, f.cca, f.workload) for f in scenario.flows] == [
        ("cubic", "cubic", Workload(FileWorkload(bytes=10_000_000))),
        ("bbr", "bbr", Workload(FileWorkload(bytes=10_000_000))),
    ]
    assert scenario.duration_ns is None and scenario.stop == "all"


def test_axes_are_canonical(examples: Path) -> None:
    experiment, _ = load(read(examples / "quic-fairness.fexp"))
    assert experiment is not None
    assert {axis.name: axis.values for axis in experiment.axes} == {
        "latency": ("50ms", "300ms"),
        "loss": ("0%", "0.1%", "0.5%", "1%", "2%", "5%"),
        "buffer": ("11250B", "62250B"),
        "n": ("1", "2", "5"),
        "tcps": ("1", "2", "5"),
    }
    assert experiment.requests.measure[0].sessions == ("tcp", "quic")
    assert experiment.requests.measure[0].options == {"slot": 0.1}


@pytest.mark.parametrize("name", ["quic-fairness", "large-deviations", "youtube", "conex"])
def test_what_a_spec_lacks_is_not_its_traffic(name: str, examples: Path) -> None:
    _, found = load(read(examples / f"{name}.fexp"))
    traffic = ("the CCA", "the transport", "the workload", "of a flow", "`bulk`")
    assert [d.message for d in found if any(word in d.message for word in traffic)] == []


def test_satcom_is_eight_scenarios(examples: Path) -> None:
    experiment, found = load(read(examples / "satcom.fexp"))
    assert experiment is not None and len(found) == 0
    scenarios = [c.scenario for c in experiment.configurations()]
    workloads = [flow.workload for scenario in scenarios for flow in scenario.flows]
    loads = [w for w in workloads if isinstance(w, Load)]
    assert [(w.part.client, w.page_loads) for w in loads] == [("chromium", 3)] * len(workloads)
    sizes = [w.part.total_bytes(1) for w in loads]
    assert sizes == [15_900_000, 15_900_000, 33_000, 33_000] * 2
    assert [len(s.network.proxies) for s in scenarios] == [1, 1, 1, 1, 0, 0, 0, 0]
    windows = {s.flows[0].options.initial_window_packets for s in scenarios}
    assert windows == {32}


def test_conex_is_a_policer_for_every_rate(examples: Path) -> None:
    experiment, found = load(read(examples / "conex.fexp"))
    assert experiment is not None and len(found) == 0
    policers = []
    for configuration in experiment.configurations():
        scenario = configuration.scenario
        assert all(flow.options.ecn for flow in scenario.flows)
        (policer,) = [
            way.device
            for link in scenario.network.links
            for way in (link.forward, link.backward)
            if isinstance(way.device, Policer)
        ]
        assert (policer.depth, policer.feedback, policer.charge) == (45, "accurate", "forwarded")
        policers.append((policer.rate, policer.harshness))
    assert len(set(policers)) == 42


def test_youtube_runs_with_and_without_a_policer(examples: Path) -> None:
    experiment, found = load(read(examples / "youtube.fexp"))
    assert experiment is not None and len(found) == 0
    networks = [c.scenario.network for c in experiment.configurations()]
    rates = [
        [
            way.device.rate
            for link in n.links
            for way in (link.forward,)
            if isinstance(way.device, Policer)
        ]
        for n in networks
    ]
    assert rates == [[], [15.0], [5.0], []]
