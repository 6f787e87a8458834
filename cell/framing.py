"""Framing: the headers, least size and cells that a link adds to IP packets."""

from __future__ import annotations

from dataclasses import dataclass, field

from .frames import ETHERNET_BYTES
from .numbers import Small
from .part import UNLESS_OFF, Part, unless

CELL_BYTES = 53
"""A cell of ATM (ITU-T I.361), bytes."""
CELL_PAYLOAD_BYTES = 48


@dataclass(frozen=True, slots=True)
class Framing(Part):
    """The length of IP packets on the wire.

    overhead_bytes: added to it. least_bytes: the length to which shorter ones are padded; left out
    where none is. cells: whether it is cut into ATM cells, the last one padded; left out if not.
    """

    overhead_bytes: Small = ETHERNET_BYTES
    least_bytes: Small = field(default=0, metadata=unless(0))
    cells: bool = field(default=False, metadata=UNLESS_OFF)

    def bytes(self, ip_bytes: int) -> int:
        """Return how long an IP packet is on the wire, bytes."""
        size = max(ip_bytes + self.overhead_bytes, self.least_bytes)
        return -(-size // CELL_PAYLOAD_BYTES) * CELL_BYTES if self.cells else size

    def growth(self, before: Framing, mtu: int) -> float:
        """Return the most by which a packet up to an MTU grows that was framed otherwise before."""
        if self == before:
            return 1.0
        return max(self.bytes(size) / before.bytes(size) for size in range(20, mtu + 1))

    def table_words(self, mtu: int) -> str:
        """Return the size table of tc for packets up to an MTU, and a space (tc-stab(8)).

        One entry a byte. Its overhead counts from the Ethernet frame that Linux sees.
        """
        if self == ETHERNET:
            return ""
        entries = max(mtu + self.overhead_bytes, self.least_bytes)
        words = (
            f"stab mtu {entries} tsize {entries} overhead {self.overhead_bytes - ETHERNET_BYTES}"
        )
        if self.least_bytes:
            words += f" mpu {self.least_bytes}"
        return words + f" linklayer {'atm' if self.cells else 'ethernet'} "

    def cake_words(self) -> str:
        """Return the options of CAKE's own shaper for it (tc-cake(8))."""
        if self == ETHERNET:
            return "raw overhead 0"
        least = f" mpu {self.least_bytes}" if self.least_bytes else ""
        return f"{'atm' if self.cells else 'noatm'} overhead {self.overhead_bytes}{least}"


ETHERNET = Framing()
"""Ethernet without preamble and checksum: what Linux counts by itself."""

UNLESS_ETHERNET = unless(ETHERNET)
