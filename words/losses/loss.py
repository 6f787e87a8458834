"""`loss`: independent random losses (Bernoulli)."""

from __future__ import annotations

from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_PROBABILITY
from fairc.dsl.core.problems import fail

from .losses import Loss, LossModel

PROBABILITY = Parameter("probability", A_PROBABILITY, "share of packets lost in this direction")
BOTH = Parameter("both", A_PROBABILITY, "share of packets lost in each direction")


def _build(use: Use[LossModel]) -> Loss:
    own, both = use.given(PROBABILITY), use.given(BOTH)
    if own is None and both is None:
        fail(
            "missing-argument",
            "`loss` needs a percentage",
            use.span,
            help="write `1%` for this direction, `loss(both: 1%)` for both",
        )
    if own is not None and both is not None:
        fail("duplicate-argument", "`loss` takes one percentage, or `both`", use.span)
    return Loss(use.span, own.number if own else None, both.number if both else None)


LOSS = LossModel(
    name="loss",
    summary="Independent random loss; `both` applies it to the opposite direction as well",
    parameters=(PROBABILITY, BOTH),
    build=_build,
)
