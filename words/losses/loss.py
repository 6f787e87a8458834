"""`loss`: independent random losses (Bernoulli), and losses of chosen packets."""

from __future__ import annotations

from fairc.cell.links import PACKET_KINDS, ChosenLoss, PacketKind
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_PROBABILITY, A_SHARE, Quantities, Words
from fairc.dsl.core.problems import fail
from fairc.dsl.core.units import DATA
from fairc.dsl.core.values import Quantity

from .model import Loss, LossModel

_OF: Words[PacketKind] = Words("kind of packets", tuple(PACKET_KINDS))

PROBABILITY = Parameter("probability", A_SHARE, "share of packets lost in this direction")
BOTH = Parameter("both", A_PROBABILITY, "share of packets lost in each direction")
OF = Parameter(
    "of",
    _OF,
    "with 100%: only those "
    + ", ".join(f"{meaning} (`{kind}`)" for kind, (meaning, _) in PACKET_KINDS.items()),
    otherwise="any",
)
ABOVE = Parameter(
    "above",
    Quantities((DATA,), low=8 * 68, high=8 * 65_535),
    "with 100%: only IP packets that are longer",
    otherwise="any size",
)
CORRELATION = Parameter(
    "correlation", A_SHARE, "refused: netem's correlation changes the share itself", runs=True
)


_WHY = (
    "it mixes each random number with the one before: the result is not uniform, so the share that"
    " is lost is not the one that is written"
)


def refuse_correlation(given: Quantity | None) -> None:
    """Refuse the correlation that netem has. Raises CompileError where it is given."""
    if given is not None:
        fail(
            "netem-correlation",
            "netem's correlation does not model bursts",
            given.span,
            notes=(_WHY,),
            help="for bursts of losses write `loss = gilbert_elliott(good: 600ms, bad: 16ms)`",
        )


def _build(use: Use[LossModel]) -> Loss:
    refuse_correlation(use.given(CORRELATION))
    own, both = use.given(PROBABILITY), use.given(BOTH)
    kind, above = use.given(OF), use.given(ABOVE)
    if own is None and both is None:
        fail(
            "missing-argument",
            "`loss` needs a percentage",
            use.span,
            help="write `1%` for this direction, `loss(both: 1%)` for both",
        )
    if own is not None and both is not None:
        fail("duplicate-argument", "`loss` takes one percentage, or `both`", use.span)
    if kind is None and above is None:
        if own is not None:
            A_PROBABILITY.take(own, "`probability` of `loss`")
        return Loss(use.span, own.number if own else None, both.number if both else None)
    share = own or both
    if share is None or own is None or share.number != 1:
        fail(
            "conflicting-loss",
            "chosen packets are lost all, in one direction",
            share.span if share else use.span,
            "" if share is None else f"this is {share.canonical}",
            notes=("the kernel's filters choose packets, and draw nothing",),
            help="write `loss(100%, of: ce)`, for each direction by itself",
        )
    above_bytes = None if above is None else round(above.number / 8)
    return Loss(use.span, chosen=(ChosenLoss(kind or "any", above_bytes),))


LOSS = LossModel(
    name="loss",
    summary="Independent random loss (`both`: in the opposite direction as well), or the loss of"
    " all packets of a kind",
    parameters=(PROBABILITY, BOTH, OF, ABOVE, CORRELATION),
    build=_build,
)
