"""Time from the capture of a frame, when the encoder emits it, to its complete reception.

    delay(f) = t_whole(f) - t_captured(f)

over the frames f that count and came. t_whole: when the receiving program has the last byte of it:
over UDP and in datagrams when its last packet comes, in streams of TCP and QUIC when all before it
in the stream is there, too. `frame_delay.late` is the share of the frames that were not there
`deadline` after their capture (default 150 ms, ITU-T G.114): later ones, lost ones and cancelled
ones; those captured less than that before the flow's end are left out.

`kind` and `way` say which frames count: of the video where there is one, else of the audio; `way:
up` are those from the client to the server. Frames count that were captured while the cell is
measured. One that never came has no delay: `frames` counts those. Percentiles interpolate linearly;
the 95th needs 20 values, the 99th 100. The curve `distribution` has the whole distribution, as of
`one_way_delay`.

Unit: s (frame_delay.late: 1). Source: RFC 8836, section 2 (delay of interactive media); ITU-T
G.114, 2003 (150 ms); Hyndman and Fan, Sample quantiles in statistical packages, 1996, definition 7.
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.record import Floats
from fairc.runtime.measurement.results import MetricValue

from .base import Presentation, declared
from .distribution import TOO_FEW, curves_of, percentile_values, percentiles, stored
from .media import Nothing, counted, media_metric, unfinished

_LEFT = "frames had not come when the flow ended and are left out"
MEAN = declared("frame_delay.mean", "mean time from capture to complete reception", _LEFT)
MIN = declared("frame_delay.min", "shortest time from capture to complete reception")
MAX = declared("frame_delay.max", "longest time from capture to complete reception", _LEFT)
PERCENTILES = percentile_values("frame_delay", "the time from capture to complete reception")
LATE = declared(
    "frame_delay.late",
    "share of the frames that were not there by the deadline",
    shown=Presentation(is_percent=True),
)
VALUES = (MEAN, *PERCENTILES, MIN, MAX, LATE)
DEADLINE_S = 0.15


def _of_flow(
    measurement: Measurement, flow: FlowRecord, request: MetricRequest
) -> tuple[MetricValue, ...]:
    found = counted(measurement, flow, request)
    deadline_s = float(request.options.get("deadline", DEADLINE_S))
    known = found.captured_s < flow.end_s - deadline_s
    late = None
    if known.any():
        late = float((found.delay_s[known] > deadline_s).mean())
    of_late = LATE.of(late, flow.name, "all frames were captured too shortly before the end")
    delays = found.delay_s[found.there]
    if not len(delays):
        reason = "no frame came"
        return (*(value.of(None, flow.name, reason) for value in VALUES[:-1]), of_late)
    numbers = (delays.mean(), *percentiles(delays), delays.min(), delays.max())
    left_out = int(unfinished(flow, found).sum()), len(found)
    return (
        *(
            value.of(float(n), flow.name, TOO_FEW, censored=left_out if value.censoring else (0, 0))
            for value, n in zip(VALUES, numbers, strict=False)
        ),
        of_late,
    )


def _samples(measurement: Measurement, flow: FlowRecord, request: MetricRequest) -> Floats | str:
    try:
        seen = counted(measurement, flow, request)
    except Nothing as why:
        return str(why)
    delays: Floats = seen.delay_s[seen.there]
    return delays


METRIC = media_metric(
    "frame_delay",
    VALUES,
    _of_flow,
    curves=curves_of("frame_delay", _samples),
    distribution=stored("frame_delay", "frames that came of those captured {when}", "frames"),
)
