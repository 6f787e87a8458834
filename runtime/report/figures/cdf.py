"""The figure `cdf`: the empirical distribution of a metric for each group."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import between, listed, quantity

from . import within
from .axis import wants_log
from .base import Drawing, FigureKind, Subject
from .chart import Axis, Chart, Panel
from .marks import Line
from .query import load
from .style import colour, dash
from .wording import by_text, headed, valued, worded

# A step for each value up to here; of more, as many of them, evenly spread over the ranks.
MAX_STEPS = 400


def requested(subject: Subject, request: FigureRequest) -> Drawing:
    """Make the figure; options: `by`, `facet`. Raises NothingToDraw for too many groups.

    Of a metric that is a distribution in each cell, that distribution (`within`).
    """
    if (own := within.make(subject, request)) is not None:
        return own
    query = load(subject, request, endless=True)
    facet = query.names("facet")
    by = query.separated(query.names("by"), *facet)
    groups = [key for key, _ in query.groups(by)]
    panels = query.groups(facet)
    query.check(len(panels), lines=len(groups))
    values = {
        (worded(facet, head), key): tuple(sorted(sample.value for sample in found))
        for head, members in panels
        for key, found in query.groups(by, members)
    }
    sizes = sorted({len(of) for of in values.values()})
    spans = [
        f"{headed(heading, valued(key))}: {_span(of, query.unit)}"
        for (heading, key), of in values.items()
    ]
    log = wants_log(query, "x", (v for of in values.values() for v in of if isfinite(v)))
    ends = (
        " A line that ends below 1 has values larger than any that was observed."
        if any(not isfinite(of[-1]) for of in values.values())
        else ""
    )
    cut = f", {MAX_STEPS} of them drawn" if sizes[-1] > MAX_STEPS else ""
    lines: dict[str, list[Line]] = {}
    for (heading, key), of in values.items():
        x, y = steps([v / query.scale.factor for v in of])
        i = groups.index(key)
        panel = lines.setdefault(heading, [])
        if x:
            panel.append(Line(x, y, colour(i), dash(i), steps="steps-post"))
    return query.drawing(
        title=f"Distribution of {query.title(by_text((*by, *facet)))}",
        caption=(
            f"Share of the values that are at most this; {between(sizes)} values per line{cut}."
            f" {query.basis((*by, *facet))}{ends}"
        ),
        alt=f"Cumulative distribution of {query.name}. {listed(spans, 6)}.",
        picture=Chart(
            [Panel(heading, of) for heading, of in lines.items()],
            Axis(query.label, log=log, bins=5),
            Axis("share of values", 0, 1.02),
            heights=(1.6, 1.15),
            keys=query.keys(by),
        ),
    )


def steps(values: list[float]) -> tuple[list[float], list[float]]:
    """Return the corners of the distribution function of ordered values: (value, share).

    Infinite values count, and have no corner: the function ends below 1, or is empty.
    """
    n, known = len(values), sum(map(isfinite, values))
    if not known:
        return [], []
    ranks = list(range(1, known + 1))
    if known > MAX_STEPS:
        ranks = sorted({round(1 + (known - 1) * i / (MAX_STEPS - 1)) for i in range(MAX_STEPS)})
    return [values[0], *(values[r - 1] for r in ranks)], [0.0, *(r / n for r in ranks)]


def _span(values: Sequence[float], unit: str) -> str:
    """Return the smallest and the largest of ordered values as text."""
    finite = [value for value in values if isfinite(value)]
    more = f", {len(values) - len(finite)} larger than any" if len(finite) < len(values) else ""
    if not finite:
        return more.removeprefix(", ")
    return f"{quantity(finite[0], unit)} to {quantity(finite[-1], unit)}{more}"


KIND = FigureKind("cdf", requested)
