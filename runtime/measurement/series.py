"""The tables that are kept of a cell beside its result: its course over time, its transfers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc import mechanisms
from fairc.runtime.arrays import Floats

from .curves import Curve, Trace
from .pages import LOADS, RESOURCES, SEQUENCES
from .record import SLOT_S, Measurement
from .samples import NO_THRESHOLD, STATES
from .schema import CELL, CONNECTION, FLOW, Column, Columns, Table, time_column, transposed

Series = Mapping[str, Columns]
"""Table -> its columns, but for the cell's; tables without rows are left out."""


def collect(
    measurement: Measurement, traces: Sequence[Trace] = (), curves: Sequence[Curve] = ()
) -> Series:
    """Return the tables of a cell. traces, curves: of the requested metrics."""
    of_metrics = {"traces": TRACES.rows(traces), "curves": CURVES.rows(curves)}
    found = {name: of_metrics.get(name) or of.rows(measurement) for name, of in SERIES.items()}
    return {name: columns for name, columns in found.items() if len(next(iter(columns.values())))}


def _texts(names: list[str | None], counts: list[int]) -> NDArray[Any]:
    """Return names, each as often as is counted."""
    return np.repeat(np.array(names, object), np.array(counts, np.int64))


def _joined(parts: list[NDArray[Any]]) -> Floats:
    return np.concatenate([np.empty(0), *parts])


def _slots(measurement: Measurement) -> Columns:
    edges, flows = measurement.edges(), measurement.flows
    slots = len(edges) - 1
    nothing = np.full(slots, np.nan)
    return {
        "flow": _texts([flow.name for flow in flows], [slots] * len(flows)),
        "slot": np.tile(np.arange(slots), len(flows)),
        "t_s": np.tile(edges[:-1], len(flows)),
        "ip_bytes": _joined(
            [nothing if measurement.unseen(flow) else flow.ip_bytes(edges) for flow in flows]
        ),
        "delivered_bytes": _joined([flow.delivered_bytes(edges) for flow in flows]),
        "active": np.array([flow.active(edges) for flow in flows], np.bool_).ravel(),
    }


def _samples(measurement: Measurement) -> Columns:
    flows = measurement.flows
    rows = [flow.before_stop for flow in flows]

    def column(name: str) -> Floats:
        parts = zip(flows, rows, strict=True)
        return _joined([getattr(flow.endpoints.samples, name)[own] for flow, own in parts])

    rtt_s, threshold = column("rtt_s"), column("threshold_packets")
    return {
        "flow": _texts([flow.name for flow in flows], [int(own.sum()) for own in rows]),
        "connection": column("connection").astype(np.int64),
        "t_s": column("t_s"),
        "cwnd_packets": column("cwnd_packets"),
        "in_flight_packets": column("in_flight_packets"),
        "rtt_s": np.where(rtt_s > 0, rtt_s, np.nan),
        "pacing_bps": column("pacing_bps"),
        "ssthresh_packets": np.where(threshold < NO_THRESHOLD, threshold, np.nan),
    }


def _models(measurement: Measurement) -> Columns:
    parts = []
    for flow in measurement.flows:
        of = flow.endpoints.samples
        parts.append((flow.name, of, np.flatnonzero(~np.isnan(of.model_state) & flow.before_stop)))
    states = [STATES[int(number)] for _, of, rows in parts for number in of.model_state[rows]]
    values = {
        "cycle": "probe_cycle",
        "max_bw_bps": "max_bw_bps",
        "min_rtt_s": "model_min_rtt_s",
        "inflight_longterm_bytes": "longterm_bytes",
        "inflight_shortterm_bytes": "shortterm_bytes",
        "alpha": "alpha",
    }
    return {
        "flow": _texts([name for name, _, _ in parts], [len(rows) for _, _, rows in parts]),
        "connection": _joined([of.connection[rows] for _, of, rows in parts]).astype(np.int64),
        "t_s": _joined([of.t_s[rows] for _, of, rows in parts]),
        "state": np.array(states, object),
        **{
            column: _joined([getattr(of, attribute)[rows] for _, of, rows in parts])
            for column, attribute in values.items()
        },
    }


def _videos(measurement: Measurement) -> Columns:
    return transposed(
        VIDEOS,
        [
            (
                *(flow.name, video.connection, video.startup_s, len(video.stalls_s)),
                *(video.stalled_s, video.qoe, video.ended),
            )
            for flow in measurement.flows
            for video in flow.endpoints.videos
        ],
    )


def _requests(measurement: Measurement) -> Columns:
    flows = measurement.flows
    parts = [flow.endpoints.requests for flow in flows]
    columns = {
        "connection": "connection",
        "request": "number",
        "start_s": "start_s",
        "fct_s": "duration_s",
        "bytes": "bytes",
    }
    return {
        "flow": _texts([flow.name for flow in flows], [len(part) for part in parts]),
        **{
            name: np.concatenate([getattr(part, attribute) for part in parts])
            for name, attribute in columns.items()
        },
    }


def _traces(traces: Sequence[Trace]) -> Columns:
    counts = [len(trace.t_s) for trace in traces]
    return {
        "metric": _texts([trace.metric for trace in traces], counts),
        "flow": _texts([trace.flow for trace in traces], counts),
        "t_s": _joined([trace.t_s for trace in traces]),
        "value": _joined([trace.values for trace in traces]),
    }


def _queues(measurement: Measurement) -> Columns:
    edges, queues = measurement.edges(), measurement.queues
    ends = edges[1:]
    most = [queue.most(edges) for queue in queues]
    return {
        "queue": _texts([queue.name for queue in queues], [len(ends)] * len(queues)),
        "t_s": np.tile(edges[:-1] + SLOT_S, len(queues)),
        "bytes": _joined([queue.backlog_bytes(ends) for queue in queues]),
        "packets": _joined([queue.backlog_packets(ends) for queue in queues]),
        "max_bytes": _joined([data for _, data in most]),
        "max_packets": _joined([packets for packets, _ in most]),
    }


def _curves(curves: Sequence[Curve]) -> Columns:
    return transposed(
        CURVES,
        [
            (curve.metric, curve.flow, curve.name, curve.scale, *point)
            for curve in curves
            for point in zip(curve.x, curve.y, curve.low, curve.high, strict=True)
        ],
    )


SLOTS = Table(
    "slots",
    "a flow in a slot of 100 ms",
    (
        CELL,
        FLOW,
        Column("slot", "INTEGER", "", "number of the slot, from 0 at the epoch"),
        time_column("t_s", "start of the slot after the epoch"),
        Column(
            "ip_bytes",
            "DOUBLE",
            "B",
            "IP bytes at the bottleneck's exit, by serialisation time",
        ),
        Column("delivered_bytes", "DOUBLE", "B", "bytes delivered to the application"),
        Column(
            "active",
            "BOOLEAN",
            "",
            "whether it lies wholly between first data and end of the flow",
        ),
    ),
    _slots,
)

SAMPLES = Table(
    "samples",
    "the sender's view of a connection at one time; none for a flow over UDP",
    (
        CELL,
        FLOW,
        CONNECTION,
        time_column("t_s", "time after the epoch"),
        Column("cwnd_packets", "DOUBLE", "packets", "congestion window"),
        Column(
            "in_flight_packets",
            "DOUBLE",
            "packets",
            "sent, but neither acknowledged nor declared lost; null where unknown",
        ),
        time_column("rtt_s", "smoothed RTT; null before the first measurement"),
        Column("pacing_bps", "DOUBLE", "bit/s", "pacing rate; null where there is none"),
        Column(
            "ssthresh_packets",
            "DOUBLE",
            "packets",
            "slow-start threshold; null before the first, and where the sender has none",
        ),
    ),
    _samples,
)

MODELS = Table(
    "models",
    "what the CCA of a connection thinks of the path at one time; of `bbr`, `bbr3`, `copa`,"
    " `cubic`, `prague` and `reno` over QUIC, and of `bbr` version 3 over TCP",
    (
        CELL,
        FLOW,
        CONNECTION,
        time_column("t_s", "time after the epoch"),
        Column("state", "VARCHAR", "", "state or phase that it is in"),
        Column("cycle", "DOUBLE", "", "cycles of probing so far; null: it has none"),
        Column("max_bw_bps", "DOUBLE", "bit/s", "estimated bandwidth; null: none"),
        time_column("min_rtt_s", "estimated RTT without a queue; null: none yet"),
        Column("inflight_longterm_bytes", "DOUBLE", "B", "long-term bound; null: none"),
        Column("inflight_shortterm_bytes", "DOUBLE", "B", "short-term bound; null: none"),
        Column("alpha", "DOUBLE", "", "average share of packets with marks; null: none yet"),
    ),
    _models,
)

VIDEOS = Table(
    "videos",
    "a video that a client requested",
    (
        CELL,
        FLOW,
        CONNECTION,
        time_column("startup_s", "until it first played; null: it never did"),
        Column("stalls", "INTEGER", "", "how often it stalled"),
        time_column("stalled_s", "stalled time, including a stall that never ended"),
        Column("qoe", "DOUBLE", "1", "metric `qoe` of this video; null: it never started"),
        Column("ended", "BOOLEAN", "", "whether it was played to its end"),
    ),
    _videos,
)

REQUESTS = Table(
    "requests",
    "a request that was started",
    (
        CELL,
        FLOW,
        CONNECTION,
        Column("request", "BIGINT", "", "number of the request in its stream, from 0"),
        time_column("start_s", "when it was started, after the epoch"),
        time_column(
            "fct_s",
            "flow completion time: until its last byte; null: it did not end",
        ),
        Column("bytes", "BIGINT", "B", "size of the answer, or of the part that had arrived"),
    ),
    _requests,
)

TRACES = Table(
    "traces",
    "the value of a metric at one time, for metrics stored over time (metrics.md)",
    (
        CELL,
        Column("metric", "VARCHAR", "", "full name, such as `fmp.K`"),
        Column("flow", "VARCHAR", "", "name of the flow; null: of the whole cell"),
        time_column("t_s", "time after the epoch"),
        Column("value", "DOUBLE", "as of the metric", "value at this time"),
    ),
    _traces,
)

QUEUES = Table(
    "queues",
    "a bottleneck queue in a slot of 100 ms",
    (
        CELL,
        Column("queue", "VARCHAR", "", "`node/interface`"),
        time_column("t_s", "end of the slot after the epoch"),
        Column("bytes", "DOUBLE", "B", "frame bytes waiting then; null where unknown"),
        Column("packets", "DOUBLE", "packets", "frames waiting then; null where unknown"),
        Column("max_bytes", "DOUBLE", "B", "most frame bytes waiting at once in the slot"),
        Column("max_packets", "DOUBLE", "packets", "most frames waiting at once in the slot"),
    ),
    _queues,
)

CURVES = Table(
    "curves",
    "a point of a metric's curve, other than over time (metrics.md)",
    (
        CELL,
        Column("metric", "VARCHAR", "", "name of the metric, such as `deviations`"),
        Column("flow", "VARCHAR", "", "name of the flow; null: of the whole cell"),
        Column("curve", "VARCHAR", "", "which of its curves, such as `spectrum.theory`"),
        Column("scale", "BIGINT", "", "of the curve; 0: it has none"),
        Column("x", "DOUBLE", "as of the metric", "where"),
        Column("y", "DOUBLE", "as of the metric", "value there; null: none"),
        Column("low", "DOUBLE", "as of the metric", "lower bound; null: none"),
        Column("high", "DOUBLE", "as of the metric", "upper bound; null: none"),
    ),
    _curves,
)


SERIES: Mapping[str, Table[Any]] = {
    table.name: table
    for table in (
        *(SLOTS, SAMPLES, MODELS, VIDEOS, REQUESTS, TRACES, QUEUES),
        *(each.TABLE for each in mechanisms.load("devices", "table")),
        *(CURVES, LOADS, RESOURCES, SEQUENCES),
    )
}
"""The tables in the order of the documentation."""
