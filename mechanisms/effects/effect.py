"""Effects of links: what the declaration of one says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairc.cell.effects import Effect
from fairc.dsl.core.entries import Parameter
from fairc.dsl.model import Misplaced


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectEntry:
    """A kind of effect of a link.

    key: of a link that has it. read: returns it, from the value of the key; None where there is
    none.
    does: what a link with it does to packets, in messages.
    beside_copies: why duplicates do not go with it. tunnelled: where packets pass it in a tunnel.
    """

    key: Parameter[Any]
    read: Callable[[Any], Effect | None]
    does: str
    beside_copies: str
    tunnelled: Misplaced
