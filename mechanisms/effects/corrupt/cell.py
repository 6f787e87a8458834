"""The part of a plan that flips bits: what netem takes for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.batch import percent
from fairc.cell.effects import EFFECT_KINDS, Effect
from fairc.cell.numbers import Probability


@EFFECT_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Corruption(Effect):
    """Flips a bit of packets; share: the probability that it does."""

    trait = "packets with bits flipped"
    kind: Literal["corrupt"] = "corrupt"
    share: Probability

    @property
    def damaged(self) -> float:
        """The share: a flipped bit is found, but in the few bytes that nobody sums."""
        return self.share

    @property
    def words(self) -> str:
        """Its arguments of netem."""
        return f"corrupt {percent(self.share)}%"
