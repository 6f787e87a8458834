"""Emitted Mininet programs: their options, and `run`, which runs the flows of an experiment in a
network that is up.

The hosts' shells are Mininet's own, so that `cmd` works at any time. What the conductor starts is
in the same network namespaces, and ends with this program, however that ends.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from contextlib import suppress

from mininet.net import VERSION

from .conductor import conduct, enter
from .configuration import switch_offloads_off
from .namespaces import Namespace, Namespaces, tie_children_to_this_process
from .summary import restore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType
    from typing import Any

    from mininet.net import Mininet

    from .document import InForce, Network

ENDPOINTS = "fairc-endpoints qdiscs"


def arguments(about: str, repetitions: Sequence[int]) -> argparse.Namespace:
    """Return the options of a program; end it where they are wrong, or where it is not root.

    about: its docstring. repetitions: those that it has.
    """
    place, name = os.path.split(os.path.abspath(sys.argv[0]))
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("outdir", nargs="?", help="receives captures and logs")
    parser.add_argument("--cli", action="store_true", help="no flows, but Mininet's command line")
    parser.add_argument(
        "--repetition", type=int, choices=repetitions, default=repetitions[0], metavar="N"
    )
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this program makes network namespaces: run it as root")
    # Where the queues and programs that Mininet's shells start are looked for.
    os.environ["PATH"] = f"{place}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    options.outdir = options.outdir or f"{name.removesuffix('.py')}.{options.repetition}"
    return options


class MininetNodes(Namespaces):
    """The nodes of a network that Mininet has made."""

    def __init__(self, net: Mininet) -> None:
        self.net = net
        super().__init__(
            {host.name: Namespace(host.name, f"/proc/{host.pid}/ns/net") for host in net.hosts}
        )

    def set_up(self, network: Network, endpoints: str) -> InForce:
        """Switch offloads off; return what is in force."""
        found: InForce = {"sysctl": {}, "offloads": {}}
        for host, node in zip(self.net.hosts, network["nodes"], strict=True):
            here = self[host.name]
            ends = [each["lower"] or each["name"] for each in node["interfaces"]]
            found["sysctl"][host.name] = here.call(read_sysctls, node["sysctls"])
            found["offloads"][host.name] = here.call(switch_offloads_off, ends)
        return found

    def versions(self) -> dict[str, str]:
        """Return what the numbers depend on."""
        return {**super().versions(), "mininet": VERSION}


def read_sysctls(names: Sequence[str]) -> dict[str, str | None]:
    """Return kernel options of the node that we are in; None where the kernel has none."""
    found: dict[str, str | None] = {}
    for name in names:
        try:
            with open("/proc/sys/" + name.replace(".", "/")) as option:
                found[name] = " ".join(option.read().split())
        except FileNotFoundError:
            found[name] = None
    return found


def network_of(net: Mininet) -> Network:
    """Return a network as Mininet has it: what the conductor asks of one that is set up."""
    nodes: list[Any] = []
    for host in net.hosts:
        ports = [port for port in host.intfList() if port.name != "lo"]
        beyond = [
            c for port in ports for c in port.params.get("commands", ()) if c.startswith(ENDPOINTS)
        ]
        nodes.append(
            {
                "name": host.name,
                "sysctls": host.params["sysctls"],
                "interfaces": [
                    {"name": port.name, "lower": port.params.get("below")} for port in ports
                ],
                "beyond_tc": beyond,
            }
        )
    return {"nodes": nodes, "cables": []}


def run(
    net: Mininet, experiment: dict[str, Any], outdir: str, meanwhile: Callable[[Mininet], object]
) -> int:
    """Run an experiment in a network that is up; return the exit status of the program.

    outdir: receives what is observed, and cell.json, which says how it went. meanwhile: is called
    with the network when the flows begin, in a thread; the program ends when both have ended.
    """
    commands = {
        host.name: [c for port in host.intfList() for c in port.params.get("commands", ())]
        for host in net.hosts
    }
    made = restore(experiment, network_of(net), commands)
    begun = threading.Event()

    def beside() -> None:
        begun.wait()
        meanwhile(net)

    def give_up(number: int, frame: FrameType | None) -> None:
        # A shell that runs a command takes no other, so Mininet cannot stop it.
        for host in net.hosts:
            with suppress(ProcessLookupError):  # the command may have ended its shell
                os.killpg(host.shell.pid, signal.SIGKILL)
        os._exit(128 + number)

    thread = threading.Thread(target=beside, daemon=True)
    thread.start()  # the kernel makes none after the next line
    tie_children_to_this_process()
    place = os.path.dirname(os.path.abspath(sys.argv[0]))
    enter(outdir)
    status = conduct(made, lambda: MininetNodes(net), place, begun.set)
    if begun.is_set():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, give_up)
        thread.join()
    return status
