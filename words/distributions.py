"""Distributions of random numbers, and the kinds of values that may be drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, Parameter, Use, bind
from fairc.dsl.core.kinds import A_TIME, Quantities, Texts, refuse
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import DATA, NUMBER, PACKETS, RATE, SHARE, TIME
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value
from fairc.dsl.model import Distribution

from . import draws
from .empirical import Sample, sample
from .tables import ColumnNames

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Arguments = Mapping[str, Fraction]

SPREAD = Quantities((TIME, DATA, PACKETS, NUMBER, RATE, SHARE))
LOW = Parameter("low", SPREAD, "lowest value", required=True)
HIGH = Parameter("high", SPREAD, "highest value", required=True)
MEAN = Parameter("mean", SPREAD, "mean value", required=True)
DEVIATION = Parameter("deviation", SPREAD, "standard deviation", required=True)
FILE = Parameter("file", Texts(), "a file in the folder of the experiment", required=True)
COLUMN = Parameter(
    "column", ColumnNames(), "the column of the values", otherwise="the one that is not `cdf`"
)
UNIT = Parameter(
    "unit",
    Quantities((TIME, DATA, PACKETS, RATE, SHARE), open_low=True),
    "what a 1 in the column is",
    otherwise="as the file says",
)
VALUE = Parameter("value", SPREAD, "the value", required=True)
_A_SHAPE = Quantities((NUMBER,), low=Fraction(1, 100), high=10**6)
_ABOVE_ONE = Quantities((NUMBER,), low=1, high=10**6, open_low=True)
SHAPE = Parameter("shape", _A_SHAPE, "shape", required=True)


@dataclass(frozen=True, kw_only=True)
class DistributionEntry(Entry):
    """A distribution.

    draw: returns a number, from its arguments and a stream; None: it has a file instead.
    mean: returns its mean; of a normal one, the mean before truncation at zero.
    """

    draw: Callable[[Mapping[str, Decimal], draws.Stream], Decimal] | None
    mean: Callable[[Arguments], Fraction] = lambda arguments: arguments["mean"]
    runs: bool = True


UNIFORM = DistributionEntry(
    name="uniform",
    summary="Any value between two limits, all equally likely",
    parameters=(LOW, HIGH),
    draw=draws.uniform,
    mean=lambda arguments: (arguments["low"] + arguments["high"]) / 2,
)
CONSTANT = DistributionEntry(
    name="constant",
    summary="One fixed value",
    parameters=(VALUE,),
    draw=draws.constant,
    mean=lambda arguments: arguments["value"],
)

DISTRIBUTIONS: Registry[DistributionEntry] = Registry(
    "distribution",
    "distribution",
    [
        UNIFORM,
        DistributionEntry(
            name="exponential",
            summary="Memoryless, with a mean",
            parameters=(MEAN,),
            draw=draws.exponential,
        ),
        DistributionEntry(
            name="pareto",
            summary="Heavy-tailed, with a mean and a shape",
            parameters=(MEAN, replace(SHAPE, kind=_ABOVE_ONE)),
            draw=draws.pareto,
        ),
        DistributionEntry(
            name="gamma",
            summary="Gamma, with a mean and a shape",
            parameters=(MEAN, SHAPE),
            draw=draws.gamma,
        ),
        DistributionEntry(
            name="normal",
            summary="Normal, truncated at zero",
            parameters=(MEAN, DEVIATION),
            draw=draws.normal,
        ),
        CONSTANT,
        DistributionEntry(
            name="empirical",
            summary="As in a file: values, or a distribution function",
            parameters=(FILE, COLUMN, UNIT),
            draw=None,
        ),
    ],
)


@dataclass(frozen=True)
class Random:
    """A quantity, or a distribution from which each place of use draws independently."""

    quantity: Quantities

    @property
    def phrase(self) -> str:
        """Describe both."""
        return f"{self.quantity.phrase} or a distribution"

    @property
    def dimensions(self) -> tuple[object, ...]:
        """The dimensions of the quantity."""
        return self.quantity.dimensions

    def take(
        self, value: Value, use: str, at: Span | None = None
    ) -> Quantity | Use[DistributionEntry]:
        """Return the value.

        Raises CompileError unless it, or what is drawn from it, is such a quantity.
        """
        if isinstance(value, Quantity) or (
            isinstance(value, Symbol) and value.name not in DISTRIBUTIONS
        ):
            return self.quantity.take(value, use, at)
        if not isinstance(value, Symbol | Applied):
            refuse(self, value, use, at)
        given = bind(DISTRIBUTIONS, value, use, at)
        if given.given(FILE) is not None:
            self._check_file(given, use)
            return given
        gather = Gather()
        for parameter in given.entry.parameters:
            if parameter.kind is SPREAD:
                name = f"`{parameter.name}` of `{given.entry.name}`"
                with gather.attempt():
                    self.quantity.take(given.arguments[parameter.name], name, at)
        gather.finish()
        _check_kinds(given)
        low, high = given.given(LOW), given.given(HIGH)
        if low is not None and high is not None and low.number > high.number:
            fail(
                "out-of-range",
                "the lowest value is above the highest",
                low.span,
                note=f"this is {low.canonical}",
                help="write the smaller value first",
            )
        return given

    def _check_file(self, given: Use[DistributionEntry], use: str) -> None:
        """Raise CompileError unless the values of a file are such quantities. A first one whose
        share is zero is none: all values are above it.
        """
        name, found = given[FILE], _sampled(given)
        if found.dimension not in self.quantity.dimensions:
            fail(
                "wrong-dimension",
                f"{use} must be {self.phrase}, and `{name.value}` has values that are"
                f" {found.dimension}",
                name.span,
            )
        least, largest = found.points[0][0], found.points[-1][0]
        at_least = max(share for value, share in found.points if value == least)
        lowest = self.quantity if at_least else replace(self.quantity, open_low=False)
        for kind, value in ((lowest, least), (self.quantity, largest)):
            kind.take(Quantity(value, found.dimension, name.span), use, name.span)


def _check_kinds(given: Use[DistributionEntry]) -> None:
    """Refuse a distribution with arguments of different dimensions: `uniform(2pkt, 10kB)`."""
    drawn = quantities(given)
    of = [drawn[p.name] for p in given.entry.parameters if p.kind is SPREAD]
    for value in of[1:]:
        if value.dimension != of[0].dimension:
            fail(
                "wrong-dimension",
                f"the parameters of a distribution must be of the same kind, not {of[0].phrase}"
                f" and {value.phrase}",
                value.span,
                note=value.phrase,
                labels=(Label(of[0].span, of[0].phrase),),
                help="write both in the same unit",
            )


A_RANDOM_TIME = Random(A_TIME)
A_RANDOM_TRANSFER = Random(Quantities((DATA, PACKETS), open_low=True))


def is_distribution(given: object) -> TypeIs[Use[DistributionEntry]]:
    """Whether a value names a distribution."""
    return isinstance(given, Use) and isinstance(given.entry, DistributionEntry)


def distribution(
    given: Quantity | Use[DistributionEntry], unit: Fraction | int = 1
) -> Distribution:
    """Return the distribution that is given; a plain quantity is a constant.

    unit: base units per unit of the result (8 for bytes); a shape has no unit.
    """
    if isinstance(given, Quantity):
        return Distribution(CONSTANT.name, {VALUE.name: given.number / unit})
    if given.given(FILE) is not None:
        found = _sampled(given)
        points = tuple((value / unit, share) for value, share in found.points)
        return Distribution(given.entry.name, {}, points, found.file)
    return Distribution(
        given.entry.name, {name: _number(value, unit) for name, value in quantities(given).items()}
    )


def _sampled(given: Use[DistributionEntry]) -> Sample:
    """Return what the file of a distribution says. Raises CompileError."""
    return sample(given[FILE], given.given(COLUMN), given.given(UNIT))


def _number(value: Quantity, unit: Fraction | int) -> Fraction:
    return value.number if value.dimension == NUMBER else value.number / unit


def quantities(given: Use[DistributionEntry]) -> Mapping[str, Quantity]:
    """Return the arguments of a distribution; of one from a file, its least and largest value."""
    if (name := given.given(FILE)) is not None:
        found = _sampled(given)
        ends = {"least": found.points[0][0], "largest": found.points[-1][0]}
        return {key: Quantity(end, found.dimension, name.span) for key, end in ends.items()}
    return cast(Mapping[str, Quantity], given.typed)


def mean(random: Distribution) -> Fraction:
    """Return the mean of a distribution; for a normal one, the mean before truncation at zero."""
    if random.points:
        below = [(random.points[0][0], Fraction()), *random.points]
        pairs = zip(below, random.points, strict=False)
        return sum(((a + b) / 2 * (q - p) for (a, p), (b, q) in pairs), Fraction())
    return DISTRIBUTIONS[random.kind].mean(random.arguments)


def lowest(random: Distribution) -> Fraction:
    """Return a number that no value of a distribution is below."""
    if random.points:
        return random.points[0][0]
    name = {UNIFORM.name: LOW.name, CONSTANT.name: VALUE.name}.get(random.kind)
    return random.arguments[name] if name else Fraction(0)


def is_drawn(random: Distribution) -> bool:
    """Return whether a distribution has more than one value."""
    return DISTRIBUTIONS[random.kind] is not CONSTANT


def draw(random: Distribution, seed: int, *name: str) -> Fraction:
    """Return one number of a distribution, >= 0, from a named stream."""
    stream, entry = draws.Stream(seed, *name), DISTRIBUTIONS[random.kind]
    if entry.draw is None:
        points = [(_decimal(value), _decimal(share)) for value, share in random.points]
        return Fraction(draws.inverse(points, stream))
    arguments = {key: _decimal(value) for key, value in random.arguments.items()}
    return Fraction(entry.draw(arguments, stream))


def _decimal(value: Fraction) -> Decimal:
    return draws.EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
