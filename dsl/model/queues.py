"""Sizes that may depend on the path, and queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from fairc.dsl.core.source import Span


@dataclass(frozen=True, slots=True)
class Size:
    """An amount of data: bytes, packets, multiples of the BDP, or seconds at the link's rate.

    A threshold of a queue may also be a share of the queue's `limit`.
    """

    amount: Fraction
    unit: Literal["B", "pkt", "bdp", "s", "limit"]
    span: Span


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue: its registry name, its size, and those of its other arguments that are given.

    options: parameter -> its value, as its kind takes it.
    """

    kind: str
    size: Size
    span: Span
    options: Mapping[str, object] = field(default_factory=dict)
