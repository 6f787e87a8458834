"""Amounts of data: kinds of values, some of which may depend on the path."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairc.dsl.core.kinds import Quantities, refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import BDP, DATA, PACKETS, SHARE, TIME
from fairc.dsl.core.values import Mixture, Quantity, Size, Value


@dataclass(frozen=True)
class Sizes:
    """Quantities that are sizes, and mixtures of them; a share is of the queue's limit."""

    quantity: Quantities

    @property
    def phrase(self) -> str:
        """Describe the quantity."""
        return self.quantity.phrase

    def take(self, value: Value, use: str, at: Span | None = None) -> Size:
        """Return the size. Raises CompileError."""
        if not isinstance(value, Mixture):
            return self.quantity.take(value, use, at)
        if not value.dimensions <= set(self.quantity.dimensions):
            refuse(self.quantity, value, use, at)
        return value


# What the kernel accepts as it is; it enlarges smaller buffers.
A_BUFFER = Quantities((DATA,), low=8 * 4096, high=8 * 2**30 - 8)
A_WINDOW = Quantities((DATA,), low=8 * 2048, high=8 * (65_535 << 14))
AN_UNSENT_SIZE = Quantities((DATA,), low=8, high=8 * 2**29)
A_LEAST_TIMEOUT = Quantities((TIME,), low=Fraction(1, 1000), high=120)
A_PACKET_SIZE = Quantities((DATA,), low=8 * 68, high=8 * 9000)

A_QUEUE_SIZE = Sizes(Quantities((DATA, PACKETS, BDP, TIME), open_low=True))
A_THRESHOLD = Sizes(Quantities((SHARE, DATA, PACKETS, BDP, TIME), open_low=True))


def whole_bytes(size: Quantity) -> int:
    """Return a size in whole bytes. Raises CompileError if it is less than one."""
    if size.number < 8:
        fail("out-of-range", "this is less than one byte", size.span, f"{size.canonical}")
    return round(size.number / 8)
