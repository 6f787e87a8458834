"""What client and server of page loads would have written, invented from the fluid model's
frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairc.api import Flow, __version__, segment_bytes

from .fluid import Frame

Events = list[dict[str, Any]]


def over_tcp(frame: Frame) -> bool:
    """Tell whether a frame of a page load is of a TCP connection."""
    versions = frame.flow.workload.http_versions
    return bool(versions) and versions[frame.connection] != "h3"


def events(flow: Flow, frames: Sequence[Frame], end_ns: int) -> tuple[Events, Events]:
    """Return what server and client wrote of the loads that came to their end."""
    page = flow.workload.plain()["page"]
    server: Events = [{"t_ns": -1, "event": "listening", "cca": flow.cca}]
    client: Events = []
    page_bytes, begin_ns = sum(one["bytes"] for one in page), flow.start_ns
    for number, protocol in enumerate(flow.workload.http_versions):
        mine = [f for f in frames if f.connection == number and not f.lost]
        if sum(f.payload for f in mine) < page_bytes:
            break
        if number:
            begin_ns = flow.workload.load_begin_ns(number, flow.start_ns, client[-1]["t_ns"])
        transport = "quic" if protocol == "h3" else "tcp"
        rounds = 1 if protocol == "h3" else 2
        at = {"connection": number, "transport": transport, "protocol": protocol}
        accepted_ns = begin_ns + flow.base_rtt_ns // 2
        server.append({"t_ns": accepted_ns, "event": "accepted", "cca": flow.cca, **at})
        load = _load(flow, number, begin_ns, begin_ns + rounds * flow.base_rtt_ns, mine)
        client.append(load)
        for one in load["resources"]:
            answered = {"begin_ns": one["request_start_ns"], "end_ns": one["response_end_ns"]}
            answer = {key: one[key] for key in ("path", "status", "bytes")}
            server.append(
                {"t_ns": one["response_end_ns"], "event": "request", **at, **answer, **answered}
            )
        server.append(
            {"t_ns": load["t_ns"], "event": "closed", "connection": number, "bytes": page_bytes}
        )
    client.append({"t_ns": end_ns, "event": "done", "loads": len(client)})
    return server, client


def _load(
    flow: Flow,
    number: int,
    begin_ns: int,
    connected_ns: int,
    frames: Sequence[Frame],
) -> dict[str, Any]:
    browser, protocol = flow.browser, flow.workload.http_versions[number]
    resources = list(_resources(flow, number, begin_ns, connected_ns, frames))
    document, end_ns = resources[0], max(one["response_end_ns"] for one in resources)
    return {
        "t_ns": end_ns,
        "event": "load",
        "load": number + 1,
        "wanted": protocol,
        "protocol": protocol,
        "status": 200,
        "error": "",
        "client": "chromium" if browser else "plain",
        "version": f"invented by fairc {__version__}",
        "begin_ns": begin_ns,
        "connect_start_ns": begin_ns,
        "secure_start_ns": None if protocol == "h3" else begin_ns + flow.base_rtt_ns,
        "connect_end_ns": connected_ns,
        "request_start_ns": connected_ns,
        "response_start_ns": document["response_start_ns"],
        "response_end_ns": document["response_end_ns"],
        "dom_content_loaded_ns": document["response_end_ns"] if browser else None,
        "load_event_end_ns": end_ns,
        "fcp_ns": document["response_end_ns"] if browser else None,
        "lcp_ns": end_ns if browser else None,
        "bytes": sum(one["bytes"] for one in resources),
        "local_ports": [],
        "resources": resources,
    }


def _resources(
    flow: Flow,
    number: int,
    begin_ns: int,
    connected_ns: int,
    frames: Sequence[Frame],
) -> Iterator[dict[str, Any]]:
    """Yield the objects as if they had come one after the other, in the order of the page."""
    arrivals_ns = [f.sent_ns + flow.base_rtt_ns // 2 for f in frames]
    before, payload = 0, segment_bytes(flow.mtu)
    for place, one in enumerate(flow.workload.plain()["page"]):
        first_ns = arrivals_ns[min(before // payload, len(frames) - 1)]
        last = (before + one["bytes"] - 1) // payload
        asked_ns = max(connected_ns, first_ns - flow.base_rtt_ns)
        yield {
            "path": one["path"],
            "type": one["type"],
            "protocol": flow.workload.http_versions[number],
            "status": 200,
            "bytes": one["bytes"],
            "start_ns": begin_ns if place == 0 else asked_ns,
            "connect_start_ns": begin_ns if place == 0 else None,
            "connect_end_ns": connected_ns if place == 0 else None,
            "request_start_ns": asked_ns,
            "response_start_ns": first_ns,
            "response_end_ns": arrivals_ns[min(last, len(frames) - 1)],
        }
        before += one["bytes"]
