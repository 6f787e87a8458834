"""A clock that jumps and nodes that start nothing: what the conductor can be tried with, without
root.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from fairc.cell.clock import RealTime
from fairc.cell.document import Document, InForce, Network
from fairc.cell.nodes import Failed
from fairc.cell.observation import ping, queues_by_tc
from fairc.cell.schedule import ByTc

S = 10**9


class FakeClock(RealTime):
    """A clock that jumps. at: what happens at a time, in order."""

    def __init__(self) -> None:
        self.time_ns = 0
        self.at: list[tuple[int, Callable[[], None]]] = []

    def now_ns(self) -> int:
        return self.time_ns

    def sleep_until(self, at_ns: int) -> None:
        self.time_ns = max(self.time_ns, at_ns)

    def wait(self, descriptors: Iterable[int], until_ns: int) -> list[int]:
        self.at.sort(key=lambda event: event[0])
        if self.at and self.at[0][0] <= max(self.time_ns, until_ns):
            due_ns, event = self.at.pop(0)
            self.time_ns = max(self.time_ns, due_ns)
            event()
        else:
            self.sleep_until(until_ns)
        return [descriptor for descriptor in descriptors if os.get_blocking(descriptor) is False]


class FakeProcess:
    """A program that ends when it is told to."""

    def __init__(self, command: Sequence[str], stdin: Any, stdout: Any, stderr: Any) -> None:
        self.command = [*command]
        self.pid = 1
        self.returncode: int | None = None
        self.signals: list[int] = []
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self.status_on_term = 0
        self._read, self._write = os.pipe()

    def end(self, status: int = 0) -> None:
        os.set_blocking(self._read, False)
        self.returncode = status

    def watch(self) -> int:
        return os.dup(self._read)

    def wait(self) -> int:
        assert self.returncode is not None, "the conductor waits for what does not end"
        return self.returncode

    def send_signal(self, sig: int) -> None:
        self.signals.append(sig)
        if self.returncode is None:
            self.end(self.status_on_term if sig == signal.SIGTERM else -sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[bytes, bytes]:
        self.end()
        return b"", b""


class FakeNode:
    """A node that remembers."""

    def __init__(self, name: str, nodes: FakeNodes) -> None:
        self.name, self.nodes = name, nodes

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return (10, []) if function is ping else []

    def popen(self, command: Sequence[str], **streams: Any) -> FakeProcess:
        made = FakeProcess(command, **streams)
        self.nodes.started.append((self.name, made))
        return made

    def run(self, command: Sequence[str], lines: Sequence[str] = ()) -> str:
        self.nodes.ran.append((self.name, [*command], [*lines]))
        if self.nodes.refuses and self.nodes.refuses in command:
            raise Failed(f"{self.name}: {' '.join(command)}: refused")
        return "[]"


class FakeNodes:
    """All nodes of a document."""

    def __init__(self, document: Document) -> None:
        names = [node["name"] for node in document["network"]["nodes"]]
        self._nodes = {name: FakeNode(name, self) for name in names}
        self.started: list[tuple[str, FakeProcess]] = []
        self.ran: list[tuple[str, list[str], list[str]]] = []
        self.refuses = ""

    def __getitem__(self, name: str) -> FakeNode:
        return self._nodes[name]

    def __iter__(self) -> Iterator[FakeNode]:
        return iter(self._nodes.values())

    def set_up(self, network: Network, endpoints: str) -> InForce:
        return {"sysctl": {}, "offloads": {}}

    def queues(self, endpoints: str, beyond: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
        return queues_by_tc(self, endpoints, beyond)

    def changer(self, clock: RealTime, names: Iterable[str]) -> ByTc:
        return ByTc(self, clock, names)

    def versions(self) -> dict[str, str]:
        return {"kernel": "none", "tc": "none"}


def empty(path: Path, *names: str) -> None:
    """Write the logs of programs that have said nothing."""
    for name in names:
        (path / f"{name}.ndjson").write_text("")
        (path / f"{name}.err").write_text("it says why\n")
