"""Chromium loads a page of the web server: its graph, each object once, over each version of
HTTP.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chromium import CHROMIUM, DRIVER, FLAGS, LACKS
from waiting import eventually

pytestmark = pytest.mark.skipif(bool(LACKS), reason=LACKS)
HERE = "--host-resolver-rules=MAP web.fairc 127.0.0.1"
OPTIONS = {
    "initial_window_packets": 32,
    "receive_window_bytes": None,
    "ecn": False,
    "sack": True,
    "pacing": False,
    "fast_open": False,
    "idle_restart": None,
}
# (path, bytes, type, parent): depth 3, every kind of object, 1 byte to 5.3 MB.
PAGE = [
    ("/", 30_000, "text/html; charset=utf-8", None),
    ("/a.css", 5_000, "text/css", 0),
    ("/b.js?x=1&y=2", 2_000, "application/javascript", 0),
    ("/c.png", 5_300_000, "image/png", 0),
    ("/d.woff2", 9_000, "font/woff2", 1),
    ("/e.webp", 20_000, "image/webp", 1),
    ("/f.css", 700, "text/css", 1),
    ("/g.json", 123, "application/json", 2),
    ("/h.svg", 300, "image/svg+xml", 2),
    ("/i.css", 700, "text/css", 2),
    ("/j.js", 1, "text/javascript", 2),
    ("/k.jpg", 10, "image/jpeg", 9),
    ("/l.mp4", 70_000, "video/mp4", 0),
    ("/m.html", 700, "text/html", 0),
]
NO_PICTURE = "/k.jpg"
"""Of 10 bytes there is no picture: decoding fails, and the page waits no longer for the response's
end.
"""
READ = """const all = kind => performance.getEntriesByType(kind).map(entry => entry.toJSON());
return {load: all("navigation")[0], resources: all("resource"),
        widths: [...document.images].map(image => image.naturalWidth)};"""


def description(port: int) -> dict[str, Any]:
    page = [dict(zip(("path", "bytes", "type", "parent"), one, strict=True)) for one in PAGE]
    workload = {
        "kind": "load",
        "page": page,
        "client": "chromium",
        "protocols": ["h2"],
        "idle_ns": [0],
        "every_ns": 0,
        "timeout_ns": 10**10,
        "quic_parameters": {},
    }
    return {
        "flow": "web",
        "address": "127.0.0.1",
        "port": port,
        "workload": workload,
        "options": OPTIONS,
        "buffer_bytes": 2_000_000,
        "cca": "cubic",
        "quic": {"name": "cubic", "parameters": {}},
        "connections": 1,
        "starts_ns": [0],
        "rate_bps": None,
        "sample_every_ns": 10**12,
    }


def load(profile: Path, spki: str, port: int, flags: list[str]) -> dict[str, Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    pin = f"--ignore-certificate-errors-spki-list={spki}"
    for flag in (*FLAGS, HERE, *flags, pin, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        driver.get(f"https://web.fairc:{port}/")
        seen: dict[str, Any] = driver.execute_script(READ)
        return seen
    finally:
        driver.quit()


@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_chromium_loads_the_graph(program: Path, tmp_path: Path, protocol: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    events = tmp_path / "events"
    command = [str(program), "web-server", "--epoch-ns", str(time.time_ns())]
    with events.open("w") as output:
        server = subprocess.Popen(
            [*command, json.dumps(description(port))], stdout=output, cwd=tmp_path
        )
    try:
        eventually(lambda: "listening" in events.read_text() or server.poll() is not None)
        assert server.poll() is None
        spki = (tmp_path / "web.spki").read_text()
        flags = {
            "h1": ["--disable-quic", "--disable-http2"],
            "h2": ["--disable-quic"],
            "h3": [f"--origin-to-force-quic-on=web.fairc:{port}"],
        }[protocol]
        seen = load(tmp_path / "profile", spki, port, flags)
    finally:
        server.terminate()
        assert server.wait(60) == 0

    answers = [json.loads(line) for line in events.read_text().splitlines()]
    asked = Counter(event["path"] for event in answers if event["event"] == "request")
    assert asked == Counter(path for path, *_ in PAGE)

    name = {"h1": "http/1.1"}.get(protocol, protocol)
    assert seen["load"]["nextHopProtocol"] == name
    origin = f"https://web.fairc:{port}"
    got = {entry["name"].removeprefix(origin): entry for entry in seen["resources"]}
    assert set(got) == {path for path, *_ in PAGE[1:]}
    for path, size, _, parent in PAGE[1:]:
        entry = got[path]
        assert (entry["encodedBodySize"], entry["nextHopProtocol"]) == (size, name), path
        if path != NO_PICTURE:
            assert entry["responseEnd"] <= seen["load"]["loadEventStart"], path
        if parent:
            assert got[PAGE[parent][0]]["responseEnd"] <= entry["startTime"], path
    # The picture and the drawing; no element shows those of the style sheet.
    assert seen["widths"] == [320, 320]
