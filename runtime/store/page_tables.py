"""The tables of page loads: loads, their objects, and what their connections had received."""

from __future__ import annotations

from .schema import CELL, CONNECTION, FLOW, LOAD, Column, Table, of_records

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

PAGE_TABLES = (_LOADS, _RESOURCES, _SEQUENCES)
