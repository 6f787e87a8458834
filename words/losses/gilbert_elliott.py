"""`gilbert_elliott`: losses in bursts (Elliott, Bell System Technical Journal 42, 1963)."""

from __future__ import annotations

from fairc.cell.links import GilbertElliott
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_SHARE, A_SHARE
from fairc.dsl.core.problems import fail

from .losses import Loss, LossModel

GOOD_TO_BAD = Parameter("p", A_SHARE, "probability of going from good to bad", required=True)
BAD_TO_GOOD = Parameter(
    "r", A_POSITIVE_SHARE, "probability of going from bad to good", required=True
)
PASSES_BAD = Parameter("h", A_SHARE, "probability that a packet passes in the bad state", "0%")
PASSES_GOOD = Parameter("k", A_SHARE, "probability that a packet passes in the good state", "100%")
PARAMETERS = (GOOD_TO_BAD, BAD_TO_GOOD, PASSES_BAD, PASSES_GOOD)


def _build(use: Use[LossModel]) -> Loss:
    chain = GilbertElliott(*(float(use[parameter].number) for parameter in PARAMETERS))
    if chain.loss >= 1:
        fail("out-of-range", "this loses every packet", use.span, help="make `h` or `k` larger")
    return Loss(use.span, bursts=chain)


GILBERT_ELLIOTT = LossModel(
    name="gilbert_elliott",
    summary="Losses in bursts: a good and a bad state, one step of the chain per packet",
    parameters=PARAMETERS,
    build=_build,
)
