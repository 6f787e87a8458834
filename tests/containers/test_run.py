"""A cell in containers: what they may do, what they leave, and the Compose file without fairc."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from specs import compilation_of
from waiting import completed

from fairc.cell.hosts import EVERYWHERE
from fairc.compiler import Cell, Compilation, emit
from fairc.compiler.plan import Requests
from fairc.compiler.targets import containers as target
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.containers import leftovers
from fairc.runtime.containers.client import Client
from fairc.runtime.engines.docker import DockerEngine
from fairc.runtime.measurement import load

COMPOSE = "docker-compose"
Compiled = Callable[..., Compilation]


def inspected(client: Client, engine: DockerEngine, cell: Cell, workdir: Path) -> Any:
    """Run a cell; return what the engine says of its containers while they run, and its result."""
    found: dict[str, Any] = {}
    results = []
    thread = threading.Thread(target=lambda: results.append(engine.run(cell, workdir)))
    thread.start()
    while thread.is_alive() and not (workdir / "artefacts/monitor.ndjson").exists():
        time.sleep(0.02)
    chosen = {"filters": {"label": leftovers.LABEL}}
    for container in client.api.containers(**chosen):
        name = container["Names"][0].split("-", 2)[2]
        found[name] = client.api.inspect_container(container["Id"])
    networks = client.api.networks(**chosen)
    thread.join()
    assert results[0].error == ""
    return found, networks, results[0]


def test_what_containers_may_do(
    client: Client, engine: DockerEngine, cell: Cell, tmp_path: Path
) -> None:
    found, networks, raw = inspected(client, engine, cell, tmp_path)
    assert set(found) == {"s", "r", "c", target.CONDUCTOR}
    assert len(networks) == 2
    for name, container in found.items():
        host = container["HostConfig"]
        assert [mount["Source"] for mount in container["Mounts"]] == [str(raw.artefacts)]
        wanted = None if name == target.CONDUCTOR else list(target.CAPABILITIES)
        assert [c.removeprefix("CAP_") for c in host["CapAdd"] or ()] == list(wanted or ())
        assert host["CapDrop"] == ["ALL"]
        assert host["NetworkMode"] != "host" and not host["Privileged"]
        assert host["ReadonlyRootfs"] and "no-new-privileges:true" in host["SecurityOpt"]
        assert (host["Memory"], host["PidsLimit"]) == (target.MEMORY_BYTES, target.PIDS)
        assert host["PidMode"] == "" and host["Devices"] in (None, [])
    assert found[target.CONDUCTOR]["HostConfig"]["NetworkMode"] == "none"


def test_the_artefacts_are_those_of_the_mininet_program(
    engine: DockerEngine, cell: Cell, tmp_path: Path
) -> None:
    raw = engine.run(cell, tmp_path)
    forms = {c.name: "headers" if c.point == "sender" else "pcap" for c in cell.captures}
    ends = [(name, (f".{form}", ".ndjson", ".err")) for name, form in forms.items()]
    captures = {f"{name}{end}" for name, each in ends for end in each}
    programs = {f"{p}{e}" for p in ("f.server", "f.client", "monitor") for e in (".ndjson", ".err")}
    documents = {"cell.json", "ping.json", "qdisc-before.json", "qdisc-after.json", "system.json"}
    assert {p.name for p in raw.artefacts.iterdir()} == captures | programs | documents
    system = json.loads((raw.artefacts / "system.json").read_text())
    assert system["sysctl"]["r"] == EVERYWHERE | {"net.ipv4.ip_forward": "1"}
    assert system["offloads"]["r"] == {
        name: {"tso": "off", "gso": "off", "gro": "off"} for name in ("r-eth0", "r-eth1")
    }
    queues = json.loads((raw.artefacts / "qdisc-after.json").read_text())
    assert sorted(queues) == ["c", "r", "s"]
    (flow,) = analyse(cell, raw.artefacts, Requests()).flows
    assert flow.completed and flow.bytes == 100_000


def test_rates_that_change(engine: DockerEngine, compiled: Compiled, tmp_path: Path) -> None:
    (cell,) = compiled(
        "cca = reno  workload = bulk", "duration = 3s", "at 1s { rate = 1Mbit/s }"
    ).cells()
    raw = engine.run(cell, tmp_path)
    assert raw.error == ""
    changes = (raw.artefacts / "changes.ndjson").read_text().splitlines()
    assert sorted(json.loads(line)["node"] for line in changes) == ["c", "r"]


def test_a_cell_that_fails_says_why(engine: DockerEngine, cell: Cell, tmp_path: Path) -> None:
    (node,) = (n for n in cell.nodes if n.name == "r")
    broken = replace(node, routes=(*cell.nodes[0].routes, *cell.nodes[0].routes))
    nodes = tuple(broken if n.name == "r" else n for n in cell.nodes)
    raw = engine.run(replace(cell, nodes=nodes), tmp_path)
    assert "the script failed: r: ip -batch -: " in raw.error and "route add" in raw.error
    assert raw.console


@pytest.mark.skipif(shutil.which(COMPOSE) is None, reason=f"this machine lacks: {COMPOSE}")
def test_the_compose_file_runs_by_itself(
    client: Client, compiled: Compiled, tmp_path: Path
) -> None:
    emit(compiled(), tmp_path / "plan", ["containers"])
    (compose,) = (tmp_path / "plan/cells").glob("*/compose.yaml")

    def call(*arguments: str) -> str:
        command = [COMPOSE, *arguments]
        done = completed(command, cwd=compose.parent, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        call("up", "--exit-code-from", target.CONDUCTOR)
    finally:
        call("down")
    ended = json.loads((compose.parent / "results/cell.json").read_text())
    assert (ended["ended_by"], ended["notes"]) == ("finished", [])


WAYS = """fexp 1
topology ways {
  node server, client
  router a, b, up, low
  link server -- a, b -- client { rate = 20Mbit/s  transmit = bucket }
  link a -- up, up -- b, a -- low, low -- b { rate = 2Mbit/s  transmit = bucket  queue = fifo(20pkt) }
}
experiment ways {
  topology = ways()
  routes = ecmp(hash: ports)
  flow f[i] for i in 1..4 { cca = reno  workload = file(50kB) }
  flow g { cca = reno  via = low  initial_window = 20pkt  ecn = on  workload = file(50kB) }
  flow q { over = quic  cca = cubic  via = low  workload = file(50kB) }
  measure = [goodput]
}
"""


def test_flows_take_their_ways(engine: DockerEngine, tmp_path: Path) -> None:
    (cell,) = compilation_of(WAYS).cells()
    result = engine.run(cell, tmp_path)
    assert result.error == ""
    measured = load(cell, result.artefacts)
    taken = set()
    for flow in measured.flows:
        assert flow.endpoints.completed, flow.name
        way = measured.paths.of(flow.plan)
        for queue in measured.queues:
            passes = bool((queue.left.source_port == flow.plan.port).any())
            assert passes == (queue.place in way), (flow.name, queue.name)
        taken.add(tuple(queue.name for queue in measured.queues if queue.place in way))
    assert len(taken) == 2


def test_iperf3_runs_in_containers(
    engine: DockerEngine, compiled: Compiled, tmp_path: Path
) -> None:
    made = compiled("cca = reno  count = 2  start = 0s  workload = iperf3(time: 1s)")
    (only,) = made.cells()
    result = engine.run(only, tmp_path)
    assert result.error == ""
    (flow,) = load(only, result.artefacts).flows
    assert flow.endpoints.completed and flow.endpoints.errors == ()
    assert 0.5e6 < flow.endpoints.progress.total * 8 < 2.2e6
    assert len(flow.endpoints.progress.reports) == 2
