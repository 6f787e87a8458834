"""Random numbers of a distribution, the same on every machine.

Logarithms, exponentials and roots are decimal ones, which are correctly rounded everywhere;
those of the C library are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from fractions import Fraction

from fairc.cell.seeds import stream_seed
from fairc.dsl.model import Distribution

_EXACT = Context(prec=40)
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
        return _EXACT.divide(
            Decimal(2 * stream_seed(self._seed, str(self._drawn)) + 1), Decimal(2**64)
        )


def draw(distribution: Distribution, seed: int, *name: str) -> Fraction:
    """Return one number of a distribution, >= 0, from a named stream."""
    arguments = {
        key: _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
        for key, value in distribution.arguments.items()
    }
    return Fraction(DRAWS[distribution.kind](arguments, Stream(seed, *name)))


def _uniform(a: Arguments, stream: Stream) -> Decimal:
    return _EXACT.add(a["low"], _EXACT.multiply(a["high"] - a["low"], stream.uniform()))


def _exponential(a: Arguments, stream: Stream) -> Decimal:
    return _EXACT.multiply(-a["mean"], _EXACT.ln(stream.uniform()))


def _pareto(a: Arguments, stream: Stream) -> Decimal:
    """Invert P(X > x) = (s / x)^shape, whose mean is s shape / (shape - 1)."""
    scale = _EXACT.divide(a["mean"] * (a["shape"] - 1), a["shape"])
    return _EXACT.multiply(scale, _power(stream.uniform(), -1 / a["shape"]))


def _normal(a: Arguments, stream: Stream) -> Decimal:
    """Draw again while the value is negative: the distribution is cut at zero."""
    for _ in range(ATTEMPTS):
        value = _EXACT.add(a["mean"], _EXACT.multiply(a["deviation"], _standard_normal(stream)))
        if value >= 0:
            return value
    raise AssertionError("a normal distribution with a mean >= 0 is positive half of the time")


def _gamma(a: Arguments, stream: Stream) -> Decimal:
    """Marsaglia and Tsang, ACM Transactions on Mathematical Software 26, 2000, section 3."""
    shape, boost = a["shape"], Decimal(1)
    if shape < 1:
        boost = _power(stream.uniform(), 1 / shape)
        shape += 1
    d = shape - Decimal(1) / 3
    c = _EXACT.divide(Decimal(1), _EXACT.sqrt(9 * d))
    for _ in range(ATTEMPTS):
        x = _standard_normal(stream)
        v = (1 + c * x) ** 3
        if v > 0 and _EXACT.ln(stream.uniform()) < x * x / 2 + d - d * v + d * _EXACT.ln(v):
            return _EXACT.multiply(_EXACT.divide(a["mean"], a["shape"]), d * v * boost)
    raise AssertionError("the method accepts more than 95 % of its candidates")


def _standard_normal(stream: Stream) -> Decimal:
    """Draw by Marsaglia's polar method (SIAM Review 6, 1964): no trigonometry."""
    for _ in range(ATTEMPTS):
        x, y = 2 * stream.uniform() - 1, 2 * stream.uniform() - 1
        s = x * x + y * y
        if 0 < s < 1:
            return _EXACT.multiply(x, _EXACT.sqrt(-2 * _EXACT.ln(s) / s))
    raise AssertionError("pi / 4 of all points lie inside the circle")


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    return _EXACT.exp(_EXACT.multiply(exponent, _EXACT.ln(base)))


def _constant(a: Arguments, stream: Stream) -> Decimal:
    return a["value"]


DRAWS: dict[str, Callable[[Arguments, Stream], Decimal]] = {
    "uniform": _uniform,
    "exponential": _exponential,
    "pareto": _pareto,
    "gamma": _gamma,
    "normal": _normal,
    "constant": _constant,
}
