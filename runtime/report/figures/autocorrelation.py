"""The figure `autocorrelation`: whether repetitions depend on those before them, with its 95 %
band.
"""

from __future__ import annotations

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import between, listed, number
from fairc.runtime.repetitions.samples import REPETITION
from fairc.runtime.statistics.series import Autocorrelation, autocorrelation

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .chart import Axis, Chart, Panel
from .marks import Bars, Rule, limit
from .query import load, replicates
from .style import SERIES
from .wording import by_text, worded


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `by`, `facet`: a panel for each of their groups.

    Every swept name separates groups: a series that mixes configurations has no order. Raises
    NothingToDraw for too many groups, or where no series is long enough and varies.
    """
    query = load(subject, request)
    given = (*query.names("facet"), *query.names("by"))
    names = query.swept_by(tuple(name for name in given if name != REPETITION))
    names = query.separated(names)
    found: dict[str, Autocorrelation] = {}
    sizes, without = set(), 0
    for key, members in query.groups(names):
        values = replicates(members)
        result = autocorrelation(values)
        if isinstance(result, str):
            without += 1
        else:
            found[worded(names, key)] = result
            sizes.add(len(values))
    if not found:
        raise NothingToDraw("no group has 6 repetitions or more with values that vary")
    query.check(len(found))
    outside = [
        f"{heading or 'all'} at lag {lag} ({number(r, 2)})"
        for heading, of in found.items()
        for lag, r in enumerate(of.r, 1)
        if abs(r) > of.band
    ]
    lags = sum(len(of.r) for of in found.values())
    return query.drawing(
        title=f"Autocorrelation of {query.title(by_text(names))}",
        caption=(
            f"Autocorrelation of the {between(sorted(sizes))} values in the order of repetitions,"
            " at each lag in repetitions. Dashed: 1.96 / sqrt(n), the 95 % band of an independent"
            f" series; {len(outside)} of {lags} are beyond it, {0.05 * lags:.1f} would be expected"
            " by chance."
            + (f" {without} groups are too short or do not vary." if without else "")
            + f" {query.basis(names)}"
        ),
        alt=f"Autocorrelation of {query.name}. Beyond the 95 % band:"
        f" {listed(outside, 8) or 'none'}.",
        picture=_chart(found),
    )


def _chart(found: dict[str, Autocorrelation]) -> Chart:
    reach = 1.1 * max(abs(r) for of in found.values() for r in (*of.r, of.band))
    most = max(len(of.r) for of in found.values())
    panels = []
    for heading, of in found.items():
        bars = Bars(range(1, len(of.r) + 1), 0, of.r, SERIES[0], 2.2)
        panels.append(Panel(heading, (bars, Rule(0), limit(of.band), limit(-of.band))))
    return Chart(
        panels,
        Axis("lag (repetitions)", 0.4, most + 0.6, ticks=range(1, most + 1)),
        Axis("r", -reach, reach),
        heights=(0.75, 0.75),
        across=min(2, len(panels)),  # headings name every swept value
    )


KIND = FigureKind("autocorrelation", requested)
