"""The parts of a plan that are radio links: aggregates, slots, fewer acknowledgements, repeated
transmissions; the arguments of their disciplines.

`radio` and `arq` are disciplines of the engine's own kernel (runtime/uml/patches), which the
endpoints' program adds and reads back. Random times are drawn from a table of equally likely
values, quantiles of the distribution; the number of the aggregate, or of the slot, and the seed
determine which one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Annotated, ClassVar, Literal

from fairc.cell.batch import duration, percent
from fairc.cell.medium import MEDIUM_KINDS, REPAIR_KINDS, Medium, Repair
from fairc.cell.numbers import Range, SpanNs
from fairc.cell.part import UNLESS_ABSENT
from fairc.cell.workloads import Distribution

MODULE = "radio"
"""The kernel's module of both disciplines."""

QUANTILES = 1024
"""How many values a table has."""

SHORTEST_SLOT_NS = 1000
MOST_TRIES = 1000

_MASK = 2**64 - 1


@MEDIUM_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class RadioMedium(Medium):
    """A medium at the head of a queue that sends aggregates; in place of a shaper.

    size_packets: the most of an aggregate; None: any number. hold: how long after its first packet
    was taken an aggregate closes at the latest, s; every: the length of the slots with which
    aggregates begin, s, the first one with the cell; at most one of the two. None of them: an
    aggregate is what waits when the medium is free.
    thin: of so many new acknowledgements of a TCP connection the last is queued.
    """

    module: ClassVar[str] = MODULE
    beyond_tc: ClassVar[frozenset[str]] = frozenset({"radio"})

    kind: Literal["radio"] = "radio"

    size_packets: Annotated[int, Range(1, 65_535)] | None = None
    hold: Distribution | None = None
    every: Distribution | None = None
    thin: Annotated[int, Range(1, 1000)] | None = field(default=None, metadata=UNLESS_ABSENT)

    def __post_init__(self) -> None:
        """Raise ValueError for slots with a hold, and for slots without a length."""
        if self.hold is not None and self.every is not None:
            raise ValueError("a medium has slots, or a hold")
        if self.every is not None and min(times_ns(self.every)) < SHORTEST_SLOT_NS:
            raise ValueError(f"a slot has {SHORTEST_SLOT_NS} ns at least")

    @property
    def random(self) -> bool:
        """Whether a time is drawn."""
        return any(len(times_ns(each)) > 1 for each in (self.hold, self.every) if each)

    @property
    def longest_ns(self) -> int:
        """The longest time that a packet may wait for an aggregate to close, or for a slot."""
        return max((max(times_ns(each)) for each in (self.hold, self.every) if each), default=0)

    def words(self, rate_bps: int, frame_bytes: int, epoch_ns: int | None) -> str:
        """Return the discipline and its arguments."""
        words = f"radio rate {rate_bps}bit frame {frame_bytes}"
        if self.size_packets is not None:
            words += f" size {self.size_packets}"
        if self.hold is not None:
            words += f" hold {_word(self.hold)}"
        if self.every is not None:
            words += f" every {_word(self.every)}"
        if self.hold is not None or self.every is not None:
            words += f" since {epoch_ns or 0}"
        if self.thin is not None:
            words += f" thin {self.thin}"
        if self.seed is not None:
            words += f" seed {self.seed}"
        return words

    def rate_words(self, rate_bps: int) -> str:
        """Return the discipline and the argument that changes its rate."""
        return f"radio rate {rate_bps}bit"

    def in_force(self, rate_bps: int, frame_bytes: int, epoch_ns: int) -> dict[str, object]:
        """Return the discipline's options as the endpoints read them back."""
        shown: dict[str, object] = {"rate": rate_bps // 8, "frame": frame_bytes}
        for name, number in (("size", self.size_packets), ("thin", self.thin)):
            if number is not None:
                shown[name] = number
        for name, times in (("hold", self.hold), ("every", self.every)):
            if times is not None:
                values = times_ns(times)
                shown[name] = {"count": len(values), "sum": sum(values)}
        since_ns = 0 if self.hold is None and self.every is None else epoch_ns
        return shown | {"since": since_ns, "seed": self.seed or 0}

    def drawn_ns(self, times: Distribution, number: int) -> int:
        """Return the time of an aggregate or a slot by its number."""
        values = times_ns(times)
        if len(values) == 1:
            return values[0]
        return values[(mix(mix(self.seed or 0) ^ number) >> 32) % len(values)]


@REPAIR_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Arq(Repair):
    """Repetitions of lost transmissions: each follows the one before after wait_ns.

    tries: how often a packet is sent again at most; then it is lost. in_order: later packets wait
    until it has arrived, or is given up.
    """

    module: ClassVar[str] = MODULE
    beyond_tc: ClassVar[frozenset[str]] = frozenset({"arq"})

    kind: Literal["radio"] = "radio"
    tries: Annotated[int, Range(1, MOST_TRIES)]
    wait_ns: SpanNs

    @property
    def longest_ns(self) -> int:
        """The time of all tries."""
        return self.tries * self.wait_ns

    def lost(self, loss: float) -> float:
        """Return the probability that all transmissions of a packet are lost."""
        return float(loss ** (self.tries + 1))

    def words(self, limit_packets: int, delay_ns: int, loss: float, seed: int | None) -> str:
        """Return the discipline and its arguments."""
        words = (
            f"arq limit {limit_packets} delay {duration(delay_ns)} loss {percent(loss)}%"
            f" tries {self.tries} wait {duration(self.wait_ns)}"
            f" {'order' if self.in_order else 'overtake'}"
        )
        return words if seed is None else f"{words} seed {seed}"


def _word(times: Distribution) -> str:
    """Return a time, or the values of a table, as the endpoints take them."""
    values = times_ns(times)
    if len(values) == 1:
        return duration(values[0])
    return ",".join(str(value // 1000) for value in values) + "us"


def times_ns(times: Distribution) -> tuple[int, ...]:
    """Return the equally likely values of a time in s: one, or quantiles in whole us."""
    return _times_ns(times.kind, tuple(sorted(times.parameters.items())))


@lru_cache(64)
def _times_ns(kind: str, parameters: tuple[tuple[str, float], ...]) -> tuple[int, ...]:
    given = dict(parameters)
    if kind not in _QUANTILE:
        return (round(given["value"] * 10**9),)
    quantile = _QUANTILE[kind](given)
    shares = ((number + 0.5) / QUANTILES for number in range(QUANTILES))
    return tuple(1000 * max(0, round(quantile(share) * 10**6)) for share in shares)


Quantile = Callable[[float], float]


def _uniform(given: dict[str, float]) -> Quantile:
    return lambda u: given["low"] + (given["high"] - given["low"]) * u


def _exponential(given: dict[str, float]) -> Quantile:
    return lambda u: -given["mean"] * math.log1p(-u)


def _pareto(given: dict[str, float]) -> Quantile:
    shape = given["shape"]
    scale = given["mean"] * (shape - 1) / shape
    return lambda u: float(scale * (1 - u) ** (-1 / shape))


def _normal(given: dict[str, float]) -> Quantile:
    """Cut at zero, as everywhere."""
    if not given["deviation"]:
        return lambda u: given["mean"]
    normal = NormalDist(given["mean"], given["deviation"])
    below = normal.cdf(0)
    return lambda u: normal.inv_cdf(below + (1 - below) * u)


def _gamma(given: dict[str, float]) -> Quantile:
    shape, scale = given["shape"], given["mean"] / given["shape"]

    def quantile(u: float) -> float:
        low, high = 0.0, max(1.0, shape)
        while _gamma_share(shape, high) < u:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _gamma_share(shape, middle) < u else (low, middle)
        return scale * high

    return quantile


def _gamma_share(shape: float, x: float) -> float:
    """Return P(X <= x) of a gamma distribution of scale 1: its series, or its continued fraction
    (Abramowitz and Stegun, 6.5.29 and 6.5.31).
    """
    if x <= 0:
        return 0.0
    factor = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        number = shape
        while term > total * 1e-15:
            number += 1
            term *= x / number
            total += term
        return factor * total
    tiny = 1e-300
    b = x + 1 - shape
    c, d = 1 / tiny, 1 / b
    fraction = d
    for number in range(1, 10_000):
        a = -number * (number - shape)
        b += 2
        d = 1 / (a * d + b or tiny)
        c = b + a / c or tiny
        fraction *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return 1 - factor * fraction


_QUANTILE: dict[str, Callable[[dict[str, float]], Quantile]] = {
    "uniform": _uniform,
    "exponential": _exponential,
    "pareto": _pareto,
    "normal": _normal,
    "gamma": _gamma,
}


def mix(value: int) -> int:
    """Return one step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 14)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)
