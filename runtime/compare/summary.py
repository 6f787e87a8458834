"""One table of a metric over the repetitions: what `fairc table` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from fairc.runtime.metrics import value_named
from fairc.runtime.statistics import STATISTICS, Estimate
from fairc.runtime.statistics.repeated import FIXED, Repeated
from fairc.runtime.store import tables

from .mixtures import Origin, names_to_add, ticked

if TYPE_CHECKING:
    import duckdb

FLOW = "flow"
REPETITION = "repetition"
LOAD = "load"
PROTOCOL = "protocol"
Where = Callable[[Mapping[str, str]], bool]


class Row(TypedDict):
    """A row of `fairc table --format json`; value and interval in SI base units.

    by: axis -> value, None for the flow of a value that is of a whole cell. n: values that were
    summarised. invalid: cells left out, because their set-up is not valid or they failed. reason: why
    cells that count have no value; empty where all have one. no_interval: why there is none, empty where
    there is one.
    """

    metric: str
    unit: str
    stat: str
    by: dict[str, str | None]
    n: int
    invalid: int
    value: float | None
    ci_low: float | None
    ci_high: float | None
    reason: str
    no_interval: str


class UnknownName(Exception):
    """A metric, a statistic or an axis that does not exist; `kind` says which."""

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        self.kind, self.name, self.choices = kind, name, tuple(choices)
        super().__init__(f"no {kind} is called `{name}`; known: {', '.join(self.choices)}")


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of the tables: its bindings and `repetition` as text, and whether it counts."""

    id: str
    names: Mapping[str, str]
    counts: bool

    @property
    def origin(self) -> Origin:
        """The origin of the cell's values."""
        names = {name: value for name, value in self.names.items() if name != REPETITION}
        return Origin(repr(sorted(names.items())), self.id, names)


@dataclass(slots=True)
class Sample:
    """The values of one group; by: as in Row; left_out: cells that do not count; reasons: as in Row.

    origins, repetitions: of each value. mixed: why the values are not a sample of one distribution and so have
    neither interval nor test; empty otherwise.
    """

    by: dict[str, str | None]
    values: list[float]
    left_out: int = 0
    reasons: set[str] = field(default_factory=set)
    origins: list[Origin] = field(default_factory=list)
    repetitions: list[str] = field(default_factory=list)
    mixed: str = ""

    def add(self, cell: _Cell, value: _Number) -> None:
        """Add a cell's value, or the reason why it has none."""
        if value.number is not None:
            self.values.append(value.number)
            self.origins.append(cell.origin)
            self.repetitions.append(cell.names[REPETITION])
        elif value.reason:
            self.reasons.add(value.reason)


class Samples(NamedTuple):
    """A metric's full name, its unit, and its values group by group, in the order of the plan."""

    metric: str
    unit: str
    groups: list[Sample]


def samples(
    folder: Path,
    axes: Sequence[str],
    metric: str,
    by: Sequence[str] | None = None,
    where: Where | None = None,
    sampled: bool = False,
) -> Samples:
    """Return the values of a metric over the cells of each group; arguments as of `summarise`.

    The loads of one cell are not independent, so they are never in one group: where a metric has a
    value for each of them, `load` is added to `by`, and `where` is asked about each. Without `by`, `protocol` is
    added, too, where they are over several: over HTTP/3 the first one is over HTTP/2.
    Raises UnknownName, and TableError when the tables cannot be read.
    """
    keys = tuple(by) if by is not None else (*axes, FLOW)
    choices = (*axes, FLOW, REPETITION, LOAD, PROTOCOL)
    for key in keys:
        if key not in choices:
            raise UnknownName("axis", key, choices)
    with tables.connect(folder) as connection:
        name, unit = _metric(connection, metric)
        cells = list(_cells(connection, axes))
        values = _values(connection, name)

    places = list(dict.fromkeys(v.place for found in values.values() for v in found))
    if LOAD not in keys and any(place.load is not None for place in places):
        keys = (*keys, LOAD)
    if by is None and len({place.protocol for place in places}) > 1:
        keys = (*keys, PROTOCOL)
    groups: dict[tuple[str | None, ...], Sample] = {}
    for cell, found in _with_left_out(cells, values, places):
        met: dict[tuple[str | None, ...], Sample] = {}
        for value in found:
            page_load = {LOAD: value.place.load, PROTOCOL: value.place.protocol}
            known = {name: text for name, text in page_load.items() if text is not None}
            if where is not None and not where({**cell.names, **known}):
                continue
            own = {FLOW: value.place.flow, **page_load, **cell.names}
            group = tuple(own[key] for key in keys)
            sample = groups.setdefault(group, Sample(dict(zip(keys, group, strict=True)), []))
            sample.add(cell, value)
            met[group] = sample
        if not cell.counts:
            for sample in met.values():
                sample.left_out += 1
    for sample in groups.values():
        sample.mixed = _mixed(sample, axes, sampled)
    return Samples(name, unit, list(groups.values()))


def _with_left_out(
    cells: Sequence[_Cell], values: Mapping[str, list[_Number]], places: Sequence[_Place]
) -> Iterator[tuple[_Cell, Sequence[_Number]]]:
    """Yield each cell with its values; one that does not count with what it would have values of."""
    of: dict[str, dict[_Place, None]] = {}
    for cell in cells:
        own_places = of.setdefault(cell.origin.configuration, {})
        own_places |= dict.fromkeys(v.place for v in values.get(cell.id, []))
    for cell in cells:
        if cell.counts:
            yield cell, values.get(cell.id, [])
        else:
            known = of[cell.origin.configuration] or places or [_Place(None, None, None)]
            yield cell, [_Number(place, None, "") for place in known]


def _mixed(sample: Sample, axes: Sequence[str], sampled: bool) -> str:
    """Return what a group mixes, and what separates its parts; empty if it mixes nothing."""
    add = names_to_add(sample.origins, axes, sampled=sampled)
    flows = len({origin.cell for origin in sample.origins}) < len(sample.origins)
    if not (add or flows):
        return ""
    several = len({origin.configuration for origin in sample.origins})
    what = [
        f"{several} configurations" if add else "",
        "several flows of each cell" if flows else "",
    ]
    names = ticked((*add, FLOW) if flows else add)
    fix = f", or fix {ticked(add)} with --where" if add else ""
    return f"the values are of {' and of '.join(filter(None, what))}: add {names} to --by{fix}"


def summarise(
    folder: Path,
    axes: Sequence[str],
    metric: str,
    by: Sequence[str] | None = None,
    where: Where | None = None,
    stat: str = "median",
    sampled: bool = False,
    repeats: Repeated = FIXED,
) -> list[Row]:
    """Summarise a metric over the cells of each group.

    folder: of the tables. axes: the plan's swept names in file order. metric: `goodput`,
    `fairness.F`; a metric of several values stands for its first one. by: what makes a group, out
    of the axes, `flow`, `repetition`, `load` and `protocol`; None: all axes and `flow`. where: whether a cell is
    looked at, of its bindings, `repetition` and `load` as text. Groups come in the order of the plan.
    sampled: whether the configurations are a random sample. repeats: how often they were repeated. Mixtures have no interval (mixtures.py).

    Raises UnknownName, and TableError when the tables cannot be read.
    """
    try:
        summary, of_mixtures = repeats.statistic(stat), FIXED.statistic(stat)
    except KeyError:
        raise UnknownName("statistic", stat, (*STATISTICS, "p90", "p99.9", "...")) from None
    name, unit, groups = samples(folder, axes, metric, by, where, sampled)
    return [
        _row(name, unit, stat, group, (of_mixtures if group.mixed else summary)(group.values))
        for group in groups
    ]


def measured(folder: Path) -> dict[str, str]:
    """Return full name -> unit of everything that a run has measured. Raises TableError."""
    with tables.connect(folder) as connection:
        return _measured(connection)


def _row(metric: str, unit: str, stat: str, group: Sample, estimate: Estimate) -> Row:
    if group.mixed:
        estimate = Estimate(estimate.n, estimate.value, reason=group.mixed)
    return Row(
        metric=metric,
        unit=unit,
        stat=stat,
        by=group.by,
        n=estimate.n,
        invalid=group.left_out,
        value=estimate.value,
        ci_low=estimate.low,
        ci_high=estimate.high,
        reason="; ".join(sorted(group.reasons)),
        no_interval=estimate.reason if estimate.low is None else "",
    )


def _metric(connection: duckdb.DuckDBPyConnection, metric: str) -> tuple[str, str]:
    """Return full name and unit of a metric. Raises UnknownName if the run has not measured it."""
    measured = _measured(connection)
    try:
        value = value_named(metric)
    except KeyError:
        raise UnknownName("metric", metric, measured) from None
    if measured and value.name not in measured:
        raise UnknownName("metric of this run", metric, measured)
    return value.name, value.unit


def _measured(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    query = "SELECT DISTINCT metric, unit FROM metrics ORDER BY ALL"
    return dict(connection.execute(query).fetchall())


def _cells(connection: duckdb.DuckDBPyConnection, axes: Sequence[str]) -> Iterator[_Cell]:
    columns = ["cell", "status", "verdict", REPETITION, *tables.axis_columns(axes).values()]
    selected = ", ".join(tables.quoted(column) for column in columns)
    for cell, status, verdict, repetition, *bound in connection.execute(
        f"SELECT {selected} FROM cells"
    ).fetchall():
        names = {**dict(zip(axes, bound, strict=True)), REPETITION: str(repetition)}
        yield _Cell(cell, names, status == "ok" and verdict != "invalid")


class _Place(NamedTuple):
    """The flow of a value, and its page load and HTTP version, if any."""

    flow: str | None
    load: str | None
    protocol: str | None


class _Number(NamedTuple):
    """A value of a cell."""

    place: _Place
    number: float | None
    reason: str


def _values(connection: duckdb.DuckDBPyConnection, metric: str) -> dict[str, list[_Number]]:
    values: dict[str, list[_Number]] = {}
    query = "SELECT cell, flow, load, protocol, value, reason FROM metrics WHERE metric = ?"
    for cell, flow, load, protocol, value, reason in connection.execute(query, [metric]).fetchall():
        place = _Place(flow, None if load is None else str(load), protocol)
        values.setdefault(cell, []).append(_Number(place, value, reason or ""))
    return values
