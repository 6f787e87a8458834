"""The loss models: a file each, and this list of them; `loss_of` returns what a link is given."""

from __future__ import annotations

from fairc.dsl.core.entries import Either, Use
from fairc.dsl.core.kinds import A_PROBABILITY
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.values import Quantity

from . import gilbert_elliott, loss, packets
from .model import Loss, LossModel

LOSSES: Registry[LossModel] = Registry(
    "loss model", "loss-model", [loss.LOSS, gilbert_elliott.GILBERT_ELLIOTT, packets.PACKETS]
)

A_LOSS = Either(A_PROBABILITY, LOSSES, "a percentage or a loss model")


def loss_of(given: Quantity | Use[LossModel]) -> Loss:
    """Return the losses that a link is given. Raises CompileError for impossible ones."""
    if isinstance(given, Quantity):
        return Loss(given.span, own=given.number)
    return given.entry.build(given)


__all__ = ["A_LOSS", "LOSSES", "Loss", "LossModel", "loss_of"]
