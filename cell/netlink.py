"""Nodes that one program sets up over netlink: the namespaces are its own, and others enter them.

It is the role `network` of fairc-endpoints: what `ip` and `tc` do in dozens of processes elsewhere,
from the same lines. It then waits for orders: changes of links, and what queues have counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from .batch import node_lines
from .conductor import conduct, enter
from .namespaces import Namespace, Namespaces
from .nodes import Failed, Local
from .observation import read_queues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .clock import RealTime
    from .document import InForce, Network
    from .nodes import Changer, Lines, Span
    from .observation import Queues


def described(network: Network) -> dict[str, Any]:
    """Return what the role takes: sysctls, lines of `ip -batch` and `tc -batch`, and cables."""
    return {
        "nodes": [
            {
                "name": node["name"],
                "sysctls": node["sysctls"],
                "ip": list(node_lines(node)),
                "interfaces": [i["lower"] or i["name"] for i in node["interfaces"]],
                "qdiscs": node["qdiscs"] + node["beyond_tc"],
            }
            for node in network["nodes"]
        ],
        "cables": [{"a": a, "b": b} for a, b in network["cables"]],
    }


class Role:
    """The program, while it runs."""

    def __init__(self, network: Network, endpoints: str) -> None:
        pipe = subprocess.PIPE
        # An argument has 128 KiB at most, and nothing of this is to be found among the results.
        memory = os.memfd_create("network")
        with open(memory, "w", closefd=False) as file:
            json.dump(described(network), file)
        description = json.dumps({"file": f"/proc/self/fd/{memory}"})
        self._process = Local(
            [endpoints, "network", "--epoch-ns", "0", description],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            pass_fds=[memory],
        )
        os.close(memory)
        self.nodes: dict[str, dict[str, Any]] = self._answer("network")["nodes"]

    @property
    def pid(self) -> int:
        """Whose descriptors the namespaces are."""
        return self._process.pid

    def ask(self, order: dict[str, Any], event: str) -> dict[str, Any]:
        """Give an order; return the event that answers it. Raises Failed."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has said why
        return self._answer(event)

    def _answer(self, event: str) -> dict[str, Any]:
        assert self._process.stdout and self._process.stderr
        line = self._process.stdout.readline()
        if not line:
            raise Failed(f"network: {self._process.stderr.read().decode(errors='replace').strip()}")
        answer: dict[str, Any] = json.loads(line)
        if answer["event"] != event:
            raise Failed(f"network: {answer.get('message', answer)}")
        return answer

    def end(self) -> None:
        """End it; the namespaces stay as long as something else is in them."""
        self._process.communicate()


class Changes:
    """Changes links by orders to the role, which waits for the time itself."""

    def __init__(self, role: Role) -> None:
        self._role = role

    def carry_out(self, at_ns: int, changes: Sequence[Lines]) -> list[Span]:
        """Have changes carried out at a time; return when each was. Raises Failed."""
        listed = [{"node": node, "lines": [*lines]} for node, lines in changes]
        answer = self._role.ask({"order": "change", "at_ns": at_ns, "changes": listed}, "changed")
        return [(begin_ns, end_ns) for begin_ns, end_ns in answer["spans_ns"]]

    def end(self) -> None:
        """Nothing has been started for it."""


class NetlinkNodes(Namespaces):
    """All nodes of a cell, once they have been set up."""

    def __init__(self) -> None:
        super().__init__({})
        self._role: Role | None = None

    def set_up(self, network: Network, endpoints: str) -> InForce:
        """Make, connect and configure all nodes; return what is then in force. Raises Failed."""
        self._role = role = Role(network, endpoints)
        self._nodes = {
            name: Namespace(name, f"/proc/{role.pid}/fd/{found['namespace']}")
            for name, found in (
                (node["name"], role.nodes[node["name"]]) for node in network["nodes"]
            )
        }
        for name, left in self._left().items():  # disciplines that the role does not know
            self[name].run(["tc", "-batch", "-"], left)
        return {
            "sysctl": {name: role.nodes[name]["sysctls"] for name in self._nodes},
            "offloads": {name: role.nodes[name]["offloads"] for name in self._nodes},
        }

    def queues(self, endpoints: str, beyond: Iterable[str]) -> Queues:
        """Return what the qdiscs of every node have counted, in the form of `tc -s -j qdisc show`.

        Raises Failed.
        """
        assert self._role, "set_up comes first"
        found: Queues = self._role.ask({"order": "qdiscs"}, "qdiscs")["nodes"]
        for name in self._left():
            by_tc = {(q["dev"], q["handle"]): q for q in read_queues(self[name])}
            # What the role does not know has no options in its reading.
            found[name] = [
                queue if queue["options"] else by_tc[queue["dev"], queue["handle"]]
                for queue in found[name]
            ]
        return {name: found[name] for name in self._nodes}

    def _left(self) -> dict[str, list[str]]:
        """Return the lines that are left to tc, by node."""
        assert self._role, "set_up comes first"
        return {name: found["left"] for name, found in self._role.nodes.items() if found["left"]}

    def changer(self, clock: RealTime, names: Iterable[str]) -> Changer:
        """Return what changes links."""
        assert self._role, "set_up comes first"
        return Changes(self._role)

    def versions(self) -> dict[str, str]:
        """Return what the numbers depend on."""
        return {"kernel": os.uname().release}


def main() -> None:
    """Run the cell of `document.json`, next to this program, in the folder given as argument.

    That is a machine of its own, in virtual time: when it is switched off nothing of the cell is
    left.
    """
    place = os.path.dirname(os.path.abspath(sys.argv[0]))
    with open(os.path.join(place, "document.json")) as file:
        document = json.load(file)
    enter(sys.argv[1])
    sys.exit(conduct(document, NetlinkNodes, place))
