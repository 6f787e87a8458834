"""Configuration of nodes: sysctls, interfaces, addresses, routes, offloads and queues are set and
read back.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import time

from .batch import node_lines
from .nodes import Failed
from .observation import role_qdiscs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .document import InForce, Network
    from .nodes import Nodes

SIOCETHTOOL, SIOCGIFFLAGS = 0x8946, 0x8913
ETHTOOL_GLINK, IFF_RUNNING = 0x0A, 0x40
CARRIER_S = 60.0  # for all interfaces of a node
OFFLOADS = {  # name: (ETHTOOL_G.., ETHTOOL_S..)
    "tso": (0x1E, 0x1F),
    "gso": (0x23, 0x24),
    "gro": (0x2B, 0x2C),
}


def switch_offloads_off(interfaces: Iterable[str]) -> dict[str, dict[str, str]]:
    """Do what `ethtool -K INTERFACE tso off gso off gro off` does; return what is then in force."""
    state: dict[str, dict[str, str]] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for interface in interfaces:
            state[interface] = {}
            for name, (get, put) in OFFLOADS.items():
                _ethtool(control, interface, put)
                state[interface][name] = "on" if _ethtool(control, interface, get) else "off"
    return state


def await_carriers(interfaces: Iterable[str]) -> None:
    """Return once all interfaces of the node that we are in transmit. Raises Failed.

    The kernel activates an interface whose peer came up later from a queue, a hundred of them a
    second; until then it drops every frame. ETHTOOL_GLINK has recent kernels do so at once.
    """
    give_up = time.monotonic() + CARRIER_S
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for interface in interfaces:
            request = struct.pack("16sH", interface.encode(), 0).ljust(40, b"\0")
            _ethtool(control, interface, ETHTOOL_GLINK)
            while (
                not struct.unpack_from("H", fcntl.ioctl(control, SIOCGIFFLAGS, request), 16)[0]
                & IFF_RUNNING
            ):
                if time.monotonic() > give_up:
                    raise Failed(f"{interface} has no carrier after {CARRIER_S:.0f} s")
                time.sleep(0.01)


def _ethtool(control: socket.socket, interface: str, command: int, value: int = 0) -> int:
    """Carry out an ethtool command about one number; return the number that is then in force."""
    data = ctypes.create_string_buffer(struct.pack("II", command, value), 8)
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
    fcntl.ioctl(control, SIOCETHTOOL, request)
    in_force: int = struct.unpack("II", data.raw)[1]
    return in_force


def set_sysctls(settings: dict[str, str]) -> dict[str, str | None]:
    """Write kernel options of the node that we are in; return those that are in force."""
    in_force: dict[str, str | None] = {}
    for name, value in settings.items():
        path = "/proc/sys/" + name.replace(".", "/")
        try:
            with open(path, "r+") as option:
                option.write(value)
            with open(path) as option:
                in_force[name] = " ".join(option.read().split())
        except FileNotFoundError:
            in_force[name] = None  # this kernel has no such option for a namespace
    return in_force


def configure(
    nodes: Nodes,
    network: Network,
    endpoints: str,
    lay_cables: Callable[[], None],
    sysctls: Callable[[dict[str, str]], dict[str, str | None]] = set_sysctls,
) -> InForce:
    """Set up all nodes by `ip -batch` and `tc -batch` in each; return what is then in force. Raises
    Failed.

    endpoints: the program that adds queues that tc does not know. lay_cables: connects them.
    sysctls: sets or checks those of a node, in it.
    """
    in_force: InForce = {"sysctl": {}, "offloads": {}}
    for node in network["nodes"]:
        name = node["name"]
        in_force["sysctl"][name] = nodes[name].call(sysctls, node["sysctls"])
    lay_cables()
    for node in network["nodes"]:
        name, here = node["name"], nodes[node["name"]]
        here.run(["ip", "-batch", "-"], list(node_lines(node)))
        ends = [interface["lower"] or interface["name"] for interface in node["interfaces"]]
        in_force["offloads"][name] = here.call(switch_offloads_off, ends)
        if node["qdiscs"]:
            here.run(["tc", "-batch", "-"], node["qdiscs"])
        if node["beyond_tc"]:
            role_qdiscs(here, endpoints, node["beyond_tc"])
    return in_force
