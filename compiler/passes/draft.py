"""The working state of the compiler's passes: one configuration on its way to cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from fairc.compiler import plan
from fairc.dsl.core.diagnostics import Diagnostic, Label, Severity
from fairc.dsl.core.source import Span
from fairc.dsl.model import Direction, Flow, Scenario

from .dynamics import most_bps, most_delay_ns

Place = tuple[str, str]
"""An interface: (node name, interface name)."""


@dataclass(slots=True, eq=False)
class End:
    """One end of a cable: an interface, its address, and its egress.

    shaped: the direction of a link whose rate and queue are on this egress.
    impaired: the direction whose loss and delay are on this egress (a hop's). carried: the
    direction whose frames leave a hop of its own by this egress, impaired or not.
    link: index of the link in the scenario; forward: whether the egress leads from a to b.
    mtu: of the link, bytes.
    """

    node: str
    name: str
    address: str
    link: int
    forward: bool
    source: str
    mtu: int
    shaped: Direction | None = None
    impaired: Direction | None = None
    carried: Direction | None = None

    @property
    def place(self) -> Place:
        """The interface as (node, interface)."""
        return self.node, self.name

    @property
    def rate_bps(self) -> int:
        """The rate of this egress, bit/s; 0 when it is not shaped."""
        return (self.shaped.rate_bps or 0) if self.shaped else 0


@dataclass(slots=True)
class DraftNode:
    """A node with its interfaces in the order of the links, and its routes."""

    name: str
    kind: Literal["host", "router", "hop"]
    ends: list[End] = field(default_factory=list)
    routes: list[plan.Route] = field(default_factory=list)


@dataclass(slots=True)
class DraftFlow:
    """A flow, the egresses that its data and its acks pass in order, and values derived from
    them.
    """

    flow: Flow
    data: tuple[End, ...] = ()
    acks: tuple[End, ...] = ()
    base_rtt_ns: int = 0
    bottleneck: End | None = None
    buffer_bytes: int = 0
    port: int = 0

    @property
    def mtu(self) -> int:
        """The smallest MTU on the paths of its data and its acks, bytes."""
        return min(end.mtu for end in (*self.data, *self.acks))

    @property
    def rate_bps(self) -> int:
        """The bottleneck's rate, bit/s; 0 when nothing on the path has a rate."""
        return self.bottleneck.rate_bps if self.bottleneck else 0

    @property
    def offered_bps(self) -> int | None:
        """What all connections send on average, bit/s of IP; None: as much as the network takes."""
        lowered: plan.Workload = self.flow.workload.lower(self, 0, {})
        offered = lowered.offered_bps(self.flow.connections, self.flow.rate_bps)
        return None if offered is None else round(offered)

    @property
    def most_bps(self) -> int:
        """The highest rate that the bottleneck ever has, bit/s; 0 when nothing has a rate."""
        shaped = self.bottleneck.shaped if self.bottleneck else None
        return most_bps(shaped) if shaped else 0

    @property
    def most_rtt_ns(self) -> int:
        """The base RTT with the longest delay that each link ever has, ns."""
        ends = (*self.data, *self.acks)
        return sum(most_delay_ns(end.impaired) for end in ends if end.impaired)


@dataclass(slots=True)
class Draft:
    """One configuration; each pass fills in its part.

    peers: place -> the other end of the cable. next_hops: for each host's name, node -> the
    egress towards it. report: takes a diagnostic.
    """

    scenario: Scenario
    report: Callable[[Diagnostic], None]
    nodes: dict[str, DraftNode] = field(default_factory=dict)
    cables: list[tuple[End, End]] = field(default_factory=list)
    peers: dict[Place, End] = field(default_factory=dict)
    next_hops: dict[str, dict[str, End]] = field(default_factory=dict)
    flows: list[DraftFlow] = field(default_factory=list)
    queues: dict[Place, plan.Queue] = field(default_factory=dict)
    deadline_ns: int = 0
    captures: list[plan.Capture] = field(default_factory=list)
    peps: list[plan.Pep] = field(default_factory=list)
    policers: list[plan.Policer] = field(default_factory=list)
    frozen_nodes: tuple[plan.Node, ...] = ()
    frozen_cables: tuple[plan.Cable, ...] = ()

    def reject(
        self,
        code: str,
        message: str,
        span: Span,
        why: str = "",
        help: str | None = None,
        *,
        note: str = "",
        labels: tuple[Label, ...] = (),
        severity: Severity = Severity.ERROR,
        about: Span | None = None,
    ) -> None:
        """Report an error: what is wrong, where, why, and what to do about it."""
        notes = (why,) if why else ()
        self.report(Diagnostic(code, message, span, note, labels, notes, help, severity, about))

    def warn(
        self,
        code: str,
        message: str,
        span: Span,
        why: str = "",
        help: str | None = None,
        *,
        note: str = "",
        about: Span | None = None,
    ) -> None:
        """Report a warning; as `reject`."""
        warning = Severity.WARNING
        self.reject(code, message, span, why, help, note=note, severity=warning, about=about)

    def peer(self, end: End) -> End:
        """Return the other end of the cable."""
        return self.peers[end.place]
