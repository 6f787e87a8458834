"""`processing` and `syscall_cost` of `hosts`: the time that a host takes for a packet, and for a
system call.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairc.dsl.core.kinds import Quantities, refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import TIME
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value

from .distributions import A_RANDOM_TIME, HIGH, LOW, UNIFORM

OFF = "off"
LEAST_NS = 2
MOST_NS = 4_000_000_000  # the kernel's netem keeps half of it as a signed 32-bit number of ns
A_SYSCALL_COST = Quantities((TIME,), low=Fraction(1, 10**9), high=Fraction(1, 10**4))
"""Cost of each system call; above 0.1 ms programs could not start in time."""
_HELP = "write `uniform(0us, 10us)` with another limit, or `off`"


@dataclass(frozen=True)
class Processing:
    """`off`, or `uniform` from zero to a limit."""

    @property
    def phrase(self) -> str:
        """Describe both."""
        return "`off` or `uniform(0us, 10us)`"

    def take(self, value: Value, use: str, at: Span | None = None) -> int:
        """Return the limit, ns; 0: off. Raises CompileError unless the value is one of these."""
        if isinstance(value, Symbol) and value.name == OFF:
            return 0
        if not isinstance(value, Applied):
            refuse(self, value, use, at, _HELP)
        given = A_RANDOM_TIME.take(value, use, at)
        if isinstance(given, Quantity) or given.entry is not UNIFORM:
            fail("bad-processing", f"{use} must be {self.phrase}", value.span, help=_HELP)
        low, high = given[LOW], given[HIGH]
        if low.number != 0:
            fail(
                "bad-processing",
                f"{use} must begin at zero",
                low.span,
                note=f"this is {low.canonical}",
                help="for a constant extra time, use a `delay` on the host's link",
            )
        if not LEAST_NS <= high.ns <= MOST_NS:
            fail(
                "bad-processing",
                f"{use} must end between {LEAST_NS} ns and {MOST_NS // 10**9} s",
                high.span,
                note=f"this is {high.canonical}",
                help="write `off` where hosts take no time" if high.number == 0 else None,
            )
        return high.ns


A_PROCESSING = Processing()
