"""iperf3 in a plan: its commands, when they are started, and what no path can have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from documents import constants
from specs import experiment_of
from tables import rows

from fairc import dsl
from fairc.cell.expansion import expand
from fairc.cell.hosts import window_bytes
from fairc.compiler import Cell, compile
from fairc.compiler.targets import containers, runner
from fairc.dsl.experiment import Experiment
from fairc.mechanisms.workloads.iperf3.cell import Iperf3Workload
from fairc.runtime.engines import guest_job
from fairc.runtime.vm import recipe

MS = 10**6


def compiled(flows: str, link: str = "rate: 10Mbit/s, rtt: 40ms", more: str = "") -> Cell:
    (cell,) = compile(experiment(flows, link, more)).cells()
    return cell


def experiment(flows: str, link: str = "rate: 10Mbit/s, rtt: 40ms", more: str = "") -> Experiment:
    text = f"""fexp 1
experiment e {{
  topology = bottleneck({link}, queue: fifo(50pkt))
  {flows}
  {more}
  measure = [goodput]
}}
"""
    return experiment_of(text)


def codes(made: Experiment) -> list[str]:
    """Return what the compiler says of an experiment."""
    try:
        compilation = compile(made)
        list(compilation.cells())
    except dsl.CompileError as error:
        return [problem.code for problem in error.diagnostics]
    return [problem.code for problem in compilation.diagnostics]


# At 10 Mbit/s of IP 1448 of 1500 bytes are 9,653,333 bit/s; at 1 Mbit/s, 972 of 1000 are 972,000.
COMMANDS = """
cca = cubic  start = 1s  workload = iperf3(time: 15s)
    | server | client | --client 10.0.0.1 --reverse --congestion cubic --length 4096 --time 15
cca = cubic  start = 1s  from = client  to = server  workload = iperf3(time: 15s)
    | client | server | --client 10.0.0.6 --reverse --congestion cubic --length 4096 --time 15
cca = reno  start = 1s  rate = 10Mbit/s  count = 3  workload = iperf3(time: 2s, reverse: off)
    | client | server | --client 10.0.0.6 --congestion reno --length 4096 --fq-rate 9653333 --parallel 3
    --time 2
cca = reno  start = 1s  workload = iperf3(bytes: 1MiB, window: 64KiB)
    | server | client | --client 10.0.0.1 --reverse --congestion reno --length 4096 --window 65536
    --bytes 1048576
over = udp  start = 1s  rate = 1Mbit/s  workload = iperf3(time: 2s, packet: 1000B)
    | server | client | --client 10.0.0.1 --reverse --udp --bitrate 972000 --length 972 --time 2
cca = reno  start = 1s  stop = 3s  workload = iperf3
    | server | client | --client 10.0.0.1 --reverse --congestion reno --length 4096 --time 0
"""


@pytest.mark.parametrize(("flow", "listens", "asks", "arguments"), rows(COMMANDS))
def test_commands(flow: str, listens: str, asks: str, arguments: str) -> None:
    made = expand(compiled(f"flow a {{ {flow} }}"))
    both = "--version4 --port 5001 --interval 0.1 --json"
    (listening,), (asking,) = made["servers"], made["clients"]
    assert (listening["node"], " ".join(listening["description"]["command"])) == (
        listens,
        f"iperf3 --server --one-off {both}",
    )
    assert (asking["node"], " ".join(asking["description"]["command"])) == (
        asks,
        f"iperf3 {arguments} --connect-timeout 30000 {both}",
    )


@pytest.mark.parametrize(
    ("flow", "rtts"),
    [
        ("cca = reno  workload = iperf3(time: 1s)", 3),
        ("cca = reno  count = 4  workload = iperf3(time: 1s)", 6),
        ("cca = reno  workload = iperf3(time: 1s, reverse: off)", 3),
        ("over = udp  rate = 1Mbit/s  workload = iperf3(time: 1s)", 3.5),
        ("over = udp  rate = 1Mbit/s  workload = iperf3(time: 1s, reverse: off)", 4),
    ],
)
def test_a_client_is_started_before_its_flow_by_its_handshake(flow: str, rtts: float) -> None:
    cell = compiled(f"flow a {{ start = 2s  {flow} }}")
    workload = cell.flows[0].workload
    assert isinstance(workload, Iperf3Workload)
    assert workload.begin_ns(cell.flows[0]) == 2000 * MS - 6 * MS - rtts * 40 * MS
    early = compiled(f"flow a {{ start = 0s  {flow} }}")
    least_ns, lead_ns = (expand(each)["lead_ns"] for each in (cell, early))
    assert lead_ns - least_ns == 6 * MS + rtts * 40 * MS


def test_no_word_of_a_plan_becomes_an_option() -> None:
    cell = compiled("flow a { cca = reno  start = 0s  workload = iperf3(time: 1s) }")
    hostile = replace(cell.flows[0], cca="reno --logfile /tmp/x; id")
    with pytest.raises(ValueError, match="one word"):
        expand(replace(cell, flows=(hostile,)))


@pytest.mark.parametrize(
    ("flow", "expected"),
    [
        ("over = udp  rate = 1Mbit/s  workload = iperf3(bytes: 147200B, reverse: off)", []),
        (
            "over = udp  rate = 1Mbit/s  workload = iperf3(bytes: 147201B, reverse: off)",
            ["inexact-iperf3"],
        ),
        (
            "over = udp  rate = 1Mbit/s  workload = iperf3(time: 1s, packet: 1501B)",
            ["packet-above-mtu"],
        ),
    ],
)
def test_datagrams_fit_the_path_and_the_size(flow: str, expected: list[str]) -> None:
    assert codes(experiment(f"flow a {{ {flow} }}")) == expected


def test_a_proxy_would_split_its_control_connection() -> None:
    text = """fexp 1
experiment e {
  topology = geo(pep: split(cca: bbr))
  flow a { cca = reno  workload = iperf3(time: 15s) }
  measure = [goodput]
}
"""
    made = experiment_of(text)
    assert codes(made) == ["iperf3-over-pep"]


def test_a_duration_that_cuts_it_off_is_told() -> None:
    made = experiment("flow a { cca = reno  workload = iperf3(time: 15s) }", more="duration = 10s")
    assert codes(made) == ["short-duration"]


def test_containers_cannot_raise_the_limit_of_buffers() -> None:
    small, large = (
        compiled(f"flow a {{ cca = reno  workload = iperf3(time: 1s, window: {size}) }}")
        for size in ("200kB", "300kB")
    )
    assert (window_bytes(small.flows), window_bytes(large.flows)) == (0, 300_000)
    assert list(containers.obstacles(small)) == []
    (obstacle,) = containers.obstacles(large)
    assert obstacle.code == "not-in-containers"


def test_its_receiver_begins_with_a_buffer_for_all_that_waits() -> None:
    """As the endpoints' own, which set it themselves; the kernel keeps twice as much."""
    cell = compiled("flow a { cca = reno  workload = iperf3(time: 1s) }")
    sysctl = constants(cell)["SYSCTL"]
    assert (
        sysctl["client"]["net.ipv4.tcp_rmem"] == f"4096 {2 * cell.flows[0].waiting_bytes} 6291456"
    )
    # Its window scale would be coarse for flows that it does not receive.
    assert sysctl["server"]["net.ipv4.tcp_rmem"].split()[1] == "131072"


def test_the_fast_engine_runs_it_where_system_calls_take_time() -> None:
    flow = "flow a { cca = reno  workload = iperf3(time: 1s) }"
    assert compile(experiment(flow)).plan.engine == "uml"
    assert guest_job.default_cost_ns(compiled(flow), recipe.UML) == 1000
    other = compiled("flow a { cca = reno  workload = file(1MB) }")
    assert guest_job.default_cost_ns(other, recipe.UML) == 0


def test_its_companion_is_where_every_engine_has_it() -> None:
    """The virtual machine's snapshot has no agents of mechanisms."""
    made = expand(compiled("flow a { cca = reno  workload = iperf3(time: 1s) }"))
    for program in (*made["servers"], *made["clients"]):
        assert program["role"].replace(".", "/") + ".py" in runner.core()
