"""What the endpoints report of a connection is what the host was told, in a namespace of its
own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from netns import IP, namespace
from waiting import completed

NAMESPACE = f"fairc-options-{os.getpid()}"
# Fast Open for clients and servers; ECN where the other end asks, and asks; no SACK.
SYSCTLS = {"tcp_fastopen": "3", "tcp_ecn": "1", "tcp_sack": "0", "tcp_timestamps": "0"}
REQUESTS = {
    "kind": "requests",
    "size": {"kind": "constant", "parameters": {"value": 1000}},
    "every": {"kind": "constant", "parameters": {"value": 0.01}},
    "seed": 1,
}


@pytest.fixture
def host() -> Iterator[tuple[str, ...]]:
    """A command prefix: a network namespace in which TCP is not as usual."""
    with namespace(NAMESPACE) as inside:
        route = ["route", "replace", "local", "127.0.0.1", "dev", "lo", "table", "local"]
        subprocess.run([*inside, IP, *route, "initcwnd", "4"], check=True)
        for name, value in SYSCTLS.items():
            command = f"echo {value} > /proc/sys/net/ipv4/{name}"
            subprocess.run([*inside, "sh", "-c", command], check=True)
        yield inside


def test_what_the_host_was_told_is_in_force(
    host: tuple[str, ...], transfer: Callable[..., Any]
) -> None:
    server, _ = transfer({"kind": "file", "bytes": 50_000}, prefix=host)
    (accepted,) = (event for event in server if event["event"] == "accepted")
    expected = {
        "initial_window_packets": 4,
        "ecn": True,
        "sack": False,
        "timestamps": False,
        "fast_open": False,
        "max_pacing_bps": None,
    }
    assert {name: accepted[name] for name in expected} == expected


def test_requests_come_with_the_first_packet(
    host: tuple[str, ...], transfer: Callable[..., Any]
) -> None:
    """All but the first of each stream, which bring the cookie."""
    server, client = transfer(REQUESTS, connections=2, prefix=host, options={"fast_open": True})
    served = sum(event["requests"] for event in server if event["event"] == "served")
    assert served >= sum(event["event"] == "fetched" for event in client) > 20
    table = completed([*host, "cat", "/proc/net/netstat"], check=True).stdout
    names, values = (line.split() for line in table.splitlines() if line.startswith("TcpExt:"))
    counts = dict(zip(names, values, strict=True))
    assert served - 4 <= int(counts["TCPFastOpenPassive"]) < served
