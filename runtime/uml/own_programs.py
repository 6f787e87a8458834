"""Programs of the user's own in a machine of `uml`: whether they may run, and their files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairc.cell.workloads import OwnCode
from fairc.compiler.files import opened
from fairc.compiler.plan import Cell, Flow
from fairc.runtime.host.faults import EngineUnavailable

from . import confinement

SUFFIX = ".program"
HARDLY_NS = 100_000_000
"""What a program advances the clock by that forks without end, in its `cpu`: each call costs 1 us,
and a fork takes the host 10 ms.
"""
ADVICE = (
    "it spins or forks without end, or computes for long: programs compute in no time here, so one"
    " that waits must make a system call (sleep, poll, sched_yield); `cpu: 120s` of `program` lets"
    " one compute for longer"
)


def of(cell: Cell) -> Iterator[tuple[Flow, OwnCode]]:
    """Yield the flows of a cell with programs of the user's own."""
    for flow in cell.flows:
        if flow.workload.own_code is not None:
            yield flow, flow.workload.own_code


def require_allowed(cell: Cell, allowed: bool) -> None:
    """Raise EngineUnavailable for programs that the user has not allowed, or that this host would
    not confine.
    """
    for flow, code in of(cell):
        program = f"the program {code.name} of the flow {flow.name}"
        if not allowed:
            raise EngineUnavailable(
                (f"{program} is code that runs in the guest of the engine uml",),
                "`--allow-program` lets it run, confined",
            )
        if why := confinement.missing():
            raise EngineUnavailable(
                (f"{program} would not be confined on this machine: {why}",), confinement.remedy()
            )


def files(cell: Cell, folder: Path | None) -> dict[str, bytes]:
    """Return the files of a cell's programs as its guest gets them.

    folder: what is below it are the files of the plan. Raises EngineUnavailable for one that is not
    there as the plan was compiled from it.
    """
    wanted = {file.sha256: file.path for _, code in of(cell) for file in code.files}
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")) if wanted and folder is not None else ():
        if path.is_symlink() or not path.is_file():
            continue
        with opened(path) as file:
            content = file.read()
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 in wanted:
            found[sha256 + SUFFIX] = content
    for sha256, name in wanted.items():
        if sha256 + SUFFIX not in found:
            raise EngineUnavailable(
                (f"`{name}`, a file of a program, is not in {folder} as the plan names it",),
                "compile the experiment again, where its files are",
            )
    return found


def standstill(cell: Cell) -> dict[str, Any]:
    """Return how long a cell's machine may compute while its clock hardly advances, as of
    `bounds.limits`.
    """
    allowed_s = [code.compute_ns / 1e9 for _, code in of(cell)]
    if not allowed_s:
        return {}
    return {"standstill_s": max(allowed_s), "standstill_ns": HARDLY_NS}


def explained(cell: Cell, error: str) -> str:
    """Return why a machine had to be stopped, with whose programs it had, and advice."""
    names = [f"`{flow.declared or flow.name}`" for flow, _ in of(cell)]
    if not names or "its clock stopped" not in error:
        return error
    return f"{error}, of the flow {' or '.join(names)}: {ADVICE}"
