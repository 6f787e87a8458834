"""`video`: a progressive download, and the player that waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairc.cell.workloads import VideoWorkload
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_FACTOR, A_POSITIVE_TIME, A_RATE, A_SIZE, A_TIME
from fairc.dsl.core.problems import fail
from fairc.dsl.model import Flow, Path, Workload
from fairc.words.sizes import A_BUFFER, whole_bytes

from .workload import NS, WorkloadEntry

BITRATE = Parameter("bitrate", A_RATE, "rate of the video", required=True)
LENGTH = Parameter("length", A_POSITIVE_TIME, "playing time", required=True)
BURST = Parameter("burst", A_TIME, "playing time sent at full speed at first", "40s")
CHUNK = Parameter("chunk", A_SIZE, "size of the pieces sent after that", "64KiB")
FACTOR = Parameter("factor", A_FACTOR, "sending rate over the bit rate after that", "1.25")
PLAY = Parameter("play", A_POSITIVE_TIME, "buffered playing time that starts the player", "2.2s")
STALL = Parameter("stall", A_TIME, "buffered playing time below which it stalls", "0.4s")
SEND_BUFFER = Parameter("send_buffer", A_BUFFER, "send buffer of the server", "2MB")


@dataclass(frozen=True)
class Video(Workload):
    """The workload `video`: nothing of it depends on the path."""

    plan: VideoWorkload
    kind = "video"
    noun = "video"
    adapts = True

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole video, rounded up."""
        return -(-self.plan.bitrate_bps * self.plan.length_ns // (8 * NS))

    def lower(self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]) -> VideoWorkload:
        """Return its part of the plan."""
        return self.plan


def _build(use: Use[WorkloadEntry]) -> Video:
    play_ns, stall_ns = use[PLAY].ns, use[STALL].ns
    if stall_ns >= play_ns:
        fail(
            "out-of-range",
            "the player would stall before it has started",
            use.span_of(STALL if STALL.name in use.arguments else PLAY),
            note=f"`stall` is {stall_ns / NS:g} s, `play` is {play_ns / NS:g} s",
            help="`stall` is less than `play`",
        )
    return Video(
        VideoWorkload(
            bitrate_bps=max(1, round(use[BITRATE].number)),
            length_ns=use[LENGTH].ns,
            burst_ns=use[BURST].ns,
            chunk_bytes=whole_bytes(use[CHUNK]),
            factor=float(use[FACTOR].number),
            play_ns=play_ns,
            stall_ns=stall_ns,
            send_buffer_bytes=whole_bytes(use[SEND_BUFFER]),
        )
    )


WORKLOAD = WorkloadEntry(
    name="video",
    summary="A progressive video player",
    parameters=(BITRATE, LENGTH, BURST, CHUNK, FACTOR, PLAY, STALL, SEND_BUFFER),
    build=_build,
)
