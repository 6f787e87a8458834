"""Protocol of nodes: what the conductor can do with one, be it a namespace or a container."""

from __future__ import annotations

import os
import re
import subprocess

TYPE_CHECKING = False  # spares the import where a cell is started often
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO, Any, Protocol

    from .clock import RealTime
    from .document import InForce, Network
    from .observation import Queues

    Lines = tuple[str, Sequence[str]]
    """A change: the name of a node, and lines of `tc -batch` or `ip -batch` for it."""

    Span = tuple[int, int]
    """When a change began and when it was done, ns after 1970."""

    class Process(Protocol):
        """A program in a node."""

        pid: int
        returncode: int | Any
        stdin: IO[bytes] | None
        stdout: IO[bytes] | None
        stderr: IO[bytes] | None

        def watch(self) -> int:
            """Return a descriptor of the caller's that can be read from as soon as it has ended."""
            ...

        def wait(self) -> int:
            """Return its exit status as soon as it has ended."""
            ...

        def send_signal(self, sig: int) -> None:
            """Send it a signal, unless it has ended."""
            ...

        def kill(self) -> None:
            """End it."""
            ...

        def communicate(self) -> tuple[bytes, bytes]:
            """Give it nothing more to read, and wait for its end."""
            ...

    class Node(Protocol):
        """A host, a router or a hop."""

        name: str

        def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
            """Call a function in the node; arguments and result are plain data."""
            ...

        def popen(self, command: Sequence[str], **streams: Any) -> Process:
            """Start a program in the node; streams: stdin, stdout, stderr as subprocess has
            them.
            """
            ...

        def run(self, command: Sequence[str], lines: Sequence[str] = ()) -> str:
            """Run a command in the node, feed it lines, return what it prints. Raises Failed."""
            ...

    class Changer(Protocol):
        """What changes links and routes while the flows run."""

        def carry_out(self, at_ns: int, changes: Sequence[Lines]) -> list[Span]:
            """Carry out changes at a time (ns after 1970), one after the other; return when each
            was. Raises Failed.
            """
            ...

        def end(self) -> None:
            """End what was started for it."""
            ...

    class Nodes(Protocol):
        """All nodes of a cell."""

        def __getitem__(self, name: str) -> Node: ...

        def __iter__(self) -> Iterator[Node]: ...

        def set_up(self, network: Network, endpoints: str) -> InForce:
            """Connect and configure all of them; return what is then in force. Raises Failed.

            endpoints: path of the endpoints' program.
            """
            ...

        def queues(self, endpoints: str, beyond: Iterable[str]) -> Queues:
            """Return what the queues of every node have counted, as `tc -s -j qdisc show` has it.
            Raises Failed.

            beyond: nodes with queues that tc does not know.
            """
            ...

        def changer(self, clock: RealTime, names: Iterable[str]) -> Changer:
            """Return what changes links of these nodes."""
            ...

        def versions(self) -> dict[str, str]:
            """Return what they are made with."""
            ...


class Failed(Exception):
    """The cell cannot come to its end; the message says why."""


class Local(subprocess.Popen[bytes]):
    """A program on this machine."""

    def watch(self) -> int:
        """Return a descriptor that can be read from as soon as it has ended."""
        return os.pidfd_open(self.pid)


def explain(message: str, lines: Sequence[str]) -> str:
    """Return what a command said, and the line of its batch (`-:3`) that it failed at."""
    failed = re.search(r"-:(\d+)", message)
    line = f": {lines[int(failed[1]) - 1]}" if failed else ""
    return message.partition("\n")[0].strip() + line
