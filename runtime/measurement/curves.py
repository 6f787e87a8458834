"""What a metric has besides its values: traces over time, and curves over something else."""

from __future__ import annotations

from dataclasses import dataclass

from fairc.runtime.arrays import Floats


@dataclass(frozen=True, slots=True)
class Trace:
    """The course of a metric over time: its name (`fmp.K`), and its flow, if it belongs to one.

    t_s: s after the epoch, increasing; values: in the unit of the metric; both of shape (N,).
    """

    metric: str
    flow: str | None
    t_s: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of a metric over something other than time: `name` says which; scale: 0 for none.

    x, y, low, high: shape (N,), in the units of the metric's definition; NaN where there is
    nothing.
    """

    metric: str
    flow: str | None
    name: str
    scale: int
    x: Floats
    y: Floats
    low: Floats
    high: Floats
