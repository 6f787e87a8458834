"""Nodes that are containers: each calls the conductor, a container of its own, and does what that
says.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from .conductor import conduct
from .configuration import configure
from .document import InForce, Network
from .expansion import expand
from .kernel import versions
from .model import Cell
from .node_agent import CALL_S, CONTROL, MESSAGE_BYTES, check_sysctls, name_interfaces
from .nodes import Failed, explain
from .observation import queues_by_tc
from .schedule import ByTc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clock import RealTime
    from .nodes import Changer
    from .observation import Queues

Addresses = Mapping[str, Sequence[str]]
"""Of each node: by which addresses on the container engine's networks its interfaces are found."""


class RemoteProcess:
    """A program in a container, as far as `nodes.Process` goes."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def __init__(self, node: RemoteNode, command: Sequence[str], **streams: Any) -> None:
        self._node = node
        self.returncode: int | None = None
        self._ended, status = os.pipe()
        theirs = []
        for name, mode in (("stdin", "wb"), ("stdout", "rb"), ("stderr", "rb")):
            stream, ours = streams[name], None
            if stream == subprocess.PIPE:
                ends = os.pipe()
                stream, end = ends if mode == "wb" else ends[::-1]
                ours = open(end, mode)  # noqa: SIM115
            elif stream == subprocess.DEVNULL:
                stream = os.open(os.devnull, os.O_RDWR)
            setattr(self, name, ours)
            theirs.append(stream if isinstance(stream, int) else os.dup(stream.fileno()))
        try:
            self.pid: int = node.ask({"start": [*command]}, [*theirs, status])["process"]
        finally:
            for descriptor in (*theirs, status):
                os.close(descriptor)

    def watch(self) -> int:
        """Return a descriptor that can be read from as soon as it has ended."""
        return os.dup(self._ended)

    def wait(self) -> int:
        """Return its exit status as soon as it has ended; that of a kill, if the node is gone."""
        if self.returncode is None:
            self.returncode = int(os.read(self._ended, 16) or -signal.SIGKILL)
            os.close(self._ended)
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        with contextlib.suppress(Failed):
            self._node.ask({"signal": sig, "process": self.pid})

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[bytes, bytes]:
        """Give it nothing more to read, and wait for its end."""
        if self.stdin is not None:
            self.stdin.close()
        self.wait()
        return b"", b""


class RemoteNode:
    """A container, as the conductor sees it."""

    def __init__(self, name: str, control: socket.socket) -> None:
        self.name, self._control = name, control

    def ask(self, order: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Have an order carried out; return the answer. Raises Failed when there is none."""
        try:
            socket.send_fds(self._control, [json.dumps(order).encode()], [*descriptors])
            said = self._control.recv(MESSAGE_BYTES)
        except OSError as error:
            raise Failed(f"{self.name}: {error}") from None
        if not said:
            raise Failed(f"the container of {self.name} has ended")
        answer: dict[str, Any] = json.loads(said)
        if "failed" in answer:
            raise Failed(f"{self.name}: {answer['failed']}")
        return answer

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call one of `CALLED` in the node."""
        return self.ask({"call": function.__name__, "arguments": arguments})["value"]

    def popen(self, command: Sequence[str], **streams: Any) -> RemoteProcess:
        """Start a program in the node."""
        return RemoteProcess(self, command, **streams)

    def run(self, command: Sequence[str], lines: Sequence[str] = ()) -> str:
        """Run a command in the node, feed it lines, return what it prints. Raises Failed."""
        files = [open(os.memfd_create(name), "w+") for name in ("in", "out", "err")]  # noqa: SIM115
        with files[0] as given, files[1] as out, files[2] as err:
            given.writelines(f"{line}\n" for line in lines)
            given.seek(0)
            if self.popen(command, stdin=given, stdout=out, stderr=err).wait() != 0:
                err.seek(0)
                raise Failed(f"{self.name}: {' '.join(command)}: {explain(err.read(), lines)}")
            out.seek(0)
            return out.read()


class Containers:
    """All nodes of a cell."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._nodes = gather([*addresses])

    def __getitem__(self, name: str) -> RemoteNode:
        return self._nodes[name]

    def __iter__(self) -> Iterator[RemoteNode]:
        return (self._nodes[name] for name in self._addresses)

    def set_up(self, network: Network, endpoints: str) -> InForce:
        """Configure all nodes, whose sysctls the container engine has set; return what is in force.

        Raises Failed.
        """
        return configure(self, network, endpoints, lambda: self._lay_cables(network), check_sysctls)

    def queues(self, endpoints: str, beyond: Iterable[str]) -> Queues:
        """Return `tc -s -j qdisc show` of every node. Raises Failed."""
        return queues_by_tc(self, endpoints, beyond)

    def changer(self, clock: RealTime, names: Iterable[str]) -> Changer:
        """Return what changes links."""
        return ByTc(self, clock, names)

    def _lay_cables(self, network: Network) -> None:
        """Turn the networks that the containers share into the cables of the plan."""
        for node in network["nodes"]:
            ends = zip(self._addresses[node["name"]], node["interfaces"], strict=True)
            self[node["name"]].call(
                name_interfaces, [(at, end["lower"] or end["name"], end["mac"]) for at, end in ends]
            )

    def versions(self) -> dict[str, str]:
        """Return what the numbers depend on."""
        return versions()


def gather(names: Sequence[str]) -> dict[str, RemoteNode]:
    """Wait until every node has called. Raises Failed."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(CONTROL)
    nodes: dict[str, RemoteNode] = {}
    give_up = time.monotonic() + CALL_S
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(CONTROL)
        listener.listen(len(names))
        while missing := set(names) - nodes.keys():
            listener.settimeout(max(0.001, give_up - time.monotonic()))
            try:
                control, _ = listener.accept()
            except TimeoutError:
                absent = ", ".join(sorted(missing))
                raise Failed(f"not up after {CALL_S} s: {absent}") from None
            name = control.recv(MESSAGE_BYTES).decode()
            nodes[name] = RemoteNode(name, control)
    os.unlink(CONTROL)
    return nodes


def run(cell: Cell, addresses: Addresses) -> None:
    """Conduct the cell in this folder, which all containers share."""
    place = os.path.dirname(os.path.abspath(sys.argv[0]))
    os.chdir(place)
    with contextlib.suppress(FileNotFoundError):
        os.unlink("cell.json")
    document = expand(cell)
    sys.exit(conduct(document, lambda: Containers(addresses), place))
