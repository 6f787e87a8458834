"""Declaration of `media`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from fairc.cell.seeds import stream_seed
from fairc.dsl.core.attachments import Contents, attached
from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import (
    A_FACTOR,
    A_POSITIVE_SHARE,
    A_POSITIVE_TIME,
    A_SWITCH,
    Lists,
    Quantities,
    Texts,
    Words,
)
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.units import DATA, FREQUENCY, RATE, TIME
from fairc.dsl.core.values import Quantity, Text
from fairc.dsl.model import Flow, Input, Path, Refusal, Workload
from fairc.mechanisms.workloads.workload import NS, WorkloadEntry
from fairc.words.ccas import CCAS_OVER
from fairc.words.sizes import whole_bytes
from fairc.words.tables import Column, Table, number, unit

from .cell import (
    LARGEST_FRAME,
    LEAST_FRAME,
    MOST_RECORDED,
    Carried,
    MediaVideo,
    MediaWorkload,
)

SIZE_LIMIT_BYTES = 64 << 20
"""Of a recording: a larger one has too many rows in any case."""
FORM = "a row for each frame: its bytes, and in a column `key` 1 for a key frame, else 0"
A_FRAME = Quantities((DATA,), low=8 * LEAST_FRAME, high=8 * LARGEST_FRAME)
# SHORTEST_PERIOD in endpoints/src/description.rs.
A_PERIOD = Quantities((TIME,), low=Fraction(1, 10_000), high=3600)
A_VIDEO_RATE = Quantities((RATE,), low=1000, high=10**12)
A_FRAME_RATE = Quantities((FREQUENCY,), low=Fraction(1, 1000), high=10_000)
A_GROUP = Quantities((TIME,), open_low=True, high=3600)
# 128 B: headers, what each packet tells (wire.rs), and some data.
A_PACKET = Quantities((DATA,), low=8 * 128, high=8 * 9000)

AUDIO = Parameter("audio", A_FRAME, "bytes of an audio frame, such as 80B", otherwise="no audio")
AUDIO_EVERY = Parameter("audio_every", A_PERIOD, "time between audio frames", "20ms")
VIDEO = Parameter(
    "video", A_VIDEO_RATE, "rate of the video's frames; at most, if it varies", otherwise="no video"
)
FRAMES = Parameter("frames", A_FRAME_RATE, "frames per second", "30/s")
GROUP = Parameter("group", A_GROUP, "time between key frames", "2s")
KEY = Parameter("key", A_FACTOR, "size of a key frame over the mean of all", "5")
SIZES = Parameter(
    "sizes",
    Words("sizes", ("model", "fixed")),
    "sizes of frames and intervals: as in RFC 8593, or all alike",
    "model",
)
RECORDING = Parameter(
    "recording", Texts(), "a file with the size of each frame, instead of `video`", otherwise="none"
)
LADDER = Parameter(
    "ladder",
    Lists(A_VIDEO_RATE),
    "the rates that the encoder has, of which the transport's decides",
    otherwise="`video` alone",
)
LOWEST = Parameter(
    "lowest",
    A_VIDEO_RATE,
    "the least rate of an encoder that follows the transport's",
    otherwise="`video`: its rate is fixed",
)
SHARE = Parameter(
    "share", A_POSITIVE_SHARE, "how much of the transport's rate the encoder aims at", "80%"
)
REACTION = Parameter(
    "reaction", A_POSITIVE_TIME, "the least time between two changes of the encoder's rate", "200ms"
)
BOTH = Parameter("both", A_SWITCH, "whether the client sends the same as the server", "off")
PACKET = Parameter("packet", A_PACKET, "the largest packet of RTP, IP bytes", "1228B")
STREAMS: Parameter[Carried] = Parameter(
    "streams",
    Words[Carried]("streams", ("frame", "group", "datagram")),
    "over QUIC: a stream for each frame, for each group, or datagrams instead",
    "frame",
)
PRIORITY: Parameter[Literal["audio", "newest", "none"]] = Parameter(
    "priority",
    Words("priority", ("audio", "newest", "none")),
    "over QUIC, what goes first: audio; audio and the newest group; what was captured first",
    "audio",
)
CANCEL = Parameter(
    "cancel",
    A_POSITIVE_TIME,
    "over QUIC, how long a frame may wait at the sender until its group is cancelled",
    otherwise="never",
)

_OF_VIDEO: tuple[Parameter[Any], ...] = (FRAMES, GROUP, KEY, SIZES, LADDER, LOWEST)
_OF_AN_ENCODER: tuple[Parameter[Any], ...] = (SHARE, REACTION)
_OF_RATE: tuple[Parameter[Any], ...] = (VIDEO, GROUP, KEY, SIZES)
_OVER_QUIC: tuple[Parameter[Any], ...] = (STREAMS, PRIORITY, CANCEL)


@dataclass(frozen=True)
class Recording:
    """A recording of frames.

    sizes: bytes, negative for a key frame. file: where it is from.
    """

    sizes: tuple[int, ...]
    file: Input

    @property
    def mean_bytes(self) -> float:
        """The mean size of a frame."""
        return sum(map(abs, self.sizes)) / len(self.sizes)


@dataclass(frozen=True)
class Media(Workload):
    """The workload `media`.

    part: as over TCP. streams: how QUIC carries them. own: the parameters that the file gives.
    """

    part: MediaWorkload
    streams: Carried
    own: frozenset[str]
    recording: Recording | None = None
    noun = "media"

    @property
    def is_drawn(self) -> bool:
        """Whether sizes of its frames are drawn."""
        return self.part.video is not None and self.part.video.varies

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Its recording."""
        return () if self.recording is None else (self.recording.file,)

    @property
    def group_s(self) -> float:
        """The duration of a group of pictures, s; 0: it has none, or a recording's."""
        video = self.part.video
        if video is None or video.recorded:
            return 0.0
        return video.group_frames / video.frames_per_s

    def refused(self, flow: Flow, given: Collection[str]) -> Iterator[Refusal]:
        """Yield what goes neither with media nor with their transport."""
        if flow.connections != 1:
            yield Refusal(
                "count",
                "`count` does not apply to media",
                "a call is one connection: write an indexed flow, `flow call[i] for i in 1..3`",
            )
        if flow.options.fast_open and "fast_open" in given:
            yield Refusal(
                "fast_open",
                "`fast_open` does not apply to media",
                "leave it out: nobody asks for media with the first packet",
            )
        over_quic = flow.transport == "quic" and flow.cca in CCAS_OVER["quic"]
        if self.part.both and over_quic and CCAS_OVER["quic"][flow.cca or ""].is_scalable:
            yield Refusal(
                "workload",
                f"`both` of `media` cannot be used with `{flow.cca}`",
                "write another flow of media the other way, with `from` and `to`",
                "clients over QUIC do not count marks here",
            )
        if flow.multipath is not None:
            yield Refusal("over", "media cannot run over MPTCP", "write `over = tcp`")
        if flow.qlog:
            yield Refusal("workload", "media write no qlog", "leave `qlog` out of `hosts`")
        if flow.transport != "quic":
            for parameter in _OVER_QUIC:
                if parameter.name in self.own:
                    yield Refusal(
                        "workload",
                        f"`{parameter.name}` of `media` applies to QUIC alone",
                        "write `over = quic`, or leave it out",
                        f"this flow is over {flow.transport.upper()}",
                    )
        if flow.transport == "tcp" and PACKET.name in self.own:
            yield Refusal(
                "workload",
                "`packet` of `media` does not apply over TCP",
                "leave it out: TCP makes its own packets of frames",
            )
        video = self.part.video
        if flow.transport == "udp" and video is not None and video.adapts:
            key = LADDER.name if video.ladder_bps else LOWEST.name
            yield Refusal(
                "workload",
                f"`{key}` of `media` needs a transport that estimates a rate",
                "leave it out, or write `over = quic` or `over = tcp`",
                "UDP has no congestion control, and no controller for media over it is there yet",
            )

    def doubts(self, flow: Flow, path: Path) -> Iterator[Diagnostic]:
        """Yield what its path cannot carry."""
        part = self.part
        if not path.rate_bps:
            return
        offered_bps = part.offered_bps(1, None)
        fixed = part.video is None or not part.video.adapts
        if fixed and flow.transport != "udp" and offered_bps > path.rate_bps:
            yield warning(
                "media-too-fast",
                f"the media of `{flow.label}` have a higher rate than their bottleneck",
                flow.span,
                notes=(f"with headers {offered_bps / 1e6:.3g} of {path.rate_bps / 1e6:g} Mbit/s",),
                help=("frames are ever later" if part.cancel_ns is None else "groups are cancelled")
                + ", whatever the network does: lower the rate, or make the link faster",
            )

    def lower(self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]) -> MediaWorkload:
        """Return its part of the plan."""
        carried: Mapping[str, Carried] = {"udp": "packets", "tcp": "stream"}
        return replace(
            self.part,
            carried=carried.get(flow.transport, self.streams),
            seed=stream_seed(seed, "workload", flow.name),
        )


def _build(use: Use[WorkloadEntry]) -> Media:
    audio, video = use.given(AUDIO), use.given(VIDEO)
    recording = use.given(RECORDING)
    if audio is None and video is None and recording is None:
        fail(
            "missing-argument",
            "`media` has neither audio nor video",
            use.span,
            help="write for example `media(audio: 80B, video: 1Mbit/s)`",
        )
    if audio is None and AUDIO_EVERY.name in use.arguments:
        _alone(use, AUDIO_EVERY, AUDIO)
    gather = Gather()
    recorded = None
    if recording is not None:
        for parameter in _OF_RATE:
            with gather.attempt():
                if parameter.name in use.arguments:
                    fail(
                        "duplicate-key",
                        f"`recording` and `{parameter.name}` both set the frames",
                        use.span_of(parameter),
                        help="leave one of them out",
                    )
        with gather.attempt():
            recorded = _recording(recording)
    if video is None and recording is None:
        for parameter in (*_OF_VIDEO, *_OF_AN_ENCODER):
            with gather.attempt():
                if parameter.name in use.arguments:
                    _alone(use, parameter, VIDEO)
    gather.finish()
    planned = None
    if video is not None or recorded is not None:
        planned = _video(use, recorded)
    part = MediaWorkload(
        audio_bytes=None if audio is None else whole_bytes(audio),
        audio_every_ns=use[AUDIO_EVERY].ns,
        video=planned,
        both=use[BOTH],
        largest_bytes=whole_bytes(use[PACKET]),
        carried="stream",
        priority=use[PRIORITY],
        cancel_ns=None if (cancel := use.given(CANCEL)) is None else cancel.ns,
        seed=0,
    )
    if use.given(CANCEL) is not None and planned is None:
        _alone(use, CANCEL, VIDEO)
    return Media(part, use[STREAMS], frozenset(use.arguments), recorded)


def _alone(use: Use[WorkloadEntry], parameter: Parameter[Any], needed: Parameter[Any]) -> None:
    """Refuse a parameter without what it is of. Raises CompileError."""
    fail(
        "impossible-pair",
        f"`{parameter.name}` of `media` needs `{needed.name}`",
        use.span_of(parameter),
        help=f"add `{needed.name}`, or leave `{parameter.name}` out",
    )


def _video(use: Use[WorkloadEntry], recorded: Recording | None) -> MediaVideo:
    """Return the video and its encoder. Raises CompileError."""
    gather = Gather()
    frames_per_s = use[FRAMES].number
    group = max(1, round(use[GROUP].number * frames_per_s))
    key = float(use[KEY].number)
    ladder, lowest = use.given(LADDER), use.given(LOWEST)
    if recorded is None:
        rate_bps = max(1, round(use[VIDEO].number))
    else:
        rate_bps = max(1, round(8 * recorded.mean_bytes * float(frames_per_s)))
    if recorded is None:
        _check_group(use, rate_bps / (8 * float(frames_per_s)), group, key, gather)
    with gather.attempt():
        if ladder is not None and lowest is not None:
            fail(
                "duplicate-key",
                "an encoder has a ladder, or any rate above `lowest`",
                use.span_of(LOWEST),
                help="leave one of them out",
            )
    for own in _OF_AN_ENCODER:
        with gather.attempt():
            if own.name in use.arguments and ladder is None and lowest is None:
                _alone(use, own, LOWEST)
    with gather.attempt():
        if lowest is not None and lowest.number > rate_bps:
            fail(
                "out-of-range",
                "the least rate of the encoder is above its highest",
                lowest.span,
                note=f"the highest is {rate_bps / 1e3:g} kbit/s",
            )
    steps = () if ladder is None else _ladder(ladder, rate_bps, use, gather)
    gather.finish()
    return MediaVideo(
        rate_bps=rate_bps,
        frames_per_s=float(frames_per_s),
        group_frames=1 if recorded is not None else group,
        key=1.0 if recorded is not None else key,
        varies=recorded is None and use[SIZES] == "model",
        recorded=() if recorded is None else recorded.sizes,
        ladder_bps=steps,
        lowest_bps=None if lowest is None else round(lowest.number),
        share=float(use[SHARE].number) if ladder or lowest else 1.0,
        reaction_ns=use[REACTION].ns if ladder or lowest else 0,
    )


def _check_group(
    use: Use[WorkloadEntry], mean_bytes: float, group: int, key: float, gather: Gather
) -> None:
    """Refuse groups of frames that are too short, and frames of a wrong size.

    mean_bytes: of a frame. group: frames. key: size of a key frame over the mean of all.
    """
    frames_per_s = use[FRAMES].number
    with gather.attempt():
        if use[GROUP].number * frames_per_s < 1:
            fail(
                "out-of-range",
                "a group ends before its second frame comes",
                use.span_of(GROUP if GROUP.name in use.arguments else FRAMES),
                note=f"a frame comes every {float(1 / frames_per_s):g} s, a key frame every"
                f" {float(use[GROUP].number):g} s",
                help="write a `group` of at least one frame, or more `frames`",
            )
    with gather.attempt():
        if 1 < group <= key:
            fail(
                "out-of-range",
                "a key frame leaves nothing for the other frames of its group",
                use.span_of(KEY if KEY.name in use.arguments else GROUP),
                note=f"a group has {group} frames, a key frame has the bytes of {key:g}",
                help="write a smaller `key`, or a longer `group`",
            )
        _check_sizes(use, mean_bytes, group, key)


def _check_sizes(use: Use[WorkloadEntry], mean_bytes: float, group: int, key: float) -> None:
    """Refuse frames that are too small or too large. Raises CompileError."""
    others = mean_bytes * ((group - key) / (group - 1) if group > 1 else 1)
    largest = max(others, mean_bytes * key if group > 1 else mean_bytes)
    if min(others, largest) < LEAST_FRAME:
        fail(
            "out-of-range",
            f"a frame would have {min(others, largest):.3g} bytes, less than {LEAST_FRAME}",
            use.span_of(VIDEO),
            help="write a higher rate, or fewer frames per second",
        )
    if largest > LARGEST_FRAME:
        fail(
            "out-of-range",
            f"a frame would have {largest / 1e6:.3g} MB, more than {LARGEST_FRAME >> 20} MiB",
            use.span_of(VIDEO),
            help="write a lower rate, more frames per second, or a smaller `key`",
        )


def _ladder(
    ladder: tuple[Quantity, ...], rate_bps: int, use: Use[WorkloadEntry], gather: Gather
) -> tuple[int, ...]:
    """Return the steps of a ladder. Raises CompileError."""
    for step, before in zip(ladder[1:], ladder, strict=False):
        with gather.attempt():
            if step.number <= before.number:
                fail(
                    "out-of-range",
                    "the rates of a ladder ascend",
                    step.span,
                    note=f"this is not above {before.canonical}",
                )
    with gather.attempt():
        if VIDEO.name in use.arguments and ladder[-1].number != rate_bps:
            fail(
                "conflicting-rates",
                "`video` is not the highest rate of the ladder",
                use.span_of(VIDEO),
                note=f"that is {ladder[-1].canonical}",
                help=f"write `video: {ladder[-1].canonical}`",
            )
    return tuple(round(step.number) for step in ladder)


_RECORDINGS = Contents[Recording]()


def _recording(name: Text) -> Recording:
    """Return what a file says. Raises CompileError for whatever is wrong, with its place there."""
    data = attached(name, SIZE_LIMIT_BYTES, f"write it there: {FORM}")

    def read(sha256: str) -> Recording:
        table = Table(name, data, noun="recording", word="media", form=FORM, code="bad-recording")
        if len(table.rows) > MOST_RECORDED:
            fail(
                "too-many",
                f"this recording has {len(table.rows):,} frames; the limit is {MOST_RECORDED:,}",
                name.span,
                help="use a part of it: it repeats for as long as the flow lasts",
            )
        key, sizes = _columns(table)
        found = list[int]()
        for row in table.rows:
            cells = table.cells(row)
            if cells is None:
                continue
            size = _number(table, row, cells[sizes.place], sizes)
            is_key = key is not None and _number(table, row, cells[key.place], key)
            if size is not None and not LEAST_FRAME <= size <= LARGEST_FRAME:
                table.fault(
                    row,
                    f"has a frame that is not from {LEAST_FRAME} bytes to"
                    f" {LARGEST_FRAME >> 20} MiB: {size}",
                    kind="size",
                )
            elif size is not None:
                found.append(round(-size if is_key or not found else size))
        table.finish()
        if not found:
            fail("bad-recording", "this recording has no frames", name.span, help=f"write {FORM}")
        return Recording(tuple(found), Input(path=name.value, sha256=sha256))

    return _RECORDINGS.of(name, data, read)


def _columns(table: Table) -> tuple[Column | None, Column]:
    """Return the column of key frames, if there is one, and that of sizes."""
    first, *others = columns = table.columns
    named = {column.stem.casefold(): column for column in columns}
    key = named.get("key", others[0] if others and not table.has_header else None)
    sizes = next((named[name] for name in ("bytes", "size") if name in named), first)
    if sizes is key:
        table.fault(table.top, "has no column of sizes", kind="columns")
    told = unit(sizes.unit)
    if sizes.unit and (told is None or told.dimension != DATA or told.factor != 8):
        table.fault(table.top, f"has sizes in `{sizes.unit}`, not in bytes", kind="unit")
    return key, sizes


def _number(table: Table, row: int, text: str, column: Column) -> Decimal | None:
    """Return a number of a row; None, and a fault, if there is none."""
    found = number(text)
    if found is None:
        table.fault(
            row, f"has no number in column `{column.label}`: `{text[:40]}`", kind=column.label
        )
    return found


def _sentence(media: MediaWorkload, quantity: Any) -> str:
    """Return how the report describes it."""
    parts = []
    if media.audio_bytes is not None:
        rate = 8 * media.audio_bytes * NS / media.audio_every_ns
        parts.append(f"audio of {quantity(rate, 'bit/s')}")
    if media.video is not None:
        most = "up to " if media.video.adapts else ""
        parts.append(f"video of {most}{quantity(media.video.rate_bps, 'bit/s')}")
    ways = " both ways" if media.both else ""
    return " and ".join(parts) + ways


DECLARATION = WorkloadEntry(
    name="media",
    summary="Frames of audio and video as they are captured, one way or both",
    parameters=(
        *(AUDIO, AUDIO_EVERY, VIDEO, FRAMES, GROUP, KEY, SIZES, RECORDING),
        *(LADDER, LOWEST, SHARE, REACTION, BOTH, PACKET, STREAMS, PRIORITY, CANCEL),
    ),
    build=_build,
    over_udp=True,
    has_rate=True,
    sentence=_sentence,
)
