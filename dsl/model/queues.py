"""Queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Size


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue: its registry name, its size, and those of its other arguments that are given.

    options: parameter -> its value, as its kind takes it.
    """

    kind: str
    size: Size
    span: Span
    options: Mapping[str, object] = field(default_factory=dict)
