"""The declaration of policers: `conex` reads congestion, `token_bucket` counts bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_PACKET_RATE, A_RATE, AnyName, Quantities, Words
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import DATA, PACKETS
from fairc.dsl.model import Flow, LinkDevice, Misplaced
from fairc.mechanisms.devices.device import DeviceEntry

Harshness = Literal["soft", "mild", "strict"]
Feedback = Literal["none", "classic", "accurate"]
Charge = Literal["forwarded", "arrived"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Policer(LinkDevice):
    """Congestion policing of one direction of a link (docs/learn/links/policers.md).

    rate: fill rate of each user's bucket, packets/s, > 0.
    depth: packets, >= 1.
    harshness: how much an empty bucket drops.
    feedback: which ECN marks senders re-expose.
    charge: when a re-echo takes its token.
    """

    noun = "policer"
    tunnelled = Misplaced(
        "policed-tunnel", "police a link in front of the tunnel, or use `token_bucket`"
    )

    rate: float
    depth: float
    harshness: Harshness
    feedback: Feedback
    charge: Charge

    @property
    def reads_back(self) -> bool:
        """Whether it reads marks."""
        return self.feedback != "none"

    def prepared(self, flows: Sequence[Flow]) -> list[Flow]:
        """Return the flows; if it reads marks, those that it may police use ECN.

        So a file need not say `ecn = on` for them. Raises CompileError for one with `ecn = off`.
        """
        if not self.reads_back:
            return [*flows]
        gather, policed = Gather(), []
        users = any(flow.users for flow in flows)
        for flow in flows:
            if not may_be_policed(flow, users):
                policed.append(flow)
                continue
            with gather.attempt():
                if flow.ecn_given is not None and not flow.options.ecn:
                    fail(
                        "policed-without-ecn",
                        f"`{flow.name}` has no ECN, but the policer's `feedback` needs its marks",
                        flow.ecn_given,
                        labels=(Label(self.span, f"`{self.feedback}` feedback"),),
                        help="leave out `ecn` or `feedback`: losses are exposed either way",
                    )
                policed.append(replace(flow, options=replace(flow.options, ecn=True)))
        gather.finish()
        return policed


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucket(LinkDevice):
    """Rate policing of one direction of a link: a frame that finds too few tokens is dropped.

    rate_bps: fill rate, bit/s of frames. burst_bytes: depth of the bucket, bytes of frames.
    """

    noun = "policer"

    rate_bps: int
    burst_bytes: int

    @property
    def limit_bps(self) -> int | None:
        """Its fill rate."""
        return self.rate_bps


def may_be_policed(flow: Flow, users: bool) -> bool:
    """Return whether a policer reads a flow that crosses it; users: whether any flow runs on users.

    Only TCP is policed and, if there are users, only theirs: other flows are cross traffic.
    """
    return flow.transport in ("tcp", "web") and (bool(flow.users) or not users)


def _read(use: Use[Entry], name: str = "") -> Policer | TokenBucket | None:
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


AT = Parameter("at", AnyName("a router"), "router that polices what it sends", required=True)
TO = Parameter("to", AnyName("a node"), "to this neighbour", required=True)
MODE = Parameter("mode", A_POLICER, "what the policer does", required=True)

POLICER: Registry[Parameter[Any]] = Registry("key of policer", "key", [AT, TO, MODE])

DECLARATION = DeviceEntry(
    noun="policer",
    summary="Polices the traffic through a router",
    example="policer NAME { at = left  to = right  mode = conex(5pkt/s, 45pkt) }",
    modes=POLICERS,
    key=Parameter("policer", A_POLICER, "policer in front of the queue", "none"),
    block=POLICER,
    at=AT,
    to=TO,
    mode=MODE,
    read=_read,
    no_link=Misplaced(
        "no-policer-link", "a policer reads what a router sends to one of its neighbours"
    ),
    twice=Misplaced("duplicate-policer", "keep one of them"),
    between_proxies=Misplaced("policed-pep", "police another link"),
    does="police",
    is_done="policed",
)
