"""Effects of a link on packets, besides delay and loss: what all kinds of a plan have in common;
each has a folder of its own (mechanisms/effects).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from .part import Kinds, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect(Part):
    """What a netem does to packets that it has not lost, at random.

    trait: how the report calls it among what links do.
    """

    trait: ClassVar[str]

    kind: str

    @property
    def damaged(self) -> float:
        """The probability that the next host that looks drops the packet, by its checksums; then
        packets are captured whole.
        """
        return 0.0

    @property
    def words(self) -> str:
        """Its arguments of netem."""
        raise NotImplementedError


EFFECT_KINDS: Kinds[Effect] = Kinds()
AnyEffect = Annotated[Effect, EFFECT_KINDS]
"""An effect, of one of the kinds."""
