"""Interruptions of videos: how often playing stopped because the buffer ran empty, and for how long.

    stalls.count = mean over the flow's videos of the number of `stalled`
    stalls.time  = mean over the flow's videos of the time from each `stalled` to the next `playing`

A stall that is still on when its flow is stopped or the cell ends counts until then. The start-up delay is
not a stall. Not defined where a video never started. The table `videos` has the values of each video.

Unit: 1 (stalls.time: s). Source: Sanhaji et al., ConEx Performance Evaluation and Application to Video
Streaming, 2015 (the player and its thresholds).
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value
from .videos import per_flow

COUNT = Value("stalls.count", "1", "stalls of a video")
TIME = Value("stalls.time", "s", "time that a video stalled")


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return number and time of the stalls of each requested flow that plays videos."""
    return per_flow(
        measurement,
        request,
        {COUNT: lambda video: len(video.stalls_s), TIME: lambda video: video.stalled_s},
    )


METRIC = Metric("stalls", (COUNT, TIME), compute)
