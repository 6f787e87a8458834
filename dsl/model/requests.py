"""What is swept, measured and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairc.dsl.core.source import Span


@dataclass(frozen=True, slots=True)
class Axis:
    """One swept name (or one name of a bound tuple) and its values in canonical text.

    numbers, unit: the values in an SI base unit (bytes for sizes) where all are quantities of one
    dimension, else empty.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that `--set` replaced: the name, the value as given, and what the file says (or nothing)."""

    name: str
    value: str
    instead: str = ""


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """An entry of `measure`: `name` is in METRICS; arguments in canonical form.

    sessions: the flows named by position (`fairness(tcp, quic)`); empty means all.
    options: keyword arguments, times in seconds, sizes in bytes. span: where it is asked for.
    values: those that are named (`queue_delay.p95`, and `queue_delay` for its first one); empty: the first.
    """

    name: str
    sessions: tuple[str, ...]
    options: Mapping[str, float | str]
    span: Span | None = field(default=None, compare=False)
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Goal:
    """How precise a value must be: `metric` as in `measure` (`fairness.F`).

    within: the larger half of its interval at most, relative to the value or in the value's SI unit.
    """

    metric: str
    within: float
    relative: bool


@dataclass(frozen=True, slots=True)
class Precision:
    """When repetitions end: after the least number of them as soon as every goal is reached.

    per: the swept names whose values distinguish what ends together; empty: all configurations do.
    claims: whether every claim must be decided, too.
    """

    least: int
    goals: tuple[Goal, ...]
    per: tuple[str, ...] = ()
    claims: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """The cells for which a condition holds, without the condition.

    text: the condition as written. names: the swept names (and `repetition`) that it depends on;
    rows: their values, in canonical text, for which it holds.
    """

    text: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class FigureRequest:
    """An entry of `report`: figure kind, the metric it shows (`fairness.F`), its options.

    options: words and names as text, quantities in SI base units; defaults are filled in.
    where: the cells that it shows, or None for all.
    """

    kind: str
    metric: str | None
    options: Mapping[str, str | float | tuple[str, ...]]
    where: Selection | None = None
