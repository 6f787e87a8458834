"""`fairc verify PACK`: hashes, the plan compiled again, cells run again."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from . import console
from .failures import Status

if TYPE_CHECKING:
    from fairc.compiler import Compilation
    from fairc.runtime.engines.base import Engine
    from fairc.runtime.pack.checks import Checks


def verify_pack(
    pack: Path, sample: int | None, jobs: int | None, form: str, *, trust: bool = False
) -> int:
    """Check a pack; return the exit status.

    sample: how many cells to run again; None: all. trust: also run the pack's own programs, in the engine vm.
    """
    from fairc.runtime.host import supervisor
    from fairc.runtime.pack import checking, zipped
    from fairc.runtime.pack.checks import Checks
    from fairc.runtime.pack.claims import claims_again
    from fairc.runtime.store.folder import read_plan
    from fairc.runtime.store.verification import verify

    checks = Checks()
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("pack")) as scratch:
        folder, again = Path(scratch, "pack"), Path(scratch, "again")
        folder.mkdir()
        console.say("unpacking, and comparing hashes")
        try:
            zipped.unpack(pack, folder)
        except zipped.PackError as error:
            checks.add("files", "differs", str(error))
            return _answer(pack, checks, form)
        damaged = [one for one in verify(folder).damaged if one.why != "missing"]
        if damaged:
            message = (
                f"{len(damaged)} differ from the hash recorded when they were written, such"
                f" as {damaged[0].file}"
            )
            checks.add("files", "differs", message)
        else:
            number = sum(1 for path in folder.rglob("*") if path.is_file())
            checks.add("files", "holds", f"{number} files match their hashes")
        plan = read_plan(folder)
        console.say("compiling the spec in the pack")
        compilation = checking.plan_again(folder, checks)
        checking.programs_again(folder, checks)
        if compilation is None or sample == 0:
            checks.add("cells", "not done", "no cell was run again", decides=sample != 0)
        elif why := checking.obstacle(plan):
            checks.add("cells", "not done", why)
        else:
            from .run import prepared

            with closing(prepared(plan.engine, allow_image=False)) as engine:
                _again(folder, compilation, again, engine, sample, jobs, checks)
        if trust:
            _trusted(folder, compilation, Path(scratch), sample, jobs, checks)
        if compilation is not None:
            claims_again(folder, compilation, again, Path(scratch, "claims"), checks)
    return _answer(pack, checks, form)


def _again(
    folder: Path,
    compilation: Compilation,
    scratch: Path,
    engine: Engine,
    sample: int | None,
    jobs: int | None,
    checks: Checks,
    what: str = "cells",
) -> None:
    """Run cells of the pack again (`checking.cells_again`), with progress."""
    from fairc.runtime.pack.checking import cells_again

    jobs = jobs or len(os.sched_getaffinity(0))
    progress = console.progress()
    cells_again(
        folder, compilation, scratch, engine, sample, jobs, progress, checks, console.say, what
    )


def _trusted(
    folder: Path,
    compilation: Compilation | None,
    scratch: Path,
    sample: int | None,
    jobs: int | None,
    checks: Checks,
) -> None:
    """Run cells with the programs of the pack, inside the emulated machine, and compare."""
    from fairc.compiler.targets.binary import NAME
    from fairc.runtime.engines.vm import VmEngine
    from fairc.runtime.pack import checking, contents
    from fairc.runtime.store.folder import read_plan
    from fairc.runtime.vm.foreign import ProgramsFailed, of_folder

    what, home = "trusted programs", scratch / "machine"
    home.mkdir()
    programs = of_folder(folder / contents.PROGRAMS / "cells", NAME, home)
    if isinstance(programs, str):
        checks.add(what, "not done", programs)
    elif compilation is None or sample == 0:
        checks.add(what, "not done", "no cell was run again")
    elif why := checking.obstacle(read_plan(folder)):
        checks.add(what, "not done", why)
    else:
        console.say("running the pack's own programs in an emulated machine (--trust)")
        try:
            with closing(VmEngine(console.say, programs)) as engine:
                engine.prepare()
                trusted = scratch / "trusted"
                _again(folder, compilation, trusted, engine, sample, jobs, checks, what)
        except ProgramsFailed as problem:
            checks.add(what, "not done", f"no machine comes up with them: {problem.missing[0]}")


def _answer(pack: Path, checks: Checks, form: str) -> int:
    from .results import aligned

    if form == "json":
        rows = [asdict(row) for row in checks.rows]
        document = {"pack": str(pack), "holds": checks.holds, "checks": rows}
        console.result(console.as_json(document))
    else:
        table = [["checked", "verdict", "found"]]
        table += [[row.what, row.verdict, row.found] for row in checks.rows]
        for line in aligned(table, left=3):
            console.result(line)
    return Status.WELL if checks.holds else Status.NOT_ALL_VALID
