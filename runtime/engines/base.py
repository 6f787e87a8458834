"""The contract of an engine: one method that runs a cell, and close."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from fairc.compiler.binary import EndpointsMissing, find_endpoints
from fairc.compiler.plan import Cell
from fairc.runtime.host import archive
from fairc.runtime.host.faults import EngineUnavailable


@dataclass(frozen=True, slots=True)
class RawResult:
    """The outcome of one run of one cell.

    error: empty if the script ran to its end, else why it did not.
    artefacts: folder with the raw artefacts (docs/reference/artefacts.md); may be incomplete on
    error.
    sha256: of the artefacts as the engine received them; empty on error.
    console: what the machine printed.
    virtual_s, wall_s: seconds that passed inside and outside.
    """

    error: str
    artefacts: Path
    sha256: str
    console: str
    virtual_s: float
    wall_s: float


def refuse_images(cell: Cell) -> None:
    """Raise EngineUnavailable for a cell with third-party images, which need containers."""
    for flow in cell.flows:
        if flow.pulled_image is not None:
            raise EngineUnavailable(
                (f"this engine cannot run the image `{flow.image}` of the flow `{flow.name}`",),
                "`fairc run --engine docker --allow-image`",
            )


def result(
    error: str, artefacts: Path, console: str, began_s: float, virtual_s: float | None = None
) -> RawResult:
    """Return what a cell left behind; the arguments are those of RawResult.

    began_s: when it began, on the monotonic clock. virtual_s: None: it ran in real time.
    """
    sha256 = "" if error else archive.digest(artefacts)
    wall_s = time.monotonic() - began_s
    return RawResult(
        error, artefacts, sha256, console, wall_s if virtual_s is None else virtual_s, wall_s
    )


class Engine(Protocol):
    """Runs cells. Safe to call from several threads at once if `parallel` says so.

    name: its name in the registry. identity: a hash of everything but the cell that makes the
    numbers (image, QEMU version, and `cell/`, which runs it); part of every result's key. versions:
    the same as text, for the lock.
    """

    name: str
    parallel: bool

    @property
    def identity(self) -> str:
        """Return the hash; known after `prepare`."""
        ...

    @property
    def versions(self) -> dict[str, str]:
        """Return what the lock records."""
        ...

    def identity_for(self, cell: Cell) -> str:
        """Return the same for one cell: an engine may have several machines.

        Raises EngineUnavailable.
        """
        ...

    def emitted(self, cell: Cell) -> str:
        """Return the hash of what the engine gives the cell's conductor; nothing if it has none.

        Another one is another cell: its results are of what was emitted. Needs no `prepare`.
        """
        ...

    def prepare(self) -> None:
        """Get ready to run cells (probe, boot, take a snapshot). Raises EngineUnavailable."""
        ...

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Run one cell; workdir is an empty folder of its own.

        A cell that hangs, crashes or overruns is a RawResult with an error, never an exception;
        nothing that was started outlives the call. Raises EngineUnavailable when this machine
        lacks what this very cell needs: then the sweep ends.
        """
        ...

    def close(self) -> None:
        """Release what `prepare` took; also stops running cells (their `run` returns an error)."""
        ...


@runtime_checkable
class RunsImages(Protocol):
    """An engine that runs third-party images, when it is allowed to.

    allow_images: whether it is.
    """

    allow_images: bool


@runtime_checkable
class LoadsModules(Protocol):
    """An engine that loads kernel modules of the user's own, when it is allowed to.

    allow_modules: whether it is.
    """

    allow_modules: bool


@runtime_checkable
class RunsUserPrograms(Protocol):
    """An engine that runs programs of the user's own, when it is allowed to.

    allow_programs: whether it is. program_files: the folder with the files of the plan.
    """

    allow_programs: bool
    program_files: Path | None


@runtime_checkable
class ConfiningEngine(Protocol):
    """An engine whose guests the host confines, where it can.

    of_strangers: whether what it runs may be a stranger's; then it does not get ready on a host
    that cannot.
    """

    of_strangers: bool


@runtime_checkable
class PinningEngine(Protocol):
    """An engine that can keep each of its cells on a core of its own.

    pinned: whether it does; wrong where other processes like this one share the cores, for all
    would choose the same.
    """

    pinned: bool


@runtime_checkable
class RunsPrograms(Protocol):
    """An engine that runs the programs of a compiled plan, where there are some.

    programs: their names and contents, by the ids of their cells.
    """

    programs: Mapping[str, tuple[str, bytes]]


def endpoints() -> Path:
    """Return where the endpoints' program is. Raises EngineUnavailable."""
    try:
        return find_endpoints()
    except EndpointsMissing as problem:
        raise EngineUnavailable((str(problem),), "make setup") from problem
