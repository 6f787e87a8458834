"""A cell's job on its way into a virtual-time guest, and its results on their way out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairc.cell.expansion import expand
from fairc.cell.links import EMULATED_SLACK_NS, VIRTUAL_SLACK_NS
from fairc.compiler.plan import Cell
from fairc.compiler.targets import runner
from fairc.runtime.engines.script import MOST_ENDING_S, failure, one_line
from fairc.runtime.host import bounds, faults
from fairc.runtime.vm import exchange, recipe

# After its deadline a script still has to stop processes and to write its results.
DEADLINE_MARGIN_S = 30.0 + MOST_ENDING_S
# And the guest to end before it is stopped from outside.
OUTSIDE_MARGIN_S = 30.0
# Every cell begins at this instant of the guest's clock, which shows 2020-01-01 at the boot: how
# long its set-up took leaves no trace in its results.
EPOCH_S = 600
EPOCH_NS = (1_577_836_800 + EPOCH_S) * 10**9
SCRIPT = "run.py"
# What guests call their files. The exchange refuses what is no file name; this, what is none of
# ours.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,250}", re.ASCII)
MOST_CLOCK_S = 1e9
PROGRAM_COST_NS = 1000
CRASHED = "the virtual machine crashed"
"""The reason of a failed cell whose machine ended by itself and left nothing."""
# The guest has `cell/`; its nodes are plain network namespaces.
PROGRAM = "from cell.netlink import main\n\nmain()\n"


def deadline_s(cell: Cell) -> float:
    """Return the virtual time after which the guest ends the cell's program, s after it began."""
    return EPOCH_S + cell.deadline_ns / 1e9 + DEADLINE_MARGIN_S


def limits(cell: Cell, **others: Any) -> bounds.Limits:
    """Return what the cell's machine may take, seen from outside; others: as of `bounds.limits`."""
    latest_s = deadline_s(cell) + OUTSIDE_MARGIN_S
    return bounds.limits(latest_s, latest_s - EPOCH_S, **others)


def write(
    cell: Cell,
    device: Path,
    computing_is_free: bool = False,
    memory_bytes: int = 0,
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Write a new exchange that holds the cell, and the program that runs it.

    computing_is_free: as in `expand`. memory_bytes: of the machine, where what it leaves
    behind may not fit an exchange of the usual size. files: further ones, beside the program.
    """
    seed = hashlib.sha256(f"kernel {cell.seed}".encode()).digest()
    header = {
        "kind": "job",
        "script": SCRIPT,
        "seed": seed.hex(),
        "deadline_s": deadline_s(cell),
    }
    job = {
        SCRIPT: PROGRAM.encode(),
        "document.json": document(cell, computing_is_free),
        **files,
    }
    exchange.create(device, header, job, max(exchange.SIZE, memory_bytes))


def document(cell: Cell, computing_is_free: bool) -> bytes:
    """Return what the guest's conductor works from, as JSON: equal bytes for equal cells."""
    slack_ns = VIRTUAL_SLACK_NS if computing_is_free else EMULATED_SLACK_NS
    content = expand(cell, slack_ns, EPOCH_NS, computing_is_free)
    return json.dumps(content, separators=(",", ":")).encode()


def emitted(cell: Cell, computing_is_free: bool) -> str:
    """Hash the document of a cell, and its mechanisms."""
    return runner.digest(document(cell, computing_is_free).decode(), cell)[:16]


def read(device: Path, artefacts: Path, error: str) -> tuple[str, float]:
    """Fetch what a guest has left; return why the cell failed, or nothing, and how long it took, s.

    How long: of virtual time, from the instant at which cells begin to the machine's end.

    artefacts: an empty folder. error: why the machine had to be stopped, or nothing. Raises OSError
    where this computer is at fault, such as a full disk.
    """
    try:
        header = _checked(exchange.read_header(device))
        if header["kind"] == "result":
            exchange.extract(device, artefacts)
            error = header["error"] and (failure(artefacts) or header["error"])
            return error, max(0.0, header["clock_s"] - EPOCH_S)
    except (ValueError, KeyError, TypeError, OSError, RecursionError) as problem:
        if faults.of(problem):
            raise
        return one_line(f"the virtual machine's results are broken: {problem}"), 0.0
    return error or CRASHED, 0.0


def crashed(console: str, at_boot: bool = False) -> str:
    """Say how a machine ended that left nothing; at_boot: twice, before its cell began."""
    lines = console.strip().splitlines()
    said = f"the last line of its console: {lines[-1].strip()}" if lines else ""
    how = f"{CRASHED} twice, before the cell began" if at_boot else CRASHED
    return one_line(f"{how}; {said or 'its console is empty'}")


def _checked(header: dict[str, Any]) -> dict[str, Any]:
    """Return a header whose values are of their types. Raises ValueError, KeyError, TypeError.

    The guest is not trusted: what it says becomes names of files, lines on a terminal, and numbers.
    """
    if header["kind"] != "result":
        return header
    for name, size in header["files"]:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(f"the guest gave a file the name {str(name)[:80]!r}")
        if type(size) is not int:
            raise ValueError(f"the guest gave the file {name} no size")
    error, clock_s = header["error"], header["clock_s"]
    if not isinstance(error, str):
        raise TypeError("the guest gave no words for its error")
    if isinstance(clock_s, bool) or not isinstance(clock_s, int | float):
        raise TypeError("the guest gave no time")
    if not abs(clock_s) <= MOST_CLOCK_S:  # nor is NaN
        raise ValueError("the guest gave a time that no clock shows")
    return {**header, "error": one_line(error), "clock_s": float(clock_s)}


def default_cost_ns(cell: Cell, variant: recipe.Variant) -> int:
    """Return the virtual time of a system call where the cell sets none, ns.

    A program that waits by polling needs some: without it the clock would stand still meanwhile.
    """
    polls = any(f.workload.own_code or f.workload.measures_itself for f in cell.flows)
    return PROGRAM_COST_NS if polls else variant.syscall_cost_ns


def variant_of(cell: Cell, usual: recipe.Variant) -> recipe.Variant:
    """Return what the cell needs: the machine with a browser exactly for loads in a browser, else
    the engine's usual one.
    """
    return recipe.BROWSER if any(flow.browser for flow in cell.flows) else usual
