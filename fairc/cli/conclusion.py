"""The end of `fairc run`: tables, the report, and a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from fairc.compiler.plan import Cell
from fairc.runtime.claims.wording import lines
from fairc.runtime.host import cores
from fairc.runtime.repetitions import reading
from fairc.runtime.repetitions.reading import Outcome, outcome_of
from fairc.runtime.repetitions.remarks import remarks, shown
from fairc.runtime.report import place
from fairc.runtime.run.outcome import decide_claims
from fairc.runtime.store.folder import Store
from fairc.runtime.store.verdicts import Counts

from . import console
from .failures import Status
from .results import TABLES, fresh, refresh, summary


def conclude(
    store: Store,
    counts: Counts,
    checked: Counts | None = None,
    *,
    strict: bool,
) -> int:
    """Write tables and report, and say how it went; return the exit status.

    checked: how the cells of the phase check came out, if there was one. strict: whether an
    undecided claim counts as failed.
    """
    kept = place.current(store.path) if fresh(store.path) else []
    page, *figures = kept or _built(store)
    measured = reading.measured(store.path / TABLES, store.plan)
    for line in summary(store.path, measured):
        console.outcome(line)
    decision = decide_claims(measured, store)
    well = counts.all_well and (checked is None or checked.all_well)
    if decision.claims:
        well &= decision.is_well(strict=strict)
        console.outcome("")
    tell = console.outcome if well else console.result
    for line in lines(decision):
        tell(line)
    console.outcome("")
    tell(counts.text)
    found = remarks(measured.outcomes)
    if found and counts.total != len(measured.outcomes):
        tell(f"of all {len(measured.outcomes)} cells of {store.path}, without baselines:")
    for line in shown(found):
        tell(line)
    if store.plan.baselines and (found := remarks(_outcomes(store, lambda c: c.baseline))):
        tell("of its baselines:")
        for line in shown(found):
            tell(line)
    if checked is not None:
        from fairc.runtime.run import phase

        from .phase import phase_lines

        for line in phase_lines(phase.findings(store.path)):
            tell(line)
        inner = Store(store.path / phase.FOLDER)
        for line in shown(remarks(_outcomes(inner, lambda _: True))):
            tell(line)
    tell(f"report: {page}")
    if figures:
        console.outcome(f"figures, as SVG and PDF: {figures[0].parent}")
    return Status.WELL if well else Status.NOT_ALL_VALID


def slot_for_report() -> AbstractContextManager[int | None]:
    """Take the right to build a report, and say so where that takes a while."""
    return cores.for_report(
        lambda: console.say("waiting: other reports of yours are being built on this machine")
    )


def _built(store: Store) -> list[Path]:
    """Renew the tables, and build the report; return its files, the page first."""
    with slot_for_report():
        refresh(store, checked=True)
        if kept := place.current(store.path):
            return kept
        from fairc.runtime.report import build  # draws: a run with nothing to do does not need it

        return build.build(store.path, place.WHOLE)


def page_of_all(folder: Path, names: Sequence[str]) -> Path:
    """Return the page of several experiments, which is built if it is not up to date."""
    if found := place.current_of_all(folder, names):
        return found[0]
    from fairc.runtime.report import build

    with slot_for_report():
        return build.build_all(folder, names)


def _outcomes(store: Store, wanted: Callable[[Cell], bool]) -> Iterator[Outcome]:
    """Yield how cells came out that are not in the tables of the run. Raises StoreError."""
    for cell, folder in store.ran():
        result = store.result(folder.name) if wanted(cell) else None
        if result is not None:
            yield outcome_of(cell, result)
