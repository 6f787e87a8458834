"""`jitter`: a random part of a link's delay."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

from fairc.cell.links import Impairment
from fairc.dsl.core.entries import Either, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_SWITCH, A_TIME, Quantities, Words
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import TIME
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
AVERAGE = Parameter(
    "average",
    Quantities((TIME,), low=Fraction(1, 1000), high=Fraction(91, 1000)),
    "the average jitter as the model counts it, which is 0.32 ms above the mean",
    required=True,
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
        Entry(
            "wifi",
            "What bad Wi-Fi adds to the delay (draft-huitema-ccwg-c4-test); packets stay in order",
            (AVERAGE,),
            runs=True,
        ),
    ],
)

A_JITTER = Either(A_TIME, JITTERS, "a time, `jitter(...)` or `wifi(...)`", bare=False)


WIFI_SCALE_NS = 60_000_000
"""The unit of the endpoints' table of `wifi` (`netem.rs`): a quarter of its longest delay."""


def wifi_share(average_s: Fraction) -> float:
    """Return the share of packets that Wi-Fi sends again, of an average jitter (section 2.3)."""
    return float((average_s - Fraction(1, 1000)) / Fraction(90, 1000))


def delayed(delay: Quantity, given: Quantity | Use[Entry] | None) -> Impairment:
    """Return what a link with this delay and jitter does to packets. Raises CompileError."""
    if given is None:
        return Impairment(delay_ns=delay.ns)
    found = replace(varying(given), delay_ns=delay.ns)
    if found.least_delay_ns > found.delay_ns:
        deviation = given if isinstance(given, Quantity) else given[DEVIATION]
        fail(
            "jitter-above-delay",
            "the jitter is larger than the delay it varies",
            deviation.span,
            note=f"this is {deviation.canonical}",
            notes=("a delay cannot be negative, so the mean would not be `delay`",),
            help="give the link a `delay` of at least the jitter",
        )
    return found


def varying(given: Quantity | Use[Entry]) -> Impairment:
    """Return what a jitter does to packets. Raises CompileError."""
    if isinstance(given, Use) and given.entry.name == "wifi":
        return Impairment(
            jitter_ns=WIFI_SCALE_NS,
            jitter_distribution="wifi",
            jitter_share=wifi_share(given[AVERAGE].number),
            in_order=True,
        )
    if isinstance(given, Quantity):
        deviation, distribution, overtake = given, DISTRIBUTION.fallback, OVERTAKE.fallback
    else:
        deviation, distribution, overtake = given[DEVIATION], given[DISTRIBUTION], given[OVERTAKE]
    if deviation.ns > MAX_JITTER_NS:
        fail("out-of-range", "a jitter is at most 2.1 s", deviation.span)
    if not deviation.ns:
        return Impairment()
    return Impairment(
        jitter_ns=deviation.ns, jitter_distribution=distribution, in_order=not overtake
    )
