"""Packets of a link: the largest one, how frames are sent, queues that are small for them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import get_args

from fairc.cell.frames import MTU
from fairc.dsl import model
from fairc.dsl.core.diagnostics import Diagnostic, Label, Severity
from fairc.dsl.core.kinds import Quantities, Words
from fairc.dsl.core.problems import fail
from fairc.dsl.core.units import BDP, DATA, PACKETS, TIME
from fairc.dsl.core.values import Quantity, Size
from fairc.dsl.model.links import Transmit

# From what every IPv4 host accepts (RFC 791, section 3.1) to Ethernet's jumbo frames.
A_MTU = Quantities((DATA,), low=8 * 576, high=8 * 9000)


A_TRANSMISSION: Words[Transmit] = Words("transmission", get_args(Transmit))


def mtu_of(own: Quantity | None, opposite: Quantity | None, *, traced: bool) -> int:
    """Return the MTU of a link, bytes, from those of its two directions (None: not given).

    traced: whether the rate of this direction follows a trace. Raises CompileError if the two
    differ (a cable has one MTU), and for packets that are larger than a trace's.
    """
    given = own or opposite
    if given is None:
        return MTU
    if own is not None and opposite is not None and own.number != opposite.number:
        fail(
            "conflicting-mtu",
            "the two directions of this link have different MTUs",
            own.span,
            labels=(Label(opposite.span, "the MTU of the opposite direction"),),
            help="set it in one direction: it applies to both",
        )
    mtu = round(given.number / 8)
    if traced and mtu > MTU:
        fail(
            "mtu-above-trace",
            "packets of this size are larger than those of the link's trace",
            given.span,
            notes=(f"a Mahimahi trace counts packets of {MTU} bytes",),
            help=f"set the MTU to {MTU}B or less",
        )
    return mtu


def warn_small(way: model.Direction, report: Callable[[Diagnostic], None]) -> None:
    """Warn about a queue of less than two full packets; the compiler refuses less than one.

    A size in `bdp` is left to the compiler, too: it depends on the path.
    """
    for queue in way.queue.parts:
        _warn_small(queue.size, way, report)


def _warn_small(size: Size, way: model.Direction, report: Callable[[Diagnostic], None]) -> None:
    frame = way.frame_bytes
    if BDP in size.dimensions or (TIME in size.dimensions and way.rate_bps is None):
        return
    units = {DATA: Fraction(1), PACKETS: Fraction(8 * frame), TIME: Fraction(way.rate_bps or 0)}
    packets = size.bits(units) / (8 * frame)
    if 1 <= packets < 2:
        report(
            Diagnostic(
                "small-queue",
                "this queue holds less than two full packets",
                size.span,
                note=f"about {float(packets):.2g} packets of {frame} bytes",
                notes=("a burst of two packets always loses one, whatever the CCA does",),
                severity=Severity.WARNING,
            )
        )
