"""Interruptions of videos: how often playing stopped because the buffer ran empty, and for how
long.

    stalls.count = mean over the flow's videos of the number of `stalled`
    stalls.time  = mean over the flow's videos of the time from each `stalled` to the next `playing`

A stall still in progress when its flow is stopped or the cell ends counts up to then. The start-up
delay is not a stall. A video that was cut off might have stalled again: `censored` counts those,
and a remark says so. Not defined where a video never started. The table `videos` has the
values of each video.

Unit: 1 (stalls.time: s). Source: Sanhaji et al., ConEx Performance Evaluation and Application to
Video Streaming, 2015 (the player and its thresholds).
"""

from __future__ import annotations

from .base import declared
from .videos import CUT_OFF, video_metric

METRIC = video_metric(
    "stalls",
    {
        declared("stalls.count", "stalls of a video", CUT_OFF, bounds="sum"): lambda video: len(
            video.stalls_s
        ),
        declared("stalls.time", "time that a video stalled", CUT_OFF, bounds="sum"): lambda video: (
            video.stalled_s
        ),
    },
)
