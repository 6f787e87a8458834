"""What `media` left behind: the frames of each end.

Each end has a file of records (docs/reference/artefacts.md): of frames that its encoder emitted, of
frames that have come, and of groups that it cancelled. The sender's records and the receiver's of
one way together say what became of each frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairc.cell.model import Cell, Flow
from fairc.runtime.measurement import endpoints
from fairc.runtime.measurement.artefacts import NS, ArtefactError, Artefacts, Ending, field
from fairc.runtime.measurement.endpoints import Endpoints, by_event
from fairc.runtime.measurement.pcap import Capture

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

RECORD = np.dtype(
    [
        *(("at_ns", "<i8"), ("captured_ns", "<i8"), ("number", "<u4"), ("group", "<u4")),
        *(("bytes", "<u4"), ("what", "u1"), ("kind", "u1"), ("zero", "<u2")),
    ]
)
EMITTED, ARRIVED, CANCELLED = 0, 1, 2
VIDEO, KEY = 1, 2
SIDES = ("server", "client")

Way = Literal["down", "up"]
Kind = Literal["audio", "video"]


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of one kind on one way, in the order of their capture; each of shape (frames,).

    captured_s: s after the epoch. arrived_s: when the last bit of it was there; infinite: never.
    group: from 0. key: whether it begins one. cancelled: whether its group was, before it was
    there.
    """

    captured_s: Floats
    arrived_s: Floats
    bytes: Int64s
    group: Int64s
    key: Bools
    cancelled: Bools

    def __len__(self) -> int:
        return len(self.captured_s)

    @property
    def there(self) -> Bools:
        """Which have come, whole."""
        return np.isfinite(self.arrived_s)

    @property
    def delay_s(self) -> Floats:
        """From capture to complete reception, s; infinite: it never came."""
        return self.arrived_s - self.captured_s

    def select(self, which: Bools) -> Frames:
        """Return some of them."""
        return Frames(
            self.captured_s[which],
            self.arrived_s[which],
            self.bytes[which],
            self.group[which],
            self.key[which],
            self.cancelled[which],
        )


def load(
    artefacts: Artefacts,
    flow: Flow,
    cell: Cell,
    captures: Mapping[str, Capture],
    ending: Ending,
) -> Endpoints:
    """Read what both ends of a flow left behind. Raises ArtefactError."""
    found = endpoints.load(artefacts, flow, ending.ended_ns * NS)
    files: dict[str, bytes | None] = {}
    for side in SIDES:
        log, name = f"{flow.name}.{side}.ndjson", f"{flow.name}.{side}.frames"
        for event in by_event(artefacts.lines(log))["framed"]:
            content = artefacts.content(name)
            if len(content) != RECORD.itemsize * field(event, "records", log):
                raise ArtefactError(f"{name} does not have the records that {log} says")
            files[f"{side}.frames"] = content
    return replace(found, files=files)


def frames(files: Mapping[str, bytes | None], way: Way, kind: Kind) -> Frames | None:
    """Return the frames of a kind on a way; None: an end did not complete its file.

    files: of the flow's ends.
    """
    sides = SIDES if way == "down" else SIDES[::-1]
    sent, received = (files.get(f"{side}.frames") for side in sides)
    if sent is None or received is None:
        return None
    theirs, ours = np.frombuffer(sent, RECORD), np.frombuffer(received, RECORD)
    is_video = VIDEO if kind == "video" else 0

    def of(records: NDArray[np.void], what: int) -> NDArray[np.void]:
        chosen: NDArray[np.void] = records[
            (records["what"] == what) & (records["kind"] & VIDEO == is_video)
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
    )
