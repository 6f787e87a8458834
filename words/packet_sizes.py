"""Packets of a link: the largest one, how frames are sent, queues that are small for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairc.cell.frames import ETHERNET_BYTES, MTU
from fairc.dsl import model
from fairc.dsl.core.diagnostics import Diagnostic, Label, Severity
from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_RATE, Quantities
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import BDP, DATA, PACKETS, TIME
from fairc.dsl.core.values import Quantity, Size
from fairc.dsl.model.links import Burst, Transmit

# From what every IPv4 host accepts (RFC 791, section 3.1) to Ethernet's jumbo frames.
A_MTU = Quantities((DATA,), low=8 * 576, high=8 * 9000)

BURST = Parameter(
    "burst",
    Quantities((DATA,), open_low=True, high=8 * (2**31 - 1)),
    "what the bucket holds, of frames; full at first",
    otherwise="one frame, and a slack for late timers",
)
PEAK = Parameter(
    "peak", A_RATE, "rate at which frames of a burst are sent", otherwise="they take no time"
)


@dataclass(frozen=True, kw_only=True)
class Transmission(Entry):
    """A way in which a link sends frames."""

    transmit: Transmit
    runs: bool = True


TRANSMISSIONS: Registry[Transmission] = Registry(
    "transmission",
    "transmission",
    [
        Transmission(
            name="frames",
            summary="Each frame takes its length over the rate, however idle the link is",
            transmit="frames",
        ),
        Transmission(
            name="bucket",
            summary="A token bucket in front of the queue's end: what has waited for long enough"
            " leaves as a burst",
            parameters=(BURST, PEAK),
            transmit="bucket",
        ),
    ],
)
A_TRANSMISSION = Entries(TRANSMISSIONS)
LONGEST_S = 60
"""The longest time that a bucket may take to fill, s: the kernel counts in 32 bits of 64 ns."""


def burst_of(
    use: Use[Transmission],
    rate: Quantity | None,
    mtu: int,
    changes: Span | None,
    varies: Span | None,
) -> Burst | None:
    """Return the bucket of a link; None: it holds one frame, or there is none.

    rate, mtu: of the link. changes: where its rate changes; varies: where anything else does.
    Raises CompileError.
    """
    burst, peak = use.given(BURST), use.given(PEAK)
    if burst is None and peak is None:
        return None
    if burst is None:
        fail(
            "missing-argument",
            "a bucket with a `peak` needs `burst`",
            use.span,
            help="for example `bucket(burst: 15kB, peak: 100Mbit/s)`",
        )
    if rate is None:
        fail(
            "release-without-rate",
            "a bucket needs a link with a rate, but this link has none",
            use.span,
            help="give the link a `rate`",
        )
    if changes is not None:
        fail(
            "conflicting-release",
            "the kernel fills this bucket whenever the rate of its link changes",
            burst.span,
            labels=(Label(changes, "the rate changes here"),),
            help="leave `burst` out, or keep the rate",
        )
    if peak is not None and varies is not None:
        fail(
            "conflicting-release",
            "what sends the frames of a burst one by one keeps them in order, and begins anew with"
            " each change",
            peak.span,
            labels=(Label(varies, "this link does not"),),
            help="put one of them on a separate link, behind a router",
        )
    _check_sizes(burst, peak, rate, mtu + ETHERNET_BYTES)
    return Burst(round(burst.number / 8), None if peak is None else round(peak.number))


def _check_sizes(burst: Quantity, peak: Quantity | None, rate: Quantity, frame: int) -> None:
    """Refuse a bucket that is too small or too large for its link, and a peak that is none.

    frame: the largest, bytes. Raises CompileError.
    """
    if round(burst.number / 8) < frame:
        fail(
            "shallow-bucket",
            "no full frame ever passes a bucket that holds less",
            burst.span,
            f"a frame has {frame} bytes",
            help=f"write {frame}B or more, or leave `burst` out",
        )
    if burst.number > LONGEST_S * rate.number:
        fail(
            "deep-bucket",
            f"this bucket takes more than {LONGEST_S} s to fill",
            burst.span,
            labels=(Label(rate.span, "at this rate"),),
            help="make it smaller",
        )
    if peak is not None and peak.number <= rate.number:
        fail(
            "conflicting-rates",
            "a bucket whose `peak` is no faster than the link bursts nothing",
            peak.span,
            labels=(Label(rate.span, "the rate of the link"),),
            help="make `peak` larger; presets give `transmit` to all of their links: for one of"
            " them write `with { link left -> right { transmit = ... } }`",
        )


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
