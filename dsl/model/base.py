"""The base of the parts of a plan that pydantic checks as they are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel, ConfigDict, ValidationError

from fairc.dsl.core.diagnostics import CompileError, Diagnostic


class Model(BaseModel):
    """Base of every part of a plan: immutable, strictly typed, nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)


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
                    message=f"`{field}` of a {part.removesuffix('s')} of the plan {why}",
                    help="docs/reference/plan.md lists the limits",
                )
            ]
        ) from None
