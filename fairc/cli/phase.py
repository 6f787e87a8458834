"""`fairc run --phase-check`: part of the run again, with a different processing time of hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairc.compiler.plan import Cell
from fairc.runtime.engines.base import Engine
from fairc.runtime.run import phase
from fairc.runtime.run.phase import Findings
from fairc.runtime.run.sweep import Sweep
from fairc.runtime.store.folder import Store
from fairc.runtime.store.verdicts import Counts

from . import console
from .results import refresh

SHOWN = 10


def check_phases(
    run: Store,
    engine: Engine,
    jobs: int,
    wanted: Callable[[Cell], bool],
    fresh: bool,
    keep_raw: bool,
) -> Counts:
    """Run what is missing from a run's phase check; return how its cells came out.

    run: a store whose lock is held, with its cells. Raises StoreError, EngineUnavailable,
    KeyboardInterrupt.
    """
    with Store(run.path / phase.FOLDER) as store:
        configurations = phase.adopt(run, store, engine, phase.used(run, wanted))
        cells = store.plan.cells
        console.say(
            f"phase check: rerunning {cells} cells of {configurations} of"
            f" {run.plan.configurations} configurations"
        )
        counts = Sweep(
            store, engine, console.progress(), jobs, fresh=fresh, keep_raw=keep_raw
        ).run()
        refresh(store, checked=True)
    return counts


def phase_lines(found: Findings | None) -> Iterator[str]:
    """Yield the lines about the phase check at the end of a run, if there was one."""
    if found is None:
        return
    least, most = (f"{ns / 1e3:g} us" for ns in found.longest_ns)
    limit = most if least == most else f"{least} to {most}"
    yield (
        f"phase check: hosts delayed packets by up to {limit} in {found.cells} cells of"
        f" {found.configurations} of {found.of_configurations} configurations"
    )
    counted = (f"{n} {word}" for word, n in found.verdicts.items() if word != "valid")
    if trouble := ", ".join(counted):
        yield f"  of these cells: {trouble}"
    sensitive, open_ = found.having("phase-sensitive"), found.having("cannot tell")
    yield (
        f"  {len(sensitive)} of {len(found.results)} results are phase-sensitive, {len(open_)}"
        " undecided"
    )
    for result in sensitive[:SHOWN]:
        yield f"  phase-sensitive: {result.what}: {result.text}"
    if len(sensitive) > SHOWN:
        yield f"  and {len(sensitive) - SHOWN} more: see the report"
    if open_:
        yield f"  undecided, for example: {open_[0].what}: {open_[0].text}"
