"""Queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Size


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue: its registry name, its size, and those of its other arguments that are given.

    options: parameter -> its value, as its kind takes it. bands: code point -> the queue of packets
    with it, the first that is served first; of most queues none.
    """

    kind: str
    size: Size
    span: Span
    options: Mapping[str, object] = field(default_factory=dict)
    bands: Mapping[int, Queue] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Queue, ...]:
        """Itself, and the queues of its bands."""
        return (self, *self.bands.values())
