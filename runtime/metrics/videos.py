"""Shared by metrics of videos: a number of each video of a flow, and their mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.applications import Video
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, Value, asked, of_module

Number = Callable[[Video], float | None]
CUT_OFF = "videos had not ended and count as far as they were played"


def video_metric(name: str, numbers: Mapping[Value, Number], *, is_wait: bool = False) -> Metric:
    """Return a metric with the mean of each number over the videos of each requested flow.

    Flows that play none are left out unless they are named. Not defined where a video never
    started: a mean over the others would cover only the lucky ones. is_wait: whether the number is
    the time until a video starts, so that it is larger than any where one never did; else it is of
    the part that was played.
    """

    def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
        flows = asked(measurement, request, lambda flow: flow.plays_videos)
        if not flows:
            return tuple(value.of(None, None, "no flow plays videos") for value in numbers)
        return tuple(
            value.of(
                _mean(flow, number), flow.name, _reason(flow), censored=_censored(flow, is_wait)
            )
            for flow in flows
            for value, number in numbers.items()
        )

    return Metric(name, tuple(numbers), of_module(compute, next(iter(numbers.values()))))


def _mean(flow: FlowRecord, number: Number) -> float | None:
    found = [number(video) for video in flow.endpoints.videos if video.started_s is not None]
    counted = [n for n in found if n is not None]
    return None if _reason(flow) else fmean(counted)


def _censored(flow: FlowRecord, is_wait: bool) -> tuple[int, int]:
    """Return how many of a flow's videos had not started, or had not ended, of how many."""
    videos = flow.endpoints.videos
    waiting = sum(video.started_s is None for video in videos)
    if is_wait:
        return waiting, len(videos)
    return 0 if waiting else sum(not video.ended for video in videos), len(videos)


def _reason(flow: FlowRecord) -> str:
    """Return why a flow's videos have no mean; empty if they have one."""
    videos = flow.endpoints.videos
    if not flow.plays_videos:
        return "the flow plays no videos"
    if not videos:
        return "no video was requested"
    waiting = sum(video.started_s is None for video in videos)
    return f"{waiting} of {len(videos)} videos never started" if waiting else ""
