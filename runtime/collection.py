"""Put the results that single cells have left in a plan's folder into one run directory.

Nothing is run, so no engine is needed: what made the cells has been written beside them.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairc.compiler.emission import RESULTS
from fairc.compiler.plan import Cell

from . import cluster, lock, tables
from .progress import Progress
from .results import RawResult
from .store import LOCK, RESULT, Store, StoreError, key_of, read_cells
from .sweep import Counts, Sweep


@dataclass(frozen=True, slots=True)
class Machine:
    """What ran cells: an engine and its identity. folder: one of its results."""

    engine: str
    identity: str
    folder: Path

    def __str__(self) -> str:
        """Say it with the versions that the identity stands for."""
        versions = cluster.made(self.folder).get("engine", {}).get("versions", {})
        words = [f"{name} {str(value)[:24]}" for name, value in versions.items()]
        return f"{self.engine} {self.identity[:16]} ({', '.join(words)})"


@dataclass(slots=True)
class Taken:
    """What was found of a plan's cells, by their numbers.

    present: their ids. failed, damaged: why. mixed: the versions of fairc that ran the cells, where
    they differ.
    """

    present: set[str] = field(default_factory=set)
    missing: list[int] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    damaged: dict[int, str] = field(default_factory=dict)
    mixed: tuple[str, ...] = ()

    @property
    def wanting(self) -> list[int]:
        """The numbers of the cells that are to be run again."""
        return sorted([*self.missing, *self.failed, *self.damaged])


def machines(plan: Path) -> dict[Machine, set[str]]:
    """Return what ran cells of a compiled plan, and the ids of those cells. Raises StoreError."""
    ids = {cell.id for cell in read_cells(plan)}
    found: dict[tuple[str, str], Machine] = {}
    cells: dict[Machine, set[str]] = defaultdict(set)
    for folder in cluster.folders(plan):
        result = cluster.stored(plan, folder.name)
        if result is None or result.cell not in ids:
            continue
        key = (result.engine, result.image)
        cells[found.setdefault(key, Machine(*key, folder))].add(result.cell)
    return dict(cells)


def choose(plan: Path, wanted: str | None = None) -> Machine:
    """Return the machine whose results are collected: the only one, or one that has them all.

    wanted: the beginning of its identity, where there are several. Raises StoreError.
    """
    found = machines(plan)
    if not found:
        raise StoreError(
            f"{plan / RESULTS} holds no result of this plan;"
            f" the first one comes from: fairc cell {plan} --index 0"
        )
    if wanted is not None:
        fitting = [machine for machine in found if machine.identity.startswith(wanted)]
    else:
        everything = set().union(*found.values())
        fitting = [machine for machine, cells in found.items() if cells == everything]
    if len(fitting) == 1:
        return fitting[0]
    listed = "".join(f"\n  {machine}: {len(cells)} cells" for machine, cells in found.items())
    raise StoreError(
        f"the results in {plan / RESULTS} come from machines that are not the same, and cannot be one"
        f" run; say with --machine IDENTITY whose are wanted:{listed}"
    )


def collect(
    plan: Path, store: Store, machine: Machine, progress: Progress, jobs: int
) -> tuple[Counts, Taken]:
    """Copy a machine's results into a run directory, write its lock, and analyse what is stale.

    store: locked, with the plan in it. Raises StoreError.
    """
    taken = _take(plan, store, machine)
    document, taken.mixed = _lock(plan, machine)
    store.write_json(LOCK, {**document, "plan": lock.planned(store.path)})
    engine = _Elsewhere(machine)
    sweep = Sweep(store, engine, progress, jobs, lambda cell: cell.id in taken.present)
    counts = sweep.run()
    counts.failed += len(taken.failed)
    return counts, taken


def _take(plan: Path, store: Store, machine: Machine) -> Taken:
    """Copy what is whole and not there yet."""
    taken = Taken()
    for index, cell in enumerate(store.cells()):
        key = key_of(cell, machine.engine, machine.identity)
        folder = plan / RESULTS / key
        result = cluster.stored(plan, key)
        if not folder.exists():
            taken.missing.append(index)
            continue
        if result is None or (why := _damage(cell, folder)):
            taken.damaged[index] = why if result else "its result.json cannot be read"
            continue
        if result.status == "failed":
            taken.failed[index] = result.error
        else:
            taken.present.add(cell.id)
        kept = store.result(key)
        if kept is None or kept.status == "failed" or kept.result_sha256 != result.result_sha256:
            scratch = store.scratch(f"{key}.cell")
            for path in folder.iterdir():
                if path.name not in (cluster.MADE, RESULT):  # `commit` writes the latter
                    _link_or_copy(path, scratch / path.name)
            store.commit(key, scratch, result)
    return taken


def _damage(cell: Cell, folder: Path) -> str:
    """Say what of a result cannot be read; nothing if all can."""
    try:
        tables.read_stored(cell, folder)
    except tables.TableError as error:
        return str(error)
    return ""


def _link_or_copy(source: Path, target: Path) -> None:
    """Make a file appear in a second place; stored files are replaced and never written into."""
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _lock(plan: Path, machine: Machine) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the lock of the machine's first cell, and the versions of fairc if there are several.

    Where the cells' hosts differ, `hosts` lists them.
    """
    documents = []
    for cell in read_cells(plan):
        folder = plan / RESULTS / key_of(cell, machine.engine, machine.identity)
        if (folder / cluster.MADE).is_file():
            documents.append(cluster.made(folder))
    document = documents[0]
    hosts: list[Any] = []
    for other in documents:
        if other.get("host") not in hosts:
            hosts.append(other.get("host"))
    if len(hosts) > 1:
        document["hosts"] = hosts
    programs = dict.fromkeys(_program(other) for other in documents)
    return document, tuple(programs) if len(programs) > 1 else ()


def _program(document: dict[str, Any]) -> str:
    known = document.get("fairc", {})
    return f"{known.get('version')}, commit {known.get('commit')}"


class _Elsewhere:
    """The engine that ran the cells, as far as it is here: it has a name, and runs nothing."""

    parallel = True

    def __init__(self, machine: Machine) -> None:
        self.name = machine.engine
        self.identity = machine.identity
        self.versions: dict[str, str] = {}

    def identity_for(self, cell: Cell) -> str:
        """Return the identity of the one machine whose results are collected."""
        return self.identity

    def prepare(self) -> None:
        """Do nothing."""

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Say that the cell has to be run again: its raw artefacts are needed, and not whole."""
        words = "its metrics have to be computed anew, and its raw artefacts are damaged or removed"
        return RawResult(words, workdir, "", "", 0.0, 0.0)

    def close(self) -> None:
        """Do nothing."""
