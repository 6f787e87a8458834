"""The analysts of a sweep: its own threads or, for many cells, processes.

Python runs one thread at a time, so threads alone would use a single processor for all analyses.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from fairc.compiler.plan import MetricRequest
from fairc.runtime.host import faults, supervisor
from fairc.runtime.store.results import CellResult

from .analyst import REQUESTS, Answer, Job, derive

# The number of cells from which processes pay off: each takes about half a second to start.
MANY = 40
PROGRAM = "fairc.runtime.run.analyst"


class Analyst(Protocol):
    """Analyses one cell after the other, for one thread."""

    def derive(self, job: Job) -> CellResult | None:
        """Return a cell's result; None if its stored artefacts are not whole. Raises MachineFault."""
        ...

    def stop(self) -> None:
        """Stop at once; from any thread."""
        ...

    def close(self) -> None:
        """Stop and give everything back, when no thread asks any more."""
        ...


class Here:
    """Analyses in the thread that asks."""

    def __init__(self, requests: Sequence[MetricRequest]) -> None:
        self._requests = tuple(requests)

    def derive(self, job: Job) -> CellResult | None:
        """Return a cell's result; None if its stored artefacts are not whole. Raises MachineFault."""
        return derive(job, self._requests)

    def stop(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Apart:
    """Has a process analyse, which ends with this one."""

    def __init__(self, requests: Sequence[MetricRequest]) -> None:
        self._process = supervisor.start(
            [sys.executable, "-P", "-m", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._first = REQUESTS.dump_json(tuple(requests))

    def derive(self, job: Job) -> CellResult | None:
        """Return a cell's result; None if its stored artefacts are not whole. Raises MachineFault."""
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
        """Stop at once; from any thread."""
        self._process.kill()

    def close(self) -> None:
        """Stop and give everything back, when no thread asks any more."""
        # One that has died does not take what is still to be written to it.
        with suppress(BrokenPipeError), self._process:
            pass


def several(number: int, cells: int, requests: Sequence[MetricRequest]) -> list[Analyst]:
    """Return `number` analysts; for few cells they share this process. Raises MachineFault if none can be started."""
    if cells < MANY:
        return [Here(requests) for _ in range(number)]
    started: list[Analyst] = []
    try:
        for _ in range(number):
            started.append(Apart(requests))
    except BaseException as error:
        for analyst in started:
            analyst.close()
        if fault := faults.of(error):
            raise fault from error
        raise
    return started
