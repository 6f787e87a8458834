"""Frames and groups of pictures that were lost, cancelled, or not there in the end.

    frames.lost             = frames that never came / frames
    frames.cancelled        = frames of cancelled groups that never came / frames
    frames.groups_lost      = groups with a lost frame / groups
    frames.groups_cancelled = groups that were cancelled / groups
    frames.count            = frames
    frames.groups           = groups

A frame is lost if one of its packets was, or if the sending host dropped it. Over TCP, and in
streams of QUIC, no frame is lost: it comes later. A sender cancels a group of pictures of which a
frame has waited for longer than `cancel` of `media`; frames of it that had come by then are not
cancelled. A frame that had not come when the flow ended, and was neither, is left out: over UDP and
in datagrams if it was captured in the last second. `kind` and `way` say which frames count, as for
`frame_delay`; each frame of audio is a group of its own.

Unit: 1. Source: RFC 7002 (lost frames of media), over the sender's and the receiver's own counts.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Presentation, Value, declared
from .media import counted, lost, media_metric, unfinished

_LEFT = "frames had not come when the flow ended and are left out"
_PERCENT = Presentation(is_percent=True)
LOST = declared("frames.lost", "share of the frames that were lost", _LEFT, shown=_PERCENT)
CANCELLED = declared(
    "frames.cancelled", "share of the frames that were cancelled", _LEFT, shown=_PERCENT
)
GROUPS_LOST = declared(
    "frames.groups_lost", "share of the groups that lost a frame", shown=_PERCENT
)
GROUPS_CANCELLED = declared(
    "frames.groups_cancelled", "share of the groups that were cancelled", shown=_PERCENT
)
COUNT = declared("frames.count", "frames that were captured")
GROUPS = declared("frames.groups", "groups of pictures that were begun")
VALUES = (LOST, CANCELLED, GROUPS_LOST, GROUPS_CANCELLED, COUNT, GROUPS)


def _of_flow(
    measurement: Measurement, flow: FlowRecord, request: MetricRequest
) -> tuple[MetricValue, ...]:
    found = counted(measurement, flow, request)
    left_out = unfinished(flow, found)
    rest = found.select(~left_out)
    gone = lost(flow, rest)
    censored = int(left_out.sum()), len(found)
    groups = np.unique(rest.group)
    nothing = "no frame had come, or been lost, when the flow ended"

    def share(value: Value, part: int, all_: int) -> MetricValue:
        number = part / all_ if all_ else None
        return value.of(
            number, flow.name, nothing, censored=censored if value.censoring else (0, 0)
        )

    return (
        share(LOST, int(gone.sum()), len(rest)),
        share(CANCELLED, int(rest.cancelled.sum()), len(rest)),
        share(GROUPS_LOST, len(np.unique(rest.group[gone])), len(groups)),
        share(GROUPS_CANCELLED, len(np.unique(rest.group[rest.cancelled])), len(groups)),
        COUNT.of(len(found), flow.name),
        GROUPS.of(len(np.unique(found.group)), flow.name),
    )


METRIC = media_metric("frames", VALUES, _of_flow)
