"""Mininet's topology, nodes and command line: `run` is what an emitted program ends with.

Nodes are namespaces without a shell (a process less for each, and nothing that could compute
alongside the flows); Mininet's command line gives them one. What an interface is given, the
conductor sets.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from mininet.cli import CLI
from mininet.link import Intf
from mininet.link import Link as MininetLink
from mininet.net import VERSION, Mininet
from mininet.node import Node
from mininet.topo import Topo

from .conductor import conduct, enter
from .expansion import expand
from .model import Cell
from .namespaces import Namespace, Namespaces, tie_children_to_this_process

COMMAND_LINE = "--cli"


class Host(Node):
    """A node that is nothing but a network namespace."""

    isSetup = True  # spares Mininet's search for ifconfig, which is not used

    def startShell(self, mnopts: str | None = None) -> None:
        """Create the namespace."""
        self.namespace = Namespace(self.name)
        self.pid = os.getpid()

    def add_shell(self) -> None:
        """Start the shell that Mininet's command line types into."""
        self.inNamespace = False  # a new one: the shell starts in ours
        self.namespace.call(super().startShell)

    def terminate(self) -> None:
        """Let go of the namespace; with its last process it is gone."""
        if self.shell:
            super().terminate()
        self.namespace.close()


class Port(Intf):
    """An interface that the conductor makes and configures."""

    def config(self, ip: str = "", **parameters: Any) -> dict[str, Any]:
        """Remember the address, for `server ping client`."""
        self.ip, _, self.prefixLen = ip.partition("/")
        return parameters


class Cable(MininetLink):
    """A veth pair that the conductor makes."""

    @classmethod
    def makeIntfPair(cls, *arguments: Any, **parameters: Any) -> None:
        """Leave it to the conductor."""


class Network(Topo):
    """The nodes of a cell and the cables between them, as Mininet has them."""

    def build(self, cell: Cell) -> None:
        """Add hosts, routers and hops, and a link for each cable."""
        addresses = {
            (node.name, each.name): each.address for node in cell.nodes for each in node.interfaces
        }
        for node in cell.nodes:
            self.addHost(node.name)
        for cable in cell.cables:
            (one, intf1), (other, intf2) = cable.a, cable.b
            self.addLink(
                one,
                other,
                intfName1=intf1,
                intfName2=intf2,
                params1={"ip": addresses[cable.a]},
                params2={"ip": addresses[cable.b]},
            )


class MininetNodes(Namespaces):
    """The nodes of a cell in Mininet."""

    def __init__(self, cell: Cell) -> None:
        Mininet.inited = True  # or it would raise limits of the whole machine
        self.net = Mininet(controller=None, host=Host, link=Cable, intf=Port, build=False)
        self.net.buildFromTopo(Network(cell))
        super().__init__({host.name: host.namespace for host in self.net.hosts})

    def versions(self) -> dict[str, str]:
        """Return what the numbers depend on."""
        return {**super().versions(), "mininet": VERSION}


def command_line(nodes: MininetNodes) -> None:
    """Let the user type commands for the nodes."""
    for host in nodes.net.hosts:
        host.add_shell()
    CLI(nodes.net)
    for host in nodes.net.hosts:
        host.terminate()


def run(cell: Cell) -> None:
    """Run the cell; what it leaves is in the folder that is given, else in one with its id as its
    name.

    With `--cli`, have Mininet's command line instead of flows.
    """
    arguments = [argument for argument in sys.argv[1:] if argument != COMMAND_LINE]
    if os.geteuid() != 0:
        sys.exit("this program creates network namespaces: run it as root")
    place = os.path.dirname(os.path.abspath(sys.argv[0]))
    document = expand(cell)
    enter(arguments[0] if arguments else cell.id)
    tie_children_to_this_process()
    wanted = len(arguments) < len(sys.argv) - 1
    sys.exit(conduct(document, lambda: MininetNodes(cell), place, command_line if wanted else None))
