"""Rate of media: of the frames that came whole, and of those that were captured.

    media_rate      = 8 * bytes of the frames that came / time
    media_rate.sent = 8 * bytes of the frames that the encoder emitted / time

over the frames captured while the cell is measured; time: from the first capture of a flow, or the
beginning of the measurement, to the end of either. Bytes of frames count, without any headers. What
had not come when the flow ended is missing in the first and not in the second. `kind` and `way` say
which frames, as for `frame_delay`.

Unit: bit/s. Source: defined here.
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import declared, inactive, window
from .media import captured, counted, media_metric

CAME = declared("media_rate", "bits of frames that came whole per second")
SENT = declared("media_rate.sent", "bits of frames that were captured per second")
VALUES = (CAME, SENT)


def _of_flow(
    measurement: Measurement, flow: FlowRecord, request: MetricRequest
) -> tuple[MetricValue, ...]:
    found = counted(measurement, flow, request)
    begin_s, end_s = window(measurement, flow)
    lasts_s = end_s - max(begin_s, float(captured(flow, request).captured_s[0]))
    if lasts_s <= 0:
        return tuple(value.of(None, flow.name, inactive(measurement)) for value in VALUES)
    came = 8 * int(found.bytes[found.there].sum())
    return (
        CAME.of(came / lasts_s, flow.name),
        SENT.of(8 * int(found.bytes.sum()) / lasts_s, flow.name),
    )


METRIC = media_metric("media_rate", VALUES, _of_flow)
