"""Nodes that are network namespaces of this machine: no other program sees them, and they end with
this program.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess

from .batch import cable_lines
from .configuration import configure
from .kernel import versions
from .nodes import Failed, Local, explain
from .observation import queues_by_tc
from .schedule import ByTc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from .clock import RealTime
    from .document import InForce, Network
    from .nodes import Changer
    from .observation import Queues

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000


def system_call(function: Any, *arguments: Any) -> None:
    """Call into the C library; raise OSError with its errno when that fails."""
    if function(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{function.__name__}: {os.strerror(code)}")


def tie_children_to_this_process() -> None:
    """Give the children a process namespace of their own, whose first process ends with us.

    When that one ends the kernel kills all others, even if this program was killed by SIGKILL.
    """
    read_end, _write_end = os.pipe()
    system_call(libc.unshare, CLONE_NEWPID)
    if os.fork() == 0:
        # Mininet's terminals were open here, too: a shell could outlive this program's end of it.
        os.closerange(3, read_end)
        os.closerange(read_end + 1, os.sysconf("SC_OPEN_MAX"))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        os.read(read_end, 1)  # returns when the last copy of write_end has been closed
        os._exit(0)
    os.close(read_end)


class Namespace:
    """A network namespace, held open by a descriptor; with that and its last process it is gone."""

    def __init__(self, name: str, made: str | None = None) -> None:
        """Make it, or take the one that somebody else has made: its path."""
        self.name = name
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY)
        if made is None:
            system_call(libc.unshare, CLONE_NEWNET)
        self._namespace = os.open(made or "/proc/self/ns/net", os.O_RDONLY)
        self.path = f"/proc/{os.getpid()}/fd/{self._namespace}"
        if made is None:
            system_call(libc.setns, self._home, CLONE_NEWNET)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._namespace)
        os.close(self._home)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the node."""
        system_call(libc.setns, self._namespace, CLONE_NEWNET)
        try:
            return function(*arguments)
        finally:
            system_call(libc.setns, self._home, CLONE_NEWNET)

    def popen(self, command: Sequence[str], **streams: Any) -> Local:
        """Start a program in the node."""
        process: Local = self.call(lambda: Local(command, **streams))
        return process

    def run(self, command: Sequence[str], lines: Sequence[str] = ()) -> str:
        """Run a command in the node, feed it lines, return what it prints. Raises Failed."""
        text = "".join(f"{line}\n" for line in lines).encode()
        pipe = subprocess.PIPE
        process = self.popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        out, err = process.communicate(text)
        if process.returncode != 0:
            said = explain(err.decode(errors="replace"), lines)
            raise Failed(f"{self.name}: {' '.join(command)}: {said}")
        return out.decode()


class Namespaces:
    """All nodes of a cell."""

    def __init__(self, nodes: Mapping[str, Namespace]) -> None:
        self._nodes = nodes

    def __getitem__(self, name: str) -> Namespace:
        return self._nodes[name]

    def __iter__(self) -> Iterator[Namespace]:
        return iter(self._nodes.values())

    def set_up(self, network: Network, endpoints: str) -> InForce:
        """Connect and configure all nodes by `ip` and `tc`; return what is then in force.

        Raises Failed.
        """
        return configure(self, network, endpoints, lambda: self._lay_cables(network))

    def queues(self, endpoints: str, beyond: Iterable[str]) -> Queues:
        """Return `tc -s -j qdisc show` of every node. Raises Failed."""
        return queues_by_tc(self, endpoints, beyond)

    def changer(self, clock: RealTime, names: Iterable[str]) -> Changer:
        """Return what changes links."""
        return ByTc(self, clock, names)

    def _lay_cables(self, network: Network) -> None:
        """Make all veth pairs by one `ip -batch`, between the nodes' namespaces."""
        paths = {name: node.path for name, node in self._nodes.items()}
        first = next(iter(self))
        first.run(["ip", "-batch", "-"], cable_lines(network["cables"], paths))

    def versions(self) -> dict[str, str]:
        """Return what the numbers depend on."""
        return versions()
