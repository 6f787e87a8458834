"""The figure `histogram`: the distribution of a metric in bins, a panel for each group."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import listed, one_line, quantity
from fairc.words.figures import FIGURES

from .base import Drawing, FigureKind, Subject
from .chart import Axis, Chart, Panel
from .marks import Histogram, Mark, Note, Rule
from .pairs import pair_of, sessions_of
from .query import load
from .style import SERIES
from .wording import by_text, worded

K = "fmp.K"


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `by` and `facet` (a panel for each), `bins`."""
    query = load(subject, request)
    names, factor = query.each(), query.scale.factor
    groups = query.groups(names)
    query.check(len(groups))
    edges = bin_edges([s.value / factor for s in query.samples], round(query.number("bins")))
    counted = [
        (worded(names, key), counts([s.value / factor for s in g], edges)) for key, g in groups
    ]
    width = quantity((edges[1] - edges[0]) * factor, query.unit)
    peaks = [
        f"{heading or 'all'}: most often {quantity(_peak(of, edges) * factor, query.unit)}"
        for heading, of in counted
    ]
    zero: list[Mark] = [Rule(0, upright=True)] if edges[0] < 0 < edges[-1] else []
    return query.drawing(
        title=f"Histogram of {query.title(by_text(names))}",
        caption=(
            f"Number of values in each of {len(edges) - 1} bins of {width}, the same in every"
            f" panel. {query.basis(names)}"
        ),
        alt=f"Histogram of {query.name}. {listed(peaks, 6)}.",
        picture=Chart(
            [
                Panel(heading, (Histogram(of, edges, SERIES[0]), *zero, Note(f"n = {sum(of)}")))
                for heading, of in counted
            ],
            Axis(query.label, bins=5),
            Axis("values", 0, max(max(of) for _, of in counted) * 1.08, bins=4, is_count=True),
            heights=(1.4, 0.95),
        ),
    )


def bin_edges(values: list[float], bins: int) -> list[float]:
    """Return the edges of equal bins from the smallest to the largest value.

    Where values lie on both sides of 0, the bins are symmetrical about it; a single value gets a
    bin around it.
    """
    low, high = min(values), max(values)
    if low < 0 < high:
        low, high = -max(-low, high), max(-low, high)
    if low == high:
        reach = abs(low) * 0.05 or 0.5
        low, high = low - reach, high + reach
    return [low + (high - low) * i / bins for i in range(bins)] + [high]


def counts(values: list[float], edges: list[float]) -> tuple[int, ...]:
    """Return how many values are in each bin: [low, high), the last one with its upper edge."""
    return tuple(int(n) for n in np.histogram(values, bins=edges)[0])


def _peak(counted: tuple[int, ...], edges: list[float]) -> float:
    place = counted.index(max(counted))
    return (edges[place] + edges[place + 1]) / 2


def of_k(subject: Subject) -> list[FigureKind]:
    """Return histograms of K by each swept name that is of the network, not of the pair of
    sessions.
    """
    if not (subject.measures("fmp") and len(subject.run.configurations) > 1):
        return []
    return [
        FigureKind(f"histogram of {K} by {one_line(name)}", by_default=partial(_of_k, name))
        for name in _of_network(subject)
    ]


def _of_k(name: str, subject: Subject) -> Drawing:
    request = FigureRequest(kind="histogram", metric=K, options={"by": (name,), "bins": 20.0})
    return replace(requested(subject, request), name=f"k-by-{name}", section="repetitions")


def _of_network(subject: Subject) -> list[str]:
    """Return the swept names with several values that do not decide which pair a configuration has.

    A name decides it where two of its values have no pair in common. Left out is what the
    experiment asks for.
    """
    run = subject.run
    given = [
        r.options.get("by") for r in run.plan.figures if r.kind == "histogram" and r.metric == K
    ]
    there = {name for by in given for name in (by if isinstance(by, tuple) else (by,))}
    sessions = sessions_of(run, K)
    pairs = {c.id: pair_of(run, c.id, sessions) for c in run.configurations}
    found = []
    for axis in run.plan.axes:
        of: dict[str, set[str]] = {}
        for configuration in run.configurations:
            of.setdefault(dict(configuration.bindings)[axis.name], set()).add(
                pairs[configuration.id]
            )
        decides = any(a.isdisjoint(b) for a, b in combinations(of.values(), 2))
        if 1 < len(of) <= FIGURES["histogram"].panels and not decides and axis.name not in there:
            found.append(axis.name)
    return found


KIND = FigureKind("histogram", requested)
