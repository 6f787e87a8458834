"""`fairc plan`: show cells, estimated time and disk, and warnings; run nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairc.cell.expansion import PROCESSING_NS
from fairc.compiler import Compilation
from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Cell
from fairc.runtime.engines import kind_of
from fairc.runtime.formatting import counted, size
from fairc.runtime.report.advice import comparing, settling
from fairc.runtime.run.progress import duration
from fairc.words.repetitions import interim_analyses

from . import console
from .sources import compiled, show_warnings

LOOKED_AT = 500
"""At most this many configurations are compiled for the estimate: all of them in most
experiments.
"""

LABELS = (
    ("experiment", "experiment"),
    ("configurations", "configurations"),
    ("excluded", "excluded cells"),
    ("unsampled", "cells not drawn"),
    ("repetitions", "repetitions"),
    ("cells", "cells"),
    ("baselines", "baselines"),
    ("engine", "engine"),
    ("virtual_s", "virtual time"),
    ("wall_s", "wall time, about"),
    ("disk_bytes", "disk, about"),
    ("processing", "host processing"),
)


def plan(file: Path, settings: dict[str, str], jobs: int, form: str, engine: str | None) -> None:
    """Show cells, estimated time and disk, and warnings; run nothing."""
    compilations = compiled(file, settings, engine)
    found = [outlook(compilation, jobs) for compilation in compilations]
    documents = [document for document, _ in found]
    if form == "json":
        whole = documents[0] if len(found) == 1 else {"experiments": documents}
        console.result(console.as_json(whole))
        return
    for _, lines in found:
        for line in lines:
            console.result(line)
        if len(found) > 1:
            console.result("")
    if len(found) > 1:
        cells = sum(document["cells"] for document in documents)
        wall_s = sum(document["wall_s"] for document in documents)
        console.result(f"{len(found)} experiments: {cells} cells, about {duration(wall_s)}")
    show_warnings(*compilations)


@dataclass(frozen=True)
class Estimates:
    """The estimates of what an experiment costs.

    most: with all repetitions. least: if a precision ends them at the first look; None without
    one. solo: the baselines, which are part of both; None without any. looks: the numbers of
    repetitions after which it may end.
    """

    most: Estimate
    least: Estimate | None
    solo: Estimate | None
    looks: tuple[int, ...]


def outlook(compilation: Compilation, jobs: int) -> tuple[dict[str, Any], list[str]]:
    """Return what an experiment would do and cost, as a document and as lines."""
    experiment = compilation.experiment
    count = experiment.count()
    cells = list(compilation.representatives(LOOKED_AT))
    choice = compilation.choice  # of what has been examined by now
    costs = _costs(compilation, cells, jobs)
    document: dict[str, Any] = {
        "experiment": experiment.name,
        "configurations": count.configurations,
        "excluded": count.excluded,
        **_totals(costs.most),
        "warnings": [d.message for d in compilation.diagnostics],
        "engine": choice.engine,
        "engine_reasons": list(choice.sentences),
    }
    if costs.solo:
        document["baselines"] = {
            "configurations": len(compilation.baselines.found),
            "cells": costs.solo.cells,
            "wall_s": round(costs.solo.wall_s, 1),
        }
    if compilation.processing_ns:
        document["processing_s"] = [ns / 1e9 for ns in compilation.processing_ns]
    if count.unsampled:
        document["unsampled"] = count.unsampled
    representatives = [cell for cell, _ in cells]
    compared = comparing(experiment, representatives)
    settled = settling(representatives, experiment.requests)
    if compared:
        document["comparisons"] = asdict(compared)
    if settled:
        document["settling"] = {
            key: round(x, 3) if isinstance(x, float) else x for key, x in asdict(settled).items()
        }
    if costs.least:
        document["looks"] = list(costs.looks)
        document["least"] = _totals(costs.least)
    shown = {**document, **_shown(compilation, costs)}
    lines = [f"{label:<18}{shown[key]}" for key, label in LABELS if shown.get(key) is not None]
    lines += [f"engine {choice.engine}: {reason}" for reason in choice.sentences]
    if costs.least:
        looks = [*map(str, costs.looks)]
        few = looks if len(looks) <= 8 else [*looks[:4], "...", looks[-1]]
        lines.append(f"precision checked after {', '.join(few)} repetitions")
    lines += [found.sentence for found in (compared, settled) if found and found.sentence]
    if count.configurations > len(cells):
        lines.append(f"estimated from {len(cells)} configurations, evenly spread")
    return document, lines


def _costs(compilation: Compilation, cells: Iterable[tuple[Cell, int]], jobs: int) -> Estimates:
    """Return what an experiment costs; cells: of it, evenly spread, with their repetitions."""
    experiment, engine = compilation.experiment, compilation.choice.engine
    count, ends = experiment.count(), experiment.precision
    looks = interim_analyses(ends.least, experiment.repeat) if ends else (experiment.repeat,)
    most, least = Estimate(jobs, engine), Estimate(jobs, engine)
    for cell, repetitions in cells:
        most.add(cell, repetitions)
        least.add(cell, looks[0])
    most.extrapolate(count.cells)
    least.extrapolate(count.configurations * looks[0])
    solo = _of_baselines(compilation, jobs, engine)
    if solo:
        most.include(solo)
        least.include(solo.part(looks[0] / experiment.repeat))
    return Estimates(most, least if ends else None, solo, looks)


def _totals(estimate: Estimate) -> dict[str, Any]:
    return {
        "cells": estimate.cells,
        "virtual_s": round(estimate.virtual_s, 3),
        "wall_s": round(estimate.wall_s, 1),
        "disk_bytes": round(estimate.disk_bytes),
        "kept_bytes": round(estimate.kept_bytes),
    }


def _shown(compilation: Compilation, costs: Estimates) -> dict[str, str | None]:
    """Return what is shown in place of the document's values, and besides them."""
    both, solo = [costs.least, costs.most] if costs.least else [costs.most], costs.solo
    found = counted(len(compilation.baselines.found), "configuration")
    cores = "core" if costs.most.jobs == 1 else "cores"
    free = kind_of(compilation.choice.engine).computing_is_free
    return {
        "repetitions": span([str(costs.looks[0]), str(costs.looks[-1])]),
        "cells": span([str(e.cells) for e in both]),
        "virtual_s": span([duration(e.virtual_s) for e in both]),
        "wall_s": f"{span([duration(e.wall_s) for e in both])} on {costs.most.jobs} {cores}",
        "disk_bytes": span([size(e.disk_bytes) for e in both])
        + f"; {size(costs.most.kept_bytes)} with --drop-raw",
        "baselines": f"{counted(solo.cells, 'cell')} of these, of {found} without other flows;"
        f" about {duration(solo.wall_s)}"
        if solo
        else None,
        "processing": _processing(compilation.processing_ns, free),
    }


def _of_baselines(compilation: Compilation, jobs: int, engine: str) -> Estimate | None:
    """Return what the baselines cost; None without any."""
    total = compilation.baselines.cells
    if not total:
        return None
    estimate = Estimate(jobs, engine)
    for cell, repetitions in compilation.baseline_examples(LOOKED_AT):
        estimate.add(cell, repetitions)
    estimate.extrapolate(total)
    return estimate


def span(ends: list[str]) -> str:
    """Write the least and the most that something costs; once, if both are equal.

    >>> span(["8", "30"]), span(["8", "8"]), span(["8"])
    ('8 to 30', '8', '8')
    """
    return " to ".join(dict.fromkeys(ends))


def _processing(bounds_ns: tuple[int, ...], computing_is_free: bool) -> str:
    """Describe how long a host takes per packet; bounds_ns: the limits in the file, none where it
    sets none.

    >>> _processing((0, 2_500_000), True)
    'none or up to 2500us for each packet that a host sends'
    >>> _processing((), False), _processing((0,), True)
    ('what computing takes on this engine, nothing added', 'none')
    """
    if not bounds_ns and not computing_is_free:
        return "what computing takes on this engine, nothing added"
    if bounds_ns == (0,):
        return "none"
    limits = [f"up to {ns / 1e3:.7g}us" if ns else "none" for ns in bounds_ns or (PROCESSING_NS,)]
    return f"{' or '.join(limits)} for each packet that a host sends"
