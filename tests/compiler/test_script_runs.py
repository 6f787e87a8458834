"""The emitted program on this machine's kernel: no delay and no loss, so that it needs no netem."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairc.compiler import compile, emit
from fairc.compiler.targets import EndpointsMissing, find_endpoints
from fairc.words.workloads import File

PYTHON = "/usr/bin/python3"
TOOLS = ("tc", "ip")


def missing() -> str:
    """Return what this machine lacks to run a program, in words."""
    if os.geteuid() != 0:
        return "not root"
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    probe = (
        "import mininet.net; from ctypes import CDLL; raise SystemExit(CDLL(None).unshare(1 << 30))"
    )
    if subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode != 0:
        lacking.append("Mininet and network namespaces")
    try:
        find_endpoints()
    except EndpointsMissing:
        lacking.append("fairc-endpoints")
    return ", ".join(lacking)


LACKING = missing()
pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"this machine lacks: {LACKING}")


@pytest.fixture
def script(make: SimpleNamespace, tmp_path: Path) -> Path:
    """A program of two small downloads over 5 Mbit/s, emitted."""
    flows = [
        make.flow(n, s, c, workload=File(200_000))
        for n, s, c in (("one", "s1", "c1"), ("two", "s2", "c2"))
    ]
    # The kernel of continuous integration has no netem: nothing there can transmit frames.
    net = make.dumbbell(
        rate_bps=5_000_000, rtt_ms=0, queue=make.size(20_000, "B"), transmit="bucket"
    )
    emit(compile(make.experiment(make.scenario(net, flows))), tmp_path / "plan")
    return next((tmp_path / "plan/cells").glob("*.py"))


def namespaces() -> set[str]:
    """Return the network namespaces that any process is in."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(str(entry.readlink()))
        except OSError:
            continue  # it has just ended
    return found


def test_a_cell_runs_and_leaves_its_artefacts(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = subprocess.run(
        [PYTHON, script, out], capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    cell = json.loads((out / "cell.json").read_text())
    assert cell["id"] == script.stem
    assert cell["ended_by"] == "finished" and cell["notes"] == []
    assert set(cell["processes"].values()) == {0}

    def events(name: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in (out / f"{name}.ndjson").read_text().splitlines()]

    for flow in ("one", "two"):
        (done,) = [event for event in events(f"{flow}.client") if event["event"] == "done"]
        assert done["bytes"] == 200_000
        assert any(event["event"] == "sample" for event in events(f"{flow}.server"))
    assert len(events("monitor")) > 3

    pings = json.loads((out / "ping.json").read_text())
    assert [(ping["flow"], ping["sent"], len(ping["rtts_ns"])) for ping in pings] == [
        ("one", 10, 10),
        ("two", 10, 10),
    ]
    assert all(rtt > 0 for ping in pings for rtt in ping["rtts_ns"])

    system = json.loads((out / "system.json").read_text())
    assert {"kernel", "tc", "mininet", "ccas", "sysctl", "offloads"} <= set(system)
    assert all(
        set(state.values()) == {"off"}
        for ends in system["offloads"].values()
        for state in ends.values()
    )
    assert system["sysctl"]["r1"]["net.ipv4.ip_forward"] == "1"


def test_the_captures_and_the_queue_agree_to_the_packet(script: Path, tmp_path: Path) -> None:
    """What entered the router left the queue or was dropped there, and all of it was delivered."""
    out = tmp_path / "out"
    subprocess.run([PYTHON, script, out], capture_output=True, timeout=60, check=True)

    def captured(pattern: str) -> int:
        total = 0
        for log in out.glob(pattern):
            last = json.loads(log.read_text().splitlines()[-1])
            assert (last["event"], last["dropped"]) == ("captured", 0)
            total += last["packets"]
        return total

    def queue(when: str) -> dict[str, Any]:
        found: dict[str, Any]
        shown = json.loads((out / f"qdisc-{when}.json").read_text())["r1"]
        (found,) = [q for q in shown if q["dev"] == "r1-eth2" and q["kind"] == "bfifo"]
        assert found["options"]["limit"] == 20_000 and found["backlog"] == 0
        return found

    sent = queue("after")["packets"] - queue("before")["packets"]
    dropped = queue("after")["drops"] - queue("before")["drops"]
    assert captured("entry.*.ndjson") == sent + dropped
    assert captured("exit.*.ndjson") == captured("delivered.*.ndjson") == sent > 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_program_leaves_no_process_and_no_namespace(
    script: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    program = subprocess.Popen([PYTHON, script, out], stderr=subprocess.DEVNULL)
    while not (out / "monitor.ndjson").exists() and program.poll() is None:
        time.sleep(0.02)
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    assert len(children) >= 6, "the one that ties them, four captures, the monitor"
    theirs = {str(Path(f"/proc/{pid}/ns/net").readlink()) for pid in children}
    theirs -= {str(Path("/proc/self/ns/net").readlink())}
    assert len(theirs) >= 2, "captures run on the router and on its neighbour"
    descriptors = [os.pidfd_open(int(pid)) for pid in children]
    program.send_signal(number)
    status = program.wait(timeout=30)
    for descriptor in descriptors:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        assert poller.poll(30_000), "this child has not ended"
        os.close(descriptor)
    assert not theirs & namespaces()
    if number is signal.SIGTERM:
        cell = json.loads((out / "cell.json").read_text())
        assert (status, cell["ended_by"], cell["notes"]) == (1, "failed", ["stopped by SIGTERM"])
    else:
        assert status == -number and not (out / "cell.json").exists()


def test_a_program_that_fails_says_why(script: Path, tmp_path: Path) -> None:
    text = script.read_text()
    assert 'cca="cubic"' in text
    script.write_text(text.replace('cca="cubic"', 'cca="no_such_cca"'))
    run = subprocess.run(
        [PYTHON, script, tmp_path / "out"], capture_output=True, text=True, timeout=60, check=False
    )
    cell = json.loads((tmp_path / "out/cell.json").read_text())
    assert run.returncode == 1 and cell["ended_by"] == "failed"
    assert "no_such_cca" in cell["notes"][0] and "no_such_cca" in run.stderr


def test_mininets_command_line_has_the_network(script: Path, tmp_path: Path) -> None:
    """As Mininet's users know it: a node's name, then a command; a node's name stands for its
    address.
    """
    out = tmp_path / "out"
    run = subprocess.run(
        [PYTHON, script, out, "--cli"],
        input="nodes\ns1 ping -c 1 c1\nr1 tc qdisc show dev r1-eth2\nexit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = run.stderr  # to which Mininet's logger writes
    assert "1 received" in said and "tbf 1:" in said and "bfifo 2:" in said
    assert not (out / "cell.json").exists() and not list(out.glob("*.pcap"))


def test_a_single_file_runs_where_no_package_is_beside_it(
    make: SimpleNamespace, tmp_path: Path
) -> None:
    # The kernel of continuous integration has no netem: nothing there can transmit frames.
    net = make.dumbbell(
        rate_bps=5_000_000, rtt_ms=0, queue=make.size(20_000, "B"), transmit="bucket"
    )
    flow = make.flow("one", "s1", "c1", workload=File(200_000))
    made = compile(make.experiment(make.scenario(net, [flow])))
    emit(made, tmp_path / "single", single_file=True)
    cells = tmp_path / "single/cells"
    assert not (cells / "cell").exists()
    (program,) = cells.glob("*.py")
    run = subprocess.run(
        [PYTHON, "-I", program, tmp_path / "out"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads((tmp_path / "out/cell.json").read_text())["ended_by"] == "finished"


# What is read back of the nodes of an emitted program, made in each way.
READ_BACK = """
import json, runpy, sys, time
from cell.expansion import expand
from cell.namespaces import Namespace, Namespaces
from cell.netlink import NetlinkNodes
from cell.programs import find_program
from cell.topology import MininetNodes

program = runpy.run_path(sys.argv[1])
document = expand(program["CELL"])
names = [node["name"] for node in document["network"]["nodes"]]
made = {
    "mininet": MininetNodes(program["CELL"]),
    "namespaces": Namespaces({name: Namespace(name) for name in names}),
    "netlink": NetlinkNodes(),
}
endpoints = find_program("fairc-endpoints", ".")
SHOW = ("-d address", "route show table all", "neighbour", "rule")
said = {}
for kind, nodes in made.items():
    in_force = nodes.set_up(document["network"], endpoints)
    said[kind] = {"in force": in_force}
    for node in nodes:
        for _ in range(200):  # the kernel takes a second until it calls a link up
            links = json.loads(node.run(["ip", "-j", "link"]))
            if all(link["operstate"] == "UP" for link in links if link["ifname"] != "lo"):
                break
            time.sleep(0.05)
        found = {"tc": json.loads(node.run(["tc", "-j", "qdisc", "show"]))}
        for words in SHOW:
            found[words] = json.loads(node.run(["ip", "-j", *words.split()]) or "[]")
        said[kind][node.name] = found
print(json.dumps(said))
"""


def test_nodes_of_mininet_and_plain_namespaces_are_set_up_alike(script: Path) -> None:
    """By `ip` and `tc`, or by one program over netlink: equal qdiscs, addresses, routes,
    neighbours, rules, sysctls and offloads.
    """
    run = subprocess.run(
        [PYTHON, "-c", READ_BACK, script],
        cwd=script.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert told(said["mininet"]) == told(said["namespaces"]) == told(said["netlink"])
    router = said["namespaces"]["r1"]
    assert {q["kind"] for q in router["tc"]} >= {"tbf", "bfifo", "pfifo"}
    (address,) = (a for a in router["-d address"] if a["ifname"] == "r1-eth2")
    assert address["gso_max_segs"] == 1 and address["address"].startswith("02:00:0a:")
    assert any(n["state"] == ["PERMANENT"] for n in router["neighbour"])
    assert any(r.get("gateway") for r in router["route show table all"])
    assert said["namespaces"]["in force"]["sysctl"]["r1"]["net.ipv4.ip_forward"] == "1"
    offloads = said["namespaces"]["in force"]["offloads"]["r1"]
    assert {state for each in offloads.values() for state in each.values()} == {"off"}


# Which namespace an interface's peer is in, as a number or by its index, differs from run to run.
CHANCE = frozenset({"ifindex", "link_index", "link_netnsid", "valid_life_time"})


def told(value: Any) -> Any:
    """Return what was read back without what is different each time; tables of neighbours have no
    order.
    """
    if isinstance(value, dict):
        return {name: told(part) for name, part in value.items() if name not in CHANCE}
    if isinstance(value, list):
        return sorted((told(part) for part in value), key=json.dumps)
    return value
