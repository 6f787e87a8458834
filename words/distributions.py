"""The words of random numbers: distributions, and the kinds of values that may be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, Parameter, Use, bind
from fairc.dsl.core.kinds import A_TIME, Quantities, refuse
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import DATA, NUMBER, PACKETS, TIME
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value
from fairc.dsl.model import Distribution

P = Parameter

_SPREAD = Quantities((TIME, DATA, PACKETS, NUMBER))
_SHAPE = Quantities((NUMBER,), low=Fraction(1, 100), high=10**6)
LOW = P("low", _SPREAD, "lowest value", required=True)
HIGH = P("high", _SPREAD, "highest value", required=True)

DISTRIBUTIONS: Registry[Entry] = Registry(
    "distribution",
    "distribution",
    [
        Entry(
            "uniform",
            "Any value between two limits, all equally likely",
            (
                LOW,
                HIGH,
            ),
            runs=True,
        ),
        Entry(
            "exponential",
            "Memoryless, with a mean",
            (P("mean", _SPREAD, "mean value", required=True),),
            runs=True,
        ),
        Entry(
            "pareto",
            "Heavy-tailed, with a mean and a shape",
            (
                P("mean", _SPREAD, "mean value", required=True),
                P(
                    "shape",
                    Quantities((NUMBER,), low=1, high=10**6, open_low=True),
                    "shape",
                    required=True,
                ),
            ),
            runs=True,
        ),
        Entry(
            "gamma",
            "Gamma, with a mean and a shape",
            (
                P("mean", _SPREAD, "mean value", required=True),
                P("shape", _SHAPE, "shape", required=True),
            ),
            runs=True,
        ),
        Entry(
            "normal",
            "Normal, truncated at zero",
            (
                P("mean", _SPREAD, "mean value", required=True),
                P("deviation", _SPREAD, "standard deviation", required=True),
            ),
            runs=True,
        ),
        Entry(
            "constant",
            "One fixed value",
            (P("value", _SPREAD, "the value", required=True),),
            runs=True,
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

    def take(self, value: Value, use: str, at: Span | None = None) -> Quantity | Use[Entry]:
        """Return the value.

        Raises CompileError unless it, or what is drawn from it, is such a quantity.
        """
        if isinstance(value, Quantity):
            return self.quantity.take(value, use, at)
        if not isinstance(value, Symbol | Applied):
            refuse(self, value, use, at)
        given = bind(DISTRIBUTIONS, value, use, at)
        gather = Gather()
        for parameter in given.entry.parameters:
            if parameter.kind is _SPREAD:
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


def _check_kinds(given: Use[Entry]) -> None:
    """Refuse a distribution with arguments of different dimensions: `uniform(2pkt, 10kB)`."""
    drawn = quantities(given)
    of = [drawn[p.name] for p in given.entry.parameters if p.kind is _SPREAD]
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


def distribution(given: Quantity | Use[Entry], unit: Fraction | int = 1) -> Distribution:
    """Return the distribution that is given; a plain quantity is a constant.

    unit: base units per unit of the result (8 for bytes); a shape has no unit.
    """
    if isinstance(given, Quantity):
        return Distribution("constant", {"value": given.number / unit})
    return Distribution(
        given.entry.name, {name: _number(value, unit) for name, value in quantities(given).items()}
    )


def _number(value: Quantity, unit: Fraction | int) -> Fraction:
    return value.number if value.dimension == NUMBER else value.number / unit


def quantities(given: Use[Entry]) -> Mapping[str, Quantity]:
    """Return the arguments of a distribution."""
    return cast(Mapping[str, Quantity], given.typed)


def mean(random: Distribution) -> Fraction:
    """Return the mean of a distribution; for a normal one, the mean before truncation at zero."""
    arguments = random.arguments
    if random.kind == "uniform":
        return (arguments["low"] + arguments["high"]) / 2
    return arguments["value" if random.kind == "constant" else "mean"]
