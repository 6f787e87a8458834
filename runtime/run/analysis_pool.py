"""Several analyses at a time: in the threads that ask or, for many or long cells, in processes.

Python runs one thread at a time, so threads alone would use a single processor for all analyses;
and a thread cannot be stopped, so who interrupts a command would wait for it.
"""

from __future__ import annotations

import queue
import subprocess
import sys
from contextlib import suppress

from fairc.compiler.plan import Requests
from fairc.runtime.host import faults, supervisor
from fairc.runtime.measurement.results import CellResult

from .analyst import Answer, Job, derive

# The number of cells from which processes pay off: each takes about half a second to start.
MANY = 40
# The same for the wall time that a cell is planned to take, s: its analysis takes up to a fourth.
LONG_S = 4.0
PROGRAM = "fairc.runtime.run.analyst"


class Analysts:
    """A pool that analyses cells for up to `number` threads at a time.

    cells: how many there are to analyse. longest_s: wall time that the longest of them is planned
    to take. requests: the metrics. Raises MachineFault if no process can be started.
    """

    def __init__(self, number: int, cells: int, longest_s: float, requests: Requests) -> None:
        self._requests = requests
        self._processes: list[Process] = []
        self._free: queue.SimpleQueue[Process] = queue.SimpleQueue()
        if cells < MANY and longest_s < LONG_S:
            return
        try:
            for _ in range(number):
                self._processes.append(Process(self._requests))
                self._free.put(self._processes[-1])
        except BaseException as error:
            self.close()
            if fault := faults.of(error):
                raise fault from error
            raise

    def derive(self, job: Job) -> CellResult | None:
        """Return a cell's result; None if its stored artefacts are not whole.

        Raises MachineFault.
        """
        if not self._processes:
            return derive(job, self._requests)
        process = self._free.get()
        try:
            return process.derive(job)
        finally:
            self._free.put(process)

    def stop(self) -> None:
        """Stop the processes at once; from any thread."""
        for process in self._processes:
            process.stop()

    def close(self) -> None:
        """End the processes, when no thread asks any more."""
        for process in self._processes:
            process.close()


class Process:
    """A process that analyses one cell after the other, and ends with this one."""

    def __init__(self, requests: Requests) -> None:
        self._process = supervisor.start(
            [sys.executable, "-P", "-m", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._first = requests.model_dump_json().encode()

    def derive(self, job: Job) -> CellResult | None:
        """Return a cell's result; None if its stored artefacts are not whole.

        Raises MachineFault.
        """
        process = self._process
        assert process.stdin and process.stdout
        try:
            for line in filter(None, (self._first, job.model_dump_json().encode())):
                process.stdin.write(line + b"\n")
            self._first = b""
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            status = process.wait()
            raise faults.MachineFault(
                (f"a process that analysed cells ended with exit status {status}",),
                f"more free memory, or fewer cells at once: --jobs 1; {faults.RESUMES}",
            )
        answer = Answer.model_validate_json(line)
        if answer.missing:
            raise faults.MachineFault(answer.missing, answer.remedy)
        return answer.result

    def stop(self) -> None:
        """Stop it at once; from any thread."""
        self._process.kill()

    def close(self) -> None:
        """End it, when no thread asks any more."""
        # One that has died does not take what is still to be written to it.
        with suppress(BrokenPipeError), self._process:
            pass
