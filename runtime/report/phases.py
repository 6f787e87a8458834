"""The hosts' processing time per packet, and the results that change with more of it: the phase
check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairc.cell.expansion import PROCESSING_NS
from fairc.runtime.engines import ENGINES, guest_job
from fairc.runtime.formatting import (
    Cell,
    counted,
    interval,
    listed,
    one_line,
    quantity,
    scale_for,
    scaled,
)
from fairc.runtime.run.phase import findings
from fairc.runtime.store.folder import StoreError
from fairc.runtime.store.tables import TableError
from fairc.runtime.vm import recipe

from .run import ReportError, Run
from .sheet import Sheet, section_table

if TYPE_CHECKING:
    from fairc.runtime.run.phase import Findings, Result
    from fairc.runtime.statistics.estimates import Estimate

# The most rows of a table that anyone reads.
MAX_ROWS = 60


@dataclass(frozen=True, slots=True)
class Phases:
    """processing: the hosts' processing time, in a sentence. varied: what the seeds vary by the
    engine's default, which the plan does not say; empty if nothing. sentences: the result of the
    check; none without one.

    sensitive: what is phase-sensitive, by name. sheet: these, then the undecided ones.
    """

    processing: str
    varied: str
    sentences: tuple[str, ...]
    sensitive: tuple[str, ...]
    sheet: Sheet


def phases(run: Run) -> Phases:
    """Return both. Raises ReportError for a phase check that cannot be read."""
    try:
        found = findings(run.path)
    except (StoreError, TableError) as error:
        raise ReportError(f"the phase check cannot be read: {error}") from None
    if found is None:
        return Phases(processing(run), _varied(run), (), (), _sheet())
    sensitive, open_ = found.having("phase-sensitive"), found.having("cannot tell")
    return Phases(
        processing(run),
        _varied(run),
        _sentences(found, len(sensitive), len(open_)),
        tuple(one_line(result.what) for result in sensitive),
        _sheet([*sensitive, *open_]),
    )


def processing(run: Run) -> str:
    """Return the hosts' processing time per packet as a sentence."""
    free = _computing_is_free(run)
    bounds = {
        scene.processing_ns if scene.processing_ns is not None else PROCESSING_NS * free
        for scene in run.scenes.values()
    }
    given = all(scene.processing_ns is not None for scene in run.scenes.values())
    computing = f"{_computing(run)} " if free else ""
    source = "as set in the file" if given else "the engine's default"
    if not any(bounds):
        what = "no delay" if free else "only its computing time"
        return f"{computing}A host adds {what} to each packet it sends ({source})."
    limits = [quantity(bound / 1e9, "s") for bound in sorted(bounds) if bound]
    text = computing + (
        "A host delays each packet it sends by an independent random time, uniform from 0 to"
        f" {' or '.join(limits)}, without reordering, and constant-rate sources multiply each gap"
        f" by one, uniform from 0.5 to 1.5 ({source})."
    )
    return (
        text
        if len(bounds) == 1
        else f"{text} Which one depends on the configuration."
        + (" In some there is no delay." if 0 in bounds else "")
    )


def _computing_is_free(run: Run) -> bool:
    used = {name for (name,) in run.rows("SELECT DISTINCT engine FROM cells ORDER BY ALL")}
    return any(kind.computing_is_free for kind in ENGINES if kind.name in used)


def _varied(run: Run) -> str:
    by_default = any(scene.processing_ns is None for scene in run.scenes.values())
    if not (by_default and _computing_is_free(run)):
        return ""
    return (
        "the time that hosts take for a packet, and the gaps of constant-rate sources (by the"
        " engine's default)"
    )


def _computing(run: Run) -> str:
    """Return a sentence saying that computation takes no time, and what that means for page
    loads.
    """
    costs_ns = {
        guest_job.default_cost_ns(scene, guest_job.variant_of(scene, recipe.UML))
        if scene.syscall_cost_ns is None
        else scene.syscall_cost_ns
        for scene in run.scenes.values()
    }
    browsers = any(flow.browser for scene in run.scenes.values() for flow in scene.flows)
    costs = [quantity(cost / 1e9, "s") if cost else "none" for cost in sorted(costs_ns)]
    sentence = "Computing is free: it takes no time on the cell's clock"
    if any(costs_ns):
        sentence += f", but each system call takes {' or '.join(costs)}"
    if browsers:
        sentence += (
            "; page load times include network, protocols, timers and screen frames, but not"
            " scripts and painting"
        )
    return f"{sentence}."


def _sentences(found: Findings, sensitive: int, open_: int) -> tuple[str, ...]:
    least, most = (quantity(ns / 1e9, "s") for ns in found.longest_ns)
    limit = most if least == most else f"{least} to {most}"
    cells = counted(found.cells, "cell")
    text = (
        f"{cells} of {found.configurations} of {counted(found.of_configurations, 'configuration')}"
        " were run again with hosts that delay each packet by up to the time of one full frame at"
        f" the bottleneck, {limit} (Floyd and Jacobson, 1992)."
    )
    trouble = listed([f"{n} {word}" for word, n in found.verdicts.items() if word != "valid"])
    if trouble:
        text += f" Of these cells: {trouble}."
    results = counted(len(found.results), "result")
    came_to = f"None of {results} is phase-sensitive: no change was found."
    if sensitive:
        came_to = (
            f"{sensitive} of {results} {'is' if sensitive == 1 else 'are'} phase-sensitive:"
            " shifting packets by at most one packet's time changes the outcome."
        )
    if open_:
        came_to += f" {open_} cannot be decided."
    return text, came_to


def _sheet(results: Sequence[Result] = ()) -> Sheet:
    """Return medians with their intervals, in the run and in the check; of many the first ones."""
    head = (
        ("result", False),
        ("verdict", False),
        ("run", True),
        ("run, 95 % interval", True),
        ("phase check", True),
        ("phase check, 95 % interval", True),
        ("what the tests say", False),
    )
    caption = "Medians with their 95 % intervals, in the run and in the phase check"
    if len(results) > MAX_ROWS:
        caption += f", of the first {MAX_ROWS} of {len(results)} results"
    return section_table("phases", "Phase check", head, map(_row, results[:MAX_ROWS]), caption)


def _row(result: Result) -> tuple[Cell, ...]:
    medians = [e.value for e in (result.before, result.after) if e.value is not None]
    scale = scale_for(result.unit, medians)

    def shown(estimate: Estimate) -> tuple[Cell, Cell]:
        if estimate.value is None:
            return "no value", ""
        ends = interval(estimate.low, estimate.high, scale, 3)
        return scaled(estimate.value, scale, 3), ends

    name = one_line(result.what)
    what = f"{name} ({scale.unit})" if scale.unit else name
    return what, result.verdict, *shown(result.before), *shown(result.after), result.text
