"""The emitted Mininet program: golden files, and what holds for every one of them."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import hostile
import pytest
from documents import constants
from specs import compilation_of, only_cell_of
from waiting import completed

from fairc.cell.expansion import mac_address
from fairc.compiler import Cell, plan
from fairc.compiler.plan import cell_json
from fairc.compiler.targets import containers, mininet, runner
from fairc.compiler.targets.mininet import render
from fairc.compiler.targets.rendering import comment
from fairc.mechanisms.workloads.onoff.cell import OnOffWorkload

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
TEMPLATES = Path(mininet.__file__).parent / "templates"
SPECS = {
    "quickstart": ROOT / "examples/quickstart.fexp",
    "custom": GOLDEN / "custom.fexp",
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
    return list(compilation_of(path.read_text(), path.name).cells())


POLICED = """
  topology = access(rate: 10Mbit/s, rtt: 100ms, policer: conex(rate: 15pkt/s, depth: 45pkt))
  users heavy { count = 1 }
  flow f { users = heavy  cca = reno  workload = bulk }
  duration = 1s
  measure = [goodput]
"""


def test_programs_for_containers_build_the_cell(tmp_path: Path) -> None:
    """They are imported, not run. They lack what only the report uses."""
    cells = {name: compiled(name)[0] for name in SPECS}
    cells["policed"] = only_cell_of(f"fexp 1\nexperiment policed {{{POLICED}}}")
    for name, cell in cells.items():
        program = containers.render(cell, containers.describe(cell))
        (tmp_path / f"{name}.py").write_text(program)
    runner.copy(tmp_path)
    code = "import runpy, sys\nfor path in sys.argv[1:]: print(runpy.run_path(path)['CELL'])"
    done = completed(
        [sys.executable, "-c", code, *(f"{name}.py" for name in cells)],
        cwd=tmp_path,  # where `cell` is
    )
    assert done.stderr == ""
    for name, cell, built in zip(cells, cells.values(), done.stdout.splitlines(), strict=True):
        expected = re.sub(r"(source|declared)='[^']*'", r"\1=''", str(cell))
        assert built == re.sub(r"users='[^']*'", "users=None", expected), name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (n, k)
        for n, k in product(SPECS, WRITERS)
        if (k != "mininet.py" if n == "quickstart" else k != "containers.py")
    ],
)
def test_golden(name: str, kind: str, update: bool) -> None:
    """The first cell of each file, as a plan has it and as targets write it.

    The layout of a program for containers is that of one file; what it builds is tested above. A
    program for one bottleneck in Mininet is on docs/learn/mininet.md (test_mininet_page.py).
    """
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


BLOCK = re.compile(r" (if \w+|for \w+(, \w+)* in \w+|endif|endfor) ")


def test_the_templates_hold_no_logic() -> None:
    paths = [*TEMPLATES.glob("*.py.j2")]
    assert {path.name for path in paths} >= {"mininet.py.j2", "containers.py.j2"}
    for path in paths:
        text = path.read_text()
        for words in re.findall(r"\{\{(.*?)\}\}", text):
            assert re.fullmatch(r" \w+( \| comment)? ", words), (path.name, words)
        for words in re.findall(r"\{%(.*?)%\}", text):
            assert BLOCK.fullmatch(words), (path.name, words)


@pytest.mark.parametrize("name", SPECS)
def test_a_program_is_what_a_researcher_would_write(name: str) -> None:
    """Short lines, but those of tc; no JSON in strings, nothing empty, nothing that follows from
    the rest.
    """
    for text in (render(compiled(name)[0]), WRITERS["containers.py"](compiled(name)[0])):
        lines = [line for line in text.splitlines() if not re.match(r' *"(tc|ip) ', line)]
        assert max(map(len, lines)) <= 100
        assert '{"' not in text.replace('= {"', "") or name != "quickstart" or "mininet" in text
        assert not re.search(r"\[\],|\{\},", text.replace('parameters": {},', "")) or (
            "quic_parameters={}," in text
        )
        assert "02:00:0" not in text


def test_the_quickstart_is_short_and_its_main_fits_on_a_screen() -> None:
    text = render(*compiled("quickstart"), filename="quickstart.py")
    assert len(text.splitlines()) <= 370
    assert len(text.partition("def main")[2].splitlines()) <= 25


def test_every_program_parses_and_needs_nothing_of_fairc() -> None:
    for name in SPECS:
        tree = ast.parse(render(compiled(name)[0]))
        imported = {
            (node.module or "").split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
        assert imported == {"cell", "mininet"}


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
    for of_kernel in ("accurate_ecn", "cca_needs_ecn", "cca_outgrows_receivers", "min_rto_ms"):
        del usual[of_kernel]
    for where_set in ("notsent_lowat_bytes", "discovers_mtu"):
        del usual[where_set]
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
        "buffer_bytes": 1 << 20,
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
    hostile.refuse_program(text, plain)
    assert comment(evil).isprintable()


def test_mac_addresses_tell_the_address() -> None:
    assert mac_address("10.0.1.255/30") == "02:00:0a:00:01:ff"


QUIC = """fexp 1
experiment e {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(20kB))
  flow tcp  { cca = cubic(hystart: off, hystart_detect: 1)  count = 2  workload = file(1MB) }
  flow quic { over = quic(qlog: on, idle_timeout: 2.5s)  cca = cubic(connections: 2)  workload = file(1MB) }
  hosts { initial_window = 4pkt  ecn = on  sack = off  receive_buffer = 100kB  idle_restart = off }
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
        "idle_restart": False,
    }
    common = {
        "flow": "quic",
        "address": "10.0.0.1",
        "port": 5002,
        "connections": 1,
        "workload": {"kind": "file", "bytes": 1_000_000},
        "options": options,
        "idle_timeout_ns": 2_500_000_000,
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
        "buffer_bytes": None,
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
        assert found["SYSCTL"][host]["net.ipv4.tcp_ecn"] == "2"
        assert found["SYSCTL"][host]["net.ipv4.tcp_sack"] == "0"
    key = "net.ipv4.tcp_slow_start_after_idle"
    assert found["SYSCTL"]["server"][key] == "0"
    assert key not in found["SYSCTL"]["client"]
    route = found["IP"]["server"][-1]
    assert route == "route add 10.0.0.6/32 via 10.0.0.2 table 101 initcwnd 4"
    assert "rule add iif lo ipproto tcp sport 5001 lookup 101" in found["IP"]["server"]
    assert "initcwnd" not in "".join(found["IP"]["client"])
    asked = "route add 10.0.0.1/32 via 10.0.0.5 table 101 features ecn"
    assert found["IP"]["client"][-1] == asked  # who opens a connection asks for ECN
    assert "rule add iif lo ipproto tcp dport 5001 lookup 101" in found["IP"]["client"]
    plain = constants(cell_of(QUIC.replace("hosts {", "hosts { } # {")))
    assert plain["SYSCTL"]["server"]["net.ipv4.tcp_ecn"] == "2"
    assert "net.ipv4.tcp_sack" not in plain["SYSCTL"]["server"]
    assert "table" not in str(plain["IP"])


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
    often = {"progress_every_ns": 100_000_000, "poll_every_ns": 100_000_000}
    assert json.loads(found["CLIENTS"][0][3]) == common | often
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
    seeds = {w.seed for w in workloads if isinstance(w, OnOffWorkload)}
    assert len(workloads) == len(seeds) == 4
    assert any("requests" in words for words in made.plan.varied)
