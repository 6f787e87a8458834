"""A pack where a run directory is expected: `fairc run` and `fairc report` unpack it first, and go
on there; other commands read it, and leave nothing behind.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairc.compiler.files import content
from fairc.runtime.host.clean import remove_temporary
from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.store.folder import CELLS, runs_in

from . import console
from .failures import UsageError
from .results import default_run, plan_of, suite_of


def is_pack(target: Path) -> bool:
    """Return whether a file is a pack, by its name."""
    return target.suffix == ".zip" and target.is_file()


def _unpack(pack: Path, folder: Path) -> None:
    """Unpack a pack into an empty folder. Raises PackError, StoreError, TableError, OSError."""
    from fairc.runtime.pack import rebuilding  # draws figures, too: a second that `--help` need not

    rebuilding.unpack(pack, folder)


def run_of(target: Path, output: Path | None = None) -> Path:
    """Return a run directory: the target itself or, if it is a pack, the folder that it is unpacked
    into.

    output: that folder; None: the default of `fairc run`. A folder that already holds
    the same plan is used as it is. Raises PackError, StoreError, UsageError.
    """
    if not is_pack(target):
        return target
    parent = (output or default_run("x")).absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    remove_temporary(parent)  # left over from killed runs
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("pack"), dir=parent) as scratch:
        unpacked = Path(scratch, "pack")
        unpacked.mkdir()
        _unpack(target, unpacked)
        runs = runs_in(unpacked)
        plan = plan_of(next(iter(runs.values())))
        names = (plan.experiment, suite_of(plan)) if "" in runs else (suite_of(plan),)
        place = output or default_run(*names)
        if place.exists() and any(place.iterdir()):
            if _cells(place) != _cells(unpacked):
                raise UsageError(
                    f"{place} holds something other than this pack",
                    f"name another folder: `-o {place}-pack`"
                    if output is None
                    else "name another folder",
                )
            return place
        if place.exists():
            place.rmdir()
        place.parent.mkdir(parents=True, exist_ok=True)
        unpacked.replace(place)
    console.say(f"unpacked into {place}")
    return place


def _cells(folder: Path) -> dict[str, bytes]:
    """Return the cells of the plan of each run in a folder."""
    runs = runs_in(folder).items()
    return {name: content(run / CELLS) for name, run in runs if (run / CELLS).is_file()}


@contextmanager
def opened(target: Path) -> Iterator[Path]:
    """Yield a run directory, or the folder of several experiments: the target itself or, for a
    pack, a temporary folder into which it is unpacked.

    Raises PackError, StoreError, UsageError.
    """
    if not target.is_file():
        yield target
        return
    remove_temporary()  # left over from killed commands
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("pack")) as scratch:
        folder = Path(scratch, target.stem)
        folder.mkdir()
        _unpack(target, folder)
        yield folder
