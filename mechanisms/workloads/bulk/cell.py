"""The part of a plan that is `bulk`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from fairc.cell.model import Flow
from fairc.cell.numbers import MtuBytes
from fairc.cell.part import UNLESS_ABSENT
from fairc.cell.workloads import WORKLOAD_KINDS, Workload


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class BulkWorkload(Workload):
    """Each connection sends until it is stopped.

    packet_bytes: IP bytes of a datagram over UDP; None: the path's MTU.
    """

    greedy = True
    steady = True
    kind: Literal["bulk"] = "bulk"
    packet_bytes: MtuBytes | None = field(default=None, metadata=UNLESS_ABSENT)

    def plain(self) -> dict[str, Any]:
        """Return its kind alone: the description of a UDP server has the size of its packets."""
        return {"kind": self.kind}

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Report datagrams of a size where there are none."""
        if self.packet_bytes is not None and flow.transport != "udp":
            return f"the bulk of `{flow.name}` has datagrams of a size over UDP only"
        return ""
