"""`fairc plan`: show cells, estimated time and disk, and warnings; run nothing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairc.cell.expansion import PROCESSING_NS
from fairc.compiler import Compilation
from fairc.compiler.estimate import Estimate
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


def outlook(compilation: Compilation, jobs: int) -> tuple[dict[str, Any], list[str]]:
    """Return what an experiment would do and cost, as a document and as lines."""
    experiment = compilation.experiment
    count = experiment.count()
    cells = list(compilation.representatives(LOOKED_AT))
    choice = compilation.choice
    estimate = Estimate(jobs, choice.engine)
    for cell, repetitions in cells:
        estimate.add(cell, repetitions)
    estimate.extrapolate(count.cells)
    solo = _of_baselines(compilation, jobs, choice.engine)
    ends = experiment.precision
    taken = interim_analyses(ends.least, experiment.repeat) if ends else (experiment.repeat,)
    # If a precision ends the repetitions: the cost if they end at the first look.
    least = Estimate(jobs, choice.engine)
    for cell, _ in cells:
        least.add(cell, taken[0])
    least.extrapolate(count.configurations * taken[0])
    if solo:
        estimate.include(solo)
        least.include(solo.part(taken[0] / experiment.repeat))
    document: dict[str, Any] = {
        "experiment": experiment.name,
        "configurations": count.configurations,
        "excluded": count.excluded,
        "cells": estimate.cells,
        "virtual_s": round(estimate.virtual_s, 3),
        "wall_s": round(estimate.wall_s, 1),
        "disk_bytes": round(estimate.disk_bytes),
        "warnings": [d.message for d in compilation.diagnostics],
        "engine": choice.engine,
        "engine_reasons": list(choice.sentences),
    }
    if solo:
        document["baselines"] = {
            "configurations": len(compilation.baselines.found),
            "cells": solo.cells,
            "wall_s": round(solo.wall_s, 1),
        }
    if compilation.processing_ns:
        document["processing_s"] = [ns / 1e9 for ns in compilation.processing_ns]
    if count.unsampled:
        document["unsampled"] = count.unsampled
    representatives = [cell for cell, _ in cells]
    compared = comparing(experiment, representatives)
    settled = settling(representatives, experiment.requests)
    advice = [found.sentence for found in (compared, settled) if found and found.sentence]
    if compared:
        document["comparisons"] = asdict(compared)
    if settled:
        document["settling"] = {
            key: round(x, 3) if isinstance(x, float) else x for key, x in asdict(settled).items()
        }
    if ends:
        document["looks"] = list(taken)
        document["least"] = {
            "cells": least.cells,
            "virtual_s": round(least.virtual_s, 3),
            "wall_s": round(least.wall_s, 1),
            "disk_bytes": round(least.disk_bytes),
        }
    both = [least, estimate] if ends else [estimate]
    shown = {
        **document,
        "repetitions": span([str(n) for n in ((taken[0], taken[-1]) if ends else taken)]),
        "cells": span([str(e.cells) for e in both]),
        "virtual_s": span([duration(e.virtual_s) for e in both]),
        "wall_s": f"{span([duration(e.wall_s) for e in both])} on {estimate.jobs}"
        f" {'core' if estimate.jobs == 1 else 'cores'}",
        "disk_bytes": span([size(e.disk_bytes) for e in both]),
        "baselines": solo
        and f"{counted(solo.cells, 'cell')} of these, of"
        f" {counted(len(compilation.baselines.found), 'configuration')} without other flows;"
        f" about {duration(solo.wall_s)}",
        "processing": _processing(
            compilation.processing_ns, kind_of(choice.engine).computing_is_free
        ),
    }
    lines = [f"{label:<18}{shown[key]}" for key, label in LABELS if shown.get(key) is not None]
    lines += [f"engine {choice.engine}: {reason}" for reason in choice.sentences]
    if ends:
        few = (
            [*map(str, taken)] if len(taken) <= 8 else [*map(str, taken[:4]), "...", str(taken[-1])]
        )
        lines.append(f"precision checked after {', '.join(few)} repetitions")
    lines += advice
    if count.configurations > len(cells):
        lines.append(f"estimated from {len(cells)} configurations, evenly spread")
    return document, lines


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
