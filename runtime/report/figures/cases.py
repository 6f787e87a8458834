"""What the figures of `report { ... }` share: a metric's values, each with the names it is under."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairc.compiler.plan import FigureRequest
from fairc.runtime.report.summary import Measure
from fairc.runtime.report.words import Scale, listed, one_line, scale_for

from .base import NothingToDraw, Subject

REPETITION, FLOW = "repetition", "flow"


@dataclass(frozen=True, slots=True)
class Case:
    """One value of one cell that counts; keys: swept names, `repetition` and `flow` to text."""

    keys: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Cases:
    """All values of a metric.

    metric: its full name. scale: that the values are to be shown in. cases: unscaled, in SI base
    units. orders: name -> its values in the order in which they are shown.
    """

    metric: str
    scale: Scale
    cases: tuple[Case, ...]
    orders: Mapping[str, Sequence[str]]

    @property
    def label(self) -> str:
        """What an axis of the metric is called, with its unit."""
        return f"{self.metric} ({self.scale.unit})" if self.scale.unit else self.metric

    def pooled(self, names: Sequence[str]) -> str:
        """Say which swept names a group mixes, as a sentence; empty where it mixes none."""
        mixed = [
            one_line(name)
            for name, values in self.orders.items()
            if name not in {*names, REPETITION, FLOW} and len(values) > 1
        ]
        return f" Groups mix all values of {listed(mixed)}." if mixed else ""

    def groups(self, names: Sequence[str]) -> list[tuple[tuple[str, ...], list[Case]]]:
        """Return the cases by their values of the names, in order; groups without a case are out."""
        found: dict[tuple[str, ...], list[Case]] = {}
        for case in self.cases:
            found.setdefault(tuple(case.keys[n] for n in names), []).append(case)

        def place(key: tuple[str, ...]) -> tuple[int, ...]:
            return tuple(self.orders[n].index(v) for n, v in zip(names, key, strict=True))

        return [(key, found[key]) for key in sorted(found, key=place)]


def load(subject: Subject, request: FigureRequest, understood: Iterable[str]) -> Cases:
    """Return the values that a figure asks for.

    understood: the options that the kind of figure acts on. Raises NothingToDraw for any other
    option, so that no figure shows something else than was asked for, and where there is no value.
    """
    from fairc.runtime.metrics.registry import value_named

    unknown = sorted(set(request.options) - set(understood))
    if unknown:
        raise NothingToDraw(f"`{request.kind}` does not act on `{unknown[0]}` yet")
    if request.metric is None:
        raise NothingToDraw(f"`{request.kind}` names no metric")
    try:
        metric = value_named(request.metric).name
    except KeyError:
        raise NothingToDraw(f"no metric that can be computed is called {request.metric}") from None
    measures = subject.results.select(metric)
    cases = tuple(case for m in measures for case in _cases(subject, m))
    if not cases:
        raise NothingToDraw(f"no cell that counts has a value of {metric}")
    run = subject.run
    repetitions = sorted({int(c.keys[REPETITION]) for c in cases})
    orders: dict[str, Sequence[str]] = {
        REPETITION: [str(r) for r in repetitions],
        FLOW: [m.flow or "" for m in measures],
        **{a.name: a.values for a in run.plan.axes},
    }
    return Cases(metric, scale_for(measures[0].unit, [c.value for c in cases]), cases, orders)


def _cases(subject: Subject, measure: Measure) -> list[Case]:
    return [
        Case(
            {
                REPETITION: str(outcome.repetition),
                FLOW: measure.flow or "",
                **dict(configuration.bindings),
            },
            value,
        )
        for configuration in subject.run.configurations
        for outcome, value in subject.results.points(measure, configuration)
        if outcome.counts
    ]


def names_of(request: FigureRequest, option: str, cases: Cases) -> tuple[str, ...]:
    """Return the names that an option gives. Raises NothingToDraw for one without values here."""
    given = request.options.get(option, ())
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in cases.orders:
            raise NothingToDraw(f"`{option}: {name}` is not a swept name, `repetition` or `flow`")
    return names


def with_flow(names: tuple[str, ...], elsewhere: Iterable[str], cases: Cases) -> tuple[str, ...]:
    """Return the names, and `flow` where values of several flows would otherwise be mixed."""
    several = len(cases.orders[FLOW]) > 1
    return (*names, FLOW) if several and FLOW not in {*names, *elsewhere} else names


def worded(names: Sequence[str], key: Sequence[str]) -> str:
    """Return `loss = 1%, flow = bbr`."""
    return ", ".join(f"{one_line(n)} = {one_line(v)}" for n, v in zip(names, key, strict=True))


def stem(subject: Subject, request: FigureRequest) -> str:
    """Return a file name for a requested figure: its kind, metric and place in `report`."""
    place = subject.run.plan.figures.index(request) + 1
    metric = "".join(c if c.isalnum() else "-" for c in request.metric or "")
    return f"{place:02}-{request.kind}-{metric}"
