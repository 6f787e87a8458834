"""The policers: what may police a direction of a link."""

from __future__ import annotations

from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_PACKET_RATE, A_RATE, Quantities, Words
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import DATA, PACKETS
from fairc.dsl.model import Policer, TokenBucket
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

BUCKET_RATE = Parameter("rate", A_RATE, "fill rate of the bucket, of frames", required=True)
BURST = Parameter(
    "burst", Quantities((DATA,), open_low=True), "depth of the bucket, of frames", required=True
)

NONE = Entry("none", "No policing", runs=True)

TOKEN_BUCKET = Entry(
    "token_bucket",
    "What finds too few tokens is dropped; it never waits",
    (BUCKET_RATE, BURST),
    runs=True,
)

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
        TOKEN_BUCKET,
    ],
)

A_POLICER = Entries(POLICERS)


def policer_of(use: Use[Entry], name: str = "") -> Policer | TokenBucket | None:
    """Return the policer that a link is given, or None for `none`."""
    if use.entry is NONE:
        return None
    if use.entry is TOKEN_BUCKET:
        return TokenBucket(
            name=name,
            rate_bps=max(8, round(use[BUCKET_RATE].number)),
            burst_bytes=max(1, round(use[BURST].number / 8)),
            span=use.span,
        )
    return Policer(
        name=name,
        rate=float(use[RATE].number),
        depth=float(use[DEPTH].number),
        harshness=use[HARSHNESS],
        feedback=use[FEEDBACK],
        charge=use[CHARGE],
        span=use.span,
    )
