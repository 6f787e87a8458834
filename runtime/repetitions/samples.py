"""The values of a metric in groups of cells: what tables, comparisons and claims are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from fairc.runtime.statistics.repeated import Repeated

from .mixtures import names_to_add, ticked
from .moving import is_level, sentence
from .reading import Measure, Measured, Omissions, Outcome, UnknownName, Value

if TYPE_CHECKING:
    from fairc.runtime.statistics.paired import Matched

FLOW = "flow"
REPETITION = "repetition"
LOAD = "load"
PROTOCOL = "protocol"
Where = Callable[[Mapping[str, str]], bool]


@dataclass(slots=True)
class Sample:
    """The values of one group, with the cell of each.

    by: axis -> value, None for the flow of a value that is of a whole cell. values: infinite where a cell's is larger
    than any that was observed. left_out: cells that do not count. omitted: what the values leave out. mixed: why the
    values are not a sample of one distribution and so have neither interval nor test; empty if they are one.
    moving: which flows still move, where the values depend on it; empty if none.
    """

    by: dict[str, str | None]
    values: list[float] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    left_out: int = 0
    omitted: Omissions = field(default_factory=Omissions)
    mixed: str = ""
    moving: str = ""

    def remark(self, metric: str) -> str:
        """Say what biases the values; empty if nothing does. metric: full name."""
        return "; ".join(filter(None, (self.omitted.text(metric), self.moving)))

    def add(self, value: Value) -> None:
        """Add a value, or why there is none."""
        if value.size is not None:
            self.values.append(value.size)
            self.outcomes.append(value.outcome)
        if value.outcome.counts:
            self.omitted.add(value)

    def summarised(self, repeats: Repeated) -> Sample:
        """Return the values of one configuration that its summaries use."""
        n = len(repeats.counted(self.values))
        return replace(self, values=self.values[:n], outcomes=self.outcomes[:n])

    @property
    def by_repetition(self) -> dict[int, float]:
        """The values by repetition; of a sample that has one of each."""
        return {o.repetition: v for o, v in zip(self.outcomes, self.values, strict=True)}


def matched(first: Mapping[int, float], second: Mapping[int, float]) -> Matched:
    """Return the values of the repetitions that both have, in order; arguments: repetition -> value."""
    from fairc.runtime.statistics.paired import Matched  # loads numpy

    both = [repetition for repetition in first if repetition in second]
    return Matched([first[r] for r in both], [second[r] for r in both])


class Samples(NamedTuple):
    """A metric's full name, its unit, and its values group by group, in the order of the plan."""

    metric: str
    unit: str
    groups: list[Sample]


def samples(
    measured: Measured, metric: str, by: Sequence[str] | None = None, where: Where | None = None
) -> Samples:
    """Return the values of a metric over the cells of each group; arguments as of `summarise`.

    The loads of one cell are not independent, so they are never in one group: where a metric has a
    value for each of them, `load` is added to `by`, and `where` is asked about each. Without `by`, `protocol` is
    added, too, where they are over several: over HTTP/3 the first one is over HTTP/2.
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
    groups: dict[tuple[str | None, ...], Sample] = {}
    for outcome, found in _cells(measured.outcomes, values, Measure(name, None, unit)):
        names = {**dict(outcome.bindings), REPETITION: str(outcome.repetition)}
        met: dict[tuple[str | None, ...], Sample] = {}
        for value in found:
            load = None if value.measure.load is None else str(value.measure.load)
            page_load = {LOAD: load, PROTOCOL: value.protocol}
            known = {name: text for name, text in page_load.items() if text is not None}
            if where is not None and not where({**names, **known}):
                continue
            own = {FLOW: value.measure.flow, **page_load, **names}
            group = tuple(own[key] for key in keys)
            sample = groups.setdefault(group, Sample(dict(zip(keys, group, strict=True))))
            sample.add(value)
            met[group] = sample
        if not outcome.counts:
            for sample in met.values():
                sample.left_out += 1
    for sample in groups.values():
        sample.mixed = _mixed(sample, axes, measured.sampled)
        if is_level(name):
            flow = sample.by.get(FLOW)
            configurations = (outcome.configuration for outcome in sample.outcomes)
            sample.moving = sentence(name, {flow} if flow else (), configurations, measured.moving)
    return Samples(name, unit, list(groups.values()))


def _cells(
    outcomes: Sequence[Outcome], values: Sequence[Value], otherwise: Measure
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
            own = places.get(outcome.configuration) or every or [(otherwise, None)]
            yield outcome, [Value(measure, outcome, None, "", over) for measure, over in own]


def _mixed(sample: Sample, axes: Sequence[str], sampled: bool) -> str:
    """Say what a group mixes, and what separates its parts; empty if it mixes nothing."""
    add = names_to_add(sample.outcomes, axes, sampled=sampled)
    flows = len({outcome.cell for outcome in sample.outcomes}) < len(sample.outcomes)
    if not (add or flows):
        return ""
    several = len({outcome.configuration for outcome in sample.outcomes})
    what = [
        f"{several} configurations" if add else "",
        "several flows of each cell" if flows else "",
    ]
    names = ticked((*add, FLOW) if flows else add)
    fix = f", or fix {ticked(add)} with --where" if add else ""
    return f"the values are of {' and of '.join(filter(None, what))}: add {names} to --by{fix}"
