"""Declaration of `bulk`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import Flow, Refusal, Workload
from fairc.mechanisms.workloads.workload import WorkloadEntry
from fairc.words.sizes import A_PACKET_SIZE, A_WINDOW, whole_bytes

from .cell import BulkWorkload

WINDOW = Parameter("window", A_WINDOW, "limit of the receive window")
PACKET = Parameter(
    "packet", A_PACKET_SIZE, "IP bytes of a datagram over UDP", otherwise="the path's MTU"
)


@dataclass(frozen=True)
class Bulk(Workload):
    """The workload `bulk`; its window is the flow's."""

    window: Quantity | None = field(default=None, compare=False)

    @property
    def receive_window(self) -> Quantity | None:
        """Its window."""
        return self.window

    def refused(self, flow: Flow, given: Collection[str]) -> Iterator[Refusal]:
        """Refuse the size of datagrams where there are none."""
        if self.part.datagram_bytes is not None and flow.transport != "udp":
            yield Refusal(
                "workload",
                f"`packet` of `bulk` is the size of a datagram, and `{flow.label}` is not over UDP",
                "leave `packet` out, or write `over = udp` with a `rate`",
                "TCP and QUIC choose the sizes of their packets",
            )


def _build(use: Use[WorkloadEntry]) -> Bulk:
    packet = use.given(PACKET)
    part = BulkWorkload(packet_bytes=None if packet is None else whole_bytes(packet))
    return Bulk(part, use.given(WINDOW))


DECLARATION = WorkloadEntry(
    name="bulk",
    summary="Each connection sends for as long as the flow lasts",
    parameters=(WINDOW, PACKET),
    over_mptcp=True,
    build=_build,
    over_udp=True,
)
