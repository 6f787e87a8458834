"""The declaration of `corrupt`."""

from __future__ import annotations

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_PROBABILITY
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import Misplaced
from fairc.mechanisms.effects.effect import EffectEntry

from .cell import Corruption


def _read(share: Quantity) -> Corruption | None:
    return Corruption(share=float(share.number)) if share.number else None


DECLARATION = EffectEntry(
    key=Parameter("corrupt", A_PROBABILITY, "share of packets with a bit flipped", "0%"),
    read=_read,
    does="flips bits of packets",
    beside_copies="netem would flip bits of a packet and of its copy, each by its own coin",
    tunnelled=Misplaced("corrupt-in-tunnel", "put `corrupt` on a link in front of the tunnel"),
)
