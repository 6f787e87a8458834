"""The values of a metric in groups of cells: what tables, comparisons and claims are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fairc.dsl.model.names import base
from fairc.runtime.statistics.paired import Matched
from fairc.runtime.statistics.repeated import Repeated

from . import times
from .crowds import MOST_FLOWS, mean
from .mixtures import names_to_add, pools_cells, ticked
from .reading import Measure, Measurements, Omissions, Outcome, UnknownName, Value
from .stationarity import is_level, sentence

FLOW = "flow"
REPETITION = "repetition"
LOAD = "load"
PROTOCOL = "protocol"
Where = Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class Sample:
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


@dataclass(frozen=True, slots=True)
class Group:
    """The values of one group of samples, with the cell of each.

    by: axis -> value, None for the flow of a value that is of a whole cell. values: infinite where
    a cell's is larger than any that was observed. left_out: cells that do not count. omitted: what
    the values leave out. mixed: why the values are not a sample of one distribution and so have
    neither interval nor test; empty if they are one.
    moving: which flows still move, where the values depend on it; empty if none.
    times: of a rate over the flow's own time: that those of the flows differ; empty if not.
    bounds: repetition -> between what its value is, where something had not ended (Value.bounds);
    of a group that has one of each. crowd: the values of each flow, where its values are means of
    many flows of one index; else empty.
    """

    by: dict[str, str | None]
    values: list[float]
    outcomes: Sequence[Outcome]
    left_out: int
    omitted: Omissions
    mixed: str
    moving: str
    bounds: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    times: str = ""
    crowd: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def remark(self, metric: str) -> str:
        """Say what biases the values; empty if nothing does. metric: full name."""
        return "; ".join(filter(None, (self.omitted.text(metric), self.moving)))

    def summarised(self, repeats: Repeated) -> Group:
        """Return the values of one configuration that its summaries use."""
        n = len(repeats.counted(self.values))
        return replace(self, values=self.values[:n], outcomes=self.outcomes[:n])

    @property
    def by_repetition(self) -> dict[int, float]:
        """The values by repetition; of a group that has one of each."""
        return {o.repetition: v for o, v in zip(self.outcomes, self.values, strict=True)}


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

    together: whether more than MOST_FLOWS flows of one index are one, by their mean in each cell.

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
    unequal, members = _unequal(measured, name, each), dict[str, list[Sample]]()
    if together:
        members = _crowds(each)
        each = _merged(each, members)
    groups = []
    for names, of in group(each, keys).items():
        one = _group(measured, name, keys, unequal, names, of)
        apart = members.get(one.by.get(FLOW) or "", ())
        alike = (sample for sample in apart if _but_flow(sample, keys) == _but_flow(of[0], keys))
        crowd = group(alike, [FLOW])
        singles = {flow: _values(samples) for (flow,), samples in crowd.items()}
        groups.append(replace(one, crowd=singles))
    return Samples(name, unit, groups)


def _values(samples: Iterable[Sample]) -> list[float]:
    return [sample.value for sample in samples if sample.of.size is not None]


def _but_flow(sample: Sample, keys: Iterable[str]) -> list[str]:
    return [sample.keys[key] for key in keys if key != FLOW]


def _statement(sample: Sample) -> str:
    """Return the name of a sample's flow without its index; that of a user's flow as it is."""
    return base(sample.flow) if sample.flow.endswith("]") else sample.flow


def _crowds(each: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Return the samples of flows of one index, by its name, where a cell has more than MOST_FLOWS
    of them.
    """
    found: dict[str, list[Sample]] = {}
    for sample in each:
        if (name := _statement(sample)) != sample.flow:
            found.setdefault(name, []).append(sample)
    return {
        name: samples
        for name, samples in found.items()
        if len({sample.flow for sample in samples}) > MOST_FLOWS
    }


def _merged(each: Iterable[Sample], crowds: Collection[str]) -> list[Sample]:
    """Return the samples with one for all flows of a crowd in each cell, where its first was."""
    found: dict[tuple[str, ...], list[Sample]] = {}
    for sample in each:
        name = _statement(sample) if _statement(sample) in crowds else sample.flow
        keys = {**sample.keys, FLOW: name}
        found.setdefault((sample.outcome.cell, *keys.values()), []).append(sample)
    merged = []
    for first, *others in found.values():
        name = _statement(first)
        if name in crowds and name != first.flow:
            measure = first.of.measure._replace(flow=name)
            value = mean(measure, [first.of, *(other.of for other in others)])
            merged.append(Sample({**first.keys, FLOW: name}, value))
        else:
            merged += [first, *others]
    return merged


def _unequal(measured: Measurements, metric: str, each: Iterable[Sample]) -> Mapping[str, str]:
    """Say of which configurations the flows are measured over different times. metric: full name.

    Of several configurations, each of which has its own times, it says no more than that.
    """
    flows: dict[str, set[str]] = {}
    for sample in each:
        flows.setdefault(sample.outcome.configuration, set()).add(sample.flow)
    own = {c: measured.unequal_times(metric, c, names) for c, names in flows.items()}
    alone = len(own) == 1
    return {c: times.sentence(of, alone=alone) for c, of in own.items() if of}


def each_sample(
    outcomes: Sequence[Outcome],
    values: Sequence[Value],
    otherwise: Measure | None = None,
    where: Where | None = None,
) -> Iterator[Sample]:
    """Yield the samples of all cells that `where` chooses; those of a cell that does not count have
    no value.

    otherwise: what a cell that does not count would have values of, where no cell has any.
    """
    for outcome, found in _cells(outcomes, values, otherwise):
        names = {**dict(outcome.bindings), REPETITION: str(outcome.repetition)}
        for value in found:
            page_load = {LOAD: load_text(value.measure), PROTOCOL: value.protocol or ""}
            known = {name: text for name, text in page_load.items() if text}
            flow = {FLOW: value.measure.flow or ""}
            if where is None or where({**flow, **names, **known}):
                yield Sample({**flow, **page_load, **names}, value)


def load_text(measure: Measure) -> str:
    """Return the number of a page load as a key; empty: it is of none."""
    return "" if measure.load is None else str(measure.load)


def _group(
    measured: Measurements,
    metric: str,
    keys: Sequence[str],
    unequal: Mapping[str, str],
    names: Sequence[str],
    members: Sequence[Sample],
) -> Group:
    """Return a group. names: its values of the keys. unequal: as of `_unequal`."""
    valued = [sample for sample in members if sample.of.size is not None]
    outcomes = [sample.outcome for sample in valued]
    omitted, bounds = Omissions(), dict[int, tuple[float, float]]()
    for sample in members:
        if sample.outcome.counts:
            omitted.add(sample.of)
            if (between := sample.of.bounds) is not None:
                bounds[sample.outcome.repetition] = between
    moving, by = "", {key: name or None for key, name in zip(keys, names, strict=True)}
    if is_level(metric):
        flow = by.get(FLOW)
        configurations = (outcome.configuration for outcome in outcomes)
        moving = sentence(metric, (flow,) if flow else (), configurations, measured.moving)
    return Group(
        by,
        [sample.value for sample in valued],
        outcomes,
        len({s.outcome.cell for s in members if not s.outcome.counts}),
        omitted,
        _mixed(outcomes, measured.axes, measured.sampled),
        moving,
        bounds,
        next((unequal[o.configuration] for o in outcomes if o.configuration in unequal), ""),
    )


def _cells(
    outcomes: Sequence[Outcome], values: Sequence[Value], otherwise: Measure | None
) -> Iterator[tuple[Outcome, Sequence[Value]]]:
    """Yield each cell with its values; one that does not count with what it would have values of.

    otherwise: what that is where no cell has a value.
    """
    of_cell: dict[str, list[Value]] = {}
    places: dict[str, dict[tuple[Measure, str | None], None]] = {}
    for value in values:
        of_cell.setdefault(value.outcome.cell, []).append(value)
        place = value.measure, value.protocol
        places.setdefault(value.outcome.configuration, {})[place] = None
    every = dict.fromkeys((value.measure, value.protocol) for value in values)
    for outcome in outcomes:
        if outcome.counts:
            yield outcome, of_cell.get(outcome.cell, [])
        else:
            default = {(otherwise, None): None} if otherwise else {}
            own = places.get(outcome.configuration) or every or default
            yield outcome, [Value(measure, outcome, None, "", over) for measure, over in own]


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
