"""What is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairc.dsl.core.source import Span


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """An entry of `measure`, as in the plan, and where it is written.

    sessions: the flows named by position (`fairness(tcp, quic)`); empty means all.
    options: keyword arguments, times in seconds, sizes in bytes. span: where it is written.
    values: the sub-values that are named (`queue_delay.p95`, and `queue_delay` for its first one);
    empty: the first.
    """

    name: str
    sessions: tuple[str, ...]
    options: Mapping[str, float | str]
    span: Span | None = field(default=None, compare=False)
    values: tuple[str, ...] = ()
