"""What a run ends with: its tables, its report, and how it went."""

from __future__ import annotations

from pathlib import Path, PurePath

from fairc.compiler.plan import Plan
from fairc.runtime.claims.wording import lines
from fairc.runtime.repetitions import reading
from fairc.runtime.repetitions.remarks import remarks, shown
from fairc.runtime.report import build
from fairc.runtime.run import phase
from fairc.runtime.run.answer import decide_claims
from fairc.runtime.store.folder import Store
from fairc.runtime.store.verdicts import Counts

from . import console
from .failures import Status
from .phase import phase_lines
from .results import TABLES, refresh, summary


def default_run(name: str, suite: str = "") -> Path:
    """Return the run directory of an experiment, unless -o names another.

    suite: the name of its file, if that has several; their folder is that of the file's name.
    """
    return Path("results") / suite / name


def suite_of(plan: Plan) -> str:
    """Return the name of a plan's file, if that has several experiments; else empty."""
    name = PurePath(plan.file).stem
    return name if plan.experiments and name != ".." else ""


def conclude(
    store: Store,
    counts: Counts,
    checked: Counts | None = None,
    *,
    strict: bool = False,
) -> int:
    """Write tables and report, and say how it went; return the exit status.

    checked: how the cells of the phase check came out, if there was one. strict: whether an
    undecided claim counts as failed.
    """
    refresh(store, checked=True)
    page, *figures = build.build(store.path, ("html", "svg", "pdf"))
    measured = reading.measured(store.path / TABLES, store.plan)
    for line in summary(store.path, measured):
        console.outcome(line)
    decision = decide_claims(measured, store)
    well = counts.all_well and (checked is None or checked.all_well)
    if decision.claims:
        well &= decision.verdict == "holds" or (decision.verdict == "undecided" and not strict)
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
    if checked is not None:
        for line in phase_lines(phase.findings(store.path)):
            tell(line)
    tell(f"report: {page}")
    if figures:
        console.outcome(f"figures, as SVG and PDF: {figures[0].parent}")
    return Status.WELL if well else Status.NOT_ALL_VALID
