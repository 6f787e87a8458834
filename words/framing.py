"""`framing`: what a link adds to packets, and how long they are on the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairc.cell.frames import ETHERNET_BYTES
from fairc.cell.framing import ETHERNET, Framing
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import DATA
from fairc.dsl.core.values import Quantity

ETHERNET_PAYLOAD_BYTES = 46
"""The size to which Ethernet pads shorter packets (IEEE 802.3), bytes."""
DOCSIS_BYTES = 18
"""The header by which DOCSIS shapes: Ethernet with its checksum, bytes."""
TRAILER_BYTES = 8
"""The trailer of AAL5 (ITU-T I.363.5), bytes."""
MOST_BYTES = 256

_IN_CELLS: Parameter[Quantity] = Parameter(
    "overhead",
    Quantities((DATA,), low=8 * TRAILER_BYTES, high=8 * MOST_BYTES),
    "what an IP packet gets before it is cut into cells: 10B with PPPoA (VC-Mux), 32B with PPPoE"
    " (VC-Mux), 40B with PPPoE (LLC)",
    required=True,
)
_IN_FRAMES: Parameter[Quantity] = Parameter(
    "overhead",
    Quantities((DATA,), low=8 * ETHERNET_BYTES, high=8 * MOST_BYTES),
    "what an IP packet gets; by default header, checksum, preamble and gap",
    "38B",
)


@dataclass(frozen=True, kw_only=True)
class FramingEntry(Entry):
    """A way to frame packets."""

    build: Callable[[Use[FramingEntry]], Framing]
    runs: bool = True


def _bytes(size: Quantity) -> int:
    return round(size.number / 8)


def _padded(overhead_bytes: int) -> Framing:
    return Framing(overhead_bytes, ETHERNET_PAYLOAD_BYTES + overhead_bytes)


FRAMINGS: Registry[FramingEntry] = Registry(
    "framing",
    "framing",
    [
        FramingEntry(
            name="linux",
            summary="The IP packet and 14 bytes of Ethernet: what Linux counts by itself",
            build=lambda use: ETHERNET,
        ),
        FramingEntry(
            name="atm",
            summary="Cells of 53 bytes with 48 of content (ADSL, AAL5), the last one padded",
            parameters=(_IN_CELLS,),
            build=lambda use: Framing(_bytes(use[_IN_CELLS]), cells=True),
        ),
        FramingEntry(
            name="docsis",
            summary="Cable: 18 bytes of Ethernet with its checksum, at least 64 in all",
            build=lambda use: _padded(DOCSIS_BYTES),
        ),
        FramingEntry(
            name="ethernet",
            summary="Ethernet with so much around a packet, of which 46 bytes are sent at least",
            parameters=(_IN_FRAMES,),
            build=lambda use: _padded(_bytes(use[_IN_FRAMES])),
        ),
    ],
)
A_FRAMING = Entries(FRAMINGS)


def framing_of(
    use: Use[FramingEntry], rate: Quantity | None, other: tuple[str, Span] | None
) -> Framing:
    """Return the framing of a link.

    rate: of the link. other: what it does not go with, and where that is. Raises CompileError.
    """
    framing = use.entry.build(use)
    if framing == ETHERNET:
        return framing
    if rate is None:
        fail(
            "framing-without-rate",
            "framing needs a link with a rate, but this link has none",
            use.span,
            notes=("where packets take no time, their size does not matter",),
            help="give the link a `rate`, such as `rate = 831kbit/s`",
        )
    if other is not None:
        fail(
            "conflicting-framing",
            f"one link cannot have both `framing` and {other[0]}",
            use.span,
            labels=(Label(other[1], "given here"),),
            notes=("these count packets, or the bytes of Linux",),
            help="leave one of them out, or put it on a separate link, behind a router",
        )
    return framing
