"""Workloads: the interface of all of them, distributions, web pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from fairc.cell import workloads
from fairc.cell.workloads import PageObject
from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Quantity

from .requests import Input

if TYPE_CHECKING:
    from .flows import Flow


Points = tuple[tuple[Fraction, Fraction], ...]
"""Points of a distribution function: values with the shares of what is not above them, both
ascending, straight lines in between; the last share is 1.
"""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A random number by its distribution's registry name; arguments in SI base units.

    points: of its distribution function, instead of arguments, where it comes from a file.
    """

    kind: str
    arguments: Mapping[str, Fraction]
    points: Points = ()
    file: Input | None = None

    def times(self, factor: Fraction | int) -> Distribution:
        """Return the distribution of a multiple; a shape has no unit."""
        return replace(
            self,
            arguments={n: v if n == "shape" else v * factor for n, v in self.arguments.items()},
            points=tuple((value * factor, share) for value, share in self.points),
        )

    def lowered(self) -> workloads.Distribution:
        """Return it as the plan holds it."""
        return workloads.Distribution(
            kind=cast(Any, self.kind),
            parameters={name: float(value) for name, value in self.arguments.items()},
            values=tuple(float(value) for value, _ in self.points),
            shares=tuple(float(share) for _, share in self.points),
        )


@dataclass(frozen=True, slots=True)
class Page:
    """A web page: its document, then all other objects in the order of their requests.

    span: where it is written.
    file: the recording that it comes from.
    remarks: what the page leaves out of it.
    """

    objects: tuple[PageObject, ...]
    span: Span = field(compare=False)
    file: Input | None = None
    remarks: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes of all objects."""
        return sum(item.bytes for item in self.objects)

    @property
    def depth(self) -> int:
        """The length of the longest chain of requests, including the document."""
        levels: list[int] = []
        for item in self.objects:
            levels.append(1 if item.parent is None else levels[item.parent] + 1)
        return max(levels)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A key of a flow that does not go with its workload: what is wrong, what to do, and why."""

    key: str
    message: str
    help: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Path:
    """The path of a flow.

    mtu: the smallest one on it, bytes.
    rate_bps: of its bottleneck, bit/s; 0 when nothing has a rate.
    base_rtt_ns: propagation both ways, ns.
    """

    mtu: int
    rate_bps: int
    base_rtt_ns: int


@dataclass(frozen=True)
class Workload:
    """A workload as the file says; mechanisms/workloads has each that is more than its part.

    part: of the plan, as far as the file alone decides it: all that is asked of a workload besides
    is asked of this. `lower` completes it.
    noun: what messages call it.
    only_in_packets: what is known from captured packets alone, as messages put it; empty: nothing.
    senseless: keys of a flow that make no sense for it, and why.
    """

    part: workloads.Workload
    noun: ClassVar[str] = "file"
    only_in_packets: ClassVar[str] = ""
    senseless: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @property
    def is_drawn(self) -> bool:
        """Whether what it transfers differs between repetitions."""
        return False

    @property
    def ends(self) -> bool:
        """Whether it ends by itself."""
        return self.part.total_bytes(1) is not None

    @property
    def group_s(self) -> float:
        """The duration of a group of its frames, s; 0: there are none, or of no fixed length."""
        return 0.0

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files that it depends on."""
        return ()

    def own_time_ns(self, flow: Flow, path: Path) -> int:
        """Return how long a flow takes if the network does not limit it, ns."""
        return self.lower(flow, path, 0, {}).own_time_ns(flow.connections, flow.rate_bps)

    def patience_ns(self, path: Path) -> int:
        """Return the longest time it may take, without pauses, ns; 0: no limit."""
        return 0

    def pauses_ns(self, flow: Flow, seed: int) -> tuple[int, ...]:
        """Return the pauses that it makes in a cell with this seed, ns."""
        return ()

    @property
    def page_loads(self) -> int:
        """The number of its page loads."""
        return 0

    @property
    def receive_window(self) -> Quantity | None:
        """The receive window that it sets for its flow."""
        return None

    @property
    def shared_process(self) -> tuple[Fraction, Distribution] | None:
        """Its share of the arrivals that several flows split, and the time between all of them, s;
        None: it has none.
        """
        return None

    @property
    def draws_pauses(self) -> bool:
        """Whether the pauses between its page loads differ between repetitions."""
        return False

    def transfers(
        self, connections: int, from_start: bool, lasts_s: Fraction | None
    ) -> Fraction | None:
        """Return how many transfers it makes in a part of its time, on average; None: unknown.

        from_start: whether its start is in it. lasts_s: None: it has no end.
        """
        return Fraction(connections if from_start else 0)

    @property
    def quic_datagram_bytes(self) -> int:
        """The smallest maximum datagram size that it needs over QUIC, whatever its flow runs over,
        bytes; 0: it needs none.
        """
        return 0

    @property
    def needs_quic(self) -> str:
        """The reason why its CCA must exist over QUIC besides TCP; empty: it need not."""
        return ""

    def refused(self, flow: Flow, given: Collection[str]) -> Iterator[Refusal]:
        """Yield the keys of its flow that do not go with it; given: the keys that the file sets."""
        return iter(())

    def warnings(self, at: Span) -> Iterator[Diagnostic]:
        """Yield what makes no sense about it; at: where it is written."""
        return iter(())

    def unsplittable(self, flow: Flow, proxies: str) -> Iterator[Diagnostic]:
        """Yield why a pair of proxies cannot split the connections of its flow."""
        return iter(())

    def doubts(self, flow: Flow, path: Path) -> Iterator[Diagnostic]:
        """Yield what makes no sense about it, or cannot be, on the path of its flow."""
        return iter(())

    def split(self, users: int) -> Workload:
        """Return what each of some equal users of a group does."""
        return self

    def lower(
        self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]
    ) -> workloads.Workload:
        """Return its part of the plan.

        seed: of the cell. shared: the parts of the process of arrivals, by the names of their
        flows.
        """
        return self.part
