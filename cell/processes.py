"""The programs that were started, by name, and how they ended. Waits without polling."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .clock import RealTime
    from .nodes import Process


PATIENCE_NS = 1_000_000_000
"""For a program of others to end on SIGTERM; what accompanies it then ends it by SIGKILL, before
the conductor loses its own patience.
"""


class Processes:
    """running: name -> process; status: name -> exit status."""

    def __init__(self, clock: RealTime) -> None:
        self.clock = clock
        self.running: dict[str, Process] = {}
        self.status: dict[str, int] = {}

    def start(self, name: str, process: Process) -> None:
        """Take charge of a process."""
        self.running[name] = process

    def wait_any(self, names: Iterable[str], until_ns: int) -> list[str]:
        """Wait until one of them ends or the clock shows until_ns; return the names that ended."""
        names = [name for name in names if name in self.running]
        # A signal to a program that has ended takes its exit status, and its pid is gone.
        ended = [name for name in names if self.running[name].returncode is not None]
        if not ended:
            descriptors = {self.running[name].watch(): name for name in names}
            ended = [descriptors[ready] for ready in self.clock.wait(descriptors, until_ns)]
            for descriptor in descriptors:
                os.close(descriptor)
        for name in ended:
            self.status[name] = self.running.pop(name).wait()
        return ended

    def wait(self, names: Iterable[str], patience_ns: int) -> list[str]:
        """Wait until all of them have ended; return those that did not in that time."""
        until_ns = self.clock.now_ns() + patience_ns
        names = [name for name in names if name in self.running]
        while names and self.clock.now_ns() < until_ns:
            ended = self.wait_any(names, until_ns)
            names = [name for name in names if name not in ended]
        return names

    def signal(self, names: Iterable[str], number: int) -> None:
        """Send a signal to those that still run."""
        for name in names:
            if name in self.running:
                self.running[name].send_signal(number)

    def kill(self) -> None:
        """End everything that is left."""
        for name, process in self.running.items():
            process.kill()
            self.status[name] = process.wait()
        self.running.clear()
