"""The part of a plan that is `load`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from fairc.cell.model import Flow
from fairc.cell.numbers import Range, Setting, SpanNs, TimeNs
from fairc.cell.text import ParameterName
from fairc.cell.workloads import BROWSER, WORKLOAD_KINDS, PageObject, Workload

PAGE_RTTS, BROWSER_VIRTUAL_S = 8, 5.0
"""Of a load, for estimates: round trips of handshakes, request and slow start; the start of a
browser, in virtual seconds.
"""


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWorkload(Workload):
    """A page, loaded several times in sequence by one client with one profile.

    client: `chromium`, or `plain`: a client without a browser. protocols: the HTTP version of each
    load. idle_ns: the pause before each load (none before the first), from the end of
    the previous load. every_ns: the least time between the begins of two loads, on a grid that
    begins with the first. timeout_ns: a load that takes longer has failed.
    quic_parameters: all parameters of the CCA over QUIC; empty where no load is over HTTP/3.
    """

    transports = ("web",)
    only_in_packets = True
    adapts = True
    records = "loads"
    pauses = True
    opened = 6  # of a page over HTTP/1.1
    kind: Literal["load"] = "load"
    page: Annotated[tuple[PageObject, ...], Range(1, 1000)]
    client: Literal["chromium", "plain"]
    protocols: Annotated[tuple[Literal["h1", "h2", "h3"], ...], Range(1, 100)]
    idle_ns: tuple[TimeNs, ...]
    every_ns: TimeNs = 0
    timeout_ns: SpanNs
    quic_parameters: dict[ParameterName, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError for objects that do not make a page, and loads without a pause of their
        own.
        """
        for number, item in enumerate(self.page):
            if (item.parent is None) != (number == 0) or (item.parent or 0) > max(0, number - 1):
                raise ValueError("an object of a page comes after the one that names it")
        if len({item.path for item in self.page}) < len(self.page) or self.page[0].path != "/":
            raise ValueError("the document of a page is at `/`, and no two objects at one path")
        if len(self.idle_ns) != len(self.protocols):
            raise ValueError("each load of a page has a protocol and a pause")

    @property
    def programs(self) -> frozenset[str]:
        """A browser, unless a client without one loads the page."""
        return frozenset() if self.client == "plain" else frozenset({BROWSER})

    def is_tuned(self, flow: Flow) -> bool:
        """Whether a browser loads it."""
        return self.client != "plain"

    def load_begin_ns(self, place: int, start_ns: int, before_ns: int) -> int:
        """Return when a load begins: after its pause, and not before its place on the grid."""
        if not place:
            return start_ns
        return max(before_ns + self.idle_ns[place], start_ns + place * self.every_ns)

    def alone_s(self, flow: Flow) -> float:
        """Return the time of its loads apart from their bytes, s."""
        each_s = PAGE_RTTS * flow.base_rtt_ns / 1e9
        if self.client != "plain":
            each_s += BROWSER_VIRTUAL_S
        loads, every_s = len(self.protocols), self.every_ns / 1e9
        return max(sum(self.idle_ns) / 1e9 + loads * each_s, (loads - 1) * every_s + each_s)

    def total_bytes(self, connections: int) -> int:
        """Return the bytes of all loads."""
        return sum(item.bytes for item in self.page) * len(self.protocols)
