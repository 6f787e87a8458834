"""Records of `media`: the frames of each end.

Each end has a file of records (docs/reference/artefacts.md): of frames that its encoder emitted, of
frames that have come, and of groups that it cancelled. The sender's records and the receiver's of
one way together say what became of each frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.measurement import endpoints
from fairc.runtime.measurement.artefacts import NS, ArtefactError, field
from fairc.runtime.measurement.endpoints import Endpoints, Remains, by_event
from fairc.runtime.measurement.frames import Frames, Kind, Way

from .cell import MediaWorkload

RECORD = np.dtype(
    [
        *(("at_ns", "<i8"), ("captured_ns", "<i8"), ("number", "<u4"), ("group", "<u4")),
        *(("bytes", "<u4"), ("what", "u1"), ("kind", "u1"), ("zero", "<u2")),
    ]
)
EMITTED, ARRIVED, CANCELLED = 0, 1, 2
VIDEO, KEY = 1, 2
OF_KINDS: Mapping[Kind, int] = {"audio": 0, "video": VIDEO}
SIDES = ("server", "client")
RELIABLE = ("stream", "frame", "group")
"""What loses no frame by itself (`MediaWorkload.carried`)."""


def load(remains: Remains) -> Endpoints:
    """Read what both ends of a flow left behind. Raises ArtefactError."""
    artefacts, flow = remains.artefacts, remains.flow
    found = endpoints.load(artefacts, flow, remains.ending.ended_ns * NS)
    workload = flow.workload
    assert isinstance(workload, MediaWorkload)
    records = dict[str, NDArray[np.void]]()
    for side in SIDES:
        log, name = f"{flow.name}.{side}.ndjson", f"{flow.name}.{side}.frames"
        for event in by_event(artefacts.lines(log))["framed"]:
            content = artefacts.content(name)
            if len(content) != RECORD.itemsize * field(event, "records", log):
                raise ArtefactError(f"{name} does not have the records that {log} says")
            records[side] = np.frombuffer(content, RECORD)
    intervals_s: dict[Kind, float] = {}
    if workload.audio_bytes is not None:
        intervals_s["audio"] = workload.audio_every_ns * NS
    if workload.video is not None:
        intervals_s["video"] = 1 / workload.video.frames_per_s
    ways: dict[Way, tuple[str, str]] = {"down": ("server", "client")}
    if workload.both:
        ways["up"] = "client", "server"
    return replace(
        found,
        frames={
            (way, kind): _frames(
                *(records[side] for side in sides),
                kind=kind,
                interval_s=interval_s,
                reliable=workload.carried in RELIABLE,
            )
            for way, sides in ways.items()
            for kind, interval_s in intervals_s.items()
            if records.keys() >= {*sides}
        },
    )


def _frames(
    theirs: NDArray[np.void],
    ours: NDArray[np.void],
    *,
    kind: Kind,
    interval_s: float,
    reliable: bool,
) -> Frames:
    """Return what became of the frames of a kind, by the records of its sender and receiver."""

    def of(records: NDArray[np.void], what: int) -> NDArray[np.void]:
        chosen: NDArray[np.void] = records[
            (records["what"] == what) & (records["kind"] & VIDEO == OF_KINDS[kind])
        ]
        return chosen

    emitted, came, cancelled = of(theirs, EMITTED), of(ours, ARRIVED), of(theirs, CANCELLED)
    arrived_s = np.full(len(emitted), np.inf)
    numbers = came["number"].astype(np.int64)
    known = numbers < len(emitted)  # else its sender was ended before it could say so
    arrived_s[numbers[known]] = came["at_ns"][known] * NS
    group = emitted["group"].astype(np.int64)
    of_cancelled = np.isin(group, cancelled["group"].astype(np.int64))
    return Frames(
        captured_s=emitted["captured_ns"] * NS,
        arrived_s=arrived_s,
        bytes=emitted["bytes"].astype(np.int64),
        group=group,
        key=emitted["kind"] & KEY != 0,
        cancelled=of_cancelled & ~np.isfinite(arrived_s),
        interval_s=interval_s,
        reliable=reliable,
    )
