"""A pack where a run directory is expected: `fairc run` and `fairc report` unpack it first."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fairc.runtime.host.clean import remove_temporary
from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.pack import rebuilding
from fairc.runtime.store.folder import CELLS

from . import console
from .conclusion import default_run, suite_of
from .failures import UsageError
from .results import plan_of


def is_pack(target: Path) -> bool:
    """Return whether a file is a pack, by its name."""
    return target.suffix == ".zip" and target.is_file()


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
        rebuilding.unpack(target, unpacked)
        plan = plan_of(unpacked)
        place = output or default_run(plan.experiment, suite_of(plan))
        if place.exists() and any(place.iterdir()):
            there, here = (folder / CELLS for folder in (place, unpacked))
            if not there.is_file() or there.read_bytes() != here.read_bytes():
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
