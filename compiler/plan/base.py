"""The base of all parts of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairc.cell.numbers import MtuBytes
from fairc.cell.part import usual
from fairc.dsl.core.diagnostics import CompileError, Diagnostic


class Model(BaseModel):
    """Base of every part of a plan: immutable, strictly typed, nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


BOUNDS = frozenset(
    {
        *("greater_than_equal", "less_than_equal", "too_long"),
        *("string_too_long", "string_pattern_mismatch"),
    }
)
"""Errors of values that an experiment can request but a plan cannot hold; any other is a bug."""


@contextmanager
def within_bounds() -> Iterator[None]:
    """Turn a value outside a plan's limits into a diagnostic. Raises CompileError."""
    try:
        yield
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if found["type"] not in BOUNDS:
            raise
        *_, part, field = (error.title.lower(), *(one for one in found["loc"] if type(one) is str))
        why = found["msg"].removeprefix("Input ").removeprefix("String ")
        raise CompileError(
            [
                Diagnostic(
                    code="beyond-plan",
                    message=f"`{field}` of a {part} of the plan {why}",
                    help="docs/reference/plan.md lists the limits",
                )
            ]
        ) from None


def empty(value: object) -> bool:
    """Whether a field is left out of the JSON because it is empty."""
    return value == ()


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
