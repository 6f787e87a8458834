"""The values of a metric in groups of cells: what tables, comparisons and claims are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from fairc.runtime.statistics.estimates import Estimate
from fairc.runtime.statistics.paired import Matched
from fairc.runtime.statistics.repeated import FIXED, Repeated

from . import times
from .crowds import means
from .mixtures import names_to_add, pools_cells, ticked
from .reading import Measure, Measurements, Omissions, Outcome, UnknownName, Value
from .remarks import merged
from .stationarity import is_level, sentence

FLOW = "flow"
REPETITION = "repetition"
LOAD = "load"
PROTOCOL = "protocol"
Where = Callable[[Mapping[str, str]], bool]


class Sample(NamedTuple):
    """The value of a metric in a cell, and the names that it may be grouped by.

    keys: swept names, `repetition`, `load`, `protocol` and `flow` to text, empty where it is of
    none.
    """

    keys: Mapping[str, str]
    of: Value

    @property
    def outcome(self) -> Outcome:
        """The cell."""
        return self.of.outcome

    @property
    def flow(self) -> str:
        """The flow by its own name; empty for a whole cell."""
        return self.of.measure.flow or ""

    @property
    def value(self) -> float:
        """The value of a sample that has one; infinite where it is larger than any that was
        observed.
        """
        assert self.of.size is not None
        return self.of.size


def group(samples: Iterable[Sample], names: Sequence[str]) -> dict[tuple[str, ...], list[Sample]]:
    """Return samples by their values of the names, in the order in which these first occur."""
    found: dict[tuple[str, ...], list[Sample]] = {}
    for sample in samples:
        found.setdefault(tuple(sample.keys[name] for name in names), []).append(sample)
    return found


@dataclass(frozen=True)
class Group:
    """The values of one group of samples, and what is made of them.

    measured: where they are from. metric: full name. by: axis -> value, None for the flow of a
    value that is of a whole cell. members: its values, also of cells that do not count, in the
    order of the cells.
    unequal: configuration -> that its flows are measured over different times, as text.
    singles: the values of each flow, where its members are means of many flows; else empty.
    """

    measured: Measurements
    metric: str
    by: dict[str, str | None]
    members: Sequence[Value]
    unequal: Mapping[str, str] = field(default_factory=dict)
    singles: Mapping[str, Sequence[Value]] = field(default_factory=dict)

    @cached_property
    def values(self) -> list[float]:
        """Those of cells that count, where they are defined; infinite where one is larger than any
        that was observed.
        """
        return _sizes(self.members)

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """The cell of each of the values."""
        return [v.outcome for v in self.members if v.outcome.counts and v.size is not None]

    @property
    def by_repetition(self) -> dict[int, float]:
        """The values by repetition; of a group that has one of each."""
        return {o.repetition: value for o, value in zip(self.outcomes, self.values, strict=True)}

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Cell -> its number, also of cells that do not count; of a group that has one of each."""
        return {v.outcome.cell: v.number for v in self.members if v.number is not None}

    @property
    def left_out(self) -> int:
        """How many cells do not count."""
        return len({v.outcome.cell for v in self.members if not v.outcome.counts})

    @cached_property
    def omitted(self) -> Omissions:
        """What the values leave out."""
        found = Omissions()
        for value in self.members:
            if value.outcome.counts:
                found.add(value)
        return found

    @property
    def bounds(self) -> dict[int, tuple[float, float]]:
        """Repetition -> between what its value is, where something had not ended (Value.bounds); of
        a group that has one of each.
        """
        return {
            value.outcome.repetition: between
            for value in self.members
            if value.outcome.counts and (between := value.bounds) is not None
        }

    @property
    def crowd(self) -> dict[str, list[float]]:
        """The values of each of the many flows whose means the group's values are; else empty."""
        return {flow: _sizes(members) for flow, members in self.singles.items()}

    @cached_property
    def mixed(self) -> str:
        """Why the values are not a sample of one distribution and so have neither interval nor
        test; empty if they are one.
        """
        return _mixed(self.outcomes, self.measured.axes, self.measured.sampled)

    @property
    def moving(self) -> str:
        """Which flows still move, where the values depend on it; empty if none."""
        formulas = self.measured.plan.formulas
        if not is_level(self.metric) and all(own.name != self.metric for own in formulas):
            return ""
        flow, moving = self.by.get(FLOW), self.measured.moving
        configurations = dict.fromkeys(outcome.configuration for outcome in self.outcomes)
        return sentence(self.metric, (flow,) if flow else (), configurations, moving, formulas)

    @property
    def times(self) -> str:
        """That the flows are measured over different times; empty if not."""
        found = (self.unequal.get(outcome.configuration) for outcome in self.outcomes)
        return next(filter(None, found), "")

    @property
    def remark(self) -> str:
        """What biases the values; empty if nothing does."""
        parts = self.omitted.text(self.metric), self._without_singles, self.moving
        return "; ".join(filter(None, parts))

    @property
    def _without_singles(self) -> str:
        """How many flows have no value, which the means of many leave out; empty if all have."""
        each = [value for own in self.singles.values() for value in own if value.outcome.counts]
        none = [value for value in each if value.size is None]
        if not none or not self.values:
            return ""
        why = "; ".join(merged(sorted({value.reason for value in none if value.reason})))
        text = f"the means leave out {len(none)} of {len(each)} values of single flows"
        return f"{text}: {why}" if why else text

    @property
    def repeated(self) -> Repeated:
        """How its cells are repeated; those of a mixture a fixed number of times."""
        return FIXED if self.mixed else self.measured.repeated

    @cached_property
    def used(self) -> Sequence[float]:
        """The values that its summaries use."""
        return self.repeated.counted(self.values)

    @cached_property
    def median(self) -> Estimate:
        """The median of the values, with its 95 % interval."""
        return self.repeated.median(self.values)


def _sizes(members: Iterable[Value]) -> list[float]:
    return [v.size for v in members if v.outcome.counts and v.size is not None]


def matched(first: Mapping[int, float], second: Mapping[int, float]) -> Matched:
    """Return the values of the repetitions that both have, in order; arguments: repetition ->
    value.
    """
    both = [repetition for repetition in first if repetition in second]
    return Matched([first[r] for r in both], [second[r] for r in both])


class Samples(NamedTuple):
    """A metric's full name, its unit, and its values group by group, in the order of the plan."""

    metric: str
    unit: str
    groups: list[Group]


def samples(
    measured: Measurements,
    metric: str,
    by: Sequence[str] | None = None,
    where: Where | None = None,
    *,
    together: bool = False,
) -> Samples:
    """Return the values of a metric over the cells of each group; arguments as of `summarise`.

    together: whether many flows of a statement are one, by their mean in each cell (crowds.py);
    not where `by` leaves out `flow`.

    The loads of one cell are not independent, so they are never in one group: where a metric has a
    value for each of them, `load` is added to `by`, and `where` is asked about each. Without `by`,
    `protocol` is added, too, where they are over several: over HTTP/3 the first one is over HTTP/2.
    Raises UnknownName, and TableError when the tables cannot be read.
    """
    axes = measured.axes
    keys = tuple(by) if by is not None else (*axes, FLOW)
    choices = (*axes, FLOW, REPETITION, LOAD, PROTOCOL)
    for key in keys:
        if key not in choices:
            raise UnknownName("axis", key, choices)
    name, unit = measured.named(metric)
    values = measured.values(name)
    if LOAD not in keys and any(value.measure.load is not None for value in values):
        keys = (*keys, LOAD)
    if by is None and len({value.protocol for value in values}) > 1:
        keys = (*keys, PROTOCOL)
    each = [*each_sample(measured.outcomes, values, Measure(name, None, unit), where)]
    many = measured.crowds({sample.flow for sample in each}) if together else {}
    return Samples(name, unit, grouped(measured, name, each, keys, many))


def grouped(
    measured: Measurements,
    metric: str,
    each: Iterable[Sample],
    keys: Sequence[str],
    crowds: Mapping[str, str],
) -> list[Group]:
    """Return samples of a metric as groups by their values of the keys, in the order in which these
    first occur.

    metric: full name. crowds: flow -> the name of all that are one with it, by their mean in each
    cell; of a key `flow`.
    """
    found: dict[tuple[str, ...], list[Value]] = {}
    flows: dict[str, set[str]] = {}
    apart = measured.has_own_times(metric)
    for sample in each:  # none is kept: of a whole run they would keep the garbage collector busy
        texts = sample.keys
        if crowds:
            texts = {**texts, FLOW: crowds.get(sample.flow, sample.flow)}
        found.setdefault(tuple([texts[key] for key in keys]), []).append(sample.of)
        if apart:
            flows.setdefault(sample.outcome.configuration, set()).add(sample.flow)
    unequal = _unequal(measured, metric, flows)
    groups = []
    for names, members in found.items():
        by = {key: text or None for key, text in zip(keys, names, strict=True)}
        singles: dict[str, list[Value]] = {}
        name = by.get(FLOW)
        if crowds and name and any(value.measure.flow != name for value in members):
            for value in members:
                singles.setdefault(value.measure.flow or "", []).append(value)
            members = means(name, members)
        groups.append(Group(measured, metric, by, members, unequal, singles))
    return groups


def _unequal(
    measured: Measurements, metric: str, flows: Mapping[str, Collection[str]]
) -> Mapping[str, str]:
    """Say of which configurations the flows are measured over different times. metric: full name.
    flows: configuration -> its flows.

    Of several configurations, each of which has its own times, it says no more than that.
    """
    own = {c: measured.unequal_times(metric, c, names) for c, names in flows.items()}
    alone = len(own) == 1
    return {c: times.sentence(of, alone=alone) for c, of in own.items() if of}


def each_sample(
    outcomes: Sequence[Outcome],
    values: Sequence[Value],
    otherwise: Measure | None = None,
    where: Where | None = None,
) -> Iterator[Sample]:
    """Yield the samples of all cells that `where` chooses; those of a cell that does not count are
    of all that it would have values of.

    otherwise: what that is where no cell has any.
    """
    for outcome, found in _cells(outcomes, values, otherwise):
        names = {**dict(outcome.bindings), REPETITION: str(outcome.repetition)}
        for value in found:
            load, protocol = load_text(value.measure), value.protocol or ""
            keys = {FLOW: value.measure.flow or "", LOAD: load, PROTOCOL: protocol, **names}
            if where is None or where(_without_empty(keys)):
                yield Sample(keys, value)


def _without_empty(keys: Mapping[str, str]) -> Mapping[str, str]:
    """Return keys without those of a page load where there is none."""
    return {name: text for name, text in keys.items() if text or name not in (LOAD, PROTOCOL)}


def load_text(measure: Measure) -> str:
    """Return the number of a page load as a key; empty: it is of none."""
    return "" if measure.load is None else str(measure.load)


def _cells(
    outcomes: Sequence[Outcome], values: Sequence[Value], otherwise: Measure | None
) -> Iterator[tuple[Outcome, Sequence[Value]]]:
    """Yield each cell with its values; one that does not count with all that it would have values
    of.

    otherwise: what that is where no cell has a value.
    """
    of_cell: dict[str, list[Value]] = {}
    for value in values:
        of_cell.setdefault(value.outcome.cell, []).append(value)
    places: dict[str, dict[tuple[Measure, str | None], None]] = {}
    if not all(outcome.counts for outcome in outcomes):
        for value in values:
            place = value.measure, value.protocol
            places.setdefault(value.outcome.configuration, {})[place] = None
    every = {place: None for of in places.values() for place in of}
    for outcome in outcomes:
        if outcome.counts:
            yield outcome, of_cell.get(outcome.cell, [])
        else:
            default = {(otherwise, None): None} if otherwise else {}
            own = places.get(outcome.configuration) or every or default
            known = {
                (value.measure, value.protocol): value for value in of_cell.get(outcome.cell, ())
            }
            yield outcome, [known.get(at) or Value(at[0], outcome, None, "", at[1]) for at in own]


def _mixed(outcomes: Sequence[Outcome], axes: Sequence[str], sampled: bool) -> str:
    """Say what a group mixes, and what separates its parts; empty if it mixes nothing."""
    add = names_to_add(outcomes, axes, sampled=sampled)
    flows = pools_cells(outcomes)
    if not (add or flows):
        return ""
    several = len({outcome.configuration for outcome in outcomes})
    what = [
        f"{several} configurations" if add else "",
        "several flows of each cell" if flows else "",
    ]
    names = ticked((*add, FLOW) if flows else add)
    fix = f", or fix {ticked(add)} with --where" if add else ""
    return f"the values are of {' and of '.join(filter(None, what))}: add {names} to --by{fix}"
