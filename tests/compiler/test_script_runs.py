"""The emitted program on this machine's kernel: no delay and no loss, so that it needs no netem."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from emitted_programs import READ_BACK, told
from kept_cells import run_alone
from netns import hold, inside
from waiting import completed, ended, eventually

from fairc.cell.expansion import expand
from fairc.compiler import compile, emit
from fairc.compiler.plan import parse_cell
from fairc.compiler.targets import EndpointsMissing, find_endpoints
from fairc.dsl.model import Workload
from fairc.mechanisms.workloads.file.cell import FileWorkload
from fairc.runtime.engines.mininet import MininetEngine
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.run.programs import unchanged

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
        make.flow(n, s, c, workload=Workload(FileWorkload(bytes=200_000)))
        for n, s, c in (("one", "s1", "c1"), ("two", "s2", "c2"))
    ]
    # The kernel of continuous integration has no netem: nothing there can transmit frames.
    net = make.dumbbell(
        rate_bps=5_000_000, rtt_ms=0, queue=make.size(20_000, "B"), transmit="bucket"
    )
    emit(compile(make.experiment(make.scenario(net, flows), repeat=2)), tmp_path / "plan")
    return next((tmp_path / "plan/cells").glob("*.py"))


def ids(script: Path) -> list[str]:
    """Return the ids of the cells of a program's plan."""
    lines = (script.parent.parent / "cells.jsonl").read_text().splitlines()
    return [json.loads(line)["id"] for line in lines]


MEANWHILE = """def meanwhile(net):
    s1 = net.get("s1")
    accepted = "'^Tcp: ([-0-9]+ ){5}[1-9]'"  # PassiveOpens, which stays when the flow has ended
    print(s1.cmd(f"until grep -qE {accepted} /proc/net/snmp; do sleep 0.05; done; echo flows"))
    print(s1.cmd("ping -c 1", net.get("c1").IP()))
"""


@pytest.fixture
def leftover() -> Iterator[str]:
    """An interface that another network has left on this machine, by the name of one of ours."""
    name = "s1-eth0"
    add = ["ip", "link", "add", name, "address", "02:00:00:00:00:99", "type", "veth"]
    subprocess.run([*add, "peer", "name", "r1-eth2"], check=True)
    yield name
    subprocess.run(["ip", "link", "del", name], check=True)


def test_a_cell_runs_and_leaves_its_artefacts(script: Path, tmp_path: Path, leftover: str) -> None:
    """Commands of the user's own run beside its flows; what is on this machine stays as it is."""
    out = tmp_path / "out"
    text = script.read_text()
    before, _, after = text.partition("def meanwhile(net):")
    script.write_text(f"{before}{MEANWHILE}\n\n{after[after.index('def main') :]}")
    show = ["ip", "-d", "-j", "link", "show", "dev", leftover]
    was = subprocess.run(show, capture_output=True, check=True).stdout
    run = completed([PYTHON, script, out, "--repetition", "2"], timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
    assert "flows" in run.stdout and "1 received" in run.stdout
    assert subprocess.run(show, capture_output=True, check=True).stdout == was
    cell = json.loads((out / "cell.json").read_text())
    assert cell["id"] == ids(script)[1]
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
    subprocess.run([PYTHON, script, out], capture_output=True, timeout=120, check=True)

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
    program = subprocess.Popen([PYTHON, script, out], stderr=subprocess.PIPE, text=True)
    eventually((out / "monitor.ndjson").exists, process=program)
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    own = Path("/proc/self/ns/net").stat().st_ino
    with ExitStack() as held:
        theirs, running = dict[int, int](), list[int]()
        for pid in map(int, children):
            with suppress(OSError):  # a command that has just ended
                running.append(os.pidfd_open(pid))
                held.callback(os.close, running[-1])
                namespace = hold(pid)
                held.callback(os.close, namespace)
                theirs[os.fstat(namespace).st_ino] = namespace
        theirs.pop(own, None)
        assert len(running) >= 6, "the one that ties them, four captures, the monitor"
        assert len(theirs) >= 2, "captures run on the router and on its neighbour"
        program.send_signal(number)
        _, err = ended(program)
        for descriptor in running:
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            assert poller.poll(30_000), "this child has not ended"
        assert not inside(theirs.values())
    if number is signal.SIGTERM:
        cell = json.loads((out / "cell.json").read_text())
        assert (program.returncode, cell["ended_by"]) == (1, "failed"), err
        assert cell["notes"] == ["stopped by SIGTERM"]
    else:
        assert program.returncode == -number and not (out / "cell.json").exists()


def test_a_program_that_fails_says_why(script: Path, tmp_path: Path) -> None:
    text = script.read_text()
    assert '"cca": "cubic"' in text
    script.write_text(text.replace('"cca": "cubic"', '"cca": "no_such_cca"'))
    run = completed([PYTHON, script, tmp_path / "out"], timeout=120)
    cell = json.loads((tmp_path / "out/cell.json").read_text())
    assert run.returncode == 1 and cell["ended_by"] == "failed"
    assert "no_such_cca" in cell["notes"][0] and "no_such_cca" in run.stderr


def test_a_shell_that_missed_its_hangup_ends_with_its_terminal(
    script: Path, tmp_path: Path
) -> None:
    """Mininet sends each shell SIGHUP and waits for its end; a shell about to read loses it."""
    text = script.read_text()
    before, _, after = text.partition("def meanwhile(net):")
    ignores = "def meanwhile(net):\n    net.get('c1').cmd(\"trap '' HUP\")"
    script.write_text(f"{before}{ignores}\n\n\n{after[after.index('def main') :]}")
    run = completed([PYTHON, script, tmp_path / "out"], timeout=120)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_commands_that_do_not_end_are_stopped_with_the_program(
    script: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    before, _, after = script.read_text().partition("def meanwhile(net):")
    endless = """def meanwhile(net):
    ended = net.get("c1").shell
    ended.kill()
    ended.wait()
    net.get("s1").cmd("while :; do sleep 1; done")"""
    script.write_text(f"{before}{endless}\n\n\n{after[after.index('def main') :]}")
    program = subprocess.Popen([PYTHON, script, out])
    eventually(lambda: (out / "cell.json").exists())
    shells = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    assert shells
    program.send_signal(number)
    assert program.wait(timeout=60) == 128 + number
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in shells))


def test_mininets_command_line_has_the_network(script: Path, tmp_path: Path) -> None:
    """As Mininet's users know it: a node's name, then a command; a node's name stands for its
    address.
    """
    out = tmp_path / "out"
    run = completed(
        [PYTHON, script, out, "--cli"],
        input="nodes\ns1 ping -c 1 c1\nr1 tc qdisc show dev r1-eth2\nexit\n",
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    said = run.stderr  # to which Mininet's logger writes
    assert "1 received" in said and "tbf 1:" in said and "bfifo 2:" in said
    assert not (out / "cell.json").exists() and not list(out.glob("*.pcap"))


def test_the_engine_runs_the_very_file_of_a_plan(script: Path, tmp_path: Path) -> None:
    """Its artefacts are those of the same program run by hand; an edited one is refused."""
    plan = script.parent.parent
    cell = parse_cell((plan / "cells.jsonl").read_text().splitlines()[1])
    engine = MininetEngine()
    engine.programs = unchanged(plan)
    assert engine.programs[cell.id] == (script.name, script.read_bytes())
    (tmp_path / "engine").mkdir()
    result = run_alone(engine, cell, tmp_path / "engine")
    assert (tmp_path / "engine" / script.name).read_bytes() == script.read_bytes()
    hand = tmp_path / "hand"
    command = [PYTHON, str(script), str(hand), "--repetition", "2"]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert {path.name for path in result.artefacts.iterdir()} == {p.name for p in hand.iterdir()}

    def said(folder: Path, name: str) -> Any:
        return json.loads((folder / name).read_text())

    assert said(result.artefacts, "system.json") == said(hand, "system.json")
    assert said(result.artefacts, "cell.json")["id"] == said(hand, "cell.json")["id"] == cell.id
    for name in ("one.client.ndjson", "two.client.ndjson"):
        for folder in (result.artefacts, hand):
            events = [json.loads(line) for line in (folder / name).read_text().splitlines()]
            (done,) = [event for event in events if event["event"] == "done"]
            assert done["bytes"] == 200_000

    script.write_text(script.read_text().replace("limit 20000", "limit 30000"))
    with pytest.raises(
        EngineUnavailable, match=r"cells/made\.py in .* differs from what"
    ) as edited:
        unchanged(plan)
    assert f"sudo python3 {script}" in edited.value.remedy


def test_mininets_own_program_opens_the_network(script: Path) -> None:
    """`mn --custom FILE --topo NAME,REPETITION`, from another folder.

    In a namespace: it raises limits of the network that it is in, which all others take over.
    """
    run = completed(
        ["unshare", "--net", "mn", "--custom", script, "--topo", f"{script.stem},2"],
        input="s1 ping -c 1 c1\nr1 tc qdisc show dev r1-eth2\nexit\n",
        cwd="/",
        timeout=120,
    )
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    assert "1 received" in said and "tbf 1:" in said and "bfifo 2:" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bfifo limit", "nofifo limit", "r1: tc qdisc add dev r1-eth2 parent 1:1 handle 2: nofifo"),
        ('"s1-eth0"', '"much-too-long-eth0"', "much-too-long-eth0"),
        ("via 10.0.0.2", "via 192.0.2.7", "route add 10.0.0.0/8 via 192.0.2.7"),
    ],
)
def test_a_network_that_cannot_be_made_is_explained(
    script: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    """A kernel without a qdisc, a name that is too long, a route that leads nowhere."""
    text = script.read_text()
    assert old in text
    script.write_text(text.replace(old, new))
    run = completed([PYTHON, script, tmp_path / "out"], timeout=120)
    assert run.returncode == 1 and not (tmp_path / "out").exists()
    assert said in run.stderr and "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) <= 2, run.stderr


def test_nodes_of_mininet_and_plain_namespaces_are_set_up_alike(script: Path) -> None:
    """By `ip` and `tc`, or by one program over netlink: equal qdiscs, addresses, routes,
    neighbours, rules, sysctls and offloads.
    """
    (document,) = script.parent.parent.glob("cells.jsonl")
    wanted = document.with_name("document.json")
    wanted.write_text(json.dumps(expand(parse_cell(document.read_text().splitlines()[0]))))
    run = completed(
        [PYTHON, "-c", READ_BACK, script, wanted, "mininet", "namespaces", "netlink"],
        cwd=script.parent,
        timeout=120,
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
