"""What is due at given times while the flows run: changes of links, starts and stops of iperf3's
clients.
"""

from __future__ import annotations

import heapq
import itertools
import json
import signal
import subprocess

from .nodes import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TextIO

    from .clock import RealTime
    from .document import Changes, Iperf3Test
    from .nodes import Nodes, Process
    from .processes import Processes

    Due = tuple[int, int, Callable[[], None]]
    """Ns after 1970, a number that decides between equal times, what to do."""

IP = ("ip", "-batch", "-")
SOON_NS = 3_000_000
"""What is due by then is waited for at once."""


class Agenda:
    """Does what is due, in order of time; entries may come again for ever."""

    def __init__(self, clock: RealTime, *due: Iterator[Due]) -> None:
        self.clock = clock
        self._due = heapq.merge(*due, key=lambda entry: entry[:2])
        self.next = next(self._due, None)

    def wake_ns(self, until_ns: int) -> int:
        """Return when to look again: before what is due next, until_ns at the latest.

        poll() may come late by up to 0.5 % of its wait (Linux, select_estimate_accuracy()): a
        longer wait ends 1 % early, and it waits again for the rest.
        """
        if self.next is None or self.next[0] >= until_ns:
            return until_ns
        next_ns = self.next[0] - 2_000_000
        return min(until_ns, next_ns - max(0, next_ns - self.clock.now_ns()) // 100)

    def carry_out(self, until_ns: int) -> None:
        """Do what is due, or will be in a moment, before until_ns. Raises Failed."""
        while self.next is not None and self.next[0] < until_ns:
            at_ns, _, action = self.next
            if at_ns - self.clock.now_ns() > SOON_NS:
                return
            self.clock.sleep_until(at_ns)
            action()
            self.next = next(self._due, None)


class ByTc:
    """Changes links by one `tc -batch` per node, and routes by an `ip -batch` each time."""

    def __init__(self, nodes: Nodes, names: Iterable[str]) -> None:
        self.nodes = nodes
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.tc: dict[str, Process] = {
            name: nodes[name].popen(["tc", "-batch", "-"], **pipes) for name in names
        }

    def carry_out(self, node: str, lines: Sequence[str]) -> None:
        """Have tc carry out lines; it answers the one after them when that is done.

        Raises Failed.
        """
        if lines[0].startswith("route "):
            self.nodes[node].run(IP, lines)
            return
        tc = self.tc[node]
        assert tc.stdin and tc.stdout and tc.stderr
        try:
            tc.stdin.write("\n".join([*lines, "qdisc show dev lo\n"]).encode())
            tc.stdin.flush()
        except BrokenPipeError:
            pass  # it has said why
        if not tc.stdout.readline():
            raise Failed(f"tc: {'; '.join(lines)}: {tc.stderr.read().decode().strip()}")

    def end(self) -> None:
        """End every tc."""
        for tc in self.tc.values():
            tc.communicate()


class LinkChanges:
    """Changes of links and routes, carried out and written down."""

    def __init__(
        self, nodes: Nodes, clock: RealTime, epoch_ns: int, changes: Sequence[Changes]
    ) -> None:
        self.clock, self.epoch_ns, self.changes = clock, epoch_ns, changes
        self.nodes = nodes
        self.changer = nodes.changer(sorted({change["node"] for change in changes}))
        self.log: TextIO | None = open("changes.ndjson", "w") if changes else None  # noqa: SIM115

    def due(self) -> Iterator[Iterator[Due]]:
        """Yield the changes of each interface, and of each node's routes, in order of time, for
        ever if they come again.
        """
        for number, changes in enumerate(self.changes):
            yield self._of(number, changes)

    def _of(self, number: int, changes: Changes) -> Iterator[Due]:
        repeat_ns = changes["repeat_ns"]
        for times in itertools.count():
            for at_ns, lines in changes["lines"]:
                due_ns = at_ns + times * (repeat_ns or 0)
                yield self.epoch_ns + due_ns, number, self._action(due_ns, changes, lines)
            if repeat_ns is None:
                return

    def _action(self, at_ns: int, changes: Changes, lines: list[str]) -> Callable[[], None]:
        return lambda: self._change(at_ns, changes["node"], changes["interface"], lines)

    def _change(self, at_ns: int, node: str, interface: str, lines: list[str]) -> None:
        """Carry out a change, and write down when."""
        assert self.log
        begin_ns = self.clock.now_ns() - self.epoch_ns
        if lines[0].startswith("mptcp "):
            self.nodes[node].run(IP, lines)
        else:
            self.changer.carry_out(node, lines)
        done: dict[str, Any] = {
            "t_ns": self.clock.now_ns() - self.epoch_ns,
            "begin_ns": begin_ns,
            "at_ns": at_ns,
            "node": node,
            "interface": interface,
        }
        self.log.write(json.dumps(done) + "\n")

    def end(self) -> None:
        """End what carries changes out."""
        self.changer.end()
        if self.log:
            self.log.close()


class Iperf3:
    """The servers and clients of iperf3; what they print goes into files of their own."""

    def __init__(
        self, nodes: Nodes, processes: Processes, epoch_ns: int, tests: Sequence[Iperf3Test]
    ) -> None:
        self.nodes, self.processes, self.epoch_ns = nodes, processes, epoch_ns
        self.waiting: dict[str, Iperf3Test] = {}
        for test in tests:
            if test["begin_ns"] is None:
                self._start(test)
            else:
                self.waiting[test["name"]] = test

    def due(self) -> Iterator[Due]:
        """Yield the starts and stops of the clients in order of time."""
        entries: list[tuple[int, Callable[[], None]]] = []
        for test in self.waiting.values():
            begin_ns, stop_ns = test["begin_ns"], test["stop_ns"]
            assert begin_ns is not None
            entries.append((self.epoch_ns + begin_ns, self._starting(test)))
            if stop_ns is not None:
                entries.append((self.epoch_ns + stop_ns, self._stopping(test)))
        first = 1_000_000  # after changes of the same time
        entries.sort(key=lambda entry: entry[0])
        for number, (at_ns, action) in enumerate(entries, first):
            yield at_ns, number, action

    def _starting(self, test: Iperf3Test) -> Callable[[], None]:
        return lambda: self._start(self.waiting.pop(test["name"]))

    def _stopping(self, test: Iperf3Test) -> Callable[[], None]:
        return lambda: self.processes.signal([test["name"]], signal.SIGTERM)

    def _start(self, test: Iperf3Test) -> None:
        name = test["name"]
        with open(name + ".json", "wb") as out, open(name + ".err", "wb") as err:
            process = self.nodes[test["node"]].popen(
                test["command"], stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
        self.processes.start(name, process)

    def end(self) -> None:
        """Say of those whose time did not come that they have nothing to say."""
        for name in self.waiting:
            for kind in (".json", ".err"):
                with open(name + kind, "wb"):
                    pass
            self.processes.status[name] = 0
