"""What a page records of its own load, as the fields of a load's event.

Standard library only: the virtual machine has this file too, beside `fairc-browser`.
"""

from __future__ import annotations

import re
from typing import Any

# After the end of a load, for the paint that follows it.
SETTLE_MS = 500
PROTOCOLS = {"http/1.1": "h1", "h2": "h2", "h3": "h3"}

# Runs in the page once its document is complete: waits for the end of the load event and for the
# paint after it, then reads what the page has recorded of itself. Nothing is polled.
READ = """
const done = arguments[arguments.length - 1];
const finish = () => setTimeout(() => {
  const seen = [];
  const observer = new PerformanceObserver(list => seen.push(...list.getEntries()));
  observer.observe({type: "largest-contentful-paint", buffered: true});
  setTimeout(() => done(JSON.stringify({
    origin: performance.timeOrigin,
    href: location.href,
    navigation: performance.getEntriesByType("navigation"),
    resources: performance.getEntriesByType("resource"),
    paint: performance.getEntriesByType("paint"),
    lcp: seen.map(entry => entry.startTime),
    text: location.href.startsWith("chrome-error:") ? document.documentElement.innerHTML : "",
  })), 0);
}, SETTLE_MS);
document.readyState === "complete" ? finish() : addEventListener("load", finish);
""".replace("SETTLE_MS", str(SETTLE_MS))


def measured(read: dict[str, Any], page: list[dict[str, Any]], epoch_ns: int) -> dict[str, Any]:
    """Return the fields of a load's event from what READ has returned of a page."""
    origin_ns = round(read["origin"] * 1e6) - epoch_ns

    def at(value: float) -> int | None:
        return origin_ns + round(value * 1e6) if value else None

    if not read["navigation"]:
        return {}
    document = read["navigation"][0]
    paint = {entry["name"]: entry["startTime"] for entry in read["paint"]}
    types = {item["path"]: item["type"] for item in page}
    resources = [
        {
            "path": (path := re.sub(r"^\w+://[^/]*", "", entry["name"])),
            "type": types.get(path),
            "protocol": protocol_of(entry),
            "status": entry["responseStatus"] or None,
            "bytes": entry["encodedBodySize"],
            "start_ns": origin_ns + round(entry["startTime"] * 1e6),
            "connect_start_ns": at(entry["connectStart"]),
            "connect_end_ns": at(entry["connectEnd"]),
            "request_start_ns": at(entry["requestStart"]),
            "response_start_ns": at(entry["responseStart"]),
            "response_end_ns": at(entry["responseEnd"]),
        }
        for entry in [document, *read["resources"]]
        # A picture cannot name an icon: the browser asks for one by itself, after the load.
        if not entry["name"].endswith("/favicon.ico")
    ]
    secure = None if protocol_of(document) == "h3" else at(document["secureConnectionStart"])
    return {
        "protocol": protocol_of(document),
        "status": document["responseStatus"] or None,
        "begin_ns": origin_ns,
        "connect_start_ns": at(document["connectStart"]),
        "secure_start_ns": secure,
        "connect_end_ns": at(document["connectEnd"]),
        "request_start_ns": at(document["requestStart"]),
        "response_start_ns": at(document["responseStart"]),
        "response_end_ns": at(document["responseEnd"]),
        "dom_content_loaded_ns": at(document["domContentLoadedEventEnd"]),
        "load_event_end_ns": at(document["loadEventEnd"]),
        "fcp_ns": at(paint.get("first-contentful-paint", 0)),
        "lcp_ns": at(read["lcp"][-1]) if read["lcp"] else None,
        "bytes": sum(resource["bytes"] for resource in resources),
        "local_ports": [],  # a page does not know them
        "resources": resources,
    }


def fault(event: dict[str, Any], read: dict[str, Any], page: list[dict[str, Any]]) -> str:
    """Return why a load that came to an end has failed all the same, or nothing."""
    if read["href"].startswith("chrome-error:"):
        found = re.search(r"ERR_[A-Z0-9_]+", read["text"])
        return f"navigation error: {found[0] if found else 'without a name'}"
    if event["status"] != 200:
        return f"the server answered with status {event['status']}"
    wanted, got = event["wanted"], {each["path"]: each for each in event["resources"]}
    for item in page:
        path, resource = item["path"], got.get(item["path"])
        if resource is None:
            return f"{path} is missing"
        if resource["protocol"] != wanted:
            return f"{path} came over {resource['protocol']}, not over {wanted}"
        if resource["status"] != 200:
            return f"{path} was answered with status {resource['status']}"
        if resource["bytes"] != item["bytes"]:
            return f"{path} has {resource['bytes']} bytes, not {item['bytes']}"
    return "" if event["load_event_end_ns"] else "its load event did not end"


def protocol_of(entry: dict[str, Any]) -> str | None:
    """Return the HTTP version of a resource as the plan names it; None when it is not known."""
    return PROTOCOLS.get(entry["nextHopProtocol"], entry["nextHopProtocol"] or None)
