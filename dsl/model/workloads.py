"""What the connections of a flow transfer: the interface of all workloads (words/workloads has
each).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from fairc.cell.workloads import Transfer

from .requests import Input

if TYPE_CHECKING:
    from .flows import Flow


@dataclass(frozen=True, slots=True)
class Distribution:
    """A random number by its distribution's registry name; arguments in SI base units."""

    kind: str
    arguments: Mapping[str, Fraction]


class OnPath(Protocol):
    """A flow on its path: the smallest MTU, bytes; the bottleneck's rate, bit/s; the base RTT,
    ns.
    """

    flow: Flow
    base_rtt_ns: int

    @property
    def mtu(self) -> int:
        """The smallest MTU, bytes."""
        ...

    @property
    def rate_bps(self) -> int:
        """The bottleneck's rate, bit/s; 0 when nothing has a rate."""
        ...


class Workload(ABC):
    """What a flow transfers, as the file says; words/workloads has a class for each workload.

    kind: its word in the language. noun: what messages call it. only_in_packets: what is known from
    captured packets alone, as messages put it; empty: nothing.
    """

    kind: ClassVar[str]
    noun: ClassVar[str] = "file"
    only_in_packets: ClassVar[str] = ""

    @property
    def programs(self) -> frozenset[str]:
        """The programs that it needs, other than the endpoints."""
        return frozenset()

    @property
    def is_drawn(self) -> bool:
        """Whether what it transfers differs between repetitions."""
        return False

    @property
    def size_bytes(self) -> int | None:
        """What each connection transfers, bytes; None if there is no end to it."""
        return None

    @property
    def ends(self) -> bool:
        """Whether it ends by itself."""
        return self.size_bytes is not None

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files that it depends on."""
        return ()

    def total_bytes(self, connections: int) -> int | None:
        """Return what all connections of a flow transfer, bytes; None if there is no end to it."""
        return None if self.size_bytes is None else self.size_bytes * connections

    def own_time_ns(self, path: OnPath) -> int:
        """Return how long a flow takes if the network does not limit it, ns."""
        lowered: Transfer = self.lower(path, 0, {})
        return lowered.own_time_ns(path.flow.connections, path.flow.rate_bps)

    def patience_ns(self, path: OnPath) -> int:
        """Return the longest time it may take, without pauses, ns; 0: no limit."""
        return 0

    def pauses_ns(self, flow: Flow, seed: int) -> tuple[int, ...]:
        """Return the pauses that it makes in a cell with this seed, ns."""
        return ()

    @abstractmethod
    def lower(self, path: OnPath, seed: int, shared: Mapping[str, Any]) -> Any:
        """Return its part of the plan.

        seed: of the cell. shared: the parts of the process of arrivals, by the names of their
        flows.
        """
