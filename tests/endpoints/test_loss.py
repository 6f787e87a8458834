"""Transfers over a network that loses a fifth of the packets, both ways.

Every fifth packet, instead of each with probability 1/5: the kernel's random numbers have no seed
here, and now and then they stack up timeouts to more than a minute.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from netns import namespace
from waiting import completed

NAMESPACE = f"fairc-loss-{os.getpid()}"
RULES = """
table ip loss {
    chain input {
        type filter hook input priority 0
        numgen inc mod 5 0 drop
    }
}
"""


@pytest.fixture
def lossy() -> Iterator[tuple[str, ...]]:
    """A command prefix: a network namespace whose loopback drops every fifth packet."""
    if (nft := shutil.which("nft") or shutil.which("nft", path="/usr/sbin:/sbin")) is None:
        pytest.skip("needs nft, to lose packets (apt install nftables)")
    with namespace(NAMESPACE) as inside:
        rules = completed([*inside, nft, "-f", "-"], input=RULES)
        if rules.returncode != 0:
            pytest.skip(f"needs a kernel with nft's numgen: {rules.stderr.strip()}")
        yield inside


def test_every_byte_arrives_when_a_fifth_of_the_packets_is_lost(
    lossy: tuple[str, ...], transfer: Callable[..., Any]
) -> None:
    server, client = transfer({"kind": "file", "bytes": 50_000}, connections=4, prefix=lossy)
    assert _done(client) == [(connection, 50_000) for connection in range(4)]
    last = {e["connection"]: e for e in server if e["event"] == "sample"}
    assert all(sample["bytes_acked"] >= 50_000 for sample in last.values())
    assert sum(sample["retransmits"] for sample in last.values()) > 0


def test_every_byte_arrives_over_quic_too(
    lossy: tuple[str, ...], transfer: Callable[..., Any]
) -> None:
    workload = {"kind": "file", "bytes": 50_000}
    server, client = transfer(workload, connections=4, prefix=lossy, transport="quic")
    assert _done(client) == [(connection, 50_000) for connection in range(4)]
    last = {e["connection"]: e for e in server if e["event"] == "sample"}
    assert all(sample["bytes_sent"] > 50_000 for sample in last.values())
    assert sum(sample["packets_lost"] for sample in last.values()) > 0


def _done(client: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return sorted((e["connection"], e["bytes"]) for e in client if e["event"] == "done")
