"""The table of results with other warm-ups, for `fairc report --warmup-sensitivity`."""

from __future__ import annotations

from fairc.runtime.formatting import Cell, counted, one_line, quantity
from fairc.runtime.repetitions.reading import Measure, Value, valued
from fairc.runtime.run.warmup import HALF, TWICE, revalued
from fairc.runtime.statistics import Estimate
from fairc.runtime.store.folder import StoreError

from .answer import entry
from .key_figures import leading
from .run import ReportError, Run
from .sheet import Sheet
from .summary import Results

DASH = "\N{EN DASH}"
_COLUMNS = ("half", "as specified", "twice")


def warmup_sheet(run: Run, results: Results) -> Sheet:
    """Return the answer with half and with twice the warm-up, next to the answer itself.

    Raises ReportError where there is no warm-up, or raw artefacts are gone or damaged.
    """
    first = leading(results)
    shown: list[Measure] = [*([first] if first else []), *results.requested]
    measures = list(dict.fromkeys(shown))
    values: dict[str, list[Value]] = {HALF: [], TWICE: []}
    try:
        for cell, factor, found in revalued(run.path):
            values[factor] += valued(run.outcomes[cell.id], found)
    except StoreError as error:
        raise ReportError(str(error)) from None
    half, twice = (Results(run, values[factor]) for factor in (HALF, TWICE))
    rows: list[tuple[Cell, ...]] = []
    moved = 0
    for configuration in run.configurations:
        for measure in measures:
            groups = [of.group(measure, configuration) for of in (half, results, twice)]
            less, own, more = (group.median for group in groups)
            if own.value is None:
                continue
            outside = [name for name, s in (("half", less), ("twice", more)) if _outside(s, own)]
            moved += bool(outside)
            scale, _ = results.formats[measure.metric]
            entries = [entry(results, measure, group) for group in groups]
            unit = f" ({scale.unit})" if scale.unit else ""
            rows.append(
                (
                    *(one_line(text) for _, text in configuration.bindings),
                    f"{entries[1].what}{unit}",
                    *(part for e in entries for part in (e.median or DASH, e.ends or "")),
                    f"outside the interval with {' and with '.join(outside)}" if outside else "",
                )
            )
    warm = sorted({scene.warmup_ns / 1e9 for scene in run.scenes.values()})
    length = " to ".join(dict.fromkeys((quantity(warm[0], "s"), quantity(warm[-1], "s"))))
    verdict = (
        "No median leaves the interval found with the specified warm-up."
        if not moved
        else f"{counted(moved, 'median')} outside the interval found with the specified warm-up."
    )
    return Sheet(
        name="warmup",
        section="warmup",
        title="Sensitivity to the warm-up",
        caption=(
            f"The same raw artefacts analysed with half and with twice the warm-up of {length}; no"
            f" cell was run again. Medians, with their 95 % intervals where there are enough"
            f" repetitions. {verdict}"
        ),
        head=(
            *((one_line(axis), False) for axis in run.axes),
            ("metric", False),
            *(head for name in _COLUMNS for head in ((name, True), ("95 % interval", True))),
            ("", False),
        ),
        rows=tuple(rows),
    )


def _outside(other: Estimate, own: Estimate) -> bool:
    """Whether a median lies outside the interval of the specified one; False without an
    interval.
    """
    if other.value is None or own.low is None or own.high is None:
        return False
    return not own.low <= other.value <= own.high
