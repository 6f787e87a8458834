"""Write a compiled experiment into a folder, completely or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from pathlib import Path

from fairc.dsl.core.source import printable

from .compilation import Compilation
from .engine_choice import refuse_target
from .estimate import Estimate
from .files import content
from .plan import Cell, cell_json
from .record import FILES, SPEC, Record, recorded
from .targets import TARGETS, Names, Target, find
from .targets.index import Index

# What makes a folder a run directory (runtime/store/folder.py).
LOCK = "lock.json"
PLAN = "plan.json"


def emit(
    compilation: Compilation,
    directory: Path,
    targets: Iterable[str] | None = None,
    refuse: Callable[[Cell], None] | None = None,
) -> tuple[str, ...]:
    """Write `plan.json`, `cells.jsonl`, `spec/`, what each target adds, the index, and
    `files.json`; byte-identical each time. Return what runs the first cell in the folder, for each
    target that writes one.

    targets: None: what the plan's engine runs (`usual_target`). refuse: is given a cell of each
    configuration, and raises for one that shall not be written.

    directory: is empty, or holds an earlier plan of this experiment, whose files are replaced; its
    parent is created. Whatever else is there stays: the user's files, and results of cells, which
    are stored by the cells' content, so those of unchanged cells also count for the new plan.
    Everything is written into a sibling first. An interruption leaves the old state; one while the
    files of an earlier plan are replaced leaves no `plan.json`, and the same command completes it.
    Raises CompileError (what is wrong with the file or with a target's name), EndpointsMissing,
    ForeignFileError for a file that the user wrote or changed, FileExistsError when the folder
    holds something else (a run directory, another experiment), OSError.
    """
    found = find((usual_target(compilation.plan.engine),) if targets is None else targets)
    _refuse_other(directory, compilation.experiment.name)
    directory.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        new = scratch / "new"
        new.mkdir()
        commands = _write(compilation, new, found, refuse)
        names = sorted(p.relative_to(new).as_posix() for p in new.rglob("*") if p.is_file())
        Record(new, scratch).end(names)
        if directory.exists() and any(directory.iterdir()):
            _replace(directory, new, names, scratch)
        else:
            new.rename(directory)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return commands


def usual_target(engine: str) -> str:
    """Return the target whose programs an engine runs; where it runs none, Mininet's."""
    return next((each.name for each in TARGETS if each.engine == engine), "mininet")


def _replace(directory: Path, new: Path, names: Collection[str], scratch: Path) -> None:
    """Replace the files of an earlier plan by new ones; the header goes first and comes last."""
    record = Record(directory, scratch)
    record.theirs(new, names)  # refuses before anything is changed
    for folder in sorted(path for path in new.rglob("*") if path.is_dir()):
        place = directory / folder.relative_to(new)
        if not place.exists():
            place.mkdir()
            place.chmod(folder.stat().st_mode & 0o777)
    record.remove(record.files.keys() & {PLAN} | record.files.keys() - set(names))
    record.move(new, [name for name in names if name != PLAN], names)
    record.move(new, [PLAN], names)


def _write(
    compilation: Compilation,
    directory: Path,
    targets: Collection[Target],
    refuse: Callable[[Cell], None] | None,
) -> tuple[str, ...]:
    """Write everything into an empty folder, one cell at a time; return the index's commands."""
    finishers = [target.finish for target in targets if target.finish]
    # The choice examines every configuration once more; only the finishers need it this early.
    estimate = Estimate(jobs=1, engine=compilation.choice.engine) if finishers else None
    examined: set[str] = set()  # configurations, whose repetitions need the same of an engine
    names = Names()
    index = Index({target.name: target.emitted for target in targets if target.emitted})
    with (
        ExitStack() as stack,
        (directory / "cells.jsonl").open("w", encoding="utf-8") as lines,
    ):
        writers = [stack.enter_context(each.begin(directory)) for each in targets if each.begin]
        for cell in compilation.cells():
            if cell.configuration not in examined:
                examined.add(cell.configuration)
                for target in targets:
                    refuse_target(target.name, target.engine, cell)
                if refuse is not None:
                    refuse(cell)
            lines.write(cell_json(cell) + "\n")
            name = names(cell)
            index.add(cell, name)
            for write in writers:
                write(cell, name)
            if estimate is not None:
                estimate.add(cell)
    index.write(directory, compilation.plan)
    (directory / PLAN).write_text(
        compilation.plan.model_dump_json(indent=2) + "\n", encoding="utf-8"
    )
    for path, data in compilation.experiment.files().items():
        place = directory / SPEC / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    for finish in finishers:
        assert estimate is not None
        finish(directory, compilation.plan, estimate)
    return index.commands


def _refuse_other(directory: Path, experiment: str) -> None:
    """Refuse to replace anything but an earlier plan of an experiment or an empty folder."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise FileExistsError(f"{directory} already exists and is not a folder")
    if not any(directory.iterdir()):
        return
    if recorded(directory) is None:
        older = (directory / PLAN).exists() and _experiment(directory / PLAN) is not None
        why = (
            f"is of an earlier version, which kept no {FILES}"
            if older
            else "is not a compiled plan"
        )
        raise FileExistsError(f"{directory} already exists and {why}")
    if (directory / LOCK).exists():
        raise FileExistsError(f"{directory} is a run directory: its results would be removed")
    there = _experiment(directory / PLAN)
    if there is not None and there != experiment:
        raise FileExistsError(f"{directory} holds the plan of another experiment, {there}")


def _experiment(plan: Path) -> str | None:
    """Return the experiment that a plan of any version names; None where nothing does."""
    try:
        name = str(json.loads(content(plan))["experiment"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return printable(name[:80])
