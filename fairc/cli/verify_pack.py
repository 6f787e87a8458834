"""`fairc verify PACK`: the plan compiled again, all that follows from the cells rebuilt, cells run
again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from fairc.compiler import Compilation
from fairc.compiler.binary import NAME
from fairc.compiler.record import SPEC
from fairc.runtime.engines import kind_of
from fairc.runtime.engines.base import Engine
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host import supervisor
from fairc.runtime.pack import checking, contents, rebuilding, zipped
from fairc.runtime.pack.checking import cells_again
from fairc.runtime.pack.checks import Checks
from fairc.runtime.pack.claims import claims_again
from fairc.runtime.report import build
from fairc.runtime.report.run import ReportError
from fairc.runtime.run import phase
from fairc.runtime.store.folder import Store, StoreError, runs_in
from fairc.runtime.store.tables import TableError
from fairc.runtime.vm.foreign import ProgramsFailed, of_folder

from . import console
from .conclusion import slot_for_report
from .failures import Status
from .results import aligned
from .run import prepared, with_images
from .targets import Allowed, modules_of, programs_of


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
        stores = _rebuilt(folder, Path(scratch), jobs, checks)
        for name, run in runs_in(folder).items():
            with _about(name, checks):
                own = Path(scratch, f"run-{name}")
                own.mkdir()
                rerun = Rerun(own, sample, jobs, checks)
                _run_again(folder, run, stores[name], rerun, trust=trust, allowed=allowed)
    return _answer(pack, checks, form)


@contextmanager
def _about(experiment: str, checks: Checks) -> Iterator[None]:
    """Add rows about one of several experiments; an empty name: of the only one."""
    if experiment:
        console.say(f"experiment {experiment}")
    checks.experiment = experiment
    yield
    checks.experiment = ""


def _rebuilt(folder: Path, scratch: Path, jobs: int, checks: Checks) -> Mapping[str, Store | None]:
    """Build the runs of a pack anew from the results in it, and compare the rest of it.

    Returns the run of each experiment; None where its plan or its results are damaged.
    """
    runs, place = runs_in(folder), scratch / "rebuilt"
    stores: dict[str, Store | None] = {}
    if "" not in runs:
        checking.experiments(folder, checks)
    for name, run in runs.items():
        with _about(name, checks):
            console.say("compiling the spec in the pack")
            compilation = checking.plan_again(run, checks)
            if compilation is None:
                stores[name] = None
            else:
                stores[name] = _built(run, place / name, compilation, checks)
    built = [store for store in stores.values() if store is not None]
    if len(built) < len(stores):
        return stores
    try:
        if "" not in runs:
            with slot_for_report():
                build.build_all(place, [*runs])
        image = folder / contents.IMAGE
        raw = any(any(run.glob("cells/*/raw.tar.zst")) for run in runs.values())
        ours = contents.contents(place, scratch, raw, image if image.is_file() else None)
    except (StoreError, TableError, ReportError) as error:
        checks.add("results", "differs", f"no report can be built from them: {error}")
        return dict.fromkeys(stores)
    checking.rebuilt(folder, ours, checks)
    for name, store in zip(stores, built, strict=True):
        with _about(name, checks):
            checking.raw_again(store, scratch / f"raw-{name}", jobs, checks)
    return stores


def _built(folder: Path, place: Path, compilation: Compilation, checks: Checks) -> Store | None:
    """Build a run anew from its results in the pack; None where these are damaged."""
    if not checking.results(folder, compilation.cells(), checks):
        return None
    console.say("rebuilding tables, claims and page from the cells")
    try:
        store = rebuilding.as_compiled(folder, place, compilation)
        if (folder / phase.FOLDER).is_dir():
            check = Store(store.path / phase.FOLDER)
            if not check.path.is_dir() or not checking.results(
                folder / phase.FOLDER, check.cells(), checks
            ):
                return None
        with slot_for_report():
            rebuilding.derive(store, rebuilding.forms(folder))
    except (StoreError, TableError, ReportError) as error:
        checks.add("results", "differs", f"no report can be built from them: {error}")
        return None
    return store


@dataclass(frozen=True)
class Rerun:
    """What a rerun of cells of an experiment needs.

    scratch: an empty folder. sample: how many are drawn; None: all. checks: gets the rows.
    """

    scratch: Path
    sample: int | None
    jobs: int
    checks: Checks

    def run(self, packed: Store, engine: Engine, folder: str, what: str = "cells") -> None:
        """Run cells of the pack again (`checking.cells_again`), with progress.

        folder: in `scratch`, where they are run. what: the name of the row.
        """
        cells_again(
            packed,
            self.scratch / folder,
            engine,
            self.sample,
            self.jobs,
            console.progress(),
            self.checks,
            console.say,
            what,
        )


def _run_again(
    folder: Path,
    run: Path,
    store: Store | None,
    rerun: Rerun,
    *,
    trust: bool,
    allowed: Allowed,
) -> None:
    """Run cells of an experiment again, and decide its claims from both results.

    folder: the pack; run: the experiment in it; store: as rebuilt.
    """
    checks = rerun.checks
    modules = [] if store is None else modules_of(store.cells())
    programs = [] if store is None else programs_of(store.cells())
    if store is None:
        checks.add("cells", "not done", "no cell was run again: plan and results come first")
    elif rerun.sample == 0:
        checks.add("cells", "not done", "no cell was run again", decides=False)
    elif why := checking.obstacle(store.plan):
        checks.add("cells", "not done", why)
    elif modules and not allowed.modules:
        listed = ", ".join(modules)
        why = f"flows load kernel modules, which are code: {listed}; --allow-module lets them run"
        checks.add("cells", "not done", why)
    elif programs and not allowed.programs:
        listed = ", ".join(programs)
        why = f"these flows run programs, which are code: {listed}; --allow-program lets them run"
        checks.add("cells", "not done", why)
    else:
        engine_of = store.plan.engine
        with closing(prepared(engine_of, allowed, True, spec=run / SPEC)) as engine:
            with_images(lambda: {engine.identity_for(cell) for cell in store.cells()})
            rerun.run(store, engine, "again")
            if (store.path / phase.FOLDER).is_dir():
                check = Store(store.path / phase.FOLDER)
                rerun.run(check, engine, "phase", "phase check cells")
    if trust:
        _trusted(folder, store, rerun)
    if store is not None:
        claims_again(run, store, rerun.scratch / "again", rerun.scratch / "claims", checks)


def _trusted(folder: Path, store: Store | None, rerun: Rerun) -> None:
    """Run cells with the programs of the pack, inside the emulated machine, and compare."""
    checks, what, home = rerun.checks, "trusted programs", rerun.scratch / "machine"
    home.mkdir()
    programs = of_folder(folder / contents.PROGRAMS / "cells", NAME, home)
    if isinstance(programs, str):
        checks.add(what, "not done", programs)
    elif store is None or rerun.sample == 0:
        checks.add(what, "not done", "no cell was run again")
    elif why := checking.obstacle(store.plan):
        checks.add(what, "not done", why)
    else:
        vm = kind_of(VmEngine.name)
        reasons = (reason for cell in store.cells() for reason in vm.cannot(cell))
        if reason := next(reasons, None):
            checks.add(what, "not done", str(reason))
            return
        console.say("running the pack's own programs in an emulated machine (--trust)")
        try:
            with closing(VmEngine(console.say, programs)) as engine:
                engine.prepare()
                rerun.run(store, engine, "trusted", what)
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
        head = ["experiment", "checked", "verdict", "found"]
        table = [head, *([r.experiment, r.what, r.verdict, r.found] for r in checks.rows)]
        first = 0 if any(row.experiment for row in checks.rows) else 1
        for line in aligned([row[first:] for row in table], left=4 - first):
            console.result(line)
    return Status.WELL if checks.holds else Status.NOT_ALL_VALID
