"""Declaration of `video`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairc.cell.frames import frame_bytes, segment_bytes, stream_bytes
from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_FACTOR, A_POSITIVE_TIME, A_RATE, A_SIZE, A_TIME
from fairc.dsl.core.problems import fail
from fairc.dsl.model import Flow, Path, Workload
from fairc.mechanisms.workloads.workload import NS, WorkloadEntry
from fairc.words.sizes import A_BUFFER, whole_bytes

from .cell import VideoWorkload

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
    """The workload `video`."""

    part: VideoWorkload
    noun = "video"

    def doubts(self, flow: Flow, path: Path) -> Iterator[Diagnostic]:
        """Yield that it stalls on its path, even alone.

        It begins with `play_ns` in its buffer, and plays until all of it has come; `slower`: the
        time that the link takes for its frames over its playing time.
        """
        part = self.part
        if not path.rate_bps:
            return
        payload = (stream_bytes if flow.transport == "quic" else segment_bytes)(path.mtu)
        wire_bps = part.bitrate_bps * frame_bytes(path.mtu) / payload
        slower = wire_bps / path.rate_bps
        left_ns = part.length_ns - max(0, part.length_ns - part.play_ns) * slower
        if slower > 1 and left_ns < part.stall_ns:
            yield warning(
                "video-too-fast",
                f"the video of `{flow.label}` has a higher rate than its bottleneck",
                flow.span,
                notes=(f"with headers {wire_bps / 1e6:.4g} of {path.rate_bps / 1e6:g} Mbit/s",),
                help="it stalls whatever the network does: lower the bit rate, or make the link"
                " faster",
            )


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


DECLARATION = WorkloadEntry(
    name="video",
    summary="A progressive video player",
    parameters=(BITRATE, LENGTH, BURST, CHUNK, FACTOR, PLAY, STALL, SEND_BUFFER),
    build=_build,
    sentence=lambda video, quantity: (
        f"{quantity(video.length_ns / 1e9, 's')} video of {quantity(video.bitrate_bps, 'bit/s')}"
    ),
)
