"""`packets`: losses of packets by their number."""

from __future__ import annotations

from fairc.cell.links import ChosenLoss
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.problems import fail
from fairc.dsl.core.units import NUMBER
from fairc.dsl.core.values import Quantity

from .model import Loss, LossModel

LAST = 200
"""The largest number: each packet meets a filter for each that came before."""

NUMBERS: Parameter[Quantity] = Parameter(
    "numbers",
    Quantities((NUMBER,), low=1, high=LAST, whole=True),
    "of TCP and UDP, counted from 1 as they leave the queue in this direction",
    required=True,
    repeated=True,
)


def _build(use: Use[LossModel]) -> Loss:
    found: dict[int, Quantity] = {}
    for number in use.repeated:
        first = found.setdefault(number.whole, number)
        if first is not number:
            fail(
                "duplicate-argument",
                f"packet {number.whole} is lost twice",
                number.span,
                labels=(Label(first.span, "given here first"),),
                help="leave one of them out",
            )
    return Loss(use.span, chosen=(ChosenLoss(numbers=tuple(sorted(found))),))


PACKETS = LossModel(
    name="packets",
    summary="The loss of these packets and no others, by their number",
    parameters=(NUMBERS,),
    build=_build,
)
