"""`fairc verify PACK`: the plan compiled again, all that follows from the cells rebuilt, cells run
again.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from fairc.compiler import Compilation
from fairc.compiler.targets.binary import NAME
from fairc.runtime.engines.base import Engine
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host import supervisor
from fairc.runtime.pack import checking, contents, rebuilding, zipped
from fairc.runtime.pack.checking import cells_again
from fairc.runtime.pack.checks import Checks
from fairc.runtime.pack.claims import claims_again
from fairc.runtime.report.run import ReportError
from fairc.runtime.run import phase
from fairc.runtime.store.folder import Store, StoreError
from fairc.runtime.store.tables import TableError
from fairc.runtime.vm.foreign import ProgramsFailed, of_folder

from . import console
from .failures import Status
from .results import aligned
from .run import prepared, with_images
from .targets import Allowed, modules_of


def verify_pack(
    pack: Path, sample: int | None, jobs: int, form: str, *, trust: bool, allowed: Allowed
) -> int:
    """Check a pack; return the exit status.

    sample: how many cells to run again; None: all. trust: also run the pack's own programs, in the
    engine vm. allowed: the code of flows that may run.
    """
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("pack")) as scratch:
        folder = Path(scratch, "pack")
        folder.mkdir()
        console.say("unpacking, and comparing hashes")
        try:
            zipped.unpack(pack, folder)
        except zipped.PackError as error:
            checks.add("files", "differs", str(error))
            return _answer(pack, checks, form)
        checking.record(folder, checks)
        console.say("compiling the spec in the pack")
        compilation = checking.plan_again(folder, checks)
        store = None
        if compilation is not None:
            store = _rebuilt(folder, compilation, Path(scratch), jobs, checks)
        _run_again(folder, store, Path(scratch), sample, jobs, checks, trust=trust, allowed=allowed)
    return _answer(pack, checks, form)


def _rebuilt(
    folder: Path, compilation: Compilation, scratch: Path, jobs: int, checks: Checks
) -> Store | None:
    """Build the run anew from the results in the pack, and compare the rest of it; None where the
    results are damaged.
    """
    if not checking.results(folder, compilation.cells(), checks):
        return None
    console.say("rebuilding tables, claims and page from the cells")
    try:
        store = rebuilding.as_compiled(folder, scratch / "rebuilt", compilation)
        if (folder / phase.FOLDER).is_dir():
            check = Store(store.path / phase.FOLDER)
            if not check.path.is_dir() or not checking.results(
                folder / phase.FOLDER, check.cells(), checks
            ):
                return None
        rebuilding.derive(store, rebuilding.forms(folder))
        image = folder / contents.IMAGE
        raw = any(folder.glob("cells/*/raw.tar.zst"))
        ours = contents.contents(store, scratch, raw, image if image.is_file() else None)
    except (StoreError, TableError, ReportError) as error:
        checks.add("results", "differs", f"no report can be built from them: {error}")
        return None
    checking.rebuilt(folder, ours, checks)
    checking.raw_again(store, scratch / "raw", jobs, checks)
    return store


def _run_again(
    folder: Path,
    store: Store | None,
    scratch: Path,
    sample: int | None,
    jobs: int,
    checks: Checks,
    *,
    trust: bool,
    allowed: Allowed,
) -> None:
    """Run cells of the pack again, and decide its claims from both results.

    store: the run as rebuilt.
    """
    again = scratch / "again"
    modules = [] if store is None else modules_of(store.cells())
    if store is None:
        checks.add("cells", "not done", "no cell was run again: plan and results come first")
    elif sample == 0:
        checks.add("cells", "not done", "no cell was run again", decides=False)
    elif why := checking.obstacle(store.plan):
        checks.add("cells", "not done", why)
    elif modules and not allowed.modules:
        listed = ", ".join(modules)
        why = f"flows load kernel modules, which are code: {listed}; --allow-module lets them run"
        checks.add("cells", "not done", why)
    else:
        with closing(prepared(store.plan.engine, allowed, of_strangers=True)) as engine:
            with_images(lambda: {engine.identity_for(cell) for cell in store.cells()})
            _again(store, again, engine, sample, jobs, checks)
            if (store.path / phase.FOLDER).is_dir():
                check = Store(store.path / phase.FOLDER)
                _again(check, scratch / "phase", engine, sample, jobs, checks, "phase check cells")
    if trust:
        _trusted(folder, store, scratch, sample, jobs, checks)
    if store is not None:
        claims_again(folder, store, again, scratch / "claims", checks)


def _again(
    packed: Store,
    scratch: Path,
    engine: Engine,
    sample: int | None,
    jobs: int,
    checks: Checks,
    what: str = "cells",
) -> None:
    """Run cells of the pack again (`checking.cells_again`), with progress."""
    progress = console.progress()
    cells_again(packed, scratch, engine, sample, jobs, progress, checks, console.say, what)


def _trusted(
    folder: Path,
    store: Store | None,
    scratch: Path,
    sample: int | None,
    jobs: int,
    checks: Checks,
) -> None:
    """Run cells with the programs of the pack, inside the emulated machine, and compare."""
    what, home = "trusted programs", scratch / "machine"
    home.mkdir()
    programs = of_folder(folder / contents.PROGRAMS / "cells", NAME, home)
    if isinstance(programs, str):
        checks.add(what, "not done", programs)
    elif store is None or sample == 0:
        checks.add(what, "not done", "no cell was run again")
    elif why := checking.obstacle(store.plan):
        checks.add(what, "not done", why)
    else:
        if modules_of(store.cells()):
            checks.add(what, "not done", "the engine vm loads no kernel modules")
            return
        console.say("running the pack's own programs in an emulated machine (--trust)")
        try:
            with closing(VmEngine(console.say, programs)) as engine:
                engine.prepare()
                trusted = scratch / "trusted"
                _again(store, trusted, engine, sample, jobs, checks, what)
        except ProgramsFailed as problem:
            checks.add(what, "not done", f"no machine comes up with them: {problem.missing[0]}")


def _answer(pack: Path, checks: Checks, form: str) -> int:
    if form == "json":
        rows = [asdict(row) for row in checks.rows]
        document = {
            "pack": str(pack),
            "holds": checks.holds,
            "proved": checks.proved,
            "planned": checks.planned,
            "there": checks.there,
            "again": None if checks.again is None else asdict(checks.again),
            "checks": rows,
        }
        console.result(console.as_json(document))
    else:
        console.result(f"{pack} {checks.proved}")
        console.result("")
        table = [["checked", "verdict", "found"]]
        table += [[row.what, row.verdict, row.found] for row in checks.rows]
        for line in aligned(table, left=3):
            console.result(line)
    return Status.WELL if checks.holds else Status.NOT_ALL_VALID
