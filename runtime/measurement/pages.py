"""The tables of page loads: `loads`, their objects (`resources`), and what their connections
received (`sequences`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from fairc.compiler.plan import Cell

from .loads import PageLoad
from .record import FlowRecord, Measurement
from .schema import (
    CELL,
    CONNECTION,
    FLOW,
    LOAD,
    PROTOCOL,
    STATUS,
    Column,
    Columns,
    Table,
    time_column,
    transposed,
)
from .slow_start import is_split, slow_start_s

# Columns of `loads` that are no attribute of a load.
_OF_LOAD: Mapping[str, Callable[[PageLoad], Any]] = {
    "load": lambda load: load.number,
    "connect_s": lambda load: load.since_connect_s(load.connect_end_s),
    "ttr_s": lambda load: load.since_connect_s(load.response_start_s),
    "fcp_s": lambda load: load.since_connect_s(load.fcp_s),
    "lcp_s": lambda load: load.since_connect_s(load.lcp_s),
    "plt_s": lambda load: load.since_connect_s(load.load_event_end_s),
    "objects": lambda load: len(load.resources),
}


def _page_loads(measurement: Measurement) -> list[tuple[FlowRecord, PageLoad]]:
    """Return all loads, failed ones included; of each flow a browser's own time comes first."""
    return [
        (flow, load)
        for flow in measurement.flows
        for load in (
            *([flow.endpoints.own_time] if flow.endpoints.own_time else []),
            *flow.endpoints.loads,
        )
    ]


def _loads(measurement: Measurement) -> Columns:
    loads = _page_loads(measurement)
    theory = [_theory(measurement.cell, flow, load) for flow, load in loads]
    known: dict[str, list[Any]] = {
        "flow": [flow.name for flow, _ in loads],
        "split": [split for split, _ in theory],
        "slow_start_s": [expected_s for _, expected_s in theory],
    }
    names = [column.name for column in LOADS.columns[1:] if column.name not in known]
    values = {name: _OF_LOAD.get(name) or attrgetter(name) for name in names}
    return known | {name: [value(load) for _, load in loads] for name, value in values.items()}


def _theory(cell: Cell, flow: FlowRecord, load: PageLoad) -> tuple[bool, float | None]:
    """Return whether a PEP splits the connections of a load, and its slow start in theory, s."""
    if not load.number:
        return False, None
    return is_split(cell, flow.plan, load.wanted), slow_start_s(cell, flow.plan, load.wanted)


def _resources(measurement: Measurement) -> Columns:
    of_object = [column.name for column in RESOURCES.columns[4:]]
    return transposed(
        RESOURCES,
        [
            (flow.name, load.number, number, *(getattr(one, name) for name in of_object))
            for flow, load in _page_loads(measurement)
            for number, one in enumerate(load.resources)
        ],
    )


def _sequences(measurement: Measurement) -> Columns:
    return transposed(
        SEQUENCES,
        [
            (flow.name, load.number, curve.connection, curve.transport, t_s, received)
            for flow, load in _page_loads(measurement)
            if load.number and not load.error
            for curve in flow.received_in(load)
            for t_s, received in zip(curve.t_s.tolist(), curve.bytes.tolist(), strict=True)
        ],
    )


LOADS = Table(
    "loads",
    "a load of a page; failed ones have an `error`, and are in no summary; number 0 is the"
    " browser's own time, a load from its own host without a network (measurement.md, rule 21)",
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
        time_column("connect_s", "metric `connect`: connectEnd - connectStart"),
        time_column("ttr_s", "metric `ttr`: responseStart - connectStart"),
        time_column("fcp_s", "metric `fcp`: first contentful paint - connectStart"),
        time_column("lcp_s", "metric `lcp`: largest contentful paint - connectStart"),
        time_column("plt_s", "metric `plt`: loadEventEnd - connectStart"),
        time_column(
            "slow_start_s", "log2(BDP / IW) x RTT, theory (metric `plt`); null: split by a PEP"
        ),
        Column("split", "BOOLEAN", "", "whether a PEP splits its connections"),
        Column("objects", "INTEGER", "", "objects of the page that were loaded"),
        Column("bytes", "BIGINT", "B", "of their bodies"),
        time_column("begin_s", "the navigation began; after the epoch, as all that follow"),
        time_column("connect_start_s", "connectStart"),
        time_column("secure_start_s", "secureConnectionStart; null over QUIC"),
        time_column("connect_end_s", "connectEnd"),
        time_column("request_start_s", "requestStart"),
        time_column("response_start_s", "responseStart"),
        time_column("response_end_s", "responseEnd, of the document"),
        time_column("dom_content_loaded_s", "domContentLoadedEventEnd; null without a browser"),
        time_column(
            "load_event_end_s", "loadEventEnd; without a browser the end of the last object"
        ),
        time_column("end_s", "the load ended, successfully or not"),
    ),
    _loads,
)

RESOURCES = Table(
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
        time_column("start_s", "it was requested; after the epoch, as all that follow"),
        time_column(
            "connect_start_s", "connectStart; null or start_s where a connection already existed"
        ),
        time_column("connect_end_s", "connectEnd"),
        time_column("request_start_s", "requestStart"),
        time_column("response_start_s", "responseStart"),
        time_column("response_end_s", "responseEnd"),
    ),
    _resources,
)

SEQUENCES = Table(
    "sequences",
    "bytes a connection had received at one time of a load (metric `sequence`)",
    (
        CELL,
        FLOW,
        LOAD,
        CONNECTION,
        Column("transport", "VARCHAR", "", "`tcp` or `quic`"),
        time_column("t_s", "since connectStart of the load"),
        Column("bytes", "DOUBLE", "B", "`tcp`: distinct bytes of the stream; `quic`: IP bytes"),
    ),
    _sequences,
)
