"""The figure `convergence`: how a percentile settles with the number of configurations.

Of the N configurations, k are drawn at random without replacement, and the percentile of their
values is taken; the spread of many draws is shown against k (Corbel et al., Fairness Measurement
Procedure, 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairc.compiler.plan import FigureRequest
from fairc.dsl.words.report_words import LIMITS
from fairc.runtime.report.words import counted, listed, one_line, quantity
from fairc.runtime.statistics import median

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .cases import (
    Case,
    Cases,
    by_words,
    load,
    names_of,
    number_of,
    ordinal,
    replicates,
    stem,
    told_apart,
    worded,
)
from .layout import WIDE_LEFT, Key, columns_for, draw_keys, grid, key_height
from .style import MUTED, SERIES, Width

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

MIN_CONFIGURATIONS = 3
SIZES = 12
QUANTILES = (5, 25, 50, 75, 95)
# Numbers that are drawn at once, so that memory does not grow with the number of draws.
_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Panel:
    """A group. sizes: how many of its n configurations are drawn; whole: the percentile of all.

    spread: shape (len(QUANTILES), len(sizes)), quantiles over the draws.
    """

    heading: str
    sizes: tuple[int, ...]
    spread: NDArray[Any]
    whole: float


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `by` and `facet` (a panel for each), `percentile`, `draws`."""
    assert request is not None, "not a default figure"
    cases = load(subject, request)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    names = told_apart((*facet, *by), (), cases)
    percentile, draws = number_of(request, "percentile"), round(number_of(request, "draws"))
    groups = cases.groups(names)
    if len(groups) > LIMITS["convergence"].panels:
        raise NothingToDraw(f"{len(groups)} panels are more than {LIMITS['convergence'].panels}")
    panels = []
    for key, found in groups:
        values = of_configurations(found)
        if len(values) >= MIN_CONFIGURATIONS:
            sizes = sizes_for(len(values))
            spread = spread_of(values, percentile, sizes, draws, subject.run.plan.seed)
            whole = float(_percentile(values, percentile))
            panels.append(Panel(worded(names, key), sizes, spread, whole))
    if not panels:
        raise NothingToDraw(
            f"it draws from at least {MIN_CONFIGURATIONS} configurations with a value"
        )
    short_of = len(groups) - len(panels)
    fewer = (
        f" {counted(short_of, 'group')} with fewer than {MIN_CONFIGURATIONS} not shown."
        if short_of
        else ""
    )
    repeated = " A configuration's value is the median of its cells." if _repeated(cases) else ""
    last = [
        f"{p.heading or 'all'}: {quantity(p.whole, cases.unit)} of all {p.sizes[-1]}"
        for p in panels
    ]
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=(
            f"How the {ordinal(percentile)} of {cases.title(by_words(names))} settles with the"
            " number of configurations"
        ),
        caption=(
            f"{draws} random orders of the configurations; at k, the {ordinal(percentile)} of the"
            " first k of each. Line: median of the orders; bands: 25 to 75 % and 5 to 95 % of"
            f" them; dashed: all configurations.{repeated}{fewer} {cases.basis(cases_names(cases))}"
        ),
        alt=f"Spread of the {ordinal(percentile)} of {cases.metric}. {listed(last, 6)}.",
        draw=lambda width: _draw(cases, panels, width),
    )


def cases_names(cases: Cases) -> tuple[str, ...]:
    """Return every name: what a draw mixes is what the figure is about."""
    return tuple(cases.orders)


def of_configurations(found: list[Case]) -> list[float]:
    """Return one value for each configuration: the median of its cells."""
    members: dict[str, list[Case]] = {}
    for case in found:
        members.setdefault(case.configuration, []).append(case)
    medians = (median(replicates(cases)).value for cases in members.values())
    return [value for value in medians if value is not None]


def sizes_for(n: int) -> tuple[int, ...]:
    """Return the sizes of the subsets, evenly spread up to all n."""
    first = max(2, n // 10)
    return tuple(sorted({round(first + (n - first) * i / (SIZES - 1)) for i in range(SIZES)}))


def spread_of(
    values: list[float], percentile: float, sizes: tuple[int, ...], draws: int, seed: int
) -> NDArray[Any]:
    """Return `QUANTILES` of the percentile over the draws, shape (len(QUANTILES), len(sizes)).

    A draw is a random order; its first k are a subset without replacement. The same seed gives
    the same draws on every machine.
    """
    import numpy as np

    n = len(values)
    known = np.asarray(values, dtype=float)
    source = np.random.RandomState(seed % 2**32)  # its stream is frozen, unlike a Generator's
    rows = max(1, min(draws, _AT_ONCE // n))
    found = np.empty((len(sizes), draws))
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        drawn = known[source.random_sample((count, n)).argsort(axis=1, kind="stable")]
        for i, k in enumerate(sizes):
            found[i, start : start + count] = np.percentile(drawn[:, :k], percentile, axis=1)
    return np.percentile(found, QUANTILES, axis=1)


def _percentile(values: list[float], percentile: float) -> float:
    import numpy as np

    return float(np.percentile(values, percentile))


def _repeated(cases: Cases) -> bool:
    return len({c.cell for c in cases.cases}) > len({c.configuration for c in cases.cases})


def _draw(cases: Cases, panels: list[Panel], width: Width) -> Figure:
    columns = columns_for(width, len(panels))
    single = len(panels) == 1
    keys = [Key("all configurations", MUTED, (0, (4, 1.5))), Key("median of the draws", SERIES[0])]
    made = grid(width, columns, len(panels), 1.6 if single else 1.1, 0.14,
                headings=not single or bool(panels[0].heading), above=key_height(keys, width),
                left=WIDE_LEFT, share=False,)  # fmt: skip
    draw_keys(made.figure, keys, width)
    factor = cases.scale.factor
    low = min(float(p.spread.min()) for p in panels) / factor
    high = max(float(p.spread.max()) for p in panels) / factor
    margin = 0.05 * (high - low) or 0.05
    for axes, panel in zip(made.panels, panels, strict=True):
        five, quarter, middle, three, most = panel.spread / factor
        for bottom, top, alpha in ((five, most, 0.16), (quarter, three, 0.26)):
            axes.fill_between(panel.sizes, bottom, top, alpha=alpha, color=SERIES[0], linewidth=0)
        axes.plot(panel.sizes, middle, color=SERIES[0])
        axes.axhline(panel.whole / factor, color=MUTED, linewidth=0.8, linestyle=(0, (4, 1.5)))
        axes.set_xlim(panel.sizes[0], panel.sizes[-1])
        axes.set_ylim(low - margin, high + margin)
        axes.set_title(one_line(panel.heading))
    for row in made.rows:
        row[0].set_ylabel(cases.label)
    for axes in made.panels[-columns:]:
        axes.set_xlabel("configurations drawn")
    return made.figure


KIND = FigureKind("convergence", make)
