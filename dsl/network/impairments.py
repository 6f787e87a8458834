"""What else happens to packets on a link: jitter, reordering, duplicates."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple, cast

from fairc.dsl import model
from fairc.dsl.core.entries import bind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.values import Quantity, Symbol, Value
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.words.keys import Block
from fairc.dsl.words.network_words import JITTERS

MAX_JITTER_NS = 2**31 - 1
"""netem keeps a deviation in 32 bits."""


class Impaired(NamedTuple):
    """The part of a `model.Direction` that this module makes, in its order."""

    jitter: model.Jitter | None
    reorder: float
    duplicate: float


def impaired(
    block: Block, scope: Scope, delay: Quantity | None, bursts: model.GilbertElliott | None
) -> Impaired:
    """Return what the settings of a link say beside rate, delay, loss and queue.

    Raises CompileError for a jitter that is larger than the delay, a reordering without a delay
    to skip, and duplicates of packets that are lost in bursts.
    """
    gather = Gather()
    jitter = None
    with gather.attempt():
        value = block.value("jitter", scope)
        jitter = _jitter(value, delay.number if delay else Fraction(0)) if value else None
    reorder, duplicate = block.value("reorder", scope), block.value("duplicate", scope)
    with gather.attempt():
        if _share(reorder) and not (delay and delay.number):
            assert reorder is not None
            fail(
                "reorder-without-delay",
                "packets overtake others by skipping the delay, and this link has none",
                reorder.span,
                help="give the link a `delay`",
            )
    with gather.attempt():
        if _share(duplicate) and bursts:
            assert duplicate is not None
            fail(
                "conflicting-loss",
                "duplicates and losses in bursts do not go together on one link",
                duplicate.span,
                notes=("copies would step the chain of the losses, too",),
                help="put one of them on a link of its own, behind a router",
            )
    gather.finish()
    return Impaired(jitter, _share(reorder), _share(duplicate))


def _share(value: Value | None) -> float:
    return float(value.number) if isinstance(value, Quantity) else 0.0


def _jitter(value: Value, delay_s: Fraction) -> model.Jitter | None:
    distribution, overtake, deviation = "uniform", False, value
    if not isinstance(value, Quantity):
        given = bind(JITTERS, value, "`jitter`").arguments
        deviation = given["deviation"]
        kind, switch = given.get("distribution"), given.get("overtake")
        distribution = kind.name if isinstance(kind, Symbol) else distribution
        overtake = isinstance(switch, Symbol) and switch.name == "on"
    assert isinstance(deviation, Quantity)
    if deviation.number > delay_s:
        fail(
            "jitter-above-delay",
            "the jitter is larger than the delay that it varies",
            deviation.span,
            note=f"this is {deviation.canonical}",
            notes=("no packet arrives before it is sent: its mean would not be `delay`",),
            help="give the link a `delay` of at least the jitter",
        )
    deviation_ns = round(deviation.number * 10**9)
    if deviation_ns > MAX_JITTER_NS:
        fail("out-of-range", "a jitter is at most 2.1 s", deviation.span)
    if not deviation_ns:
        return None
    return model.Jitter(deviation_ns, cast(model.JitterDistribution, distribution), overtake)
