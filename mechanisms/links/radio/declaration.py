"""Declaration of `radio`: the keys `release` (aggregates and slots), `repair` (lost transmissions
are sent again) and `acks` (fewer acknowledgements) of a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from fairc.cell.medium import Medium, Repair
from fairc.cell.workloads import Distribution
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.features import Feature
from fairc.dsl.core.kinds import A_POSITIVE_TIME, A_SWITCH, Quantities
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import NUMBER, PACKETS, TIME
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import LinkMedium, Misplaced
from fairc.mechanisms.links.link import LinkMechanism, LinkSettings
from fairc.words.distributions import DistributionEntry, Random, distribution

from .cell import MOST_TRIES, SHORTEST_SLOT_NS, Arq, RadioMedium, times_ns

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

NO_BATCH = Entry(
    "none", "Each packet leaves by itself, as soon as the one ahead has left", runs=True
)

BATCH = Entry(
    "batch",
    "Packets leave in aggregates, each sent as one: all of it arrives when its transmission ends",
    (EVERY, HOLD, SIZE),
    runs=True,
)

RELEASES: Registry[Entry] = Registry("release", "release", [NO_BATCH, BATCH])

RELEASE = Parameter("release", Entries(RELEASES), "packets leave the queue in aggregates", "none")

TRIES = Parameter(
    "tries",
    Quantities((NUMBER,), low=1, high=MOST_TRIES, whole=True),
    "how often a packet is sent again at most; then it is lost",
    required=True,
)
DELAY = Parameter(
    "delay",
    Quantities((TIME,), open_low=True),
    "from one transmission of a packet to the next",
    required=True,
)
ORDER = Parameter("order", A_SWITCH, "later packets wait for those that are repaired", "on")

NO_REPAIR = Entry("none", "What is lost stays lost", runs=True)

REPAIRS: Registry[Entry] = Registry(
    "repair",
    "repair",
    [
        NO_REPAIR,
        Entry(
            "arq",
            "A lost transmission is sent again: loss becomes delay",
            (TRIES, DELAY, ORDER),
            runs=True,
        ),
    ],
)

REPAIR = Parameter("repair", Entries(REPAIRS), "lost transmissions are sent again", "none")

RATIO = Parameter(
    "n",
    Quantities((NUMBER,), low=1, high=1000, whole=True),
    "of so many new acknowledgements of a connection the last passes",
    required=True,
)

ALL = Entry("all", "Every acknowledgement passes", runs=True)

THINNINGS: Registry[Entry] = Registry(
    "thinning",
    "thinning",
    [
        ALL,
        Entry("thin", "Of n new acknowledgements of a connection one passes", (RATIO,), runs=True),
    ],
)

ACKS = Parameter("acks", Entries(THINNINGS), "fewer acknowledgements in front of the queue", "all")

READS_ACKS = (
    "thins acknowledgements of TCP",
    Misplaced(
        "thinning-in-tunnel",
        "thin them on a link in front of the tunnel, or write `acks = all`",
    ),
)


@dataclass(frozen=True, slots=True)
class _Times:
    """The arguments of a time, as it is written: how messages name it."""

    parameter: Parameter[Quantity | Use[DistributionEntry]]
    use: Use[Entry]


def medium_of(settings: LinkSettings) -> LinkMedium | None:
    """Return how packets leave a link; None: one by one, and all acknowledgements pass. Raises
    CompileError.
    """
    release, acks = settings.given(RELEASE), settings.given(ACKS)
    batch = None if release is None or release.entry is NO_BATCH else release
    thin = None if acks is None or acks.entry is ALL else acks
    given = ((RELEASE, batch), (ACKS, thin))
    keys = tuple(key.name for key, use in given if use is not None)
    where = batch or thin
    if where is None:
        return None
    planned = RadioMedium(size_packets=1) if batch is None else _batch(batch)
    if thin is not None:
        planned = replace(planned, thin=thin[RATIO].whole)
    return LinkMedium(planned, keys, where.span, READS_ACKS if thin else None)


def repair_of(settings: LinkSettings) -> tuple[Arq, Parameter[Any]] | None:
    """Return how a link repairs losses; None: it does not."""
    use = settings.given(REPAIR)
    if use is None or use.entry is NO_REPAIR:
        return None
    arq = Arq(tries=use[TRIES].whole, wait_ns=max(1, use[DELAY].ns), in_order=use[ORDER])
    return arq, REPAIR


def _batch(use: Use[Entry]) -> RadioMedium:
    """Return how `batch` sends packets. Raises CompileError."""
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
    return RadioMedium(
        size_packets=None if size is None else size.whole,
        hold=_lowered(_Times(HOLD, use), hold, 0),
        every=_lowered(_Times(EVERY, use), every, SHORTEST_SLOT_NS),
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


_PATCHED = "offer (only the kernel of uml can)"
AGGREGATES = Feature(
    "aggregates and slots", "batch", "sends in aggregates", _PATCHED, "without `batch`"
)
REPAIRED = Feature("repaired losses", "arq", "repairs losses", _PATCHED, "without `arq`")
THINNED = Feature(
    "thinned acknowledgements", "thin", "thins acknowledgements", _PATCHED, "without `thin`"
)


def required(medium: Medium | None, repair: Repair | None) -> Iterator[Feature]:
    """Yield the features that a link requires."""
    if isinstance(medium, RadioMedium):
        if medium.thin is not None:
            yield THINNED
        if medium.size_packets != 1 or medium.thin is None:
            yield AGGREGATES
    if isinstance(repair, Arq):
        yield REPAIRED


DECLARATION = LinkMechanism(
    keys=(RELEASE, REPAIR, ACKS),
    medium=medium_of,
    repair=repair_of,
    features=(AGGREGATES, REPAIRED, THINNED),
    required=required,
)
