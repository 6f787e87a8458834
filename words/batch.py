"""`release = batch(...)`: packets leave a link in aggregates, or at slots."""

from __future__ import annotations

from dataclasses import dataclass

from fairc.cell.radio import SHORTEST_SLOT_NS, times_ns
from fairc.cell.workloads import Distribution
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_TIME, Quantities
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import PACKETS
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import Release
from fairc.words.distributions import DistributionEntry, Random, distribution

EVERY = Parameter(
    "every", Random(A_POSITIVE_TIME), "length of the slots at which aggregates begin, with the cell"
)
HOLD = Parameter(
    "hold", Random(A_POSITIVE_TIME), "an aggregate closes this long after its first packet", "0s"
)
SIZE = Parameter(
    "size",
    Quantities((PACKETS,), low=1, high=65_535, whole=True),
    "an aggregate closes with this many packets",
    otherwise="any number",
)

LONGEST_NS = 3600 * 10**9
"""The limits of the kernel."""

NONE = Entry("none", "Each packet leaves by itself, as soon as the one ahead has left", runs=True)

BATCH = Entry(
    "batch",
    "Packets leave in aggregates, each sent as one: all of it arrives when its transmission ends",
    (EVERY, HOLD, SIZE),
    runs=True,
)

RELEASES: Registry[Entry] = Registry("release", "release", [NONE, BATCH])

A_RELEASE = Entries(RELEASES)


@dataclass(frozen=True, slots=True)
class _Times:
    """The arguments of a time, as it is written: how messages name it."""

    parameter: Parameter[Quantity | Use[DistributionEntry]]
    use: Use[Entry]


def release_of(use: Use[Entry]) -> Release | None:
    """Return how packets leave a link; None for `none`. Raises CompileError."""
    if use.entry is NONE:
        return None
    every, hold, size = use.given(EVERY), use.given(HOLD), use.given(SIZE)
    if every is None and hold is None and size is None:
        fail(
            "missing-argument",
            "`batch` needs a time or a size",
            use.span,
            help="write `batch(every: 10ms)`, `batch(hold: 4ms, size: 32pkt)` or"
            " `batch(size: 32pkt)`",
        )
    if every is not None and hold is not None:
        fail(
            "conflicting-release",
            "an aggregate begins at a slot, or closes after a time, not both",
            use.span_of(HOLD),
            labels=(Label(use.span_of(EVERY), "slots are given here"),),
            help="leave one of them out",
        )
    return Release(
        size_packets=None if size is None else size.whole,
        hold=_lowered(_Times(HOLD, use), hold, 0),
        every=_lowered(_Times(EVERY, use), every, SHORTEST_SLOT_NS),
        span=use.span,
    )


def _lowered(
    of: _Times, given: Quantity | Use[DistributionEntry] | None, least_ns: int
) -> Distribution | None:
    """Return a time as the plan has it. Raises CompileError for one out of range."""
    if given is None:
        return None
    made = distribution(given).lowered()
    values, name = times_ns(made), of.parameter.name
    if min(values) < least_ns:
        fail(
            "out-of-range",
            f"`{name}` of `batch` must be at least {least_ns // 1000}us, whatever is drawn",
            of.use.span_of(of.parameter),
            help=f"write for example `{name}: uniform(1ms, 5ms)`",
        )
    if max(values) > LONGEST_NS:
        fail(
            "out-of-range",
            f"`{name}` of `batch` is at most an hour",
            of.use.span_of(of.parameter),
        )
    return made
