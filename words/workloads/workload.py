"""What a workload of the language is: its entry, and what most workloads have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

from fairc.compiler import plan
from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.problems import fail
from fairc.dsl.model import Distribution, Flow, Input, OnPath
from fairc.words.distributions import mean

NS = 10**9

SHORTEST_MEAN_S = Fraction(1, 10**6)
"""A program would do nothing but draw shorter times."""


class Written(ABC):
    """A workload as it is written; dsl/model/workloads.py says what each part is."""

    kind: ClassVar[str]
    noun: ClassVar[str] = "file"
    only_in_packets: ClassVar[str] = ""

    @property
    def is_drawn(self) -> bool:
        """Whether what it moves differs between repetitions."""
        return False

    @property
    def size_bytes(self) -> int | None:
        """What each connection moves, bytes; None if that has no end."""
        return None

    @property
    def ends(self) -> bool:
        """Whether it comes to an end by itself."""
        return self.size_bytes is not None

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files that it depends on."""
        return ()

    def total_bytes(self, connections: int) -> int | None:
        """Return what all connections of a flow move, bytes; None if that has no end."""
        return None if self.size_bytes is None else self.size_bytes * connections

    def own_time_ns(self, path: OnPath) -> int:
        """Return how long a flow takes on a network that is no limit, ns."""
        return 0

    def patience_ns(self, path: OnPath) -> int:
        """Return how long it takes at most, without pauses, ns; 0: nothing limits it."""
        return 0

    def pauses_ns(self, flow: Flow, seed: int) -> tuple[int, ...]:
        """Return the pauses that it makes in a cell with this seed, ns."""
        return ()

    def offered_bps(self, flow: Flow) -> int | None:
        """Return what all connections send on average, bit/s of IP; None: what the network takes."""
        return None if flow.rate_bps is None else flow.rate_bps * flow.connections

    @abstractmethod
    def lower(
        self, path: OnPath, seed: int, shared: Mapping[str, plan.SharedArrivals]
    ) -> plan.Workload:
        """Return its part of the plan."""


@dataclass(frozen=True, kw_only=True)
class WorkloadEntry(Entry):
    """A workload. build: raises CompileError for what no program could do.

    over_udp: whether it makes sense without acknowledgements: a datagram asks for nothing and nothing
    answers. has_rate: whether it says itself how fast it sends. window: its argument that limits the
    receive window.
    """

    build: Callable[[Use[WorkloadEntry]], Written]
    over_udp: bool = False
    has_rate: bool = False
    runs: bool = True


def check_lasting(random: Distribution, use: Use[Entry], parameter: Parameter[Any]) -> None:
    """Refuse times that are shorter on average than any program draws them. Raises CompileError."""
    if mean(random) < SHORTEST_MEAN_S:
        fail(
            "out-of-range",
            f"`{parameter.name}` of `{use.entry.name}` must last 1us or more on average",
            use.span_of(parameter),
        )


def lowered(random: Distribution) -> plan.Distribution:
    """Return a distribution as the plan has it."""
    numbers = {name: float(value) for name, value in random.arguments.items()}
    return plan.Distribution(kind=cast(Any, random.kind), parameters=numbers)
