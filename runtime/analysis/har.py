"""HTTP archives (HAR 1.2) of page loads, the same for every client: one file for each load.

HAR's unit is the millisecond; times here are exact to a microsecond. What a page load does not
report (headers, cookies, sizes of headers) is empty or -1, HAR's values for unknowns; nothing is
invented.

Source: HAR 1.2 specification, http://www.softwareishard.com/blog/har-12-spec/.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from fairc import __version__
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad, Resource

HOST = "web.fairc"
_VERSIONS: Mapping[str | None, str] = {
    "h1": "HTTP/1.1",
    "h2": "HTTP/2.0",
    "h3": "HTTP/3.0",
    None: "",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_SIZE = -1


def archives(measurement: Measurement) -> dict[str, str]:
    """Return the archives of all loads of a cell: file name (`web.load-1.har`) -> JSON."""
    return {
        f"{flow.plan.name}.load-{load.number}.har": json.dumps(
            archive(flow, load), indent=1, ensure_ascii=False
        )
        + "\n"
        for flow in measurement.flows
        for load in flow.endpoints.loads
    }


def archive(flow: FlowRecord, load: PageLoad) -> dict[str, Any]:
    """Return the archive of one load; if it failed, the page's comment is the reason."""
    page = f"{flow.name}.{load.number}"
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "fairc", "version": __version__},
            "browser": {"name": load.client, "version": load.version},
            "pages": [
                {
                    "startedDateTime": _moment(flow, load.begin_s),
                    "id": page,
                    "title": _url(flow, load.resources[0].path if load.resources else "/"),
                    "pageTimings": {
                        "onContentLoad": _since(load.begin_s, load.dom_content_loaded_s),
                        "onLoad": _since(load.begin_s, load.load_event_end_s),
                    },
                    "comment": load.error,
                }
            ],
            "entries": [_entry(flow, page, resource) for resource in load.resources],
            "comment": f"load {load.number} of flow {flow.name}, wanted {load.wanted}",
        }
    }


def _entry(flow: FlowRecord, page: str, one: Resource) -> dict[str, Any]:
    timings = _timings(one)
    version = _VERSIONS.get(one.protocol, one.protocol or "")
    return {
        "pageref": page,
        "startedDateTime": _moment(flow, one.start_s),
        # HAR: the sum of the timings that are known; `ssl` would be in `connect`.
        "time": round(sum(t for t in timings.values() if t >= 0), 3),
        "request": {
            "method": "GET",
            "url": _url(flow, one.path),
            "httpVersion": version,
            "cookies": [],
            "headers": [],
            "queryString": [],
            "headersSize": _NO_SIZE,
            "bodySize": 0,
        },
        "response": {
            "status": one.status or 0,
            "statusText": "OK" if one.status == 200 else "",
            "httpVersion": version,
            "cookies": [],
            "headers": [],
            "content": {"size": one.bytes, "mimeType": one.type},
            "redirectURL": "",
            "headersSize": _NO_SIZE,
            "bodySize": one.bytes,
        },
        "cache": {},
        "timings": timings,
    }


def _timings(one: Resource) -> dict[str, float]:
    """Return the parts of an object's time, ms, one after the other; -1: does not apply."""
    connects = (
        one.connect_start_s is not None
        and one.connect_end_s is not None
        and one.connect_end_s > one.connect_start_s
    )
    asked = one.request_start_s if one.request_start_s is not None else one.start_s
    first = one.response_start_s if one.response_start_s is not None else asked
    last = one.response_end_s if one.response_end_s is not None else first
    begin = one.connect_start_s if connects else asked
    return {
        "blocked": _since(one.start_s, begin),
        "dns": -1,  # names are not resolved
        "connect": _since(one.connect_start_s, one.connect_end_s) if connects else -1,
        "send": max(0.0, _since(one.connect_end_s, asked)) if connects else 0.0,
        "wait": _since(asked, first),
        "receive": _since(first, last),
    }


def _since(begin_s: float | None, end_s: float | None) -> float:
    """Return the time between two moments in ms, to a microsecond; -1 where one is not known."""
    if begin_s is None or end_s is None:
        return -1
    return round((end_s - begin_s) * 1e3, 3)


def _moment(flow: FlowRecord, at_s: float) -> str:
    """Return a time after the epoch as ISO 8601, UTC, to a microsecond."""
    ns = flow.epoch_ns + round(at_s * 1e9)
    return (_EPOCH + timedelta(microseconds=ns // 1000)).isoformat(timespec="microseconds")


def _url(flow: FlowRecord, path: str) -> str:
    return f"https://{HOST}:{flow.plan.port}{path}"
