"""What runs an emitted Mininet program in the guest of `vm`, in place of its own program, and what
reads back what it sets up.
"""

from __future__ import annotations

import json
from typing import Any

RUN = """
import os, subprocess, sys
place = os.path.dirname(os.path.abspath(sys.argv[0]))
program = os.path.join(place, "emitted.py")
with open(program, "w") as file:
    file.write({text!r})
ran = subprocess.run(["python3", program, sys.argv[1]], env=os.environ | {{"PYTHONPATH": ":".join(sys.path)}})
sys.exit(ran.returncode)
"""

READ_BACK = """
import json, runpy, sys, time
from cell.mininet import MininetNodes, network_of
from cell.namespaces import Namespace, Namespaces
from cell.netlink import NetlinkNodes
from cell.programs import find_program

program = runpy.run_path(sys.argv[1])
with open(sys.argv[2]) as file:
    network = json.load(file)["network"]
names = [node["name"] for node in network["nodes"]]
program["Mininet"].inited = True
net = program["Mininet"](topo=program["Network"](), controller=None)
net.start()
ways = {
    "mininet": lambda: MininetNodes(net),
    "namespaces": lambda: Namespaces({name: Namespace(name) for name in names}),
    "netlink": NetlinkNodes,
}
made = {way: ways[way]() for way in sys.argv[3:]}
endpoints = find_program("fairc-endpoints", ".")
SHOW = ("-d address", "route show table all", "neighbour", "rule")
said = {}
for kind, nodes in made.items():
    in_force = nodes.set_up(network_of(net) if kind == "mininet" else network, endpoints)
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
net.stop()
print(json.dumps(said))
"""
"""Reads back the nodes of an emitted program (its path, that of its document, ways), made in each of
several ways: by Mininet, by `ip` and `tc`, and by the program that does it in `uml`. Prints JSON.
"""

# Which namespace an interface's peer is in, as a number or by its index, differs from run to run.
CHANCE = frozenset({"ifindex", "link_index", "link_netnsid", "valid_life_time"})
# Mininet sets addresses by ifconfig, which gives them the broadcast address that routes have anyway.
BROADCAST = "broadcast"


def told(value: Any) -> Any:
    """Return what was read back without what is different each time; tables of neighbours have no
    order.
    """
    if isinstance(value, dict):
        left_out = {*CHANCE, BROADCAST} if "prefixlen" in value else CHANCE
        return {name: told(part) for name, part in value.items() if name not in left_out}
    if isinstance(value, list):
        return sorted((told(part) for part in value), key=json.dumps)
    return value
