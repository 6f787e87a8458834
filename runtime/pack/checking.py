"""Is a pack what it says? Without trusting it: hashes, the plan compiled again, cells run again.

A pack is data. Its programs, binaries and images are compared with what this installation has, and never run; what
is run is compiled here from the pack's spec, on an engine in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from fairc import compiler, dsl
from fairc.compiler.emission import SPEC
from fairc.compiler.engine_choice import VIRTUAL_TIME
from fairc.compiler.plan import Cell, Plan
from fairc.compiler.targets import mininet, runner
from fairc.compiler.targets.binary import NAME as ENDPOINTS
from fairc.compiler.targets.binary import find_endpoints
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime.compare.agreement import Margin, agree
from fairc.runtime.engines import kind_of
from fairc.runtime.engines.base import Engine
from fairc.runtime.repetitions.reading import measured
from fairc.runtime.run import lock
from fairc.runtime.run.progress import Progress
from fairc.runtime.run.sweep import Sweep
from fairc.runtime.statistics.agreement import AGREE
from fairc.runtime.store import tables
from fairc.runtime.store.folder import LOCK, Store, read_cells, read_plan

from .checks import Checks
from .contents import PROGRAMS

MARGIN = Margin(0.05, relative=True)


def plan_again(folder: Path, checks: Checks) -> compiler.Compilation | None:
    """Compile the spec of an unpacked pack and compare the plan; None if it does not compile.

    Raises StoreError.
    """
    plan = read_plan(folder)
    settings = {setting.name: setting.value for setting in plan.settings}
    try:
        experiment, found = dsl.load(dsl.read(folder / SPEC / plan.file), settings)
        if experiment is None:
            raise CompileError(found)
        compilation = compiler.compile(experiment, plan.engine)
        header, ids = compilation.plan, [cell.id for cell in compilation.cells()]
    except CompileError as error:
        checks.add(
            "plan",
            "differs",
            f"the spec in the pack does not compile: {error.diagnostics[0].message}",
        )
        return None
    packed = [cell.id for cell in read_cells(folder)]
    if ids == packed and _meaning(header) == _meaning(plan):
        checks.add("plan", "holds", f"the spec in the pack gives the same plan: {len(ids)} cells")
    elif ids == packed:
        checks.add(
            "plan", "differs", "the spec in the pack gives the same cells, but a different header"
        )
    else:
        same = len(set(ids) & set(packed))
        message = (
            f"the spec in the pack gives {len(ids)} cells here; {same} of the pack's"
            f" {len(packed)} are among them"
        )
        checks.add("plan", "differs", message)
    return compilation


def _meaning(plan: Plan) -> dict[str, object]:
    """Return the part of a header that does not depend on the version of fairc."""
    return plan.model_dump(exclude={"version", "engine_reasons"})


def programs_again(folder: Path, checks: Checks) -> None:
    """Compare the emitted programs and the endpoints with this version's; differences decide nothing."""
    place = folder / PROGRAMS / "cells"
    cells = list(read_cells(folder))
    same = sum(_holds(place / f"{cell.id}.py", mininet.render(cell).encode()) for cell in cells)
    message = f"{same} of {len(cells)} are what this version of fairc writes"
    ours = runner.files()
    names = {f"{runner.PACKAGE}/{p.name}" for p in (place / runner.PACKAGE).glob("*")}
    equal = names == ours.keys() and all(_holds(place / n, ours[n]) for n in names)
    message += (
        "" if equal else f"; the `{runner.PACKAGE}/` that runs them is not this installation's"
    )
    whole = equal and same == len(cells)
    checks.add("programs", "holds" if whole else "differs", message, decides=False)
    binary = place / ENDPOINTS
    if binary.is_file():
        equal = lock.digest([binary]) == lock.digest([find_endpoints()])
        found = "the same as here" if equal else "not the build of this machine; it is not run"
        checks.add("endpoints", "holds" if equal else "differs", found, decides=False)


def _holds(path: Path, content: bytes) -> bool:
    """Return whether a file is there and has this content; one of another size is not read."""
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


def chosen(cells: Iterable[Cell], number: int | None) -> list[Cell]:
    """Return `number` cells, evenly spread over all, or all of them if it is None."""
    every = list(cells)
    if number is None or number >= len(every):
        return every
    return [every[(2 * i + 1) * len(every) // (2 * number)] for i in range(number)]


def cells_again(
    folder: Path,
    compilation: compiler.Compilation,
    scratch: Path,
    engine: Engine,
    sample: int | None,
    jobs: int,
    progress: Progress,
    checks: Checks,
    say: Callable[[str], None],
    what: str = "cells",
) -> None:
    """Run cells again, from the plan compiled here, and compare them with the pack's results.

    If engine and build are the pack's, the results must be equal to the byte. Otherwise all repetitions of the
    chosen configurations are run, and every metric must agree within 5 %. what: the name of the row.
    """
    packed = Store(folder)
    ours = {cell.id: cell for cell in compilation.cells()}
    stored = {cell.id: where for cell, where in packed.finished() if cell.id in ours}
    if not stored:
        checks.add(
            what,
            "not done",
            "none of the pack's results belongs to a cell that the spec gives here",
        )
        return
    picked = chosen((ours[name] for name in stored), sample)
    machine = packed.lock.get("engine", {})
    known = {str(i) for i in machine.get("identities", [machine.get("identity")])}
    equal = engine.name == machine.get("name") and all(
        engine.identity_for(c) in known for c in picked
    )
    if not equal:
        say(
            "engine or build differ from the pack's: all repetitions of the chosen configurations"
            " are run"
        )
        configurations = {cell.configuration for cell in picked}
        picked = [ours[name] for name in stored if ours[name].configuration in configurations]
    wanted = {cell.id for cell in picked}
    with Store(scratch) as store:
        store.adopt(store.stage(lambda to: compiler.emit(compilation, to, ("json",))))
        store.write_json(LOCK, lock.describe(store.path, engine))
        Sweep(store, engine, progress, jobs, lambda cell: cell.id in wanted).run()
        if equal:
            _same_bytes(packed, store, stored, wanted, checks, what)
        else:
            _agreement(packed, store, wanted, checks, what)


def _same_bytes(
    packed: Store,
    store: Store,
    stored: dict[str, Path],
    wanted: set[str],
    checks: Checks,
    what: str,
) -> None:
    again = {cell.id: store.result(where.name) for cell, where in store.finished()}
    differing = []
    for name in sorted(wanted):
        before, now = packed.result(stored[name].name), again.get(name)
        if (
            before is None
            or now is None
            or not now.result_sha256
            or (before.result_sha256, before.metrics) != (now.result_sha256, now.metrics)
        ):
            differing.append(name)
    message = f"{len(wanted)} run again: {len(wanted) - len(differing)} equal to the byte"
    if differing:
        message += f"; not so {', '.join(differing[:4])}{_why(store, wanted)}"
    checks.add(what, "differs" if differing else "holds", message)


def _agreement(packed: Store, store: Store, wanted: set[str], checks: Checks, what: str) -> None:
    tables.write_of(store, store.path / "tables", packed.plan)
    before, now = (measured(of.path / "tables", packed.plan) for of in (packed, store))
    agreed = agree(before, now, MARGIN, {})
    rows = [row for row in agreed if row["n_second"] or row["left_out_second"]]
    verdicts = [row["verdict"] for row in rows]
    agreeing = verdicts.count(AGREE)
    other = len(rows) - agreeing
    message = (
        f"{len(wanted)} run again on another build: {agreeing} of {len(rows)} values agree"
        " within 5 %"
    )
    again = [store.result(where.name) for cell, where in store.finished() if cell.id in wanted]
    if failed := sum(result is None or result.status != "ok" for result in again):
        checks.add(what, "differs", f"{message}; {failed} of them failed here{_why(store, wanted)}")
    elif "differ" in verdicts:
        checks.add(what, "differs", f"{message}, {verdicts.count('differ')} differ")
    elif other:
        checks.add(
            what, "cannot tell", f"{message}; {other} cannot be decided with so few repetitions"
        )
    else:
        checks.add(what, "holds" if rows else "not done", message)


def _why(store: Store, wanted: set[str]) -> str:
    """Return why the first of the failed cells failed, in brackets; empty if none did."""
    for cell, where in store.finished():
        result = store.result(where.name) if cell.id in wanted else None
        if result is not None and result.status != "ok":
            return f" ({cell.id}: {result.error})"
    return ""


def obstacle(plan: Plan) -> str:
    """Return why the pack's engine runs no stranger's cells here; empty if it does."""
    try:
        kind = kind_of(plan.engine)
    except LookupError as error:
        return str(error.args[0])
    if kind.family not in VIRTUAL_TIME:
        return f"its engine, {plan.engine}, runs on this machine's kernel"
    return ""
