"""Parts of a plan: what makes a dataclass one, and which of its fields the JSON leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .frames import MTU


class Part:
    """A part of a plan: a frozen dataclass, the same in a plan, an emitted program and a conductor.

    Where a plan is read or written pydantic checks it as this says: nothing unknown, nothing
    converted, and what a compiler has made as well as what comes from outside.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, object]] = {
        "strict": True,
        "extra": "forbid",
        "revalidate_instances": "always",
    }


def absent(value: object) -> bool:
    """Whether a field is left out of the JSON because it has no value."""
    return value is None


def off(value: object) -> bool:
    """Whether a switch is left out of the JSON because it is off."""
    return value is False


def empty(value: object) -> bool:
    """Whether a field is left out of the JSON because it is empty."""
    return value == ()


def usual(value: object) -> bool:
    """Whether an MTU is left out of the JSON because it is the default."""
    return value == MTU


def _unless(left_out: Callable[[object], bool]) -> dict[str, Any]:
    return {"exclude_if": left_out}


def unless(default: object) -> dict[str, Any]:
    """Return the metadata of a field that is left out of the JSON where it has this value."""
    return _unless(lambda value: value == default)


UNLESS_ABSENT, UNLESS_OFF, UNLESS_EMPTY, UNLESS_USUAL = map(_unless, (absent, off, empty, usual))
"""Metadata of fields that are not in the JSON where they have no value, so that they leave
identities alone.
"""

BY_KIND = {"discriminator": "kind"}
"""Metadata of a field whose classes are told apart by their `kind`."""
