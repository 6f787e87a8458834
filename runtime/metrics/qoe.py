"""Quality of experience of videos, from their stalls.

    qoe = mean over the flow's videos of 3.50 * exp(-(0.15 * L + 0.19) * N) + 1.50

N: stalls of a video; L: their mean length, s; both as in `stalls`. 5 without a stall, towards 1.5
with many. The formula ignores the start-up delay, which is a separate metric (`startup`). If a
video never started, the value is not defined. A video cut off by the end of the cell is judged by
the part that was played (table `videos`: `ended`); `censored` and a remark on the value count such
videos.

Unit: 1. Source: Sanhaji et al., ConEx Performance Evaluation and Application to Video Streaming,
2015, after Hossfeld et al., Internet Video Delivery in YouTube, 2013.
"""

from __future__ import annotations

from .base import Presentation, declared
from .videos import CUT_OFF, video_metric

METRIC = video_metric(
    "qoe",
    {
        declared(
            "qoe",
            "quality of experience of a video, 1.5 to 5",
            CUT_OFF,
            Presentation(title="QoE (1.5 to 5)"),
        ): lambda video: video.qoe
    },
)
