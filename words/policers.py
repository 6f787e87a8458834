"""The policers: what may police a direction of a link."""

from __future__ import annotations

from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_PACKET_RATE, Quantities, Words
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import PACKETS
from fairc.dsl.model import Policer
from fairc.dsl.model.links import Charge, Feedback, Harshness

_HARSHNESS: Words[Harshness] = Words("harshness", ("soft", "mild", "strict"))
_FEEDBACK: Words[Feedback] = Words("feedback", ("none", "classic", "accurate"))
_CHARGE: Words[Charge] = Words("charge", ("forwarded", "arrived"))

RATE = Parameter("rate", A_PACKET_RATE, "fill rate of the bucket", required=True)
DEPTH = Parameter(
    "depth",
    Quantities((PACKETS,), low=1),
    "depth of the bucket, at least a packet",
    required=True,
)
HARSHNESS = Parameter("harshness", _HARSHNESS, "how much an empty bucket drops", "mild")
FEEDBACK = Parameter(
    "feedback", _FEEDBACK, "which ECN marks senders re-expose, in addition to losses", "none"
)
CHARGE = Parameter("charge", _CHARGE, "when a re-echo takes its token", "forwarded")

NONE = Entry("none", "No policing", runs=True)

POLICERS: Registry[Entry] = Registry(
    "policer",
    "policer",
    [
        NONE,
        Entry(
            "conex",
            "Congestion policing: a token bucket for the congestion that a user causes",
            (RATE, DEPTH, HARSHNESS, FEEDBACK, CHARGE),
            runs=True,
        ),
    ],
)

A_POLICER = Entries(POLICERS)


def policer_of(use: Use[Entry], name: str = "") -> Policer | None:
    """Return the policer that a link is given, or None for `none`."""
    if use.entry is NONE:
        return None
    return Policer(
        name=name,
        rate=float(use[RATE].number),
        depth=float(use[DEPTH].number),
        harshness=use[HARSHNESS],
        feedback=use[FEEDBACK],
        charge=use[CHARGE],
        span=use.span,
    )
