"""`gilbert_elliott`: losses in bursts (Elliott, Bell System Technical Journal 42, 1963)."""

from __future__ import annotations

from fractions import Fraction

from fairc.cell.links import GilbertElliott
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_SHARE, A_POSITIVE_TIME, A_SHARE
from fairc.dsl.core.problems import fail
from fairc.dsl.core.units import SHARE
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import Distribution, Event
from fairc.words.distributions import MEAN, distribution

from .model import Loss, LossModel

GOOD_TO_BAD = Parameter("p", A_SHARE, "probability of going from good to bad, at each packet")
BAD_TO_GOOD = Parameter(
    "r", A_POSITIVE_SHARE, "probability of going from bad to good, at each packet"
)
PASSES_BAD = Parameter("h", A_SHARE, "probability that a packet passes in the bad state", "0%")
PASSES_GOOD = Parameter("k", A_SHARE, "probability that a packet passes in the good state", "100%")
GOOD = Parameter("good", A_POSITIVE_TIME, "mean time in the good state, in place of `p`")
BAD = Parameter("bad", A_POSITIVE_TIME, "mean time in the bad state, in place of `r`")
BY_PACKETS, IN_TIME = (GOOD_TO_BAD, BAD_TO_GOOD), (GOOD, BAD)


def _build(use: Use[LossModel]) -> Loss:
    steps = {each.name: each for each in BY_PACKETS if use.given(each) is not None}
    times = {each.name: each for each in IN_TIME if use.given(each) is not None}
    if steps and times:
        other = next(iter(times.values()))
        first = use.given(next(iter(steps.values())))
        assert first is not None
        fail(
            "conflicting-parameters",
            "the states of this chain last for packets, or for times",
            use[other].span,
            labels=(Label(first.span, "a probability at each packet"),),
            help="write `p` and `r`, or `good` and `bad`",
        )
    wanted = IN_TIME if times else BY_PACKETS
    lacking = [f"`{each.name}`" for each in wanted if each.name not in steps | times]
    if lacking:
        fail(
            "missing-argument",
            f"`{use.entry.name}` needs {' and '.join(lacking)}",
            use.span,
            help="write `p: 1%, r: 30%` (of packets) or `good: 600ms, bad: 16ms` (of time)",
        )
    if times:
        return _in_time(use)
    parameters = (*BY_PACKETS, PASSES_BAD, PASSES_GOOD)
    chain = GilbertElliott(*(float(use[parameter].number) for parameter in parameters))
    if chain.loss >= 1:
        fail("out-of-range", "this loses every packet", use.span, help="make `h` or `k` larger")
    return Loss(use.span, bursts=chain)


def _in_time(use: Use[LossModel]) -> Loss:
    """Return a chain in continuous time: each state lasts for an exponential time."""
    passes_bad, passes_good = use[PASSES_BAD], use[PASSES_GOOD]
    if not passes_bad.number and not passes_good.number:
        fail("out-of-range", "this loses every packet", use.span, help="make `h` or `k` larger")
    lost = Quantity(Fraction(1) - passes_bad.number, SHARE, passes_bad.span)
    bad = Event(
        0,
        use.span,
        pause=_exponential(use[GOOD]),
        length=_exponential(use[BAD]),
        apart=True,
        loss=distribution(lost),
    )
    return Loss(use.span, own=1 - passes_good.number, bad=bad)


def _exponential(mean: Quantity) -> Distribution:
    return Distribution("exponential", {MEAN.name: mean.number})


GILBERT_ELLIOTT = LossModel(
    name="gilbert_elliott",
    summary="Losses in bursts: a good and a bad state, that last for packets or for times",
    parameters=(*BY_PACKETS, PASSES_BAD, PASSES_GOOD, *IN_TIME),
    build=_build,
)
