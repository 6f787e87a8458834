"""Transports, CCAs with their parameters, and the options of flows."""

from __future__ import annotations

from fractions import Fraction

import pytest
from specs import experiment_of
from tables import rows

from fairc.cell.model import TransportOptions
from fairc.dsl import CompileError, Diagnostics, Source, load
from fairc.dsl.model import Distribution, Flow
from fairc.mechanisms.workloads.bulk.cell import BulkWorkload
from fairc.mechanisms.workloads.bulk.declaration import Bulk
from fairc.mechanisms.workloads.onoff.cell import OnOffWorkload
from fairc.mechanisms.workloads.onoff.declaration import OnOff
from fairc.mechanisms.workloads.requests.cell import RequestsWorkload
from fairc.mechanisms.workloads.requests.declaration import Requests
from fairc.mechanisms.workloads.video.cell import VideoWorkload
from fairc.mechanisms.workloads.video.declaration import Video

NS = 10**9

TEXT = """fexp 1
experiment e {{
  topology = access(rate: 1Mbit/s, rtt: 50ms, queue: fifo(20kB))
  users one {{ count = 1 }}
  users two {{ count = 2 }}
  {hosts}
  {flows}
  duration = 60s
  measure = [goodput]
}}
"""


def check(flows: str, hosts: str = "") -> Diagnostics:
    """Return what is found in an experiment with these flows."""
    _, found = load(Source("t.fexp", TEXT.format(flows=flows, hosts=hosts)))
    return Diagnostics(d for d in found if d.code != "unused-name")


def build(flows: str, hosts: str = "") -> tuple[Flow, ...]:
    """Return the flows of the only configuration."""
    experiment = experiment_of(TEXT.format(flows=flows, hosts=hosts))
    return next(experiment.configurations()).scenario.flows


def one(settings: str, hosts: str = "") -> Flow:
    """Return the only flow, which has these settings and moves a file."""
    (flow,) = build(f"flow f {{ {settings}  workload = file(1MB) }}", hosts)
    return flow


@pytest.mark.parametrize(
    ("settings", "transport", "cca", "parameters"),
    [
        ("cca = cubic", "tcp", "cubic", {}),
        ("cca = cubic(hystart: off)", "tcp", "cubic", {"hystart": 0}),
        (
            "over = tcp  cca = cdg(use_shadow: off, backoff_beta: 512)",
            "tcp",
            "cdg",
            {"use_shadow": False, "backoff_beta": 512},
        ),
        ("cca = hybla(rtt0: 40ms)", "tcp", "hybla", {"rtt0": 40}),
        ("over = quic  cca = reno", "quic", "reno", {"beta": 0.5}),
        ("over = quic(stack: quinn)  cca = reno(beta: 0.7)", "quic", "reno", {"beta": 0.7}),
        (
            "over = quic  cca = cubic(connections: 5)",
            "quic",
            "cubic",
            {"connections": 5, "beta": 0.7, "c": 0.4, "hystart": False},
        ),
        (
            "over = quic  cca = reno(slow_start: hystartpp)",
            "quic",
            "reno",
            {"beta": 0.5, "slow_start": "hystartpp"},
        ),
    ],
)
def test_transport_and_cca(
    settings: str, transport: str, cca: str, parameters: dict[str, object]
) -> None:
    flow = one(settings)
    assert (flow.transport, flow.cca, dict(flow.cca_parameters)) == (transport, cca, parameters)
    assert {k: type(v) for k, v in flow.cca_parameters.items()} == {
        k: type(v) for k, v in parameters.items()
    }


WRONG_CONTROL = """
over = quic  cca = cubic(tcp_friendliness: off) | impossible-pair | tcp_friendliness
over = quic | missing-key | f
over = udp  cca = cubic  rate = 1Mbit/s | impossible-pair | cubic
over = udp | missing-key | f
over = udp  rate = 1Mbit/s  ecn = on | impossible-pair | on
over = quic  cca = reno  pacing = off | impossible-pair | off
over = quic  cca = reno  fast_open = on | impossible-pair | on
over = quic  cca = cubic(max_window: 5pkt) | out-of-range | cubic(max_window: 5pkt)
cca = cubic  window = 100B | out-of-range | 100B
over = quic  cca = cubic(connections: 0) | out-of-range | 0
over = quic  cca = cubic(connections: 1.5) | out-of-range | 1.5
over = quic  cca = cubic(beta: 1) | out-of-range | 1
over = quic  cca = cubic(max_window: 64kB) | wrong-dimension | 64kB
over = quic  cca = reno(slow_start: hystart) | unknown-word | hystart
over = quic  cca = reno(slow_start: on) | unknown-word | on
over = quic  cca = cubic(hystart: on, slow_start: hystartpp) | conflicting-parameters | cubic(hystart: on, slow_start: hystartpp)
cca = hybla(rtt0: 25) | missing-unit | 25
cca = cubic(hystart: 1) | wrong-type | 1
cca = cubic  initial_window = 0pkt | out-of-range | 0pkt
cca = cubic  initial_window = 2.5pkt | out-of-range | 2.5pkt
cca = cubic  initial_window = 10 | missing-unit | 10
cca = cubic  ecn = maybe | unknown-word | maybe
"""


@pytest.mark.parametrize(("settings", "code", "place"), rows(WRONG_CONTROL))
def test_wrong_control(settings: str, code: str, place: str) -> None:
    found = [d for d in check(f"flow f {{ {settings}  workload = file(1MB) }}") if d.span]
    assert [(d.code, d.span.text) for d in found if d.span and d.code != "not-yet"] == [
        (code, place)
    ]


def test_options_are_those_of_the_flow_then_of_the_hosts_then_defaults() -> None:
    assert one("cca = cubic").options == TransportOptions()
    hosts = "hosts { ecn = on  sack = off  initial_window = 4pkt  send_buffer = 100kB }"
    shared = one("cca = cubic", hosts)
    assert shared.options == TransportOptions(ecn=True, sack=False, initial_window_packets=4)
    own = one("cca = cubic  ecn = off  initial_window = 2pkt", hosts)
    assert own.options == TransportOptions(sack=False, initial_window_packets=2)
    assert shared.send_buffer_bytes == own.send_buffer_bytes == 100_000


def test_what_a_transport_has_no_choice_in_is_what_it_is() -> None:
    assert one("cca = bbr").options.pacing
    assert one("cca = bbr", "hosts { sack = off }").options.pacing
    quic = one("over = quic  cca = cubic", "hosts { sack = off  ecn = on }").options
    assert (quic.sack, quic.pacing, quic.ecn) == (True, True, True)


def flow(name: str, settings: str) -> str:
    return f"flow {name} {{ {settings}  workload = file(1MB) }}\n"


@pytest.mark.parametrize(
    ("a", "b", "codes"),
    [
        ("cca = cubic(hystart: on)", "cca = cubic", []),
        ("cca = cubic(hystart: off)", "cca = cubic(hystart: off)", []),
        ("cca = cubic(hystart: off)", "over = quic  cca = cubic", []),
        (
            "users = one  cca = cubic(hystart: off)",
            "users = two  cca = cubic",
            ["conflicting-parameters"],
        ),
        ("cca = cubic  ecn = on", "cca = bbr", []),
        ("cca = cubic  ecn = on", "over = quic  cca = cubic", []),
        ("cca = cubic  ecn = accurate", "cca = bbr  ecn = on", ["conflicting-options"]),
        ("cca = cubic  ecn = accurate", "over = quic  cca = cubic", []),
        ("cca = cubic  ecn = accurate", "from = client  to = server  cca = cubic", []),
        ("users = one  cca = cubic  ecn = accurate", "users = two  cca = cubic", []),
        (
            "users = two  cca = cubic  sack = off",
            "users = two  cca = bbr",
            ["conflicting-options"] * 2,
        ),
        ("cca = cubic  initial_window = 4pkt", "cca = bbr", []),
    ],
)
def test_what_flows_share(a: str, b: str, codes: list[str]) -> None:
    assert [d.code for d in check(flow("a", a) + flow("b", b))] == codes


def test_a_swept_parameter_conflicts_in_its_configurations_only() -> None:
    text = TEXT.format(flows=flow("a", "cca = c") + flow("b", "cca = d"), hosts="")
    swept = "  sweep { (c, d) = [(cubic, bbr), (cubic(hystart: off), cubic)] }\n"
    experiment, found = load(Source("t.fexp", text.replace("  topology", swept + "  topology")))
    assert [d.code for d in found if d.code != "unused-name"] == ["conflicting-parameters"]
    assert experiment is None


def test_a_swept_name_may_be_used_in_hosts_alone() -> None:
    text = TEXT.format(flows=flow("a", "cca = cubic"), hosts="hosts { initial_window = w }")
    swept = "  sweep { w = [4pkt, 10pkt] }\n"
    experiment, found = load(Source("t.fexp", text.replace("  topology", swept + "  topology")))
    assert experiment is not None
    assert [d.message for d in found if "`w`" in d.message] == []
    windows = [
        c.scenario.flows[0].options.initial_window_packets for c in experiment.configurations()
    ]
    assert windows == [4, 10]


def test_what_is_wrong_in_hosts_is_said_once() -> None:
    found = check(flow("a", "cca = cubic") + flow("b", "cca = bbr"), "hosts { initial_window = 5 }")
    assert [d.code for d in found] == ["missing-unit"]
    with pytest.raises(CompileError):
        found.raise_if_errors()


def test_video_has_the_defaults_of_the_model() -> None:
    (made,) = build("flow f { cca = cubic  workload = video(bitrate: 1128kbit/s, length: 300s) }")
    video = made.workload
    assert video == Video(
        VideoWorkload(
            bitrate_bps=1_128_000,
            length_ns=300 * NS,
            burst_ns=40 * NS,
            chunk_bytes=65_536,
            factor=1.25,
            play_ns=2_200_000_000,
            stall_ns=400_000_000,
            send_buffer_bytes=2_000_000,
        )
    )
    assert isinstance(video, Video) and video.part.total_bytes(1) == 42_300_000


def test_random_workloads_are_in_seconds_and_bytes() -> None:
    requests, onoff = build(
        "flow r { cca = cubic  workload = requests(size: pareto(15kB, 1.5), every: 100ms) }"
        "flow o { over = udp  workload = onoff(rate: 4Mbit/s, on: exponential(0.12s), off: 0s) }"
    )
    size = Distribution("pareto", {"mean": Fraction(15_000), "shape": Fraction(3, 2)})
    every = Distribution("constant", {"value": Fraction(1, 10)})
    asked = RequestsWorkload(size=size.lowered(), every=every.lowered(), seed=0)
    assert requests.workload == Requests(asked, size, every)
    on = Distribution("exponential", {"mean": Fraction(12, 100)})
    off = Distribution("constant", {"value": Fraction(0)})
    sent = OnOffWorkload(
        rate_bps=4_000_000, on=on.lowered(), off=off.lowered(), packet_bytes=1500, seed=0
    )
    assert onoff.workload == OnOff(sent, on, off, None)
    assert (onoff.transport, onoff.cca) == ("udp", None)


@pytest.mark.parametrize("hosts", ["", "hosts { over = quic }"])
def test_a_workload_that_runs_only_over_udp_needs_no_transport(hosts: str) -> None:
    (ping,) = build("flow p { workload = ping(every: 20ms) }", hosts)
    assert (ping.transport, ping.cca) == ("udp", None)
    (found,) = check("flow p { over = tcp  cca = cubic  workload = ping(every: 20ms) }", hosts)
    assert found.code == "impossible-pair"


def test_a_window_is_written_in_either_place() -> None:
    (bulk,) = build("flow f { cca = cubic  workload = bulk(window: 64KiB) }")
    (key,) = build("flow f { cca = cubic  window = 64KiB  workload = bulk }")
    assert bulk.options == key.options == TransportOptions(receive_window_bytes=65_536)
    assert bulk.workload == key.workload == Bulk(BulkWorkload())


WRONG_WORKLOADS = """
cca = cubic  window = 64KiB  workload = bulk(window: 9kB) | duplicate-key | 64KiB
over = udp  rate = 1Mbit/s  workload = video(1Mbit/s, 9s) | impossible-pair | video(1Mbit/s, 9s)
cca = cubic  workload = ping(every: 20ms) | impossible-pair | ping(every: 20ms)
over = udp  workload = ping(every: 20us) | out-of-range | 20us
over = udp  workload = ping(every: 20ms, packet: 20B) | out-of-range | 20B
over = udp  rate = 1Mbit/s  workload = ping(every: 20ms) | duplicate-key | 1Mbit/s
over = udp  workload = ping() | missing-argument | ping()
cca = cubic  workload = bulk(packet: 200B) | impossible-pair | workload = bulk(packet: 200B)
over = udp  workload = bulk(packet: 200B) | missing-key | f
over = udp  rate = 1Mbit/s  workload = onoff(1Mbit/s, 1s, 1s) | duplicate-key | 1Mbit/s
cca = cubic  workload = video(1Mbit/s, 9s, stall: 3s) | out-of-range | 3s
cca = cubic  workload = requests(1kB, 1ns) | out-of-range | 1ns
cca = cubic  workload = onoff(1Mbit/s, exponential(0s), 1s) | out-of-range | exponential(0s)
cca = cubic  workload = onoff(1Mbit/s, 1s, 1s, packet: 9001B) | out-of-range | 9001B
"""


@pytest.mark.parametrize(("flow", "code", "place"), rows(WRONG_WORKLOADS))
def test_wrong_workloads(flow: str, code: str, place: str) -> None:
    found = [d for d in check(f"flow f {{ {flow} }}") if d.span]
    assert [(d.code, d.span.text) for d in found if d.span] == [(code, place)]


@pytest.mark.parametrize(
    ("workload", "endless"),
    [
        ("file(1MB)", False),
        ("video(1Mbit/s, 9s)", False),
        ("requests(1kB, 1s)", True),
        ("onoff(1Mbit/s, 1s, 1s)", True),
    ],
)
def test_what_goes_on_for_ever_needs_an_end(workload: str, endless: bool) -> None:
    text = TEXT.format(flows=f"flow f {{ cca = cubic  workload = {workload} }}", hosts="")
    _, found = load(Source("t.fexp", text.replace("  duration = 60s\n", "")))
    assert [d.code for d in found if d.code != "unused-name"] == ["endless"] * endless


@pytest.mark.parametrize("hosts", ["", "hosts { send_buffer = 1MB }"])
def test_send_buffers_are_the_kernels_over_mptcp(hosts: str) -> None:
    flow = "flow f { over = mptcp  cca = cubic  workload = bulk }"
    said = [d.message for d in check(flow, hosts) if d.code == "impossible-pair"]
    assert said == (["`send_buffer` is not available over MPTCP"] if hosts else [])
