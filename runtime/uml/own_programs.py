"""Programs of the user's own in a machine of `uml`: whether they may run, and their files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from fairc.cell.workloads import (
    IMAGE_DISKS,
    MOST_PROGRAM_BYTES,
    OwnCode,
    ProgramFile,
    ProgramImage,
    image_disks,
)
from fairc.compiler.files import opened
from fairc.compiler.plan import Cell, Flow
from fairc.runtime.host.faults import EngineUnavailable

from . import confinement, image_roots

SUFFIX = ".program"
HARDLY_NS = 10**9
"""A machine whose clock advances by less in its programs' `cpu` has one that spins or forks without
end. Each call costs 1 us and a fork takes the host 5 to 10 ms, so one that forks computes for about
50 s in a second of its clock; traffic at 1 Gbit/s computes for 3 s.
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
    wanted = {file for _, code in of(cell) for file in code.files}
    found = {}
    for sha256, place in _places(wanted, folder).items():
        with opened(place) as file:
            found[sha256 + SUFFIX] = file.read(MOST_PROGRAM_BYTES)
        if hashlib.sha256(found[sha256 + SUFFIX]).hexdigest() != sha256:
            raise EngineUnavailable(
                (f"{place} has changed since it was found",),
                "leave the plan's files alone while it runs",
            )
    return found


def _places(wanted: Collection[ProgramFile | ProgramImage], folder: Path | None) -> dict[str, Path]:
    """Return where files of the plan are, by their hashes. Raises EngineUnavailable."""
    sizes, found = {file.bytes for file in wanted}, dict[str, Path]()
    for path in sorted(folder.rglob("*")) if wanted and folder is not None else ():
        if path.is_symlink() or not path.is_file() or path.stat().st_size not in sizes:
            continue
        with opened(path) as content:
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
        if any(sha256 == each.sha256 for each in wanted):
            found[sha256] = path
    for file in sorted(wanted, key=lambda each: each.path):
        if file.sha256 not in found:
            raise EngineUnavailable(
                (f"`{file.path}`, a file of a program, is not in {folder} as the plan names it",),
                "compile the experiment again, where its files are",
            )
    return found


def require_few_images(cell: Cell) -> None:
    """Raise EngineUnavailable for more images than a machine has disks for."""
    images = {image.sha256 for _, code in of(cell) for image in code.images}
    if len(images) > len(IMAGE_DISKS):
        raise EngineUnavailable(
            (f"the cell {cell.id} has {len(images)} container images, and uml runs two in a cell",),
            "put programs of several flows into one image",
        )


def identity(machine: str, cell: Cell) -> str:
    """Return the identity of a machine whose programs have images."""
    if not any(code.images for _, code in of(cell)):
        return machine
    return hashlib.sha256(f"{machine} {image_roots.recipe()}".encode()).hexdigest()


def disks(
    cell: Cell,
    folder: Path | None,
    known: dict[str, Path],
    make: Callable[[str, Path, str], Path],
) -> dict[str, Path]:
    """Return the file systems of a cell's images, by the names of the machine's disks.

    folder: as of `files`. known: those that were made, by the hashes of the tars; gets the others.
    make: makes one of the hash, the place and the name of a tar. Raises EngineUnavailable.
    """
    images = {image.sha256: image for _, code in of(cell) for image in code.images}
    new = [image for sha256, image in images.items() if sha256 not in known]
    for sha256, place in _places(new, folder).items():
        known[sha256] = make(sha256, place, images[sha256].path)
    return {disk: known[sha256] for sha256, disk in image_disks(cell).items()}


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
    if not names or "while it computed for" not in error:
        return error
    return f"{error}, of the flow {' or '.join(names)}: {ADVICE}"
