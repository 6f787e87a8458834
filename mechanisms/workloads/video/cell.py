"""The part of a plan that is `video`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.numbers import Buffer, NotNegative, Rate, Size, TimeNs
from fairc.cell.workloads import NS, WORKLOAD_KINDS, Workload


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class VideoWorkload(Workload):
    """A progressive download and its player.

    burst_ns of playing time are sent at full speed, then one chunk after the other at `factor`
    times the bit rate. The player starts with play_ns buffered, and stalls below stall_ns.
    """

    paced = True
    adapts = True
    steady = True
    records = "videos"
    kind: Literal["video"] = "video"
    bitrate_bps: Rate
    length_ns: TimeNs
    burst_ns: TimeNs
    chunk_bytes: Size
    factor: NotNegative
    play_ns: TimeNs
    stall_ns: TimeNs
    send_buffer_bytes: Buffer

    def total_bytes(self, connections: int) -> int:
        """Return the videos' bytes, each rounded up."""
        return -(-self.bitrate_bps * self.length_ns // (8 * NS)) * connections

    def own_time_ns(self, connections: int, rate_bps: int | None) -> int:
        """Return the playing time, ns."""
        return self.length_ns
