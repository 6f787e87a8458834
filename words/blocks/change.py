"""The keys of `at TIME { ... }` and `every TIME { ... }` of a link."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core import units
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_PROBABILITY, A_TIME, Quantities
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Applied, Quantity, Value
from fairc.words.distributions import DISTRIBUTIONS, DistributionEntry, Random
from fairc.words.jitter import A_JITTER
from fairc.words.losses import A_LOSS, LossModel


class _RandomLoss:
    """A percentage, a distribution from which it is drawn, or a loss model."""

    phrase = "a percentage, a distribution or a loss model"

    def take(
        self, value: Value, use: str, at: Span | None = None
    ) -> Quantity | Use[DistributionEntry] | Use[LossModel]:
        """Return the value. Raises CompileError unless it is one of the three."""
        if isinstance(value, Applied) and value.name in DISTRIBUTIONS:
            return Random(A_PROBABILITY).take(value, use, at)
        return A_LOSS.take(value, use, at)


RATE = Parameter("rate", Random(Quantities((units.RATE,))), "rate from then on; zero: packets wait")
DELAY = Parameter("delay", Random(A_TIME), "one-way delay from then on")
LOSS = Parameter("loss", _RandomLoss(), "random loss from then on")

REORDER = Parameter("reorder", Random(A_PROBABILITY), "share of packets that skip the delay")

JITTER = Parameter("jitter", A_JITTER, "random part of the delay from then on")

CHANGE: Registry[Parameter[Any]] = Registry(
    "key of `at` and `every`", "key", [RATE, DELAY, LOSS, REORDER, JITTER]
)
