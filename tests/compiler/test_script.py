"""The emitted Mininet program: golden files, and what holds for every one of them."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from documents import constants
from specs import compilation_of, only_cell_of

from fairc.cell.expansion import mac_address
from fairc.compiler import Cell, compile, plan
from fairc.compiler.plan import cell_json
from fairc.compiler.targets import containers, mininet
from fairc.compiler.targets.mininet import render
from fairc.compiler.targets.rendering import comment
from fairc.dsl import load
from fairc.dsl.core.source import Source

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
TEMPLATES = Path(mininet.__file__).parent / "templates"
SPECS = {
    "quickstart": ROOT / "examples/quickstart.fexp",
    "custom": GOLDEN / "custom.fexp",
    "pages": GOLDEN / "pages.fexp",
    "iperf3": GOLDEN / "iperf3.fexp",
}


WRITERS: dict[str, Callable[[Cell], str]] = {
    "cell.json": lambda cell: (
        json.dumps(json.loads(cell_json(cell)), indent=1, ensure_ascii=False) + "\n"
    ),
    "mininet.py": render,
    "containers.py": lambda cell: containers.render(cell, containers.describe(cell)),
    "compose.yaml": lambda cell: containers.render_compose(
        cell, containers.describe(cell), f"{containers.REPOSITORY}:0123456789ab"
    ),
}


def compiled(name: str) -> list[Cell]:
    """Compile a file under its bare name, so that golden files hold no path."""
    path = SPECS[name]
    loaded, diagnostics = load(Source(path.name, path.read_text()))
    assert loaded is not None, [d.message for d in diagnostics]
    return list(compile(loaded).cells())


POLICED = """
  topology = access(rate: 10Mbit/s, rtt: 100ms, policer: conex(rate: 15pkt/s, depth: 45pkt))
  users heavy { count = 1 }
  flow f { users = heavy  cca = reno  workload = bulk }
  duration = 1s
  measure = [goodput]
"""


@pytest.mark.parametrize("name", [*SPECS, "policed"])
def test_what_is_emitted_makes_the_values_that_it_names(name: str, tmp_path: Path) -> None:
    """The program is imported, not run: every class takes the arguments that are written."""
    if name == "policed":
        cell = only_cell_of(f"fexp 1\nexperiment policed {{{POLICED}}}")
    else:
        cell = compiled(name)[0]
    program = tmp_path / "experiment.py"
    program.write_text(containers.render(cell, containers.describe(cell)))
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['CELL'].id)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (cell.id, "")


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("kind", WRITERS)
def test_golden(name: str, kind: str, update: bool) -> None:
    """The first cell of each file, as a plan has it and as targets write it."""
    got = WRITERS[kind](compiled(name)[0])
    path = GOLDEN / f"{name}.{kind}"
    if update:
        path.write_text(got)
    assert got == path.read_text()


def test_the_exclude_of_the_custom_file() -> None:
    cells = compiled("custom")
    assert [(c.bindings["long"], c.repetition) for c in cells] == [
        ("cubic", 1),
        ("bbr", 1),
        ("cubic", 2),
        ("bbr", 2),
        ("cubic", 3),
        ("cubic", 4),
        ("cubic", 5),
    ]


def test_the_templates_hold_no_program() -> None:
    """What runs a cell is `cell/`, which linters see."""
    lines = [path.read_text().splitlines() for path in TEMPLATES.glob("*.py.j2")]
    assert len(lines) == 2 and sum(map(len, lines)) <= 200
    for path in TEMPLATES.glob("*.py.j2"):
        for words in re.findall(r"\{\{(.*?)\}\}", path.read_text()):
            assert re.fullmatch(r" \w+( \| comment)? ", words), (path.name, words)


@pytest.mark.parametrize("name", SPECS)
def test_a_program_is_what_a_researcher_would_write(name: str) -> None:
    """Short lines, no JSON in strings, nothing empty, nothing that follows from the rest."""
    for text in (render(compiled(name)[0]), WRITERS["containers.py"](compiled(name)[0])):
        assert max(map(len, text.splitlines())) <= 100
        assert '{"' not in text or name != "quickstart"
        assert not re.search(r"\[\],|\{\},", text.replace("quic_parameters={},", ""))
        assert "02:00:" not in text
        assert "net.ipv4" not in text


def test_the_quickstart_fits_on_three_screens() -> None:
    assert len(render(compiled("quickstart")[0]).splitlines()) <= 165


def test_every_program_parses_and_needs_nothing_of_fairc() -> None:
    for name in SPECS:
        tree = ast.parse(render(compiled(name)[0]))
        imported = {
            (node.module or "").split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
        assert imported == {"cell"}


def test_queues_and_losses_as_tc_takes_them(make: SimpleNamespace) -> None:
    cell = make.cell(make.quickstart(loss=0.001, queue=make.size(11_250, "B")))
    found = constants(cell)
    tc = found["TC"]
    rate = "htb rate 1000000bit ceil 1000000bit burst 12 cburst 12 quantum 1514"
    assert tc["r1"][-3:] == [
        "qdisc add dev r1-eth2 root handle 1: htb default 1",
        f"class add dev r1-eth2 parent 1: classid 1:1 {rate}",
        "qdisc add dev r1-eth2 parent 1:1 handle 2: bfifo limit 11250",
    ]
    (stream,) = found["SEEDS"]
    assert stream[:2] == ("r1-r2", "r1-r2-eth1")
    loss = f"loss random 0.1% rate 1000000bit seed {stream[2]}"
    assert tc["r1-r2"] == [
        "qdisc add dev r1-r2-eth0 root handle 1: netem limit 1000 delay 25ms rate 1000000bit",
        f"qdisc add dev r1-r2-eth1 root handle 1: netem limit 1000 delay 25ms {loss}",
    ]


@pytest.mark.parametrize(
    ("delay_ms", "loss", "words"),
    [
        (0, 0.5, "loss random 50%"),
        (0.0005, 0, "delay 500ns"),
        (1.5, 1e-7, "delay 1500us loss random 0.00001%"),
    ],
)
def test_netem_words_are_exact(
    make: SimpleNamespace, delay_ms: float, loss: float, words: str
) -> None:
    way = make.way(1_000_000, delay_ms, loss)
    made = make.scenario(
        make.network(["s1", "c1"], [], [make.link("s1", "c1", way)]), [make.flow("f")]
    )
    assert f"netem limit 1000 {words}" in str(constants(make.cell(made))["TC"])


def found_options(**options: object) -> dict[str, object]:
    """Return the options of a flow that asks for nothing else."""
    usual = asdict(plan.TransportOptions())
    del usual["accurate_ecn"]  # which is the kernel's alone
    return usual | options


def test_what_the_endpoints_are_told(make: SimpleNamespace) -> None:
    flows = [make.flow("f", start_ns=7, stop_ns=9 * 10**9, connections=3)]
    made = make.scenario(make.dumbbell(), flows, duration_ns=5 * 10**9)
    found = constants(make.cell(made))
    ((name, node, role, description),) = found["CLIENTS"]
    assert (name, node, role) == ("f.client", "c1", "tcp-client")
    assert json.loads(description) == {
        "flow": "f",
        "address": "10.0.0.1",
        "port": 5001,
        "connections": 3,
        "buffer_bytes": 262_144,
        "workload": {"kind": "file", "bytes": 10_000_000},
        "options": found_options(),
        "starts_ns": [7, 7, 7],
        "stop_ns": 5 * 10**9,  # the cell is over before the flow's own stop
        "progress_every_ns": 100_000_000,
    }
    ((name, node, role, description),) = found["SERVERS"]
    assert (name, node, role) == ("f.server", "s1", "tcp-server")
    assert json.loads(description)["cca"] == "cubic"


def test_strange_texts_cannot_leave_a_comment_or_a_string(make: SimpleNamespace) -> None:
    cell = make.cell(make.quickstart())
    evil = "x\nimport os; os.abort()  # '\"\\"
    flow = replace(cell.flows[0], source=evil, cca=evil)
    strange = replace(cell, experiment=evil, bindings={evil: evil}, flows=(flow,))
    text = render(strange)
    plain = render(replace(cell, flows=cell.flows[:1], bindings={"a": "b"}))
    assert text.count("\n") == plain.count("\n")
    assert not any(isinstance(node, ast.Expr) for node in ast.parse(text).body[1:-1])
    assert comment(evil).isprintable()


def test_mac_addresses_tell_the_address() -> None:
    assert mac_address("10.0.1.255/30") == "02:00:0a:00:01:ff"


QUIC = """fexp 1
experiment e {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(20kB))
  flow tcp  { cca = cubic(hystart: off, hystart_detect: 1)  count = 2  workload = file(1MB) }
  flow quic { over = quic(qlog: on)  cca = cubic(connections: 2)  workload = file(1MB) }
  hosts { initial_window = 4pkt  ecn = on  sack = off  receive_buffer = 100kB }
  measure = [goodput]
}
"""


def cell_of(text: str) -> Cell:
    """Return the only cell of an experiment."""
    return only_cell_of(text, "t.fexp")


def test_what_quic_is_told() -> None:
    found = constants(cell_of(QUIC))
    name, node, role, description = found["SERVERS"][1]
    assert (name, node, role) == ("quic.server", "server", "quic-server")
    options = {
        "initial_window_packets": 4,
        "receive_window_bytes": None,
        "ecn": True,
        "sack": True,
        "pacing": True,
        "fast_open": False,
    }
    common = {
        "flow": "quic",
        "address": "10.0.0.1",
        "port": 5002,
        "connections": 1,
        "workload": {"kind": "file", "bytes": 1_000_000},
        "options": options,
        "idle_timeout_ns": None,
    }
    told = json.loads(description)
    starts_ns = told.pop("starts_ns")
    parameters = {
        "connections": 2,
        "beta": 0.7,
        "c": 0.4,
        "hystart": False,
    }
    assert told == common | {
        "buffer_bytes": 262_144,
        "cca": {"name": "cubic", "parameters": parameters},
        "rate_bps": None,
        "sample_every_ns": 100_000_000,
        "qlog": True,
        "certificate_expires_ns": None,
    }
    name, node, role, description = found["CLIENTS"][1]
    assert (name, node, role) == ("quic.client", "client", "quic-client")
    assert json.loads(description) == common | {
        "buffer_bytes": 100_000,
        "starts_ns": starts_ns,
        "stop_ns": None,
        "progress_every_ns": 100_000_000,
    }


def test_what_the_kernel_is_told_for_tcp() -> None:
    found = constants(cell_of(QUIC))
    assert found["MODULES"] == [("tcp_cubic", "hystart", "0"), ("tcp_cubic", "hystart_detect", "1")]
    for host in ("server", "client"):
        assert found["SYSCTL"][host]["net.ipv4.tcp_ecn"] == "1"
        assert found["SYSCTL"][host]["net.ipv4.tcp_sack"] == "0"
    route = found["IP"]["server"][-1]
    assert route == "route add 10.0.0.6/32 via 10.0.0.2 table 101 initcwnd 4"
    assert "rule add iif lo ipproto tcp sport 5001 lookup 101" in found["IP"]["server"]
    assert "initcwnd" not in "".join(found["IP"]["client"])
    plain = constants(cell_of(QUIC.replace("hosts {", "hosts { } # {")))
    assert plain["SYSCTL"]["server"]["net.ipv4.tcp_ecn"] == "2"
    assert "net.ipv4.tcp_sack" not in plain["SYSCTL"]["server"]
    assert "initcwnd" not in str(plain["IP"])


def test_the_initial_window_of_a_neighbour_and_of_one_of_several_clients() -> None:
    text = """fexp 1
    experiment e {
      topology {
        node s, near, far
        router r
        link s -- near { rate = 1Mbit/s }
        link s -- r, r -- far { rate = 1Mbit/s }
      }
      flow a { from = s  to = near  cca = reno  initial_window = 2pkt  workload = file(1MB) }
      flow b { from = s  to = far   cca = reno  initial_window = 3pkt  workload = file(1MB) }
      measure = [goodput]
    }
    """
    lines = constants(cell_of(text))["IP"]["s"]
    assert lines[-2:] == [
        "route add 10.0.0.2/32 dev s-eth0 table 101 initcwnd 2",
        "route add 10.0.0.10/32 via 10.0.0.6 table 102 initcwnd 3",
    ]


def test_what_udp_is_told_and_that_each_connection_has_a_port() -> None:
    text = """fexp 1
    experiment e {
      topology = bottleneck(rate: 10Mbit/s, rtt: 50ms)
      flow noise { over = udp  count = 3  workload = onoff(rate: 1Mbit/s, on: exponential(2s), off: 1s) }
      flow more  { over = udp  rate = 2Mbit/s  workload = bulk  stop = 5s }
      flow tcp   { cca = reno  rate = 3Mbit/s  fast_open = on  window = 64KiB  workload = bulk }
      duration = 20s
      measure = [goodput]
    }
    """
    cell = cell_of(text)
    found = constants(cell)
    assert [flow.port for flow in cell.flows] == [5001, 5004, 5005]
    seed = json.loads(found["SERVERS"][0][3])["workload"].pop("seed")
    noise = {
        "kind": "onoff",
        "rate_bps": 1_000_000,
        "on": {"kind": "exponential", "parameters": {"mean": 2.0}},
        "off": {"kind": "constant", "parameters": {"value": 1.0}},
        "packet_bytes": 1500,
        "seed": seed,
    }
    common = {
        "flow": "noise",
        "address": "10.0.0.1",
        "peer": "10.0.0.6",
        "port": 5001,
        "connections": 3,
        "workload": noise,
        "options": found_options(sack=False),
        "rate_bps": None,
        "starts_ns": list(cell.flows[0].starts_ns),
        "stop_ns": 20 * 10**9,
    }
    assert found["SERVERS"][0][2] == "udp-server" and found["CLIENTS"][0][2] == "udp-client"
    assert json.loads(found["SERVERS"][0][3]) == common
    assert json.loads(found["CLIENTS"][0][3]) == common | {"progress_every_ns": 100_000_000}
    assert json.loads(found["SERVERS"][1][3])["rate_bps"] == 2_000_000
    assert json.loads(found["SERVERS"][1][3])["stop_ns"] == 5 * 10**9
    tcp = json.loads(found["SERVERS"][2][3])
    assert tcp["rate_bps"] == 3_000_000
    assert tcp["options"] == found_options(fast_open=True, receive_window_bytes=65_536)
    assert found["SYSCTL"]["client"]["net.ipv4.tcp_fastopen"] == str(0x207)


def test_equal_workloads_of_two_flows_and_repetitions_draw_different_numbers() -> None:
    text = """fexp 1
    experiment e {
      topology = bottleneck(rate: 10Mbit/s, rtt: 50ms)
      flow a { over = udp  workload = onoff(1Mbit/s, exponential(2s), 1s) }
      flow b { over = udp  workload = onoff(1Mbit/s, exponential(2s), 1s) }
      duration = 20s
      repeat = 2
      measure = [goodput]
    }
    """
    made = compilation_of(text, "t.fexp")
    workloads = [flow.workload for cell in made.cells() for flow in cell.flows]
    seeds = {w.seed for w in workloads if isinstance(w, plan.OnOffWorkload)}
    assert len(workloads) == len(seeds) == 4
    assert any("requests" in words for words in made.plan.varied)
