"""One program sets a cell up over netlink as `ip` and `tc` do: read back, everything is the same,
in the real kernel.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from kept_cells import run_alone
from specs import compilation_of

from fairc.compiler import Cell
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.uml import UmlEngine

# Every queue, every impairment, a link that changes, MTUs, initial windows, hosts' processing times
# (macvlan).
QUEUES = """fexp 1
topology laboratory(rate = 3Mbit/s, hop = 10ms) {
  node s, fair, unfair, early, bursty, packets, bucket, idle1, idle2, idle3, idle4, idle5, idle6, idle7, idle8, idle9
  router r
  link s -- r { rate = 100Mbit/s }
  link r -> fair   { rate = rate  delay = hop  queue = fq_codel(60pkt) }
  link r -> unfair { rate = rate  delay = hop  queue = fifo(60pkt)  mtu = 1400B }
  link r -> early  { rate = rate  delay = hop  queue = red(limit: 100pkt, min: 5%, max: 20%, pmax: 50%) }
  link r -> bursty { rate = 8Mbit/s  delay = hop  queue = fifo(50ms)  loss = gilbert_elliott(p: 2%, r: 40%, h: 10%, k: 99.9%) }
  link fair -> r, unfair -> r, early -> r, bursty -> r { rate = 100Mbit/s  delay = hop }
  link r -- idle1 { rate = rate  queue = codel(20kB, target: 7ms, interval: 80ms, ecn: on) }
  link r -- idle2 { rate = rate  queue = pie(50ms, target: 20ms) }
  link r -- idle3 { rate = rate  queue = fq_pie(77pkt, flows: 64, ecn: on) }
  link r -- idle4 { rate = rate  queue = fq(77pkt, flow_limit: 33pkt) }
  link r -- idle5 { rate = rate  queue = sfq(77pkt) }
  link r -- idle6 { rate = 40Gbit/s  queue = cake(77pkt, rtt: 50ms) }
  link r -- idle7 { rate = rate  queue = dualpi2(77pkt, step: 5ms) }
  link r -- idle8 { rate = rate  delay = hop  jitter = jitter(2ms, distribution: normal)  loss = 1%  duplicate = 2% }
  link r -- idle9 { rate = rate  delay = hop  jitter = jitter(2ms, distribution: pareto, overtake: on)  reorder = 10% }
  link r -- packets { rate = rate  queue = fifo(7pkt)  at 3s { rate = 1Mbit/s  delay = 2ms } }
  link r -- bucket { rate = rate  queue = fifo(9pkt)  transmit = bucket }
}
experiment network {
  topology = laboratory()
  flow fair   { from = s  to = fair    cca = cubic  initial_window = 4pkt  workload = bulk }
  flow unfair { from = s  to = unfair  cca = cubic  workload = bulk }
  flow early  { from = s  to = early   cca = reno   workload = bulk }
  flow bursty { from = s  to = bursty  cca = bbr    workload = bulk }
  duration = 8s
  measure  = [goodput]
}
"""
# Routes with both windows, tables and rules.
PROXIES = """fexp 1
experiment network {
  topology = geo(pep: split)
  flow page { cca = cubic  workload = load(page(html: 2kB), http: h1, client: plain) }
  measure = [plt]
}
"""

READ = """
import ctypes, fcntl, json, os, re, socket, struct, sys, time
from cell.clock import RealTime
from cell.namespaces import Namespace, Namespaces
from cell.netlink import NetlinkNodes

PLACE = os.path.dirname(os.path.abspath(sys.argv[0]))
os.chdir(sys.argv[1])
with open(f"{PLACE}/document.json") as file:
    # tc has whole bytes where the endpoints take a time as well.
    document = json.loads(re.sub(r"burst [0-9]+ns", "burst 99", file.read()))
network, endpoints = document["network"], f"{PLACE}/fairc-endpoints"
# A discipline of somebody else's, which the program leaves to tc.
OURS, THEIRS = "pfifo limit 7", "red limit 20000 min 3000 max 9000 avpkt 1514 burst 4 probability 0.02 bandwidth 3mbit"
for node in network["nodes"]:
    node["qdiscs"] = [text.replace(OURS, THEIRS) for text in node["qdiscs"]]
beyond = [node["name"] for node in network["nodes"] if node["beyond_tc"]]
SHOW = {
    "link": "ip -j -d link show",
    "address": "ip -j address show",
    "neighbour": "ip -j -d neighbour show nud all",
    "route": "ip -j -d route show table all",
    "rule": "ip -j -d rule show",
}


def options():
    found = {}
    for folder, _, names in os.walk("/proc/sys/net"):
        for name in names:
            try:
                with open(f"{folder}/{name}") as option:
                    found[f"{folder}/{name}"] = option.read()
            except OSError:
                pass  # only to be written
    return found


def features(interface):
    ETHTOOL_GFEATURES, SIOCETHTOOL, WORDS = 0x3A, 0x8946, 3
    data = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_GFEATURES, WORDS) + bytes(16 * WORDS))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP", interface.encode(), ctypes.addressof(data)))
    return data.raw.hex()


def read(nodes, among):
    time.sleep(3)  # the kernel takes a second until it calls a link up
    found = {}
    for node in (each for each in network["nodes"] if each["name"] in among):
        here, one = nodes[node["name"]], {}
        for name, command in SHOW.items():
            rows = json.loads(here.run(command.split()) or "[]")
            one[name] = rows if name == "rule" else sorted(rows, key=json.dumps)
        for interface in node["interfaces"]:
            device = interface["name"]
            for end in {device, interface["lower"] or device}:
                one[f"offloads of {end}"] = here.call(features, end)
            one[f"classes of {device}"] = here.run(["tc", "-d", "class", "show", "dev", device])
        one["options"] = here.call(options)
        found[node["name"]] = one
    return found


def queues(nodes, way):
    place = lambda queue: (queue["dev"], queue["handle"])
    read = way.queues(nodes, endpoints, beyond)
    return {node: sorted(queues, key=place) for node, queues in read.items()}


def change(nodes):
    names = sorted({changes["node"] for changes in document["changes"]})
    changer = nodes.changer(RealTime(), names)
    for changes in document["changes"]:
        for _, lines in changes["lines"]:
            changer.carry_out(0, [(changes["node"], lines)])
    changer.end()


# What a change leaves alone is read once.
everywhere = {node["name"] for node in network["nodes"]}
changed = {changes["node"] for changes in document["changes"]} or everywhere
made = {
    "tools": Namespaces({node["name"]: Namespace(node["name"]) for node in network["nodes"]}),
    "netlink": NetlinkNodes(),
}
found = {}
for kind, nodes in made.items():
    found[kind] = {"in force": nodes.set_up(network, endpoints)}
    found[kind] |= {"set up": read(nodes, everywhere), "queues": queues(nodes, Namespaces)}
    change(nodes)
    found[kind] |= {"changed": read(nodes, changed), "changed queues": queues(nodes, Namespaces)}
found["read over netlink"] = queues(made["netlink"], NetlinkNodes)
found["seeds"] = [seed["seed"] for seed in document["seeds"]]
try:
    made["netlink"].changer(RealTime(), ()).carry_out(0, [("r" if "r" in found["tools"]["set up"] else network["nodes"][0]["name"],
        ["qdisc add dev nothing root handle 1: netem limit 1000 delay 1ms"])])
except Exception as error:
    found["refused"] = str(error)
with open("found.json", "w") as file:
    json.dump(found, file)
"""

# What differs from one namespace to the next, and from one moment to the next.
CHANCE = frozenset(
    {"link_index", "link_netnsid", "valid_life_time", "used", "confirmed", "updated"}
)
CHANCES = ("random", "uuid", "entropy", "/netfilter/", "tcp_fastopen_key", "stable_secret")


def differences(a: Any, b: Any, at: str = "") -> Iterator[str]:
    """Yield where two readings differ; fractions are written with six digits by tc."""
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted({*a, *b} - CHANCE):
            if not any(chance in name for chance in CHANCES):
                yield from differences(
                    a.get(name, "nothing"), b.get(name, "nothing"), f"{at}/{name}"
                )
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from differences(one, other, f"{at}/{number}")
    elif isinstance(a, float) and isinstance(b, float | int):
        if not math.isclose(a, b, rel_tol=1e-5):
            yield f"{at}: {a}, {b}"
    elif a != b:
        yield f"{at}: {a}, {b}"


def cell_of(spec: str) -> Cell:
    return next(iter(compilation_of(spec).cells()))


@pytest.fixture(scope="module", params=["queues", "proxies"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What both ways leave behind, read back in one guest."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(guest_job, "PROGRAM", READ)
        cell = cell_of({"queues": QUEUES, "proxies": PROXIES}[request.param])
        result = run_alone(UmlEngine(), cell, tmp_path_factory.mktemp("network"))
    return json.loads((result.artefacts / "found.json").read_text())


@pytest.mark.parametrize("what", ["in force", "set up", "changed"])
def test_netlink_sets_up_what_ip_and_tc_do(found: Any, what: str) -> None:
    """Links, addresses, neighbours, routes, rules, options, offloads, classes."""
    assert found["tools"][what]
    assert list(differences(found["tools"][what], found["netlink"][what])) == []


@pytest.mark.parametrize("what", ["queues", "changed queues"])
def test_netlink_makes_the_queues_that_tc_makes(found: Any, what: str) -> None:
    """Where nothing is random the kernel gives netem a seed of its own, which the plan has not."""
    read = [copy.deepcopy(found[way][what]) for way in ("tools", "netlink")]
    for queue in (queue for nodes in read for queues in nodes.values() for queue in queues):
        if queue["options"].get("seed") not in found["seeds"]:
            queue["options"].pop("seed", None)
    assert list(differences(*read)) == []


def test_netlink_reads_what_tc_reads(found: Any) -> None:
    assert list(differences(found["netlink"]["changed queues"], found["read over netlink"])) == []


def test_what_is_refused_names_node_and_interface(found: Any) -> None:
    assert "there is no interface `nothing`" in found["refused"]
    assert "qdisc add dev nothing root" in found["refused"]


def test_the_laboratory_has_it_all(found: Any) -> None:
    """A comparison of nothing with nothing would pass."""
    queues = [queue for node in found["tools"]["queues"].values() for queue in node]
    kinds = {queue["kind"] for queue in queues}
    rules = [rule for node in found["tools"]["set up"].values() for rule in node["rule"]]
    if "cake" in kinds:
        assert kinds >= {
            "tbf",
            "htb",
            "netem",
            "gred",
            "pfifo",
            "bfifo",
            "sfq",
            "fq",
            "red",
            "dualpi2",
        }
        assert kinds >= {"codel", "fq_codel", "pie", "fq_pie"}
        links = [link for node in found["tools"]["set up"].values() for link in node["link"]]
        assert any(link.get("linkinfo", {}).get("info_kind") == "macvlan" for link in links)
    else:
        assert any(rule.get("table") == "100" for rule in rules)
    assert found["tools"]["set up"] != found["tools"]["changed"] or "cake" not in kinds
