"""Start-up delay of videos: from requesting a video until it first plays.

    startup = mean over the flow's videos of (first `playing` - connection opened)

A player starts once a given playing time is buffered (the workload's `play`). Not defined where a
video had not started when its flow was stopped or the cell ended: over repetitions that counts as
larger than any value. The table `videos` has the value of each video.

Unit: s. Source: ITU-T P.1203, section 3.2.3 (initial loading delay).
"""

from __future__ import annotations

from .base import Value
from .videos import video_metric

METRIC = video_metric(
    "startup",
    {Value("startup", "s", "time until a video first plays"): lambda video: video.startup_s},
    is_wait=True,
)
