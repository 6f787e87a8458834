"""`repair = arq(...)`: a lost transmission is sent again, so that loss becomes delay."""

from __future__ import annotations

from fairc.cell.radio import MOST_TRIES, Arq
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_SWITCH, Quantities
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, TIME

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

NONE = Entry("none", "What is lost stays lost", runs=True)

REPAIRS: Registry[Entry] = Registry(
    "repair",
    "repair",
    [
        NONE,
        Entry(
            "arq",
            "A lost transmission is sent again: loss becomes delay",
            (TRIES, DELAY, ORDER),
            runs=True,
        ),
    ],
)

A_REPAIR = Entries(REPAIRS)


def repair_of(use: Use[Entry]) -> Arq | None:
    """Return how a link repairs losses; None for `none`."""
    if use.entry is NONE:
        return None
    return Arq(use[TRIES].whole, max(1, use[DELAY].ns), use[ORDER])


def refuse_beside(other: str, at: Span | None, repair: Span) -> None:
    """Refuse what a link with repair cannot have as well, given at `at`. Raises CompileError."""
    fail(
        "conflicting-repair",
        f"one link cannot have both `repair` and {other}",
        at,
        labels=(Label(repair, "the repair"),),
        notes=("what a packet's delay is made of could then not be checked",),
        help="put one of them on a separate link, behind a router",
    )
