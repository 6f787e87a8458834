"""Random numbers, the same on every machine: a stream of them, and how each distribution draws.

Logarithms, exponentials and roots are decimal ones, which are correctly rounded everywhere;
those of the C library are not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from operator import itemgetter

from fairc.cell.seeds import stream_seed

EXACT = Context(prec=40)
ATTEMPTS = 10_000
"""More than this many refused values in a row do not happen by chance."""

Arguments = Mapping[str, Decimal]


class Stream:
    """A named stream of uniform random numbers."""

    def __init__(self, seed: int, *name: str) -> None:
        self._seed = stream_seed(seed, *name)
        self._drawn = 0

    def uniform(self) -> Decimal:
        """Return the next number, uniform in (0, 1)."""
        self._drawn += 1
        return EXACT.divide(
            Decimal(2 * stream_seed(self._seed, str(self._drawn)) + 1), Decimal(2**64)
        )


def uniform(a: Arguments, stream: Stream) -> Decimal:
    """Draw one between `low` and `high`."""
    return EXACT.add(a["low"], EXACT.multiply(a["high"] - a["low"], stream.uniform()))


def inverse(points: Sequence[tuple[Decimal, Decimal]], stream: Stream) -> Decimal:
    """Draw one by the points (value, share) of its distribution function, both ascending."""
    share = stream.uniform()
    place = bisect_left(points, share, key=itemgetter(1))
    value, above = points[min(place, len(points) - 1)]
    if place == 0 or place == len(points):
        return value
    before, below = points[place - 1]
    part = EXACT.divide(share - below, above - below)
    return EXACT.add(before, EXACT.multiply(value - before, part))


def exponential(a: Arguments, stream: Stream) -> Decimal:
    """Draw one by its `mean`."""
    return EXACT.multiply(-a["mean"], EXACT.ln(stream.uniform()))


def pareto(a: Arguments, stream: Stream) -> Decimal:
    """Invert P(X > x) = (s / x)^shape, whose mean is s shape / (shape - 1)."""
    scale = EXACT.divide(a["mean"] * (a["shape"] - 1), a["shape"])
    return EXACT.multiply(scale, _power(stream.uniform(), -1 / a["shape"]))


def normal(a: Arguments, stream: Stream) -> Decimal:
    """Draw again while the value is negative: the distribution is cut at zero."""
    for _ in range(ATTEMPTS):
        value = EXACT.add(a["mean"], EXACT.multiply(a["deviation"], _standard_normal(stream)))
        if value >= 0:
            return value
    raise AssertionError("a normal distribution with a mean >= 0 is positive half of the time")


def gamma(a: Arguments, stream: Stream) -> Decimal:
    """Marsaglia and Tsang, ACM Transactions on Mathematical Software 26, 2000, section 3."""
    shape, boost = a["shape"], Decimal(1)
    if shape < 1:
        boost = _power(stream.uniform(), 1 / shape)
        shape += 1
    d = shape - Decimal(1) / 3
    c = EXACT.divide(Decimal(1), EXACT.sqrt(9 * d))
    for _ in range(ATTEMPTS):
        x = _standard_normal(stream)
        v = (1 + c * x) ** 3
        if v > 0 and EXACT.ln(stream.uniform()) < x * x / 2 + d - d * v + d * EXACT.ln(v):
            return EXACT.multiply(EXACT.divide(a["mean"], a["shape"]), d * v * boost)
    raise AssertionError("the method accepts more than 95 % of its candidates")


def _standard_normal(stream: Stream) -> Decimal:
    """Draw by Marsaglia's polar method (SIAM Review 6, 1964): no trigonometry."""
    for _ in range(ATTEMPTS):
        x, y = 2 * stream.uniform() - 1, 2 * stream.uniform() - 1
        s = x * x + y * y
        if 0 < s < 1:
            return EXACT.multiply(x, EXACT.sqrt(-2 * EXACT.ln(s) / s))
    raise AssertionError("pi / 4 of all points lie inside the circle")


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    return EXACT.exp(EXACT.multiply(exponent, EXACT.ln(base)))


def constant(a: Arguments, stream: Stream) -> Decimal:
    """Return `value`."""
    return a["value"]
