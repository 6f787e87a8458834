"""`resume` of a CCA over QUIC: what an earlier connection learnt (Careful Resume, RFC 9959)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import BDP, DATA
from fairc.dsl.core.values import Size
from fairc.words.sizes import Sizes

from .cca import Setting

FIELDS = ("resume_bytes", "resume_rtt_us")
"""Its part of a plan: the window, and the smallest RTT, which is the base RTT of the path."""

WINDOW = Parameter(
    "window",
    Sizes(Quantities((BDP, DATA), open_low=True)),
    "window that an earlier connection had; a BDP is the UDP payload that fills the path",
    required=True,
)

CAREFUL = Entry(
    "careful", "It jumps to half of the window, and validates that (RFC 9959)", (WINDOW,), runs=True
)

OFF = Entry("off", "Nothing was learnt", runs=True)

RESUMPTIONS: Registry[Entry] = Registry("way to resume", "word", [OFF, CAREFUL])

RESUME = Parameter(
    "resume",
    Entries(RESUMPTIONS),
    "Careful Resume (RFC 9959): `careful(window)`, what an earlier connection had",
    "off",
)


def window_of(resume: Use[Entry] | None) -> Size | None:
    """Return the window that an earlier connection had, or None."""
    return resume[WINDOW] if resume is not None and resume.entry is CAREFUL else None


def settings(window: Size, bdp_bytes: int, base_rtt_ns: int) -> Mapping[str, Setting]:
    """Return what the plan holds. bdp_bytes: the window that fills the path; base_rtt_ns: > 0."""
    size = window.bits({BDP: Fraction(8 * bdp_bytes), DATA: Fraction(1)}) / 8
    return dict(zip(FIELDS, (max(1, round(size)), max(1, base_rtt_ns // 1000)), strict=True))
