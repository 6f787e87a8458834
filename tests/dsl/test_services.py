"""Services: what flows have in common, swept like any word; `hosts { over = ... }`."""

from __future__ import annotations

from fairc.dsl import Source, load
from fairc.dsl.experiment import Experiment

FILE = """fexp 1

service film { cca = reno  workload = file(2MB)  start = 1s }
service drive {
  over     = quic
  cca      = bbr
  count    = n
  workload = file(1MB)
}

experiment e {
  SWEEP
  topology = dumbbell(rate: 8Mbit/s, rtt: 50ms, queue: fifo(4bdp))
  FLOWS
  measure = [goodput]
}
"""
N = "sweep { n = [2] }"


def checked(flows: str, sweep: str = N) -> tuple[Experiment | None, list[tuple[str, str]]]:
    text = FILE.replace("SWEEP", sweep).replace("FLOWS", flows)
    experiment, found = load(Source("file.fexp", text))
    return experiment, [(d.code, d.span.text if d.span else "") for d in found]


def made(flows: str, sweep: str = N) -> list[list[tuple[object, ...]]]:
    """Return transport, CCA, connections and start [s] of each flow of each configuration."""
    experiment, found = checked(flows, sweep)
    assert experiment is not None, found
    return [
        [(f.transport, f.cca, f.connections, (f.start_ns or 0) / 1e9) for f in c.scenario.flows]
        for c in experiment.configurations()
    ]


def test_the_keys_of_a_flow_replace_those_of_its_service() -> None:
    (flows,) = made("flow a = film  flow b = film { cca = cubic  start = 2s }  flow c = drive")
    assert flows == [("tcp", "reno", 1, 1.0), ("tcp", "cubic", 1, 2.0), ("quic", "bbr", 2, 0.0)]


def test_services_are_swept_and_paired() -> None:
    sweep = "sweep { (first, second) = pairs(film, drive)  n = [1, 2] }"
    found = made("flow a = first  flow b = second { start = 3s }", sweep)
    assert [tuple(cca for _, cca, _, _ in flows) for flows in found] == [
        ("reno", "reno"),
        ("reno", "reno"),
        ("reno", "bbr"),
        ("reno", "bbr"),
        ("bbr", "bbr"),
        ("bbr", "bbr"),
    ]
    seconds = [flows[1][2:] for flows in found]
    assert seconds == [(1, 3.0), (1, 3.0), (1, 3.0), (2, 3.0), (1, 3.0), (2, 3.0)]


def test_a_service_is_chosen_by_a_let_and_declared_in_the_experiment() -> None:
    text = FILE.replace("experiment e", "let what = drive\nexperiment e").replace("SWEEP", N)
    text = text.replace(
        "FLOWS", "service own { workload = file(1MB) }  flow a = what  flow b = own"
    )
    experiment, found = load(Source("file.fexp", text.replace("flow b = own", "flow b = own {}")))
    assert [d.code for d in found] == ["missing-key"] and experiment is None
    experiment, found = load(
        Source("file.fexp", text.replace("flow b = own", "flow b = own { cca = htcp }"))
    )
    assert experiment is not None
    assert [d.code for d in found] == ["unused-name"]  # film
    (configuration,) = experiment.configurations()
    assert [flow.cca for flow in configuration.scenario.flows] == ["bbr", "htcp"]


def test_what_is_wrong_with_services() -> None:
    assert checked("flow a = fillm")[1] == [("unknown-service", "fillm")]
    assert checked("flow a = file(1MB)")[1] == [("wrong-type", "file(1MB)")]
    assert checked("flow a = film { cca = renno }  flow b = drive")[1] == [("unknown-cca", "renno")]
    twice = "service film { workload = bulk }  flow a = film  flow b = drive"
    assert checked(twice)[1] == [("duplicate-service", "film")]


def test_a_transport_of_all_flows() -> None:
    (flows,) = made("hosts { over = quic }  flow a = film  flow b = film { over = tcp }", "")[:1]
    assert [flow[:2] for flow in flows] == [("quic", "reno"), ("tcp", "reno")]
    found = checked("hosts { over = quick }  flow a = film  flow b = drive")[1]
    assert found == [("unknown-transport", "quick")]


def test_a_service_that_another_experiment_uses_is_used() -> None:
    other = """
experiment other {
  topology = bottleneck(rate: 8Mbit/s, rtt: 50ms)
  flow a = film
  measure = [goodput]
}
"""
    text = FILE.replace("SWEEP", N).replace("FLOWS", "flow a = drive")
    for name in ("e", "other"):
        _, found = load(Source("file.fexp", text + other), name=name)
        assert [d.code for d in found] == []
    _, found = load(Source("file.fexp", text))
    assert [d.code for d in found] == ["unused-name"]
