"""What the tables of a run hold: their columns with units, and the rows that one cell adds to
each.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fairc.compiler.plan import LoadWorkload
from fairc.runtime.measurement import SLOT_S

from .schema import (
    CELL,
    CONNECTION,
    FLOW,
    LOAD,
    SEPARATOR,
    TRANSPORT,
    Column,
    Columns,
    Stored,
    Table,
    of_records,
    of_result,
    of_series,
)


def _cell_rows(stored: Stored, _: Table) -> Columns:
    cell, result = stored.cell, stored.result
    row = {
        "cell": cell.id,
        "key": result.key,
        "configuration": cell.configuration,
        "repetition": cell.repetition,
        "seed": str(cell.seed),
        "status": result.status,
        "verdict": result.verdict,
        "reasons": SEPARATOR.join(result.reasons or filter(None, [result.error])),
        "ended_by": result.ended_by,
        "virtual_s": result.virtual_s,
        "wall_s": result.wall_s,
        "engine": result.engine,
        "image": result.image,
        "result_sha256": result.result_sha256,
    }
    return {name: [value] for name, value in row.items()}


def _metric_rows(stored: Stored, _: Table) -> Columns:
    metrics = stored.result.metrics
    names = ("metric", "flow", "value", "unit", "reason", "censored", "started")
    protocols = {
        flow.name: flow.workload.protocols
        for flow in stored.cell.flows
        if isinstance(flow.workload, LoadWorkload)
    }
    return {
        "cell": [stored.cell.id] * len(metrics),
        **{name: [getattr(metric, name) for metric in metrics] for name in names},
        "load": [np.nan if metric.load is None else metric.load for metric in metrics],
        "protocol": [
            protocols[metric.flow][metric.load - 1]
            if metric.load and metric.flow in protocols
            else None
            for metric in metrics
        ],
    }


def _slot_rows(stored: Stored, _: Table) -> Columns:
    series = stored.series
    if series is None:
        return {}
    flows, slots = series.ip_bytes.shape
    return {
        "cell": np.full(flows * slots, stored.cell.id, object),
        "flow": np.repeat(series.flows.astype(object), slots),
        "slot": np.tile(np.arange(slots), flows),
        "t_s": np.tile(series.t_s, flows),
        "ip_bytes": series.ip_bytes.ravel(),
        "delivered_bytes": series.delivered_bytes.ravel(),
        "active": series.active.ravel(),
    }


def _trace_rows(stored: Stored, _: Table) -> Columns:
    series = stored.series
    if series is None:
        return {}
    of = series.trace_of
    flows = [name or None for name in series.trace_flow.tolist()]
    return {
        "cell": np.full(len(of), stored.cell.id, object),
        "metric": series.trace_metric.astype(object)[of],
        "flow": np.array(flows, object)[of],
        "t_s": series.trace_t_s,
        "value": series.trace_value,
    }


def _queue_rows(stored: Stored, _: Table) -> Columns:
    series = stored.series
    if series is None:
        return {}
    queues, slots = series.queue_bytes.shape
    return {
        "cell": np.full(queues * slots, stored.cell.id, object),
        "queue": np.repeat(series.queues.astype(object), slots),
        "t_s": np.tile(series.t_s + SLOT_S, queues),
        "bytes": series.queue_bytes.ravel(),
        "packets": series.queue_packets.ravel(),
    }


_LIMITS = Table(
    "limits",
    "what limited a flow, other than the network and its congestion control (metric `limited`);"
    " limits that the sender does not report have no row",
    (
        CELL,
        FLOW,
        Column(
            "held_by", "VARCHAR", "", "`window_cap`, `receiver`, `send_buffer` or `application`"
        ),
        Column("share", "DOUBLE", "1", "share of the flow's time after the warm-up"),
    ),
    partial(of_result, held_by="limit"),
)

_BUCKETS = Table(
    "buckets",
    "the token bucket of a user at the end of a slot of 100 ms, and what happened in the slot"
    " (policing.md); none without a policer",
    (
        CELL,
        Column("policer", "VARCHAR", "", "name of the policer"),
        Column("user", "VARCHAR", "", "host of the user, or the source where there are no users"),
        Column("t_s", "DOUBLE", "s", "end of the slot after the epoch"),
        Column("level", "DOUBLE", "tokens", "level of the bucket at that time"),
        Column("packets", "BIGINT", "packets", "packets of the user that reached the policer"),
        Column("losses", "BIGINT", "packets", "of these, with a Re-Echo-Loss"),
        Column("marks", "BIGINT", "packets", "of these, with a Re-Echo-ECN"),
        Column("tokens", "BIGINT", "tokens", "tokens that they took"),
        Column("dropped", "BIGINT", "packets", "of these, dropped by the policer"),
    ),
    of_records,
)

PROTOCOL = Column("protocol", "VARCHAR", "", "`h1`, `h2` or `h3`, as used; null: none was")
STATUS = Column("status", "INTEGER", "", "of HTTP; null: nothing was answered")


def _time(name: str, meaning: str) -> Column:
    return Column(name, "DOUBLE", "s", meaning)


_LOADS = Table(
    "loads",
    "a load of a page; failed ones have an `error`, and are in no summary; number 0 is the"
    " browser's own"
    " time, a load from its own host without a network (measurement.md, rule 21)",
    (
        CELL,
        FLOW,
        LOAD,
        Column("wanted", "VARCHAR", "", "requested HTTP version: `h1`, `h2` or `h3`"),
        PROTOCOL,
        STATUS,
        Column("error", "VARCHAR", "", "why it failed; empty if it did not"),
        Column("client", "VARCHAR", "", "`chromium`, or `plain`: without a browser"),
        Column("version", "VARCHAR", "", "of the client"),
        _time("connect_s", "metric `connect`: connectEnd - connectStart"),
        _time("ttr_s", "metric `ttr`: responseStart - connectStart"),
        _time("fcp_s", "metric `fcp`: first contentful paint - connectStart"),
        _time("lcp_s", "metric `lcp`: largest contentful paint - connectStart"),
        _time("plt_s", "metric `plt`: loadEventEnd - connectStart"),
        _time("slow_start_s", "log2(BDP / IW) x RTT, theory (metric `plt`); null: split by a PEP"),
        Column("split", "BOOLEAN", "", "whether a PEP splits its connections"),
        Column("objects", "INTEGER", "", "objects of the page that were loaded"),
        Column("bytes", "BIGINT", "B", "of their bodies"),
        _time("begin_s", "the navigation began; after the epoch, as all that follow"),
        _time("connect_start_s", "connectStart"),
        _time("secure_start_s", "secureConnectionStart; null over QUIC"),
        _time("connect_end_s", "connectEnd"),
        _time("request_start_s", "requestStart"),
        _time("response_start_s", "responseStart"),
        _time("response_end_s", "responseEnd, of the document"),
        _time("dom_content_loaded_s", "domContentLoadedEventEnd; null without a browser"),
        _time("load_event_end_s", "loadEventEnd; without a browser the end of the last object"),
        _time("end_s", "the load ended, successfully or not"),
    ),
    of_records,
)

_RESOURCES = Table(
    "resources",
    "an object of a page that was loaded; the document is 0",
    (
        CELL,
        FLOW,
        LOAD,
        Column("object", "INTEGER", "", "number of the object within the load, from 0"),
        Column("path", "VARCHAR", "", "where the server offers it"),
        Column("type", "VARCHAR", "", "MIME type"),
        PROTOCOL,
        STATUS,
        Column("bytes", "BIGINT", "B", "of the body"),
        _time("start_s", "it was requested; after the epoch, as all that follow"),
        _time(
            "connect_start_s", "connectStart; null or start_s where a connection already existed"
        ),
        _time("connect_end_s", "connectEnd"),
        _time("request_start_s", "requestStart"),
        _time("response_start_s", "responseStart"),
        _time("response_end_s", "responseEnd"),
    ),
    of_records,
)

_SEQUENCES = Table(
    "sequences",
    "bytes a connection had received at one time of a load (metric `sequence`)",
    (
        CELL,
        FLOW,
        LOAD,
        CONNECTION,
        Column("transport", "VARCHAR", "", "`tcp` or `quic`"),
        _time("t_s", "since connectStart of the load"),
        Column("bytes", "DOUBLE", "B", "`tcp`: distinct bytes of the stream; `quic`: IP bytes"),
    ),
    of_records,
)


TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            "cells",
            "a cell: one configuration and one repetition",
            (
                CELL,
                Column("key", "VARCHAR", "", "name of its folder: a hash of cell, engine, image"),
                Column("configuration", "VARCHAR", "", "id that its repetitions share"),
                Column("repetition", "INTEGER", "", "number of the repetition, from 1"),
                Column("seed", "VARCHAR", "", "seed of everything random in it"),
                Column("status", "VARCHAR", "", "`ok` or `failed`"),
                Column(
                    "verdict",
                    "VARCHAR",
                    "",
                    "`valid`, `flagged`, `invalid`: judges the set-up, never the outcome;"
                    " null when it failed",
                ),
                Column("reasons", "VARCHAR[]", "", "reasons against it, or why it failed"),
                Column("ended_by", "VARCHAR", "", "`finished`, `first`, `duration` or `deadline`"),
                Column("virtual_s", "DOUBLE", "s", "time that passed inside the machine"),
                Column("wall_s", "DOUBLE", "s", "time it took on the machine"),
                Column("engine", "VARCHAR", "", "engine that ran it"),
                Column("image", "VARCHAR", "", "identity of the machine that the engine ran it on"),
                Column("result_sha256", "VARCHAR", "", "SHA-256 of the raw artefacts"),
            ),
            _cell_rows,
        ),
        Table(
            "flows",
            "a flow of a cell",
            (
                CELL,
                FLOW,
                TRANSPORT,
                Column("cca", "VARCHAR", "", "congestion control; null over UDP, which has none"),
                Column("connections", "INTEGER", "", "number of its connections"),
                Column("start_s", "DOUBLE", "s", "planned start after the epoch"),
                Column(
                    "first_byte_s", "DOUBLE", "s", "first data at the client; null: none arrived"
                ),
                Column("end_s", "DOUBLE", "s", "last byte or stop; null: a connection never ended"),
                Column("completed", "BOOLEAN", "", "whether it moved its whole workload"),
                Column("bytes", "BIGINT", "B", "application bytes delivered"),
                Column("goodput_bps", "DOUBLE", "bit/s", "metric `goodput`"),
                Column(
                    "stationarity_p",
                    "DOUBLE",
                    "",
                    "p of the test that its throughput keeps its level, 0.01 to 0.10; null:"
                    " it does not take all it"
                    " gets, or has too few slots",
                ),
            ),
            of_result,
        ),
        Table(
            "metrics",
            "a value of a metric, of a cell or of a flow",
            (
                CELL,
                Column("metric", "VARCHAR", "", "full name, such as `fairness.F`"),
                Column(
                    "flow",
                    "VARCHAR",
                    "",
                    "name of the flow, or of a group of users; null: of the whole cell",
                ),
                Column("value", "DOUBLE", "as in `unit`", "null where it is not defined"),
                Column("unit", "VARCHAR", "", "SI unit; `1` for a ratio"),
                Column("reason", "VARCHAR", "", "why it is not defined; empty where it is"),
                Column("load", "INTEGER", "", "number of its page load; null: of none"),
                Column(
                    "protocol",
                    "VARCHAR",
                    "",
                    "HTTP version of that load, as planned: the first over `h3` is over `h2`;"
                    " null: of none",
                ),
                Column(
                    "censored",
                    "INTEGER",
                    "",
                    "how many transfers, loads or videos had not ended: a value leaves them"
                    " out or counts them as far"
                    " as they went; without a value, they make it larger than any",
                ),
                Column("started", "INTEGER", "", "of how many; 0: the metric counts none"),
            ),
            _metric_rows,
        ),
        Table(
            "conditions",
            "a condition of a flow that transports may differ in",
            (
                CELL,
                FLOW,
                Column("transport", "VARCHAR", "", "`tcp` or `quic`"),
                Column("condition", "VARCHAR", "", "such as `pacing`"),
                Column("value", "VARCHAR", "", "the value, as text"),
            ),
            of_result,
        ),
        _LIMITS,
        Table(
            "slots",
            "a flow in a slot of 100 ms",
            (
                CELL,
                FLOW,
                Column("slot", "INTEGER", "", "number of the slot, from 0 at the epoch"),
                Column("t_s", "DOUBLE", "s", "start of the slot after the epoch"),
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
            _slot_rows,
        ),
        Table(
            "samples",
            "the sender's view of a connection at one time; none for a flow over UDP",
            (
                CELL,
                FLOW,
                CONNECTION,
                Column("t_s", "DOUBLE", "s", "time after the epoch"),
                Column("cwnd_packets", "DOUBLE", "packets", "congestion window"),
                Column(
                    "in_flight_packets",
                    "DOUBLE",
                    "packets",
                    "sent, but neither acknowledged nor declared lost; null where unknown",
                ),
                Column("rtt_s", "DOUBLE", "s", "smoothed RTT; null before the first measurement"),
                Column("pacing_bps", "DOUBLE", "bit/s", "pacing rate; null where there is none"),
            ),
            of_series,
        ),
        Table(
            "videos",
            "a video that a client requested",
            (
                CELL,
                FLOW,
                CONNECTION,
                Column("startup_s", "DOUBLE", "s", "until it first played; null: it never did"),
                Column("stalls", "INTEGER", "", "how often it stalled"),
                Column(
                    "stalled_s", "DOUBLE", "s", "stalled time, including a stall that never ended"
                ),
                Column("qoe", "DOUBLE", "1", "metric `qoe` of this video; null: it never started"),
                Column("ended", "BOOLEAN", "", "whether it was played to its end"),
            ),
            of_series,
        ),
        Table(
            "requests",
            "a request that was started",
            (
                CELL,
                FLOW,
                CONNECTION,
                Column("request", "BIGINT", "", "number of the request in its stream, from 0"),
                Column("start_s", "DOUBLE", "s", "when it was started, after the epoch"),
                Column(
                    "fct_s",
                    "DOUBLE",
                    "s",
                    "flow completion time: until its last byte; null: it did not end",
                ),
                Column(
                    "bytes", "BIGINT", "B", "size of the answer, or of the part that had arrived"
                ),
            ),
            partial(of_series, request="number"),
        ),
        Table(
            "traces",
            "the value of a metric at one time, for metrics stored over time (metrics.md)",
            (
                CELL,
                Column("metric", "VARCHAR", "", "full name, such as `fmp.K`"),
                Column("flow", "VARCHAR", "", "name of the flow; null: of the whole cell"),
                Column("t_s", "DOUBLE", "s", "time after the epoch"),
                Column("value", "DOUBLE", "as of the metric", "value at this time"),
            ),
            _trace_rows,
        ),
        Table(
            "queues",
            "a bottleneck queue at the end of a slot of 100 ms",
            (
                CELL,
                Column("queue", "VARCHAR", "", "`node/interface`"),
                Column("t_s", "DOUBLE", "s", "time after the epoch"),
                Column("bytes", "DOUBLE", "B", "frame bytes waiting; null where unknown"),
                Column("packets", "DOUBLE", "packets", "frames waiting; null where unknown"),
            ),
            _queue_rows,
        ),
        _BUCKETS,
        Table(
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
            of_records,
        ),
        _LOADS,
        _RESOURCES,
        _SEQUENCES,
    )
}
