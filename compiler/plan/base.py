"""What every part of a plan is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from fairc.dsl.model import MTU


class Model(BaseModel):
    """Base of every part of a plan: immutable, strictly typed, nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


def absent(value: object) -> bool:
    """Whether a field is left out of the JSON because nothing is given."""
    return value is None


def empty(value: object) -> bool:
    """Whether a tuple is left out of the JSON because there is nothing in it."""
    return value == ()


def usual(value: object) -> bool:
    """Whether an MTU is left out of the JSON because it is the one of most links."""
    return value == MTU


Mtu = Annotated[int, Field(exclude_if=usual)]
"""Largest IP packet, bytes; not in the JSON where it is 1500, so that it leaves identities alone."""
