"""A loss as written to probabilities: of one direction, of both, or a chain of bursts."""

from __future__ import annotations

from fractions import Fraction

from fairc.dsl import model
from fairc.dsl.core.entries import bind
from fairc.dsl.core.problems import fail
from fairc.dsl.core.units import SHARE
from fairc.dsl.core.values import Quantity, Value
from fairc.dsl.words.network_words import LOSSES


def loss(value: Value) -> tuple[Fraction | None, Fraction | None]:
    """Return the loss of this direction and of both, as far as given."""
    if isinstance(value, Quantity):
        assert value.dimension == SHARE
        return value.number, None
    use = bind(LOSSES, value, "`loss`")
    if use.entry.name == "gilbert_elliott":
        return None, None
    both = use.arguments.get("both")
    own = use.arguments.get("probability")
    if own is None and both is None:
        fail(
            "missing-argument",
            "`loss` needs a percentage",
            value.span,
            help="write `1%` for this direction, `loss(both: 1%)` for both",
        )
    if own is not None and both is not None:
        fail("duplicate-argument", "`loss` takes one percentage, or `both`", value.span)
    return (
        own.number if isinstance(own, Quantity) else None,
        both.number if isinstance(both, Quantity) else None,
    )


def bursts(value: Value) -> model.GilbertElliott | None:
    """Return the chain of a `gilbert_elliott`, or None for another loss."""
    if isinstance(value, Quantity):
        return None
    use = bind(LOSSES, value, "`loss`")
    if use.entry.name != "gilbert_elliott":
        return None
    given = {k: float(v.number) for k, v in use.arguments.items() if isinstance(v, Quantity)}
    chain = model.GilbertElliott(given["p"], given["r"], given.get("h", 0), given.get("k", 1))
    if chain.loss >= 1:
        fail("out-of-range", "this loses every packet", value.span, help="make `h` or `k` larger")
    return chain
