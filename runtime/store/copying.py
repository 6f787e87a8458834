"""A compiled plan from elsewhere: copied whole, with the files it was compiled from, and only if it
is genuine.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from fairc.compiler.files import IrregularError, lines
from fairc.compiler.plan import Cell
from fairc.compiler.plan.identity import genuine
from fairc.compiler.record import FILES, RESULTS, SPEC, of_file, recorded

from .folder import CELLS, PLAN, StoreError, read_cells


def copy_plan(source: Path, folder: Path) -> None:
    """Copy a compiled plan that is complete, and whose cells all have the ids of their content.

    Raises StoreError, OSError.
    """
    for name in (PLAN, CELLS):
        with (folder / name).open("wb") as copy:
            try:
                copy.writelines(lines(source / name))
            except IrregularError as error:
                message = f"{source / name} cannot be read: {error.strerror}"
                raise StoreError(message) from None
    copy_spec(source, folder)
    try:
        for number, cell in enumerate(read_cells(folder), 1):
            require_genuine(folder, cell, number)
    except StoreError as error:  # the user does not know of the copy
        raise StoreError(str(error).replace(str(folder), str(source))) from None


def require_as_compiled(plan: Path) -> None:
    """Raise StoreError unless a plan is as `compile` wrote it, and neither it nor the results
    beside it are links.

    What is collected is said to be of this plan: an edited one could name other metrics or claims
    than those that the cells were run for, and a link could put any file of this machine there.
    """
    for path in (*(plan / name for name in (FILES, PLAN, CELLS, SPEC)), *_results(plan)):
        if path.is_symlink():
            raise StoreError(f"{path} is a link, which is not collected: put what it names there")
    known = recorded(plan)
    if known is None:
        raise StoreError(
            f"{plan / FILES} cannot be read, and only it says what was compiled: compile the file"
            " again into this folder, whose results stay"
        )
    for name in (PLAN, CELLS):
        file = known.files.get(name)
        if (plan / name).exists() and not (plan / name).is_file():
            raise StoreError(f"{plan / name} cannot be read: it is not a regular file")
        if file is None or of_file(plan / name).sha256 != file.sha256:
            raise StoreError(
                f"{plan / name} has changed since it was compiled, and is not collected: remove it,"
                " and compile the file again into this folder, whose results stay"
            )


def _results(plan: Path) -> Iterator[Path]:
    """Yield the folder of a plan's results, those of its cells, and what is in these."""
    results = plan / RESULTS
    yield results
    for folder in _inside(results):
        yield folder
        if not folder.name.startswith("."):  # what jobs are writing comes and goes
            yield from _inside(folder)


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):  # a job has just replaced it
        return []


def copy_spec(source: Path, folder: Path) -> None:
    """Copy the files that a plan was compiled from, if it has them: regular files only. Raises
    StoreError.

    Files that the user keeps beside them are not copied; one that has changed since is no longer
    what the plan was compiled from.
    """
    root, known = source / SPEC, recorded(source)
    for path in sorted(root.rglob("*")) if root.is_dir() and not root.is_symlink() else ():
        name = path.relative_to(source).as_posix()
        if known is not None and name not in known.files:
            continue
        file = known.files[name] if known is not None else None
        if path.is_dir() and not path.is_symlink():
            continue
        if path.is_symlink() or not path.is_file():
            raise StoreError(f"{path} cannot be copied: it is not a regular file")
        if file is not None and of_file(path).sha256 != file.sha256:
            raise StoreError(
                f"{path} has changed since the plan in {source} was compiled from it:"
                " run or compile the file, not the folder"
            )
        place = folder / SPEC / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def require_genuine(folder: Path, cell: Cell, number: int) -> None:
    """Raise StoreError for a changed cell, which would be given the stored result of another
    one.
    """
    if not genuine(cell):
        raise StoreError(
            f"{folder / CELLS}:{number}: the cell {cell.id} has been changed: that is not the hash"
            " of its content; compile it again"
        )
