"""Types of fields that several parts of a plan have."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fairc.cell.numbers import MtuBytes
from fairc.cell.part import usual

MAX_PROCESSING_NS = 4_000_000_000
MAX_SYSCALL_COST_NS = 100_000

SAMPLE_EVERY_NS = 100_000_000
"""How often endpoints sample a connection unless a metric requests more (measurement.md, rule
19).
"""


def unhurried(value: object) -> bool:
    """Whether a sampling interval is left out of the JSON because it is the default."""
    return value == SAMPLE_EVERY_NS


SampleEvery = Annotated[int, Field(ge=100_000, le=SAMPLE_EVERY_NS, exclude_if=unhurried)]
"""Between samples of a connection, ns; not in the JSON where it is 100 ms.

Endpoints take 100 us and more.
"""


def complete(value: object) -> bool:
    """Whether a cell's captures are left out of the JSON because they are the default."""
    return value == "full"


Captured = Annotated[Literal["full", "none"], Field(exclude_if=complete)]
"""Whether packets are captured; not in the JSON where they are, so that it leaves identities
alone.
"""

Mtu = Annotated[MtuBytes, Field(exclude_if=usual)]
"""Largest IP packet, bytes; not in the JSON where it is 1500, so that it leaves identities
alone.
"""
