"""The part of a plan that is `media`, and what its ends run."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fairc.cell.document import Program
from fairc.cell.model import SAMPLE_EVERY_NS, Cell, Flow
from fairc.cell.numbers import MtuBytes, Range, Rate, Seed, SpanNs, TimeNs
from fairc.cell.part import UNLESS_ABSENT, UNLESS_EMPTY, Part
from fairc.cell.workloads import NS, WORKLOAD_KINDS, Workload

LEAST_FRAME, LARGEST_FRAME = 20, 1 << 24
"""Sizes of frames, bytes (endpoints/src/media/description.rs)."""
MOST_RECORDED = 10_000
"""The frames of a recording: they are an argument of a program."""
HEADERS = 20 + 8 + 12
"""Of IP, UDP and RTP, bytes."""

FrameBytes = Annotated[int, Range(LEAST_FRAME, LARGEST_FRAME)]
Recorded = Annotated[int, Range(-LARGEST_FRAME, LARGEST_FRAME)]
Carried = Literal["packets", "stream", "datagram", "frame", "group"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaVideo(Part):
    """A video and its encoder.

    rate_bps: bytes of frames per second, as bit/s: what a fixed encoder has, and the most of any
    other; of a recording its mean. group_frames: of a group of pictures. key: size of a key frame
    over the mean size of all. varies: whether sizes and intervals vary as in RFC 8593. recorded:
    sizes of frames, bytes, again and again, negative for a key frame; left out without a recording.
    ladder_bps: the rates that the encoder has. lowest_bps: the least rate of one that follows the
    transport. share: how much of the transport's rate the encoder aims at. reaction_ns: the least
    time between two changes of the rate.
    """

    rate_bps: Rate
    frames_per_s: Annotated[float, Range(0.001, 10_000)]
    group_frames: Annotated[int, Range(1, 1_000_000)]
    key: Annotated[float, Range(0.01, 1e6)]
    varies: bool
    recorded: Annotated[tuple[Recorded, ...], Range(0, MOST_RECORDED)] = field(
        default=(), metadata=UNLESS_EMPTY
    )
    ladder_bps: Annotated[tuple[Rate, ...], Range(0, 100)] = field(
        default=(), metadata=UNLESS_EMPTY
    )
    lowest_bps: Rate | None = field(default=None, metadata=UNLESS_ABSENT)
    share: Annotated[float, Range(0.01, 1)] = 1.0
    reaction_ns: TimeNs = 0

    def __post_init__(self) -> None:
        """Raise ValueError for groups and rates that no encoder can have."""
        if self.group_frames > 1 and self.key >= self.group_frames:
            raise ValueError("a key frame leaves nothing for the others of its group")
        if any(abs(size) < LEAST_FRAME for size in self.recorded):
            raise ValueError(f"a recorded frame has less than {LEAST_FRAME} bytes")
        if [*self.ladder_bps] != sorted(self.ladder_bps):
            raise ValueError("the rates of a ladder ascend")

    @property
    def adapts(self) -> bool:
        """Whether its rate depends on the transport's."""
        return bool(self.ladder_bps) or self.lowest_bps is not None

    @property
    def largest_bytes(self) -> float:
        """The size of a frame that none should exceed but by chance, bytes."""
        if self.recorded:
            return max(map(abs, self.recorded))
        mean = self.rate_bps / (8 * self.frames_per_s)
        return mean * (self.key if self.group_frames > 1 else 1)


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class MediaWorkload(Workload):
    """Frames of audio, of video, or of both.

    audio_bytes: of each audio frame; None: no audio. both: whether the client sends the same as the
    server. largest_bytes: of packets of RTP, bytes of IP. carried: in packets (over UDP), one
    behind the other in a stream (over TCP), in datagrams of QUIC, or with a stream for each frame
    or group. priority: what goes first of what waits. cancel_ns: how long a frame of video may wait
    at the sender until its group is cancelled. seed: of both ends' random numbers.
    """

    paced = True
    adapts = True
    records = "captured"
    transports = ("tcp", "quic", "udp")
    kind: Literal["media"] = "media"
    audio_bytes: FrameBytes | None = field(default=None, metadata=UNLESS_ABSENT)
    audio_every_ns: SpanNs = 20_000_000
    video: MediaVideo | None = field(default=None, metadata=UNLESS_ABSENT)
    both: bool = False
    largest_bytes: MtuBytes
    carried: Carried
    priority: Literal["audio", "newest", "none"] = "audio"
    cancel_ns: SpanNs | None = field(default=None, metadata=UNLESS_ABSENT)
    seed: Seed

    def __post_init__(self) -> None:
        """Raise ValueError where there is nothing to send."""
        if self.audio_bytes is None and self.video is None:
            raise ValueError("media have audio, video, or both")

    @property
    def datagram_bytes(self) -> int | None:
        """IP bytes of its packets over UDP; None: full packets."""
        return self.largest_bytes if self.carried == "packets" else None

    @property
    def peak_bps(self) -> float:
        """Bits of IP per second if all packets, both ways and by far more than there are on
        average, were full.
        """
        return 4 * 8 * self.largest_bytes * self._packets_per_s * (2 if self.both else 1)

    @property
    def _packets_per_s(self) -> float:
        """The mean number of packets of one end."""
        found = 0.0 if self.audio_bytes is None else NS / self.audio_every_ns
        if self.video is not None:
            room = self.largest_bytes - HEADERS
            mean = self.video.rate_bps / (8 * self.video.frames_per_s)
            found += self.video.frames_per_s * math.ceil(mean / room)
        return found

    def offered_bps(self, connections: int, rate_bps: int | None) -> float:
        """Return the mean of one end's bits of IP per second, by RTP's sizes."""
        audio = 0 if self.audio_bytes is None else 8 * self.audio_bytes * NS / self.audio_every_ns
        video = 0 if self.video is None else self.video.rate_bps
        return (audio + video + 8 * HEADERS * self._packets_per_s) * connections

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Report what media cannot have in a flow."""
        over = {"packets": "udp", "stream": "tcp"}.get(self.carried, "quic")
        if flow.transport != over:
            return f"the media of `{flow.name}` are carried as over {over.upper()}"
        if flow.connections != 1 or flow.client_address == "":
            return f"the media of `{flow.name}` have one connection, to a known address"
        if over == "udp" and self.video is not None and self.video.adapts:
            return f"the encoder of `{flow.name}` has no rate of a transport to follow"
        return ""

    def program(self, flow: Flow, cell: Cell, side: str) -> Program:
        """Return its server or its client."""
        ends = [ns for ns in (flow.stop_ns, cell.duration_ns) if ns is not None]
        options, over_quic = flow.options, flow.transport == "quic"
        description: dict[str, Any] = {
            "flow": flow.name,
            "side": side,
            "transport": flow.transport,
            "address": flow.address,
            "port": flow.port,
            "peer": flow.client_address,
            "kernel_cca": flow.cca if flow.transport == "tcp" else None,
            "cca": {"name": flow.cca, "parameters": dict(flow.cca_parameters)}
            if over_quic
            else None,
            "options": {
                name: getattr(options, name)
                for name in (
                    *("initial_window_packets", "receive_window_bytes", "ecn", "sack", "pacing"),
                    *("fast_open", "idle_restart"),
                    *(["discovers_mtu"] if options.discovers_mtu and over_quic else []),
                )
            }
            | ({"follows": True} if cell.rebinds and over_quic else {}),
            "send_buffer_bytes": flow.sender_bytes,
            "receive_buffer_bytes": flow.receiver_bytes,
            "start_ns": flow.start_ns,
            "stop_ns": min(ends, default=None),
            "sample_every_ns": flow.sample_every_ns,
            "progress_every_ns": SAMPLE_EVERY_NS,
            "idle_timeout_ns": flow.idle_timeout_ns,
            "sends": side == "server" or self.both,
            "audio_bytes": self.audio_bytes,
            "audio_every_ns": self.audio_every_ns,
            "video": None if self.video is None else _encoder(self.video),
            "packet_bytes": self.largest_bytes,
            "streams": self.carried if over_quic else "datagram",
            "priority": self.priority,
            "cancel_ns": self.cancel_ns,
            "seed": self.seed,
        }
        return {
            "name": f"{flow.name}.{side}",
            "node": flow.server if side == "server" else flow.client,
            "role": f"media-{side}",
            "description": description,
        }


def _encoder(video: MediaVideo) -> dict[str, Any]:
    """Return a video as endpoints take it."""
    return {
        "rate_bps": video.rate_bps,
        "frames_per_s": video.frames_per_s,
        "group_frames": video.group_frames,
        "key": video.key,
        "varies": video.varies,
        "recorded": list(video.recorded),
        "ladder_bps": list(video.ladder_bps),
        "lowest_bps": video.lowest_bps,
        "share": video.share,
        "reaction_ns": video.reaction_ns,
    }
