"""`fairc run DIR --collect`: one run directory from the results of single cells."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fairc.runtime.report import place
from fairc.runtime.run import collection
from fairc.runtime.run.cluster import ranges
from fairc.runtime.run.collection import Inventory
from fairc.runtime.store.copying import copy_plan, require_as_compiled
from fairc.runtime.store.folder import PLAN, Store, StoreError, read_plan, runs_in

from . import console
from .conclusion import conclude, page_of_all
from .failures import Status, UsageError
from .results import default_run, suite_of

SHOWN = 10


def collect(
    plan: Path, output: Path | None, machine: str | None, jobs: int, *, strict: bool = False
) -> int:
    """Collect the results in the folder of a compiled plan, or of those of several experiments of a
    file; return the exit status.

    Raises StoreError.
    """
    if not plan.is_dir():
        raise UsageError(f"--collect takes the folder of a compiled plan, which {plan} is not")
    runs = runs_in(plan)
    if "" in runs:
        return _one(plan, output, machine, jobs, strict=strict)
    folder = output or default_run(suite_of(read_plan(next(iter(runs.values())))))
    if folder.resolve() == plan.resolve():
        raise UsageError(f"{plan} holds the plans; the runs need a separate directory", "-o RUN")
    place.require_place(folder)
    statuses: list[int] = []
    for number, (name, each) in enumerate(runs.items(), 1):
        console.outcome(f"experiment {name}, {number} of {len(runs)}")
        statuses.append(_one(each, folder / name, machine, jobs, strict=strict))
        console.outcome("")
    collected = [name for name in runs if (folder / name / PLAN).exists()]
    if collected:
        console.outcome(f"report of all: {page_of_all(folder, collected)}")
    return max(statuses)


def _one(plan: Path, output: Path | None, machine: str | None, jobs: int, *, strict: bool) -> int:
    """Collect the results in the folder of one compiled plan; return the exit status."""
    header = read_plan(plan)
    require_as_compiled(plan)
    try:
        chosen = collection.choose(plan, machine)
    except StoreError as error:
        raise UsageError(str(error)) from None
    run = output or default_run(header.experiment, suite_of(header))
    if run.resolve() == plan.resolve():
        raise UsageError(f"{plan} holds the plan; the run needs a separate directory", "-o RUN")

    with Store(run, lasting=False) as store:
        store.keep_experiment(header.experiment)
        store.keep_engine(chosen.engine)
        store.adopt(store.stage(partial(copy_plan, plan)))
        counts, inventory = collection.collect(plan, store, chosen, console.progress(), jobs)
        if counts.total == 0:
            report_missing(plan, header.cells, inventory)
            return Status.NOT_ALL_VALID
        status = conclude(store, counts, strict=strict)
    report_missing(plan, header.cells, inventory)
    return Status.NOT_ALL_VALID if inventory.wanting else status


def report_missing(plan: Path, cells: int, inventory: Inventory) -> None:
    """Say which cells are missing, failed or damaged, and what runs them again."""
    if inventory.mixed:
        console.complain("warning: the cells were run by different versions of fairc:")
        for machine in inventory.mixed:
            console.complain(f"  {machine}")
    if inventory.missing:
        console.complain(
            f"missing: {len(inventory.missing)} of {cells}: {ranges(inventory.missing)}"
        )
    for word, found in (("failed", inventory.failed), ("damaged", inventory.damaged)):
        for index, why in list(found.items())[:SHOWN]:
            console.complain(f"{word}: {index}: {why}")
        if len(found) > SHOWN:
            console.complain(f"{word}: {len(found) - SHOWN} more")
    if inventory.wanting:
        again = " --fresh" if inventory.damaged else ""
        console.complain(f"help: fairc cell {plan} --index {ranges(inventory.wanting)}{again}")
