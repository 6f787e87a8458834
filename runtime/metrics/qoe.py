"""Quality of experience of videos, from their stalls.

    qoe = mean over the flow's videos of 3.50 * exp(-(0.15 * L + 0.19) * N) + 1.50

N: stalls of a video; L: their mean length, s; both as in `stalls`. 5 without a stall, towards 1.5
with many. The formula ignores the start-up delay, which is a separate metric (`startup`). If a video never
started, the value is not defined. A video cut off by the end of the cell is judged by the part that was
played (table `videos`: `ended`).

Unit: 1. Source: Sanhaji et al., ConEx Performance Evaluation and Application to Video Streaming,
2015, after Hossfeld et al., Internet Video Delivery in YouTube, 2013.
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value
from .videos import per_flow

QOE = Value("qoe", "1", "quality of experience of a video, 1.5 to 5")


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the quality of experience of each requested flow that plays videos."""
    return per_flow(measurement, request, {QOE: lambda video: video.qoe})


METRIC = Metric("qoe", (QOE,), compute)
