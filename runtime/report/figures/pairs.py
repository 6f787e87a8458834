"""The figure `pairs`: how fair each pair of sessions is over all configurations, as one number with
an interval.

Each configuration has one value, the median of its cells; of the configurations of a pair the
percentile is taken (Corbel et al., Fairness Measurement Procedure, 2018: what nine configurations
in ten reach). The interval is that of a bootstrap over configurations: they are drawn anew, with
replacement, cells and repetitions with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import ceil

from fairc.compiler.plan import FigureRequest
from fairc.dsl.model.metric_names import metric_of
from fairc.dsl.model.names import label_of
from fairc.runtime.formatting import (
    Cell,
    Number,
    count,
    decimals_for,
    number,
    one_line,
    ordinal,
)
from fairc.runtime.repetitions.samples import Sample
from fairc.runtime.report.run import Run
from fairc.runtime.report.sheet import Sheet
from fairc.runtime.statistics.bootstrap import quantile_interval
from fairc.runtime.statistics.estimates import Estimate, no_variance, percentile

from .base import FigureKind, NothingToDraw, Subject
from .query import Names, Query, load, of_configurations
from .wording import by_text

FMP = "fmp.fairness"
DEFAULT = FigureRequest(kind="pairs", metric=FMP, options={"percentile": 10.0, "ci": 0.95})
PAIR = "pair"
IN_TAIL = 5
"""Configurations that are to be expected beyond the percentile; docs/trust/statistics.md has how
often the interval misses.
"""

Row = tuple[Cell, ...]


def requested(subject: Subject, request: FigureRequest) -> Sheet:
    """Make the table; options: `by`, `facet` (what makes a pair; else the CCAs), `percentile`,
    `ci`.
    """
    query = load(subject, request)
    q, level = query.number("percentile"), query.number("ci")
    names, groups = _groups(query)
    query.check(1, len(groups), "rows")
    found = [
        (key, over_configurations(of_configurations(members), q, level, subject.run.plan.seed))
        for key, members in groups
    ]
    if max(e.n for _, e in found) < 2:
        raise NothingToDraw("no pair has two configurations")
    # K_rel is 2 K: its scale of fairness begins at 0 where the other one begins at 1/2.
    both = query.metric == FMP
    scales: list[Callable[[float], float]] = [lambda v: v / query.scale.factor]
    scales += [lambda v: 2 * v - 1] if both else []
    ends = [v for _, e in found for v in (e.value, e.low, e.high) if v is not None]
    digits = max(3, decimals_for(scales[0](v) for v in ends))

    def shown(value: float, scale: int) -> Number:
        unit = scales[scale](value)
        return Number(number(unit, digits), repr(unit if both else value))

    def cells(e: Estimate, scale: int) -> Row:
        """Return a value and its interval, or why it has none."""
        assert e.value is not None
        if e.low is None or e.high is None:
            return (shown(e.value, scale), e.reason)
        return (shown(e.value, scale), (shown(e.low, scale), shown(e.high, scale)))

    rows: list[Row] = [
        (
            *map(one_line, key),
            count(e.n),
            *(item for scale in range(len(scales)) for item in cells(e, scale)),
        )
        for key, e in found
    ]
    what, interval = ordinal(q), f"{100 * level:g} % interval"
    unit = f" ({query.scale.unit})" if query.scale.unit else ""
    heads = (FMP, f"{FMP}_rel") if both else (f"{what}{unit}",)
    # That configurations are mixed is what the table is about.
    return query.sheet(
        title=f"{what.capitalize()} of {query.title(by_text(names))}",
        caption=(
            f"{what.capitalize()} over the configurations of a pair, each with the median of its"
            f" cells, and its {interval} (bootstrap over configurations, as a random sample of many"
            f" such networks).{_meaning(q) if both else ''} {query.basis(tuple(query.orders))}"
        ),
        head=(
            *((one_line(name), False) for name in names),
            ("configurations", True),
            *((text, True) for head in heads for text in (head, interval)),
        ),
        rows=rows,
    )


def over_configurations(values: list[float], p: float, level: float, seed: int) -> Estimate:
    """Return the p-th percentile over configurations, with its bootstrap interval.

    Without one, and why, where fewer than `IN_TAIL` are in the tail: resamples know too little of
    it then.
    """
    found = percentile(values, p, level)
    if found.n < 2 or max(p, 100 - p) >= 100 or no_variance(values):
        return found
    needed = ceil(IN_TAIL / min(p / 100, 1 - p / 100))
    if found.n < needed:
        return Estimate(found.n, found.value, reason=f"fewer than {needed} configurations")
    return Estimate(found.n, found.value, *quantile_interval(values, p / 100, level, seed))


def _groups(query: Query) -> tuple[Names, list[tuple[Names, list[Sample]]]]:
    """Return what separates pairs, and the samples of each: by names, or by the CCAs of the
    sessions.
    """
    names = query.each()
    if query.names("facet") or query.names("by"):
        return names, query.groups(names)
    run, sessions = query.subject.run, sessions_of(query.subject.run, query.metric)
    groups: dict[Names, list[Sample]] = {}
    for key, members in query.groups(names):
        for sample in members:
            pair = pair_of(run, sample.outcome.configuration, sessions)
            groups.setdefault((pair, *key), []).append(sample)
    return (PAIR, *names), list(groups.items())


def sessions_of(run: Run, metric: str) -> tuple[str, ...]:
    """Return the sessions that a metric compares: those that `measure` names, else all flows."""
    name = metric_of(metric)
    return next((r.sessions for r in run.plan.measure if r.name == name and r.sessions), run.flows)


def pair_of(run: Run, configuration: str, sessions: Iterable[str]) -> str:
    """Name the CCAs of the sessions of a configuration, in the order of the sessions."""
    flows = {label_of(flow): flow for flow in run.scenes[configuration].flows}
    ccas = (flows[name].cca or flows[name].transport for name in sessions if name in flows)
    return " and ".join(map(one_line, ccas))


def _meaning(p: float) -> str:
    """Say what the percentile of a fairness is."""
    share = f"{100 - p:g} % of the configurations are at least this fair"
    return f" {share}: 1 - (the {ordinal(100 - p)} of |K|)."


def _by_default(subject: Subject) -> Sheet:
    return replace(requested(subject, DEFAULT), section="repetitions")


def _is_due(subject: Subject) -> bool:
    return subject.measures("fmp") and len(subject.run.configurations) > 1


KIND = FigureKind("pairs", requested, _by_default, _is_due)
