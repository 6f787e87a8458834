"""Mechanisms of links: what the declaration of one says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from fairc.cell.medium import Medium, Repair
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.features import Feature
from fairc.dsl.model import LinkMedium

T = TypeVar("T")


class LinkSettings(Protocol):
    """The settings of a link."""

    def given(self, key: Parameter[T]) -> T | None:
        """Return the value of a key, or None if it is not given or wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMechanism:
    """A mechanism of links.

    keys: of a link that has it.
    medium: returns what transmits in place of a shaper; None: nothing does. Raises CompileError.
    repair: returns how lost packets are sent again, and the key that asks for it; None: they are
    not. Raises CompileError.
    features: what not every engine has.
    required: yields those that a medium or a repair requires.
    """

    keys: tuple[Parameter[Any], ...]
    medium: Callable[[LinkSettings], LinkMedium | None]
    repair: Callable[[LinkSettings], tuple[Repair, Parameter[Any]] | None]
    features: tuple[Feature, ...]
    required: Callable[[Medium | None, Repair | None], Iterator[Feature]]
