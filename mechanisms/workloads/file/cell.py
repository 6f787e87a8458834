"""The part of a plan that is `file`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.numbers import Size
from fairc.cell.workloads import NS, WORKLOAD_KINDS, Workload


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class FileWorkload(Workload):
    """Each connection transfers exactly `bytes` and ends."""

    greedy = True
    by_images = True
    steady = True
    records = "transfers"
    kind: Literal["file"] = "file"
    bytes: Size

    def total_bytes(self, connections: int) -> int:
        """Return the files' bytes."""
        return self.bytes * connections

    def own_time_ns(self, connections: int, rate_bps: int | None) -> int:
        """Return the time of a file at the flow's own rate, ns."""
        return 0 if rate_bps is None else self.bytes * 8 * NS // rate_bps
