"""Amounts of data that may depend on the path: the kinds of values that become a `Size`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import BDP, DATA, PACKETS, SHARE, TIME, Dimension
from fairc.dsl.core.values import Quantity, Value
from fairc.dsl.model import Size

_UNITS: Mapping[Dimension, Literal["B", "pkt", "bdp", "s", "limit"]] = {
    DATA: "B",
    PACKETS: "pkt",
    BDP: "bdp",
    TIME: "s",
    SHARE: "limit",
}


@dataclass(frozen=True)
class Sizes:
    """Quantities that are sizes; a share is of the queue's limit."""

    quantity: Quantities

    @property
    def phrase(self) -> str:
        """Describe the quantity."""
        return self.quantity.phrase

    def take(self, value: Value, use: str, at: Span | None = None) -> Size:
        """Return the size; data is in bytes. Raises CompileError."""
        found = self.quantity.take(value, use, at)
        amount = found.number / 8 if found.dimension == DATA else found.number
        return Size(amount, _UNITS[found.dimension], found.span)


# What the kernel accepts as it is; it enlarges smaller buffers.
A_BUFFER = Quantities((DATA,), low=8 * 4096, high=8 * 2**30 - 8)
A_WINDOW = Quantities((DATA,), low=8 * 2048, high=8 * (65_535 << 14))
A_PACKET_SIZE = Quantities((DATA,), low=8 * 64, high=8 * 9000)

A_QUEUE_SIZE = Sizes(Quantities((DATA, PACKETS, BDP, TIME), open_low=True))
A_THRESHOLD = Sizes(Quantities((SHARE, DATA, PACKETS, TIME), open_low=True))


def whole_bytes(size: Quantity) -> int:
    """Return a size in whole bytes. Raises CompileError if it is less than one."""
    if size.number < 8:
        fail("out-of-range", "this is less than one byte", size.span, f"{size.canonical}")
    return round(size.number / 8)
