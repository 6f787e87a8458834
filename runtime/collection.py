"""Put the results that single cells have left in a plan's folder into one run directory.

Nothing is run, so no engine is needed: what made the cells has been written beside them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Container
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


@dataclass(slots=True)
class Machine:
    """What ran cells: an engine, its identity, and all versions that its cells name.

    cells: id of a cell -> identity of what ran it; an engine may have another one for some cells.
    """

    engine: str
    identity: str
    versions: dict[str, str]
    cells: dict[str, str] = field(default_factory=dict)

    def fits(self, engine: dict[str, Any]) -> bool:
        """Whether a cell's engine can be this one: nothing that both name differs."""
        versions = engine.get("versions", {})
        return (
            (self.engine, self.identity) == (engine.get("name"), engine.get("identity"))
            and all(self.versions.get(name, value) == value for name, value in versions.items())
        )  # fmt: skip

    def folder(self, plan: Path, cell: Cell) -> Path | None:
        """Return where a cell's result is, whole or not; None when there is none."""
        known = self.cells.get(cell.id)
        for identity in [known] if known else sorted(set(self.cells.values())):
            folder = plan / RESULTS / key_of(cell, self.engine, identity)
            if folder.exists():
                return folder
        return None

    def __str__(self) -> str:
        """Say it with its versions."""
        words = [f"{name} {str(value)[:24]}" for name, value in self.versions.items()]
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


def machines(plan: Path) -> list[Machine]:
    """Return what ran cells of a compiled plan. Raises StoreError."""
    ids = {cell.id for cell in read_cells(plan)}
    found: list[Machine] = []
    for folder in cluster.folders(plan):
        result = cluster.stored(plan, folder.name)
        if result is None or result.cell not in ids:
            continue
        try:
            engine = cluster.made(folder).get("engine", {})
        except StoreError:  # `_damage` tells it
            continue
        fitting = next((machine for machine in found if machine.fits(engine)), None)
        if fitting is None:
            fitting = Machine(result.engine, str(engine.get("identity")), {})
            found.append(fitting)
        fitting.versions |= engine.get("versions", {})
        fitting.cells[result.cell] = result.image
    return found


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
        everything = {cell for machine in found for cell in machine.cells}
        fitting = [machine for machine in found if machine.cells.keys() == everything]
    if len(fitting) == 1:
        return fitting[0]
    listed = "".join(f"\n  {machine}: {len(machine.cells)} cells" for machine in found)
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
    document, taken.mixed = _lock(plan, machine, taken.damaged)
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
        folder = machine.folder(plan, cell)
        if folder is None:
            taken.missing.append(index)
            continue
        key = folder.name
        result = cluster.stored(plan, key)
        why = _damage(cell, folder) if result else "its result.json is not of this version of fairc"
        if result is None or why:
            taken.damaged[index] = why
            if store.result(key) is None:  # what an earlier collection took is no better
                shutil.rmtree(store.folder(key), ignore_errors=True)
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
        cluster.made(folder)
    except (tables.TableError, StoreError) as error:
        return str(error)
    return ""


def _link_or_copy(source: Path, target: Path) -> None:
    """Make a file appear in a second place; stored files are replaced and never written into."""
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _lock(
    plan: Path, machine: Machine, damaged: Container[int]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the lock of the machine's first cell, and the versions of fairc if there are several.

    Where the cells' hosts differ, `hosts` lists them.
    """
    folders = (
        machine.folder(plan, cell)
        for index, cell in enumerate(read_cells(plan))
        if index not in damaged
    )
    documents = [cluster.made(folder) for folder in folders if folder]
    if not documents:
        raise StoreError(f"every result in {plan / RESULTS} is damaged")
    document = documents[0]
    document["engine"]["versions"] = machine.versions
    document["engine"]["identities"] = sorted(set(machine.cells.values()))
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
        self._cells = machine.cells
        self.versions: dict[str, str] = {}

    def identity_for(self, cell: Cell) -> str:
        """Return the identity of what ran the cell."""
        return self._cells.get(cell.id, self.identity)

    def prepare(self) -> None:
        """Do nothing."""

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Say that the cell has to be run again: its raw artefacts are needed, and not whole."""
        words = "its metrics have to be computed anew, and its raw artefacts are damaged or removed"
        return RawResult(words, workdir, "", "", 0.0, 0.0)

    def close(self) -> None:
        """Do nothing."""
