"""`jitter`: a random part of a link's delay."""

from __future__ import annotations

from typing import Literal

from fairc.cell.links import Impairment
from fairc.dsl.core.entries import Either, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_SWITCH, A_TIME, Words
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.values import Quantity

MAX_JITTER_NS = 2**31 - 1
"""netem keeps a deviation in 32 bits."""

_DISTRIBUTION: Words[Literal["uniform", "normal", "pareto", "paretonormal"]] = Words(
    "distribution", ("uniform", "normal", "pareto", "paretonormal")
)

DEVIATION = Parameter("deviation", A_TIME, "how far the delay varies around `delay`", required=True)
DISTRIBUTION = Parameter(
    "distribution",
    _DISTRIBUTION,
    "of the delay: `uniform` in delay -+ deviation, else netem's tables",
    "uniform",
)
OVERTAKE = Parameter("overtake", A_SWITCH, "packets with less delay overtake others", "off")

JITTERS: Registry[Entry] = Registry(
    "jitter model",
    "jitter-model",
    [
        Entry(
            "jitter",
            "A random part of the delay, drawn for each packet; packets stay in order",
            (DEVIATION, DISTRIBUTION, OVERTAKE),
            runs=True,
        ),
    ],
)

A_JITTER = Either(A_TIME, JITTERS, "a time or `jitter(...)`", bare=False)


def delayed(delay: Quantity, given: Quantity | Use[Entry] | None) -> Impairment:
    """Return what a link with this delay and jitter does to packets. Raises CompileError."""
    if given is None:
        return Impairment(delay_ns=delay.ns)
    if isinstance(given, Quantity):
        deviation, distribution, overtake = given, DISTRIBUTION.fallback, OVERTAKE.fallback
    else:
        deviation, distribution, overtake = given[DEVIATION], given[DISTRIBUTION], given[OVERTAKE]
    if deviation.number > delay.number:
        fail(
            "jitter-above-delay",
            "the jitter is larger than the delay it varies",
            deviation.span,
            note=f"this is {deviation.canonical}",
            notes=("a delay cannot be negative, so the mean would not be `delay`",),
            help="give the link a `delay` of at least the jitter",
        )
    if deviation.ns > MAX_JITTER_NS:
        fail("out-of-range", "a jitter is at most 2.1 s", deviation.span)
    if not deviation.ns:
        return Impairment(delay_ns=delay.ns)
    return Impairment(
        delay_ns=delay.ns,
        jitter_ns=deviation.ns,
        jitter_distribution=distribution,
        in_order=not overtake,
    )
