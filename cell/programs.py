"""The endpoints' programs in the nodes: started, waited for, stopped, and what they said when they
failed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from .nodes import Failed, Local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .document import Program
    from .nodes import Nodes, Process
    from .processes import Processes

ENDPOINTS, BROWSER = "fairc-endpoints", "fairc-browser"
POLL_NS, MOST_POLL_NS = 20_000_000, 500_000_000


class NotReady(Failed):
    """A program needs more time to get ready."""


def find_program(name: str, place: str) -> str:
    """Return the path of a program: in a folder, else on PATH. Raises Failed."""
    for folder in (place, *os.get_exec_path()):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Failed(f"{name} is neither in {place} nor on PATH")


def last_words(name: str) -> str:
    """Return why an endpoint failed: its last error event, else the end of its standard error."""
    with open(name + ".ndjson") as log:
        errors = [line for line in log if '"error"' in line]
    if errors:
        return errors[-1].strip()
    with open(name + ".err") as err:
        return err.read()[-500:].strip()


class Programs:
    """Starts programs. epoch_ns: of the cell. place: the folder where they are looked for first."""

    def __init__(self, nodes: Nodes, processes: Processes, epoch_ns: int, place: str) -> None:
        self.nodes, self.processes, self.epoch_ns, self.place = nodes, processes, epoch_ns, place
        self._describe = json.JSONEncoder(separators=(",", ":")).encode
        self._endpoints = find_program(ENDPOINTS, place)

    def start(self, program: Program) -> None:
        """Start one; its output goes to files. A program of no node is started here."""
        name = program["name"]
        with open(name + ".ndjson", "wb") as out, open(name + ".err", "wb") as err:
            process = self._popen(program["node"])(
                self._command(program), stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
        self.processes.start(name, process)

    def start_captures(self, captures: Sequence[Program]) -> None:
        """Start captures, return when all of them have said that they listen. Raises Failed."""
        for program in captures:
            with open(program["name"] + ".err", "wb") as err:
                process = self._popen(program["node"])(
                    self._command(program),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=err,
                )
            self.processes.start(program["name"], process)
        for name in names(captures):
            stream = self.processes.running[name].stdout
            assert stream is not None
            said = stream.readline()
            with open(name + ".ndjson", "wb") as log:
                log.write(said)
            if b'"capturing"' not in said:
                raise Failed(f"capture {name}: {last_words(name)}")

    def stop_captures(self, captures: Sequence[Program]) -> None:
        """End captures; each writes its last packets, and says how many it wrote and missed.

        Raises Failed.
        """
        self.processes.signal(names(captures), signal.SIGTERM)
        for name in names(captures):
            stream = self.processes.running[name].stdout
            assert stream is not None
            with open(name + ".ndjson", "ab") as log:
                log.write(stream.read())
        self.processes.wait(names(captures), 5_000_000_000)
        for name in names(captures):
            if self.processes.status.get(name) != 0:
                raise Failed(f"capture {name}: {last_words(name)}")

    def start_ready(self, programs: Sequence[Program], until_ns: int) -> None:
        """Start programs, return when all of them have said that they are ready.

        Raises NotReady where one has not by a time of the clock, Failed where one ends.
        """
        clock, waiting = self.processes.clock, names(programs)
        begin_ns, pause_ns = clock.now_ns(), POLL_NS
        for program in programs:
            self.start(program)
        for name in waiting:
            with open(name + ".ndjson") as log:
                while '"ready"' not in log.read():
                    log.seek(0)
                    if clock.now_ns() >= until_ns:
                        waited_s = (until_ns - begin_ns) / 1e9
                        said = last_words(name).rpartition("\n")[2] or "it says nothing"
                        raise NotReady(f"{name} is not ready after {waited_s:.3g} s: {said}")
                    next_ns = min(until_ns, clock.now_ns() + pause_ns)
                    pause_ns = min(MOST_POLL_NS, 2 * pause_ns)
                    for ended in self.processes.wait_any(waiting, next_ns):
                        raise Failed(f"{ended} ended before it was ready: {last_words(ended)}")

    def discard(self, programs: Sequence[Program]) -> None:
        """End programs at once, whatever they do."""
        self.processes.signal(names(programs), signal.SIGKILL)
        self.processes.wait(names(programs), 2_000_000_000)

    def stop(self, programs: Sequence[Program]) -> None:
        """End programs that stand in the way of packets; they write what they still have to say.

        Raises Failed.
        """
        self.processes.signal(names(programs), signal.SIGTERM)
        for name in self.processes.wait(names(programs), 2_000_000_000):
            raise Failed(f"{name} did not end on SIGTERM")
        for name in names(programs):
            status = self.processes.status[name]
            if status != 0:
                raise Failed(f"{name} ended with exit status {status}: {last_words(name)}")

    def _popen(self, node: str) -> Callable[..., Process]:
        if node:
            return self.nodes[node].popen
        return lambda command, **streams: Local(command, **streams)

    def _command(self, program: Program) -> list[str]:
        role = program["role"]
        command = [self._endpoints, role]
        if role == "browser":
            command = [find_program(BROWSER, self.place)]
        elif role == "image":
            command = [sys.executable, "-P", "-m", "cell", "image"]
        elif role.startswith("cell."):  # the agent of a mechanism, beside this module
            place = os.path.dirname(os.path.dirname(__file__))
            code = f"import sys; sys.path.insert(0, {place!r}); from {role} import main; main()"
            command = [sys.executable, "-S", "-E", "-P", "-c", code]
        description = self._describe(program["description"])
        # One argument of a program has at most 128 KiB.
        return [*command, "--epoch-ns", str(self.epoch_ns), description]


def names(programs: Sequence[Program]) -> list[str]:
    """Return the names of programs."""
    return [program["name"] for program in programs]
