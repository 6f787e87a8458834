"""Merge the results of single cells in a plan's folder into one run directory.

Nothing is run, so no engine is needed: a description of what produced each cell is stored with it.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations, product
from pathlib import Path
from typing import Any

from fairc.compiler.files import content
from fairc.compiler.plan import Cell
from fairc.compiler.record import FILES, RESULTS
from fairc.runtime.engines import emitted
from fairc.runtime.engines.elsewhere import RemoteEngine
from fairc.runtime.ranges.cells import endings, finished
from fairc.runtime.store import damage, tables
from fairc.runtime.store.baselines import with_baselines
from fairc.runtime.store.cell_folder import ORIGIN, RESULT
from fairc.runtime.store.folder import LOCK, Store, StoreError, key_of, read_cells
from fairc.runtime.store.verdicts import Counts

from . import cluster, history, lock
from .analyst import link_or_copy
from .progress import Progress
from .sweep import Sweep


@dataclass(frozen=True, slots=True)
class CellOrigin:
    """What ran one cell: an engine, its identity for this cell, and the versions that the engine
    reported.
    """

    cell: str
    engine: str
    identity: str
    emitted: str
    origin: dict[str, Any]

    @property
    def kind(self) -> str:
        """The kind of machine, by its name in the engine's versions.

        Two identities of one kind are two builds of the same machine.
        """
        versions = self.origin.get("versions", {})
        return next((name for name, value in versions.items() if value == self.identity), "machine")

    @property
    def known(self) -> set[str]:
        """All versions that the engine reported; of its machines' identities those in use."""
        return {
            self.identity,
            str(self.origin.get("identity")),
            *self.origin.get("versions", {}).values(),
        }


@dataclass(slots=True)
class Machine:
    """What ran cells, which may have been several computers: one build of each machine of an
    engine.

    identity: the engine's own. identities: one for each kind of machine that ran cells. versions:
    all that its cells name. cells: id of a cell -> identity of what ran it. emitted: id -> hash of
    its input.
    """

    engine: str
    identity: str
    identities: frozenset[str]
    versions: dict[str, str] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    emitted: dict[str, str] = field(default_factory=dict)

    def folder(self, plan: Path, cell: Cell) -> Path | None:
        """Return where a cell's result is, whole or not; None when there is none."""
        known = self.cells.get(cell.id)
        given = self.emitted.get(cell.id)
        if given is None:  # its result cannot be read: where would it be?
            given = emitted(self.engine, cell)
        for identity in [known] if known else sorted(set(self.cells.values())):
            folder = plan / RESULTS / key_of(cell, self.engine, identity, given)
            if folder.exists():
                return folder
        return None

    def __str__(self) -> str:
        """Return it with its versions."""
        versions = [f"{name} {str(value)[:24]}" for name, value in self.versions.items()]
        identities = " and ".join(identity[:16] for identity in sorted(self.identities))
        return f"{self.engine} {identities} ({', '.join(versions)})"


@dataclass(slots=True)
class Inventory:
    """The state of a plan's cells, by their numbers.

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
        """The numbers of the cells that must be run again."""
        return sorted([*self.missing, *self.failed, *self.damaged])


def machines(plan: Path) -> list[Machine]:
    """Return the machines that ran cells of a compiled plan; a cell that several ran counts for
    each. Raises StoreError.

    Identities are of one machine when an engine had them in use together, and of different kinds.
    """
    ran = list(_origins(plan))
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in ran:
        kinds[one.engine, one.kind].add(one.identity)
    together = {pair for one in ran for pair in permutations(one.known, 2)}
    choices = ((None, *sorted(identities)) for _, identities in sorted(kinds.items()))
    builds = [frozenset(filter(None, chosen)) for chosen in product(*choices)]
    possible = {build for build in builds if all(two in together for two in permutations(build, 2))}
    largest = [build for build in possible if not any(build < other for other in possible)]
    return [_machine(build, ran) for build in sorted(largest, key=sorted) if build]


def _origins(plan: Path) -> Iterator[CellOrigin]:
    """Yield what ran the complete cells, in the order of their folders."""
    ids = {cell.id for cell in read_cells(plan)}
    known: dict[bytes, dict[str, Any]] = {}
    for folder in cluster.folders(plan):
        result = cluster.stored(plan, folder.name)
        if result is None or result.cell not in ids:
            continue
        try:
            engine = cluster.origin(folder, known).get("engine", {})
        except StoreError:  # `_damage` reports it
            continue
        yield CellOrigin(result.cell, result.engine, result.image, result.emitted, engine)


def _machine(build: frozenset[str], ran: Iterable[CellOrigin]) -> Machine:
    """Return the machine with these identities, and what it ran."""
    # An engine that shared a cell with the build but has another identity of its own comes last.
    own = [one for one in ran if one.identity in build]
    own.sort(key=lambda one: one.origin.get("identity") not in build)
    machine = Machine(own[0].engine, str(own[0].origin.get("identity")), build)
    for one in own:
        machine.versions = one.origin.get("versions", {}) | machine.versions
        machine.cells[one.cell] = one.identity
        machine.emitted[one.cell] = one.emitted
    return machine


def choose(plan: Path, wanted: str | None = None) -> Machine:
    """Return the machine whose results are collected: the only one, or one that has them all.

    wanted: the first digits of one of its identities, if there are several. Raises StoreError.
    """
    found = machines(plan)
    if not found and (unread := _unread(plan)):
        cells = cluster.ranges(unread)
        raise StoreError(
            f"no result in {plan / RESULTS} is of this version of fairc; to rerun cells {cells}:"
            f" fairc cell {plan} --index {cells} --fresh"
        )
    if not found:
        raise StoreError(
            f"{plan / RESULTS} holds no result of this plan;"
            f" the first one comes from: fairc cell {plan} --index 0"
        )
    if wanted is not None:
        fitting = [
            machine
            for machine in found
            if any(identity.startswith(wanted) for identity in machine.identities)
        ]
    else:
        everything = {cell for machine in found for cell in machine.cells}
        fitting = [machine for machine in found if machine.cells.keys() == everything]
    if len(fitting) == 1:
        return fitting[0]
    listed = "".join(f"\n  {machine}: {len(machine.cells)} cells" for machine in found)
    raise StoreError(
        f"the results in {plan / RESULTS} come from different machines, which cannot form one"
        f" run; choose one with --machine IDENTITY:{listed}"
    )


def _unread(plan: Path) -> list[int]:
    """Return the numbers of the cells whose results exist but cannot be read, ascending."""
    named = set()
    for folder in cluster.folders(plan):
        if cluster.stored(plan, folder.name) is None:
            try:
                document = json.loads(content(folder / RESULT))
            except (OSError, ValueError, RecursionError):  # its cell is unknown
                continue
            named.add(str(document.get("cell")) if isinstance(document, dict) else "")
    return [index for index, cell in enumerate(read_cells(plan)) if cell.id in named]


def collect(
    plan: Path, store: Store, machine: Machine, progress: Progress, jobs: int
) -> tuple[Counts, Inventory]:
    """Copy a machine's results into a run directory, write its lock, and reanalyse stale results.

    store: locked, with the plan in it; it need not flush each cell. Raises StoreError.
    """
    inventory = _take(plan, store, machine)
    documents = _documents(plan, machine, inventory.damaged)
    document, inventory.mixed = _lock(machine, documents)
    measured = [each.get(cluster.MEASURE, []) for each in documents]

    def before(request: object) -> int:
        """Count the cells that were run when their plan did not name a metric."""
        return sum(request not in named for named in measured)

    planned = lock.planned(store.path)
    record = history.carried(store, history.invocation(store, planned), before)
    store.write_json(LOCK, {**document, "plan": planned, **record})
    engine = RemoteEngine(machine.engine, machine.identity, machine.cells, machine.emitted)
    sweep = Sweep(store, engine, progress, jobs, lambda cell: cell.id in inventory.present)
    counts = sweep.run()
    counts.failed += len(inventory.failed)
    os.sync()  # once: until here the results lie in the plan's folder, too
    if store.plan.precision:
        return _up_to_the_end(store, inventory), inventory
    return counts, inventory


def _up_to_the_end(store: Store, inventory: Inventory) -> Counts:
    """Count the cells of ranges up to their ends; cells beyond the next interim analysis are not
    missing yet.
    """
    counts = Counts()
    for _, folder in finished(store):
        if result := store.result(folder.name):
            counts.add(result)
    look = {name: ending.repetitions for ending in endings(store) for name in ending.configurations}
    counted = with_baselines(store.cells, lambda cell: cell.repetition <= look[cell.configuration])
    due = {cell.id for cell in counted}
    beyond = {index for index, cell in enumerate(store.cells()) if cell.id not in due}
    inventory.missing = [index for index in inventory.missing if index not in beyond]
    for found in (inventory.failed, inventory.damaged):
        for index in beyond & found.keys():
            del found[index]
    return counts


def _take(plan: Path, store: Store, machine: Machine) -> Inventory:
    """Copy complete results that are not there yet."""
    inventory = Inventory()
    for index, cell in enumerate(store.cells()):
        folder = machine.folder(plan, cell)
        if folder is None:
            inventory.missing.append(index)
            continue
        key = folder.name
        result = cluster.stored(plan, key)
        why = _damage(cell, folder) if result else "its result.json is not of this version of fairc"
        if result is None or why:
            inventory.damaged[index] = why
            if store.result(key) is None:  # what an earlier collection took is no better
                store.remove(key)
            continue
        if result.status == "failed":
            inventory.failed[index] = result.error
        else:
            inventory.present.add(cell.id)
        kept = store.result(key)
        same = (
            kept is not None and kept.status == "ok" and kept.result_sha256 == result.result_sha256
        )
        if not same or damage.of_cell(cell, store.folder(key)):
            scratch = store.scratch(f"{key}.cell")
            for path in folder.iterdir():
                if path.is_symlink() or not path.is_file():
                    continue  # no engine leaves anything else, and a copy of it might never end
                if path.name not in (
                    ORIGIN,
                    RESULT,
                    FILES,
                ):  # `commit` writes the latter two
                    link_or_copy(path, scratch / path.name)
            store.commit(key, scratch, result)
    return inventory


def _damage(cell: Cell, folder: Path) -> str:
    """Return which part of a result cannot be read; empty if all can."""
    try:
        tables.read_stored(cell, folder)
        cluster.origin(folder)
    except (tables.TableError, StoreError) as error:
        return str(error)
    found = damage.of_cell(cell, folder, thorough=True)
    return "; ".join(f"{name}: {why}" for name, why in found.items())


def _documents(plan: Path, machine: Machine, damaged: Container[int]) -> list[dict[str, Any]]:
    """Return what made each of the machine's cells. Raises StoreError where there is none."""
    folders = (
        machine.folder(plan, cell)
        for index, cell in enumerate(read_cells(plan))
        if index not in damaged
    )
    known: dict[bytes, dict[str, Any]] = {}
    documents = [cluster.origin(folder, known) for folder in folders if folder]
    if not documents:
        raise StoreError(f"every result in {plan / RESULTS} is damaged")
    return documents


def _lock(
    machine: Machine, documents: list[dict[str, Any]]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the lock of the machine's first cell, and the versions of fairc if there are several.

    Where the cells' hosts differ, `hosts` lists them.
    """
    document = {key: value for key, value in documents[0].items() if key != cluster.MEASURE}
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
