"""Checks of a pack, without trusting it: the plan is compiled again, everything derived is rebuilt,
cells are run again.

A pack is data. Its programs, binaries and images are compared with what this installation has, and
never run; what is run is compiled here from the pack's spec, on an engine in virtual time. Cells
are those of the plan as it compiles here, so what the pack's own plan says of them decides nothing.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from math import comb
from pathlib import Path
from typing import Any, NoReturn

from fairc import compiler, dsl
from fairc.compiler.binary import NAME as ENDPOINTS
from fairc.compiler.binary import find_endpoints
from fairc.compiler.engine_choice import VIRTUAL_TIME
from fairc.compiler.files import content
from fairc.compiler.plan import Cell, Plan
from fairc.compiler.record import FILES, SPEC, recorded
from fairc.compiler.targets import runner
from fairc.dsl.core import plugins
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime.compare.agreement import Margin, agree
from fairc.runtime.engines import kind_of
from fairc.runtime.engines.base import Engine
from fairc.runtime.ranges.cells import finished, missing
from fairc.runtime.repetitions.reading import measured
from fairc.runtime.run import lock, phase, repair
from fairc.runtime.run.progress import Progress
from fairc.runtime.run.sweep import Sweep
from fairc.runtime.run.verification import differences
from fairc.runtime.statistics.agreement import AGREE
from fairc.runtime.store import baselines, damage, hashes, tables, verdicts
from fairc.runtime.store.cell_folder import RAW
from fairc.runtime.store.folder import CELLS, LOCK, PLAN, Store, read_cells, read_plan, runs_in
from fairc.words.metrics import METRICS

from . import contents
from .checks import Checks, Rerun
from .comparing import same
from .zipped import SUMS

MARGIN = Margin(0.05, relative=True)
SHOWN = 4
# What the rows of an answer are about: files by the beginnings of their names, in this order.
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tables", ("tables/", f"{phase.FOLDER}/tables/")),
    ("page", ("report.", "figures/")),
    ("programs", (f"{contents.PROGRAMS}/",)),
    ("texts", ("",)),
)


def documents(folder: Path) -> str:
    """Return which JSON document of a pack readers may understand differently; empty if none."""
    for path in sorted(folder.rglob("*.json*")):
        name = path.relative_to(folder).as_posix()
        if name.startswith((f"{SPEC}/", f"{contents.PROGRAMS}/")) or path.suffix not in (
            ".json",
            ".jsonl",
        ):
            continue
        try:
            text = content(path)
        except OSError as error:
            return f"{name} cannot be read: {error.strerror}"
        for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
            try:
                json.loads(part, object_pairs_hook=_once, parse_constant=_no_number)
            except (ValueError, RecursionError) as error:
                return f"{name} is not plain JSON: {error}"
    return ""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name appears twice in an object")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def plan_again(folder: Path, checks: Checks) -> compiler.Compilation | None:
    """Compile the spec of an unpacked pack and compare the plan; None if it does not compile.

    Raises StoreError.
    """
    plan = read_plan(folder)
    settings = {setting.name: setting.value for setting in plan.settings}
    try:
        experiment, found = dsl.load(dsl.read(folder / SPEC / plan.file), settings, plan.experiment)
        if experiment is None:
            raise CompileError(found)
        compilation = compiler.compile(experiment, plan.engine)
        header, ours = compilation.plan, list(compilation.cells())
    except CompileError as error:
        if lacking := sorted({asked.name for asked in plan.requests.metrics} - {*METRICS.names()}):
            help = plugins.offer(lacking[0]) or f"{LOCK} in the pack names the plug-ins of its run"
            checks.add("plan", "cannot tell", f"`{lacking[0]}` is not installed here; {help}")
        else:
            why = error.diagnostics[0].message
            checks.add("plan", "differs", f"the spec in the pack does not compile: {why}")
        return None
    packed = list(read_cells(folder))
    why = (
        plan.outdated
        or _cells_differ(ours, packed)
        or _header_differs(header, plan)
        or _lock_differs(folder)
    )
    if why:
        checks.add("plan", "differs", why)
    else:
        message = f"the spec in the pack gives the same plan: {len(ours)} cells"
        checks.add("plan", "holds", "; ".join([message, *_remarks(header, ours)]))
    return compilation


def _cells_differ(ours: list[Cell], packed: list[Cell]) -> str:
    """Return how the cells of a pack's plan differ from those of its spec.

    What is captured is free (docs/reference/plan.md).
    """
    ids = [cell.id for cell in ours]
    if ids != [cell.id for cell in packed]:
        both = len(set(ids) & {cell.id for cell in packed})
        return (
            f"the spec in the pack gives {len(ids)} cells here; {both} of the pack's"
            f" {len(packed)} are among them"
        )
    for mine, theirs in zip(ours, packed, strict=True):
        if mine != replace(theirs, captures=mine.captures):
            names = (each.name for each in fields(Cell) if each.name != "captures")
            which = next(n for n in names if getattr(mine, n) != getattr(theirs, n))
            return (
                f"the cell {mine.id} of the plan has other `{which}` than the spec in the pack"
                f" gives"
            )
    return ""


def _header_differs(ours: Plan, packed: Plan) -> str:
    """Return which parts of a header differ, of those that do not depend on the version of
    fairc.
    """
    without = {"version", "engine_reasons"}
    mine, theirs = (plan.model_dump(exclude=without) for plan in (ours, packed))
    other = [f"`{name}`" for name in mine if mine[name] != theirs[name]]
    if not other:
        return ""
    return f"the spec in the pack gives the same cells, but another header: {', '.join(other)}"


def _lock_differs(folder: Path) -> str:
    """Return how the lock of a pack contradicts its plan.

    All else in a lock is the word of who ran it.
    """
    found = Store(folder).lock
    if found.get("plan") != lock.planned(folder):
        return "`lock.json` is of another plan"
    if (found.get("engine") or {}).get("name") != read_plan(folder).engine:
        return "`lock.json` names another engine than the plan"
    return ""


def _remarks(plan: Plan, cells: list[Cell]) -> Iterator[str]:
    """Yield what the authors of a plan chose that can favour a result; it is theirs to explain."""
    if plan.settings:
        yield "with " + ", ".join(f"--set {s.name}={s.value}" for s in plan.settings)
    repetitions: dict[str, set[int]] = {}
    for cell in cells:
        if cell.baseline:
            continue
        repetitions.setdefault(cell.configuration, set()).add(cell.repetition)
    left_out = sum(plan.repeat - len(found) for found in repetitions.values())
    if left_out:
        yield f"the spec itself excludes {left_out} repetitions of configurations that it runs"


def results(folder: Path, ours: Iterable[Cell], checks: Checks) -> bool:
    """Check that a pack has the results of the cells that its spec gives here, each in its place.

    Returns whether what is there can be used. Raises StoreError.
    """
    store, mine = Store(folder), {cell.id: cell for cell in ours}
    damaged, analyses, counts, there = list[str](), set[str](), verdicts.Counts(), 0
    for cell, places in store.places():
        for place in places.values():
            if not place.is_dir() or cell.id not in mine:
                continue
            for name, why in damage.of_cell(mine[cell.id], place, thorough=True).items():
                damaged.append(f"cells/{place.name}/{name}: {why}")
            if (result := store.result(place.name)) is not None:
                analyses.add(result.analysis)
                counts.add(result)
                there += 1
    absent = len(mine) - there
    if store.plan.precision and not damaged:
        absent = len(missing(store, {cell.id for cell, _ in finished(store)}))
    planned = there + absent
    if folder.name != phase.FOLDER:
        checks.planned += planned
        checks.there += there
    what = "results" if folder.name != phase.FOLDER else "phase check"
    message = f"{there} of the plan's {planned} cells: {counts.text.partition(': ')[2]}"
    if damaged:
        more = f", and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        checks.add(what, "differs", f"{message}; {damaged[0]}{more}")
    elif absent:
        checks.add(what, "differs", f"{message}; {absent} missing")
    elif len(analyses) > 1:
        checks.add(what, "differs", f"{message}; they were analysed by {len(analyses)} versions")
    else:
        own = analyses == {lock.analysis_identity(store.plan.requests)}
        other = "" if own else "; analysed by another version of fairc"
        checks.add(what, "holds", f"{message}, each in its place{other}")
    return not damaged


def record(folder: Path, checks: Checks) -> bool:
    """Check the files of an unpacked pack against the hashes recorded when they were written."""
    problems = []
    runs = runs_in(folder).values()
    phases = [run / phase.FOLDER for run in runs if (run / phase.FOLDER / PLAN).is_file()]
    for run in dict.fromkeys((folder, *runs, *phases)):
        known = recorded(run)
        if known is None:
            problems.append(f"{run.relative_to(folder) / FILES} is missing or cannot be read")
            continue
        before = "" if run == folder else f"{run.relative_to(folder)}/"
        problems += [f"{before}{n}: {why}" for n, why in hashes.differing(run, known).items()]
        if (run / PLAN).is_file():
            unrecorded = hashes.unrecorded(run, known)
            problems += [f"{before}{n}: {hashes.UNRECORDED}" for n in unrecorded]
    if why := documents(folder):
        problems.append(why)
    number = sum(1 for path in folder.rglob("*") if path.is_file())
    if problems:
        checks.add("files", "differs", f"{problems[0]}{_more(problems)}")
    else:
        checks.add("files", "holds", f"{number} files match their hashes")
    return not problems


def experiments(folder: Path, checks: Checks) -> None:
    """Check that an unpacked pack of several experiments has all of its file. Raises StoreError."""
    plans = {name: read_plan(run) for name, run in runs_in(folder).items()}
    declared = next(iter(plans.values())).experiments
    found = f"{len(plans)} of the file's {len(declared)} experiments"
    if wrong := [name for name, plan in plans.items() if plan.experiment != name]:
        other = plans[wrong[0]].experiment
        checks.add("experiments", "differs", f"{wrong[0]}/ is of the experiment {other}")
    elif absent := [name for name in declared if name not in plans]:
        checks.add("experiments", "differs", f"{found}; missing: {', '.join(absent)}")
    else:
        several = len({plan.source_sha256 for plan in plans.values()}) > 1
        edited = "; the file was edited between them" if several else ""
        checks.add("experiments", "holds", f"{found}{edited}")


def _more(problems: list[str]) -> str:
    return f", and {len(problems) - 1} more" if len(problems) > 1 else ""


def rebuilt(folder: Path, ours: Mapping[str, Path | bytes], checks: Checks) -> None:
    """Compare every file of a pack with what follows from its spec, its lock and its results.

    ours: as of `contents`.
    """
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    names -= {SUMS}
    left = names | ours.keys()
    runs = runs_in(folder)
    before = tuple(f"{name}/" for name in runs if name)
    lists = {FILES, f"{phase.FOLDER}/{FILES}"}  # compared by `record`
    built = next(filter(None, map(_version, runs.values())), "")
    for what, beginnings in GROUPS:
        of_group = sorted(name for name in left if _inner(name, before).startswith(beginnings))
        left -= set(of_group)
        binary = f"{contents.PROGRAMS}/cells/{ENDPOINTS}"
        problems = [
            _unlike(name, name in ours, name in names)
            for name in of_group
            if _inner(name, before) not in lists and name != binary
            if name not in ours or not same(name, ours[name], folder / name)
        ]
        count = f"{len(of_group) - len(problems)} of {len(of_group)}"
        if what == "programs":
            equal = f"{count} files are what this version of fairc writes{_runner(problems)}"
            checks.add(what, "differs" if problems else "holds", equal, decides=False)
        elif problems:
            message = f"{problems[0]}{_more(problems)}{built}"
            checks.add(what, "cannot tell" if built and what != "tables" else "differs", message)
        elif of_group:
            checks.add(what, "holds", f"{count} files follow from the cells, rebuilt here")
    _endpoints(folder, checks)


def _inner(name: str, before: Iterable[str]) -> str:
    """Return the name of a file in the folder of its experiment. before: of all of them."""
    folder = next((folder for folder in before if name.startswith(folder)), "")
    return name.removeprefix(folder)


def _unlike(name: str, ours: bool, theirs: bool) -> str:
    if not ours:
        return f"{name} is no part of a pack"
    if not theirs:
        return f"{name} is missing"
    return f"{name} does not follow from the cells"


def _runner(problems: list[str]) -> str:
    """Say whether the programs that differ include what runs them."""
    own = f"{contents.PROGRAMS}/cells/{runner.PACKAGE}/"
    if any(problem.startswith(own) for problem in problems):
        return f"; the `{runner.PACKAGE}/` that runs them is not this installation's"
    return ""


def _version(folder: Path) -> str:
    """Return which other version of fairc wrote a pack, as a remark; empty if it says that this one
    did.
    """
    said = Store(folder).lock.get("fairc") or {}
    here = lock.program()
    if {key: said.get(key) for key in here} == here:
        return ""
    name = f"{said.get('version')}, commit {str(said.get('commit'))[:12]}"
    return f"; by its lock the pack was written by another build (fairc {name})"


def _endpoints(folder: Path, checks: Checks) -> None:
    binary = folder / contents.PROGRAMS / "cells" / ENDPOINTS
    if binary.is_file():
        equal = lock.digest([binary]) == lock.digest([find_endpoints()])
        found = "the same as here" if equal else "not the build of this machine; it is not run"
        checks.add("endpoints", "holds" if equal else "differs", found, decides=False)


def raw_again(store: Store, scratch: Path, jobs: int, checks: Checks) -> None:
    """Derive the results of cells again from the raw artefacts that a pack has, and compare
    them.
    """
    there = [(cell, place) for cell, place in finished(store) if (place / RAW).is_file()]
    if not there:
        return
    found = repair.derived_again(store, there, scratch, jobs)
    message = f"the results of {len(there)} cells derived again from their raw artefacts"
    if found:
        key, why = next(iter(found.items()))
        checks.add(
            "raw artefacts", "differs", f"{message}: {len(found)} differ, such as {key}: {why}"
        )
    else:
        checks.add("raw artefacts", "holds", f"{message}: all equal")


def drawn(cells: Iterable[Cell], number: int | None) -> list[Cell]:
    """Return `number` cells, drawn from the randomness of the system, or all of them if it is None.

    Nobody may know which ones before: a pack would be forged elsewhere.
    """
    every = list(cells)
    if number is None or number >= len(every):
        return every
    chosen = {cell.id for cell in random.SystemRandom().sample(every, number)}
    return [cell for cell in every if cell.id in chosen]


def detection(total: int, number: int, forged: int) -> float:
    """Return the probability that `number` cells drawn from `total` include one of `forged`."""
    return 1 - comb(total - forged, number) / comb(total, number)


def _odds(total: int, number: int, what: str) -> str:
    """Say how likely forged cells are found; empty where all of them are run again."""
    if number >= total:
        return ""
    several = max(2, total // 4)
    one, more = (detection(total, number, forged) for forged in (1, several))
    return (
        f"; drawn at random: one forged {what} among the {total} would be found with a probability"
        f" of {one:.0%}, {several} of them with {more:.0%}"
    )


def cells_again(
    packed: Store,
    scratch: Path,
    engine: Engine,
    sample: int | None,
    jobs: int,
    progress: Progress,
    checks: Checks,
    say: Callable[[str], None],
    what: str,
) -> None:
    """Run cells again, and compare them with the pack's results.

    packed: as rebuilt, with the plan that was compiled here. If engine and build are the pack's,
    the results must be equal to the byte. Otherwise all repetitions of the drawn configurations are
    run, and every metric must agree within 5 %.
    what: the name of the row.
    """
    stored = {cell.id: (cell, where) for cell, where in finished(packed)}
    if not stored:
        checks.add(what, "not done", "the pack has no result")
        return
    cells = [cell for cell, _ in stored.values()]
    picked = drawn(cells, sample)
    machine = packed.lock.get("engine", {})
    known = {str(i) for i in machine.get("identities", [machine.get("identity")])}
    equal = engine.name == machine.get("name") and all(
        engine.identity_for(c) in known for c in picked
    )
    if equal:
        odds = _odds(len(cells), len(picked), "cell")
    else:
        say(
            "engine or build differ from the pack's: all repetitions of the drawn configurations"
            " are run"
        )
        configurations = {cell.configuration for cell in picked}
        picked = [cell for cell in cells if cell.configuration in configurations]
        alone = baselines.places(picked)
        picked += [
            c for c in cells if (c.configuration, c.repetition) in alone - {*map(_place, picked)}
        ]
        all_ = len({cell.configuration for cell in cells})
        odds = _odds(all_, len(configurations), "configuration")
    wanted = {cell.id for cell in picked}
    with Store(scratch) as store:
        store.adopt(store.stage(lambda to: _copy_plan(packed.path, to)))
        store.write_json(LOCK, lock.describe(store.path, engine))
        Sweep(store, engine, progress, jobs, lambda cell: cell.id in wanted).run()
        if equal:
            _same_bytes(stored, store, wanted, checks, what, odds)
        else:
            _agreement(packed, store, wanted, checks, what, odds)


def _place(cell: Cell) -> tuple[str, int]:
    return cell.configuration, cell.repetition


def _copy_plan(source: Path, folder: Path) -> None:
    for name in (PLAN, CELLS):
        (folder / name).write_bytes((source / name).read_bytes())


def _same_bytes(
    stored: Mapping[str, tuple[Cell, Path]],
    store: Store,
    wanted: set[str],
    checks: Checks,
    what: str,
    odds: str,
) -> None:
    again = {cell.id: where for cell, where in finished(store)}
    differing = {}
    for name in sorted(wanted):
        if name not in again:
            differing[name] = "it has no result here"
        elif other := differences(stored[name][1], again[name]):
            differing[name] = ", ".join(other)
    equal = len(wanted) - len(differing)
    if what == "cells":
        checks.add_again(Rerun(len(wanted), equal, "equal to the byte", odds.removeprefix("; ")))
    message = f"{len(wanted)} run again: {equal} equal to the byte, wall times aside"
    if differing:
        shown = [f"{name} ({why})" for name, why in list(differing.items())[:SHOWN]]
        message += f"; not so {', '.join(shown)}{_why(store, wanted)}"
    checks.add(what, "differs" if differing else "holds", message + odds)


def _agreement(
    packed: Store, store: Store, wanted: set[str], checks: Checks, what: str, odds: str
) -> None:
    tables.write_of(finished(store), store.path / "tables", packed.plan)
    before, now = (measured(of.path / "tables", packed.plan) for of in (packed, store))
    agreed = agree(before, now, MARGIN, {})
    rows = [row for row in agreed if row["n_second"] or row["left_out_second"]]
    agreeing = sum(row["verdict"] == AGREE for row in rows)
    other = len(rows) - agreeing
    if what == "cells":
        how = f"on another build, where {agreeing} of {len(rows)} values agree within 5 %"
        checks.add_again(Rerun(len(wanted), None, how, odds.removeprefix("; ")))
    message = (
        f"{len(wanted)} run again on another build: {agreeing} of {len(rows)} values agree"
        " within 5 %"
    )
    again = [store.result(where.name) for cell, where in finished(store) if cell.id in wanted]
    counted = {outcome.cell: outcome.counts for outcome in now.outcomes if outcome.cell in wanted}
    unlike = [o.cell for o in before.outcomes if counted.get(o.cell, o.counts) != o.counts]
    if failed := sum(result is None or result.status != "ok" for result in again):
        message += f"; {failed} of them failed here{_why(store, wanted)}"
        checks.add(what, "differs", message + odds)
    elif unlike:
        message += f"; {len(unlike)} count on one side only, such as {unlike[0]}"
        checks.add(what, "differs", message + odds)
    elif differ := sum(row["verdict"] == "differ" for row in rows):
        checks.add(what, "differs", f"{message}, {differ} differ{odds}")
    elif other:
        message += f"; {other} cannot be decided with so few repetitions"
        checks.add(what, "cannot tell", message + odds)
    else:
        checks.add(what, "holds" if rows else "not done", message + odds)


def _why(store: Store, wanted: set[str]) -> str:
    """Return why the first of the failed cells failed, in brackets; empty if none did."""
    for cell, where in finished(store):
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
