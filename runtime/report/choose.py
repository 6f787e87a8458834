"""The choice of configurations whose time series are shown when there are too many to show all."""

from __future__ import annotations

from .run import Configuration, Run
from .summary import Results

MAX_SHOWN = 4


def choose(run: Run, results: Results) -> tuple[tuple[Configuration, ...], str]:
    """Return the configurations to show and, if these are not all, which and why.

    More than `MAX_SHOWN`: those with the smallest, the middle and the largest median of the first
    measure out of `typical` that has three.
    """
    usable = tuple(c for c in run.configurations if c.counted)
    if len(usable) <= MAX_SHOWN:
        return usable, ""
    for measure in results.typical:
        medians = [(results.summary(measure, c).value, i) for i, c in enumerate(usable)]
        ranked = sorted((m, i) for m, i in medians if m is not None)
        if len(ranked) >= 3:
            picked = sorted({ranked[0][1], ranked[len(ranked) // 2][1], ranked[-1][1]})
            why = (
                f"those of {len(usable)} with the smallest, the middle and the largest"
                f" median of {measure.label}"
            )
            return tuple(usable[i] for i in picked), why
    return usable[:3], f"the first 3 of {len(usable)}"
