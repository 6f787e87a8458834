"""The driver of Chromium, on this machine and over loopback: what becomes of a load that goes
wrong.
"""

from __future__ import annotations

import base64
import http.server
import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from waiting import completed

from fairc.runtime.vm import recipe

HERE = Path(__file__).parent
PAGE = (
    b'<!doctype html><link rel=icon href="data:,"><title>page</title><p>text<script'
    b' src="/child"></script>'
)
SCRIPT = b"document.title = 'loaded'"
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
DISTURBED = ("ERR_INTERNET_DISCONNECTED", "ERR_NETWORK_CHANGED")
PROGRAMS = ("chromium", "chromedriver")

pytestmark = pytest.mark.skipif(
    any(shutil.which(name) is None for name in PROGRAMS), reason="chromium is not installed"
)


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves a page of two objects, one without an answer, and one that lacks its child."""

    protocol_version = "HTTP/1.1"
    released = threading.Event()
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path == "/never":
            self.released.wait(60)
        found = {
            "/": (PAGE, "text/html"),
            "/child": (SCRIPT, "text/javascript"),
            "/picture": (PICTURE, "image/png"),
        }.get(self.path)
        content, kind = found or (b"gone", "text/plain")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server of HTTP/1.1 over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(HERE / "cert.pem", HERE / "key.pem")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        Handler.released.set()
        server.shutdown()


def objects(*sizes: tuple[str, int]) -> list[dict[str, Any]]:
    """Return a page as the plan describes it."""
    return [
        {"path": path, "bytes": size, "type": "text/html", "parent": 0 if number else None}
        for number, (path, size) in enumerate(sizes)
    ]


def drive(
    folder: Path, port: int, page: list[dict[str, Any]], *protocols: str, timeout_s: float = 60.0
) -> list[dict[str, Any]]:
    """Run the driver to its end and return its events.

    Chromium ends its connections when this host's interfaces change, and other tests make some:
    then once more.
    """
    done = run(folder, port, page, *protocols, timeout_s=timeout_s)
    for _ in range(4):
        if not any(error in done.stdout for error in DISTURBED):
            break
        done = run(folder, port, page, *protocols, timeout_s=timeout_s)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(
    folder: Path, port: int, page: list[dict[str, Any]], *protocols: str, timeout_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Run the driver to its end; what an earlier run has left or asked for is gone."""
    Handler.asked.clear()
    for left in folder.glob("web.load-*"):
        left.unlink()
    if not (folder / "web.spki").exists():
        shutil.copyfile(HERE / "web.spki", folder / "web.spki")
    job = {
        "flow": "web",
        "address": "127.0.0.1",
        "port": port,
        "name": "web.fairc",
        "workload": {
            "page": page,
            "protocols": protocols,
            "idle_ns": [1_000_000_000] * len(protocols),
            "every_ns": 0,
            "timeout_ns": round(timeout_s * 1e9),
        },
        "starts_ns": [0],
    }
    command = [sys.executable, str(recipe.GUEST / "browser.py"), "--epoch-ns", str(time.time_ns())]
    return completed([*command, json.dumps(job)], cwd=folder)


WHOLE = objects(("/", len(PAGE)), ("/child", len(SCRIPT)))


def test_loads_are_timed_and_every_one_has_a_connection_of_its_own(
    tmp_path: Path, port: int
) -> None:
    first, second, done = drive(tmp_path, port, WHOLE, "h1", "h1")

    for number, load in enumerate((first, second), 1):
        assert (load["event"], load["load"], load["error"]) == ("load", number, "")
        assert (load["protocol"], load["status"], load["client"]) == ("h1", 200, "chromium")
        assert load["version"].startswith("Chromium ")
        order = ["begin", "connect_start", "secure_start", "connect_end", "request_start"]
        order += ["response_start", "response_end", "dom_content_loaded", "load_event_end"]
        times = [load[f"{name}_ns"] for name in order]
        assert times == sorted(times)
        assert load["connect_start_ns"] < load["connect_end_ns"]
        assert load["begin_ns"] < load["fcp_ns"] <= load["lcp_ns"] < load["t_ns"]
        assert load["bytes"] == len(PAGE) + len(SCRIPT)
        assert [resource["path"] for resource in load["resources"]] == ["/", "/child"]
        assert load["resources"][1]["start_ns"] > load["response_start_ns"]
    assert second["begin_ns"] >= first["t_ns"] + 1_000_000_000
    assert (done["event"], done["loads"]) == ("done", 2)
    assert Handler.asked == ["/", "/child"] * 2, "nothing else is asked for, no icon either"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["web.spki"]


def test_a_page_can_be_a_picture_whose_icon_is_no_part_of_it(tmp_path: Path, port: int) -> None:
    load, _ = drive(tmp_path, port, objects(("/picture", len(PICTURE))), "h1")

    assert load["error"] == ""
    assert [resource["path"] for resource in load["resources"]] == ["/picture"]
    assert load["bytes"] == len(PICTURE)


def test_a_server_that_never_answers_costs_no_more_than_the_loads_time(
    tmp_path: Path, port: int
) -> None:
    load, done = drive(tmp_path, port, objects(("/never", 4)), "h1", timeout_s=2)

    assert load["error"] == "it did not end within its time"
    assert load["t_ns"] - load["begin_ns"] >= 2_000_000_000
    assert isinstance(load["resources"], list), "a load that failed is one that can be read"
    assert (tmp_path / "web.load-1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "web.load-1.log").exists()
    assert done["event"] == "done"


def test_a_connection_over_which_nothing_ever_comes_is_a_load_that_can_be_read(
    tmp_path: Path,
) -> None:
    """As over a link that is down: there is no page that could be asked for its timing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        load, done = drive(tmp_path, silent.getsockname()[1], WHOLE, "h1", timeout_s=2)

    assert load["error"] == "it did not end within its time"
    assert load["resources"] == [] and load["begin_ns"] <= load["t_ns"] - 2_000_000_000
    assert (tmp_path / "web.load-1.log").exists()
    assert done["event"] == "done"


@pytest.mark.parametrize(
    ("page", "wanted", "error"),
    [
        (objects(("/gone", 4)), "h1", "the server answered with status 404"),
        (WHOLE, "h2", "/ came over h1, not over h2"),
        (objects(("/", 1)), "h1", f"/ has {len(PAGE)} bytes, not 1"),
        (objects(("/", len(PAGE)), ("/other", 4)), "h1", "/other is missing"),
    ],
)
def test_a_load_that_is_not_the_one_that_was_asked_for_has_failed(
    tmp_path: Path, port: int, page: list[dict[str, Any]], wanted: str, error: str
) -> None:
    load, _ = drive(tmp_path, port, page, wanted)

    assert (load["error"], load["wanted"]) == (error, wanted)
    assert (tmp_path / "web.load-1.png").exists()


def test_a_certificate_of_another_key_is_refused(tmp_path: Path, port: int) -> None:
    (tmp_path / "web.spki").write_text("A" * 43 + "=")

    load, _ = drive(tmp_path, port, WHOLE, "h1")

    assert load["error"] == "navigation error: ERR_CERT_AUTHORITY_INVALID"
    assert [(found["path"], found["status"]) for found in load["resources"]] == [("/", None)]


def test_nobody_listens_over_tcp_nor_over_quic(tmp_path: Path) -> None:
    """Over QUIC nothing is raised: there is a page, which is Chromium's own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    over_tcp, over_quic, _ = drive(tmp_path, port, WHOLE, "h2", "h3")

    assert over_tcp["error"] == "navigation error: ERR_CONNECTION_REFUSED"
    assert over_quic["error"].startswith("navigation error: ERR_")
    assert over_quic["protocol"] is None
    assert (tmp_path / "web.load-2.log").exists()


def test_without_the_servers_key_the_driver_cannot_work(tmp_path: Path) -> None:
    (tmp_path / "web.spki").mkdir()

    done = run(tmp_path, 9, WHOLE, "h1")

    assert done.returncode == 1
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["error"]


def test_a_description_that_is_not_json_is_a_usage_error(tmp_path: Path) -> None:
    command = [sys.executable, str(recipe.GUEST / "browser.py"), "--epoch-ns", "0", "{"]

    done = completed(command, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith("usage: fairc-browser --epoch-ns N JSON: ")
