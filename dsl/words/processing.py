"""`processing` and `syscall_cost` of `hosts`: the time that a host takes for a packet, and for a system call."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairc.dsl.core.entries import bind
from fairc.dsl.core.kinds import Kind, Quantities, refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import TIME
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value, nanoseconds

from .random_words import A_RANDOM_TIME, DISTRIBUTIONS

OFF = "off"
UNIFORM = "uniform"
LEAST_NS = 2
MOST_NS = 4_000_000_000  # the kernel's netem has half of it in a signed 32-bit number of ns
A_SYSCALL_COST = Quantities((TIME,), low=Fraction(1, 10**9), high=Fraction(1, 10**4))
"""Of each system call; more than 0.1 ms, and programs could not start in time."""
_HELP = "write `uniform(0us, 10us)` with another limit, or `off`"


@dataclass(frozen=True)
class Processing:
    """`off`, or `uniform` from zero to a limit."""

    @property
    def words(self) -> str:
        """Describe both."""
        return "`off` or `uniform(0us, 10us)`"

    def check(self, value: Value, use: str, at: Span | None = None) -> None:
        """Raise CompileError unless the value is one of both."""
        if isinstance(value, Symbol) and value.name == OFF:
            return
        if not isinstance(value, Applied):
            refuse(self, value, use, at, _HELP)
            return
        A_RANDOM_TIME.check(value, use, at)
        if value.name != UNIFORM:
            fail("bad-processing", f"{use} must be {self.words}", value.span, help=_HELP)
        low, high = _limits(value)
        if low.number != 0:
            fail(
                "bad-processing",
                f"{use} must begin at zero",
                low.span,
                note=f"this is {low.canonical}",
                help="what every packet takes longer is a `delay` of the host's link",
            )
        if not LEAST_NS <= nanoseconds(high) <= MOST_NS:
            fail(
                "bad-processing",
                f"{use} must end between {LEAST_NS} ns and {MOST_NS // 10**9} s",
                high.span,
                note=f"this is {high.canonical}",
                help="write `off` where hosts take no time" if high.number == 0 else None,
            )


A_PROCESSING: Kind = Processing()


def processing_ns(value: Value | None) -> int | None:
    """Return the limit of a checked value, ns; 0: off; None: nothing is given."""
    if value is None:
        return None
    return nanoseconds(_limits(value)[1]) if isinstance(value, Applied) else 0


def syscall_cost_ns(value: Value | None) -> int | None:
    """Return the cost of a system call, ns, of a checked value; None: nothing is given."""
    return nanoseconds(value) if isinstance(value, Quantity) else None


def _limits(value: Applied) -> tuple[Quantity, Quantity]:
    given = bind(DISTRIBUTIONS, value, "`processing`").arguments
    low, high = given["low"], given["high"]
    assert isinstance(low, Quantity) and isinstance(high, Quantity)
    return low, high
