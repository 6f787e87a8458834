"""The keys of `at TIME { ... }` of a link."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core import units
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_TIME, Quantities
from fairc.dsl.core.registry import Registry
from fairc.words.losses import A_LOSS

RATE = Parameter("rate", Quantities((units.RATE,)), "rate from then on; zero: packets wait")
DELAY = Parameter("delay", A_TIME, "one-way delay from then on")
LOSS = Parameter("loss", A_LOSS, "random loss from then on")

CHANGE: Registry[Parameter[Any]] = Registry("key of `at`", "key", [RATE, DELAY, LOSS])
