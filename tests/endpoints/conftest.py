"""Starts the endpoints program as a cell does, and reads what it wrote."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from split_connection import Split
from waiting import eventually

from fairc.compiler import binary

PROGRAM = binary.ROOT / binary.BUILT
EVERY_NS = 100_000_000
# A transfer that takes longer than this has hung; and how long a server may take to hear of its
# end, s.
PATIENCE_S, GRACE_S = 100.0, 5.0

Event = dict[str, Any]
Run = tuple[list[Event], list[Event]]
Started = tuple[subprocess.Popen[bytes], Path]

OPTIONS = {
    "initial_window_packets": 10,
    "receive_window_bytes": None,
    "ecn": False,
    "sack": True,
    "pacing": False,
    "fast_open": False,
    "idle_restart": None,
}
# Fields of only this transport: of its server and of its client.
ONLY: dict[str, tuple[Event, Event]] = {
    "tcp": (
        {"cca": "cubic", "buffer_bytes": 200_000, "sample_every_ns": EVERY_NS},
        {"buffer_bytes": 200_000},
    ),
    "quic": (
        {
            "cca": {"name": "reno", "parameters": {}},
            "buffer_bytes": 200_000,
            "options": {**OPTIONS, "pacing": True},
            "sample_every_ns": EVERY_NS,
            "qlog": True,
            "certificate_expires_ns": None,
            # A server whose client has left without being heard waits no longer than this.
            "idle_timeout_ns": 30_000_000_000,
        },
        {
            "buffer_bytes": 200_000,
            "options": {**OPTIONS, "pacing": True},
            # A server whose client has left without being heard waits no longer than this.
            "idle_timeout_ns": 30_000_000_000,
        },
    ),
    "udp": ({"peer": "127.0.0.2"}, {"peer": "127.0.0.2"}),
}
ENDING = ("file", "video")


@pytest.fixture(scope="session")
def program() -> Path:
    """The program that `make setup` builds."""
    if not PROGRAM.exists():
        pytest.skip(f"{binary.BUILT} is not built (make setup)")
    return PROGRAM


@pytest.fixture
def transfer(program: Path, tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """A function that runs a server and a client to their ends and returns both's events."""
    started: list[subprocess.Popen[bytes]] = []

    def start(prefix: tuple[str, ...], role: str, description: Event) -> Started:
        program_and_role = (*prefix, str(program), role)
        command = [*program_and_role, "--epoch-ns", str(epoch_ns), json.dumps(description)]
        said = tmp_path / f"{len(started)}.ndjson"  # nobody reads a pipe while the client runs
        with said.open("wb") as output:
            started.append(subprocess.Popen(command, stdout=output, cwd=tmp_path))
        return started[-1], said

    def run(
        workload: Event,
        connections: int = 1,
        prefix: tuple[str, ...] = (),
        transport: str = "tcp",
        rate_bps: int | None = None,
        options: Event | None = None,
    ) -> Run:
        common: Event = {
            "flow": "f",
            "address": "127.0.0.1",
            "port": _free_port(),
            "connections": connections,
            "workload": workload,
            "options": OPTIONS,
            "starts_ns": [0] * connections,
        }
        stop_ns = None if workload["kind"] in ENDING else 5 * EVERY_NS
        serving, asking = ONLY[transport]
        serving = {**common, **serving, "rate_bps": rate_bps}
        asking = {**common, **asking, "stop_ns": stop_ns, "progress_every_ns": EVERY_NS}
        if options is not None:
            serving["options"] = asking["options"] = OPTIONS | options
        if transport == "udp":
            serving["stop_ns"], asking["rate_bps"] = stop_ns, rate_bps
            asking["poll_every_ns"] = EVERY_NS
            if workload["kind"] != "onoff":
                serving["packet_bytes"] = asking["packet_bytes"] = 1500
            client, asked = start(prefix, "udp-client", asking)
            _wait_for_sockets(client, range(common["port"], common["port"] + connections))
            server, served = start(prefix, "udp-server", serving)
        else:
            server, served = start(prefix, f"{transport}-server", serving)
            eventually(lambda: served.read_text().endswith("\n") or server.poll() is not None)
            client, asked = start(prefix, f"{transport}-client", asking)
        _end(client, asked)
        if workload["kind"] == "requests":
            server.terminate()
        try:
            server.wait(GRACE_S)
        except subprocess.TimeoutExpired:  # it did not hear its last client, and cells end it, too
            server.terminate()
            _end(server, served)
        server_text, client_text = served.read_text(), asked.read_text()
        assert (server.returncode, client.returncode) == (0, 0), server_text + client_text
        return _events(server_text), _events(client_text)

    epoch_ns = time.time_ns()
    yield run
    for process in started:
        process.kill()
        process.wait()


def _end(process: subprocess.Popen[bytes], said: Path) -> None:
    """Wait for a program's end; where that does not come, what it said is the reason."""
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"it did not end: {said.read_text()}") from None


def _events(text: str) -> list[Event]:
    return [json.loads(line) for line in text.splitlines()]


def _wait_for_sockets(client: subprocess.Popen[bytes], ports: range) -> None:
    """Wait until a client over UDP has its sockets: nobody tells a server that it is there."""
    wanted = {f"{port:04X}" for port in ports}
    limit = time.monotonic() + PATIENCE_S
    while client.poll() is None:
        rows = Path(f"/proc/{client.pid}/net/udp").read_text().splitlines()[1:]
        if wanted <= {row.split()[1].partition(":")[2] for row in rows}:
            return
        assert time.monotonic() < limit, f"no sockets at {ports}"
        time.sleep(0.01)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def network(program: Path, tmp_path: Path) -> Iterator[Split]:
    """Four network namespaces in a row, without proxies."""
    if os.geteuid() != 0:
        pytest.skip("needs root, for network namespaces")
    made = Split(program, tmp_path)
    try:
        made.build()
        yield made
    finally:
        made.remove()


@pytest.fixture
def split(network: Split) -> Split:
    """The same, with proxies whose pool is open."""
    network.split()
    return network
