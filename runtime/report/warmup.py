"""The table of results with other warm-ups, for `fairc report --warmup-sensitivity`."""

from __future__ import annotations

from statistics import fmean

from fairc.runtime.formatting import Cell, counted, one_line, quantity
from fairc.runtime.repetitions.reading import Measure
from fairc.runtime.run.warmup import HALF, TWICE, revalued
from fairc.runtime.statistics import Estimate
from fairc.runtime.store.folder import StoreError

from .answer import entry
from .key_figures import leading
from .run import ReportError, Run
from .sheet import Sheet
from .summary import Results, summarise

DASH = "\N{EN DASH}"
_COLUMNS = ("half", "as specified", "twice")


def warmup_sheet(run: Run, results: Results) -> Sheet:
    """Return the answer with half and with twice the warm-up, next to the answer itself.

    Raises ReportError where there is no warm-up, or raw artefacts are gone or damaged.
    """
    first = leading(results)
    shown: list[Measure] = [*([first] if first else []), *results.requested]
    measures = list(dict.fromkeys(shown))
    sizes: dict[tuple[str, str, Measure], dict[str, list[float]]] = {}
    try:
        for cell, factor, values in revalued(run.path):
            for v in values:
                if v.size is not None:
                    measure = results.shown(Measure(v.metric, v.flow, v.unit, v.load))
                    own_sizes = sizes.setdefault((cell.configuration, factor, measure), {})
                    own_sizes.setdefault(cell.id, []).append(v.size)
    except StoreError as error:
        raise ReportError(str(error)) from None
    found = {key: [*map(fmean, own.values())] for key, own in sizes.items()}
    rows: list[tuple[Cell, ...]] = []
    moved = 0
    for configuration in run.configurations:
        for measure in measures:
            own = results.summary(measure, configuration)
            if own.value is None:
                continue
            half, twice = (
                summarise(tuple(found.get((configuration.id, factor, measure), ())), run.repeated)
                for factor in (HALF, TWICE)
            )
            outside = [name for name, s in (("half", half), ("twice", twice)) if _outside(s, own)]
            moved += bool(outside)
            scale, _ = results.formats[measure.metric]
            entries = [entry(results, measure, s) for s in (half, own, twice)]
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
