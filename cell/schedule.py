"""Schedule of the changes of links while the flows run."""

from __future__ import annotations

import heapq
import itertools
import json
import subprocess

from .nodes import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TextIO

    from .clock import RealTime
    from .document import Changes
    from .nodes import Lines, Nodes, Process, Span

    Due = tuple[int, int, Callable[[], None]]
    """Ns after 1970, a number that decides between equal times, what to do: it is called up to
    AHEAD_NS before, and acts at its time.
    """

IP = ("ip", "-batch", "-")
AHEAD_NS = 1_000_000
"""So early is handed over what is due, to what waits for its time."""


class Schedule:
    """Does what is due, in order of time; entries may come again for ever."""

    def __init__(self, clock: RealTime, *due: Iterator[Due]) -> None:
        self.clock = clock
        self._due = heapq.merge(*due, key=lambda entry: entry[:2])
        self.next = next(self._due, None)

    def wake_ns(self, until_ns: int) -> int:
        """Return when to look again: before what is due next, until_ns at the latest."""
        if self.next is None or self.next[0] >= until_ns:
            return until_ns
        return self.next[0] - AHEAD_NS

    def carry_out(self, until_ns: int) -> None:
        """Do what is due, or will be in a moment, before until_ns. Raises Failed."""
        while self.next is not None and self.next[0] < until_ns:
            at_ns, _, action = self.next
            if at_ns - self.clock.now_ns() > AHEAD_NS:
                return
            action()
            self.next = next(self._due, None)


class ByTc:
    """Changes links by one `tc -batch` per node, and routes by an `ip -batch` each time."""

    def __init__(self, nodes: Nodes, clock: RealTime, names: Iterable[str]) -> None:
        self.nodes, self.clock = nodes, clock
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.tc: dict[str, Process] = {
            name: nodes[name].popen(["tc", "-batch", "-"], **pipes) for name in names
        }

    def carry_out(self, at_ns: int, changes: Sequence[Lines]) -> list[Span]:
        """Have tc carry out changes at a time; it answers the line after each when it is done.

        Raises Failed.
        """
        self.clock.sleep_until(at_ns)
        return [self._change(node, lines) for node, lines in changes]

    def _change(self, node: str, lines: Sequence[str]) -> Span:
        begin_ns = self.clock.now_ns()
        if lines[0].startswith("route "):
            self.nodes[node].run(IP, lines)
            return begin_ns, self.clock.now_ns()
        tc = self.tc[node]
        assert tc.stdin and tc.stdout and tc.stderr
        try:
            tc.stdin.write("\n".join([*lines, "qdisc show dev lo\n"]).encode())
            tc.stdin.flush()
        except BrokenPipeError:
            pass  # it has said why
        if not tc.stdout.readline():
            raise Failed(f"tc: {'; '.join(lines)}: {tc.stderr.read().decode().strip()}")
        return begin_ns, self.clock.now_ns()

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
        self.changer = nodes.changer(clock, sorted({change["node"] for change in changes}))
        self.log: TextIO | None = open("changes.ndjson", "w") if changes else None  # noqa: SIM115

    def due(self) -> Iterator[Due]:
        """Yield what changes at each instant, in order of time, for ever if changes come again.

        Those of one instant are in the order of the document.
        """
        each = heapq.merge(*map(self._of, self.changes), key=lambda entry: entry[0])
        for due_ns, together in itertools.groupby(each, key=lambda entry: entry[0]):
            at_once = [(changes, lines) for _, changes, lines in together]
            yield self.epoch_ns + due_ns, 0, self._action(due_ns, at_once)

    def _of(self, changes: Changes) -> Iterator[tuple[int, Changes, list[str]]]:
        repeat_ns = changes["repeat_ns"]
        for times in itertools.count():
            for at_ns, lines in changes["lines"]:
                yield at_ns + times * (repeat_ns or 0), changes, lines
            if repeat_ns is None:
                return

    def _action(self, at_ns: int, at_once: list[tuple[Changes, list[str]]]) -> Callable[[], None]:
        return lambda: self._change(at_ns, at_once)

    def _change(self, at_ns: int, at_once: list[tuple[Changes, list[str]]]) -> None:
        """Carry out the changes of an instant, and write down when."""
        links = [(changes, lines) for changes, lines in at_once if not _is_of_paths(lines)]
        ordered = [(changes["node"], lines) for changes, lines in links]
        spans = self.changer.carry_out(self.epoch_ns + at_ns, ordered) if links else []
        for (changes, _), span in zip(links, spans, strict=True):
            self._write(at_ns, changes, span)
        for changes, lines in at_once:
            if _is_of_paths(lines):
                self.clock.sleep_until(self.epoch_ns + at_ns)
                begin_ns = self.clock.now_ns()
                self.nodes[changes["node"]].run(IP, lines)
                self._write(at_ns, changes, (begin_ns, self.clock.now_ns()))

    def _write(self, at_ns: int, changes: Changes, span: Span) -> None:
        assert self.log
        done: dict[str, Any] = {
            "t_ns": span[1] - self.epoch_ns,
            "begin_ns": span[0] - self.epoch_ns,
            "at_ns": at_ns,
            "node": changes["node"],
            "interface": changes["interface"],
        }
        self.log.write(json.dumps(done) + "\n")

    def end(self) -> None:
        """End what carries changes out."""
        self.changer.end()
        if self.log:
            self.log.close()


def _is_of_paths(lines: Sequence[str]) -> bool:
    """Whether lines change what MPTCP knows of paths."""
    return lines[0].startswith("mptcp ")
