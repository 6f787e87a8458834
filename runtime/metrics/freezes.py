"""Freezes of a video: how often, and for how long, its picture stood still.

    freezes.count = intervals d between frames that are shown with d >= max(3 a, a + 150 ms)
    freezes.time  = the sum of these d
    freezes.share = freezes.time / the measured time of the video

a: the mean interval between the last 30 frames before it, fewer at the beginning; before the second
frame the time between frames of the file. A frame is shown when it and all of its group before it
are there, because it refers to those, and if no later one has been shown by then: there is no
buffer that smooths arrivals. The time from the last frame that is shown to the end is an interval,
too. Intervals are those of the whole video: of a freeze that lasts beyond an edge of what is
measured (the end of the warm-up, `from`, `to`) the part inside is in `time`, and it counts. The
measured time of the video begins with its first frame that is shown. `way` says whose frames:
`down`, from the server to the client, or `up`.

Unit: 1 (freezes.time: s). Source: W3C, Identifiers for WebRTC's Statistics API, `freezeCount` and
`totalFreezesDuration`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.frames import Frames
from fairc.runtime.measurement.results import MetricValue

from .base import Presentation, declared, window
from .media import Nothing, captured, counted, media_metric

COUNT = declared("freezes.count", "freezes of the video")
TIME = declared("freezes.time", "time that the video's picture stood still")
SHARE = declared(
    "freezes.share",
    "share of the time that the picture stood still",
    shown=Presentation(is_percent=True),
)
VALUES = (COUNT, TIME, SHARE)
LAST = 30
LEAST_S = 0.15


def shown_s(found: Frames) -> Floats:
    """Return when frames are shown, s, in order."""
    decoded_s = np.empty(len(found))
    latest, group = np.inf, -1
    for place in range(len(found)):
        if found.group[place] != group:
            group = int(found.group[place])
            # Without its key frame a group cannot be shown.
            latest = -np.inf if found.key[place] else np.inf
        latest = max(latest, float(found.arrived_s[place]))
        decoded_s[place] = latest
    shown, newest = list[float](), -1
    for place in np.lexsort((np.arange(len(found)), decoded_s)):
        if np.isfinite(decoded_s[place]) and place > newest:
            newest = int(place)
            shown.append(float(decoded_s[place]))
    return np.array(shown, np.float64)


def freezes_s(shown: Floats, usual_s: float, end_s: float) -> Iterator[tuple[float, float]]:
    """Yield from when to when each freeze lasts, s.

    shown: when frames are shown, s. usual_s: the time between frames of the file. end_s: of the
    video.
    """
    last: deque[float] = deque(maxlen=LAST)
    for before_s, after_s in pairwise([*shown.tolist(), end_s]):
        interval_s = after_s - before_s
        mean_s = sum(last) / len(last) if last else usual_s
        if interval_s >= max(3 * mean_s, mean_s + LEAST_S):
            yield before_s, after_s
        last.append(interval_s)


def _of_flow(
    measurement: Measurement, flow: FlowRecord, request: MetricRequest
) -> tuple[MetricValue, ...]:
    counted(measurement, flow, request, "video")  # where there are none it says why
    video = captured(flow, request, "video")
    shown = shown_s(video)
    begin_s, end_s = window(measurement, flow)
    if not len(shown) or shown[0] >= end_s:
        raise Nothing("no frame of the video could be shown")
    begin_s = max(begin_s, float(shown[0]))
    every = freezes_s(shown, video.interval_s, max(flow.end_s, float(shown[-1])))
    inside = [min(until_s, end_s) - max(from_s, begin_s) for from_s, until_s in every]
    found = [part_s for part_s in inside if part_s > 0]
    return (
        COUNT.of(len(found), flow.name),
        TIME.of(sum(found), flow.name),
        SHARE.of(sum(found) / (end_s - begin_s), flow.name),
    )


METRIC = media_metric("freezes", VALUES, _of_flow)
