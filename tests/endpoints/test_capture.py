"""A capture and tcpdump, side by side on the same packets, write the same file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fairc.runtime.measurement import pcap

NAMESPACE = f"fairc-capture-{os.getpid()}"
PACKETS = 600
# Datagrams of several sizes to a port that nobody reads, while somebody listens on it.
SEND = f"""
import socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range({PACKETS}):
    sender.sendto(bytes(1 + 7 * (number % 200)), receiver.getsockname())
"""
# Both stamp a packet as it passes them, one right after the other.
APART_NS = 50_000_000
PATIENCE_S = 20


@pytest.fixture
def network() -> Iterator[tuple[str, ...]]:
    """A command prefix: a network namespace with a loopback interface that nobody else uses."""
    if os.geteuid() != 0:
        pytest.skip("needs root, for a network namespace and a packet socket")
    if shutil.which("tcpdump") is None:
        pytest.skip("needs tcpdump, to compare with")
    ip = shutil.which("ip") or "/usr/sbin/ip"
    subprocess.run([ip, "netns", "add", NAMESPACE], check=True)
    try:
        inside = (ip, "netns", "exec", NAMESPACE)
        subprocess.run([*inside, ip, "link", "set", "lo", "up"], check=True)
        yield inside
    finally:
        subprocess.run([ip, "netns", "delete", NAMESPACE], check=True)


def test_tcpdump_sees_the_same(network: tuple[str, ...], program: Path, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.pcap", tmp_path / "theirs.pcap"
    description = {
        "interface": "lo",
        "form": "pcap",
        "direction": "in",  # libpcap hides what a loopback interface sends
        "file": str(ours),
        "snaplen": 96,
        "ring_packets": 25_000,
        "every_ns": 100_000_000,
    }
    role = [*network, str(program), "capture", "--epoch-ns", "0", json.dumps(description)]
    listener = [*network, "tcpdump", "-i", "lo", "-Q", "in", "-n", "-s", "96", "-U"]
    listener += ["--immediate-mode", "-Z", "root", "--time-stamp-precision=nano", "-w", str(theirs)]
    with (
        subprocess.Popen(role, stdout=subprocess.PIPE, text=True) as capture,
        subprocess.Popen(listener, stderr=subprocess.PIPE, text=True) as tcpdump,
    ):
        assert capture.stdout is not None and tcpdump.stderr is not None
        first = json.loads(capture.stdout.readline())
        assert (first["event"], first["direction"]) == ("capturing", "in")
        assert "listening" in tcpdump.stderr.readline()
        subprocess.run([*network, sys.executable, "-c", SEND], check=True)
        give_up = time.monotonic() + PATIENCE_S
        while len(pcap.read(theirs).packets.time_ns) < PACKETS and time.monotonic() < give_up:
            time.sleep(0.01)
        capture.terminate()
        tcpdump.terminate()
        last = json.loads(capture.stdout.read())
        tcpdump.stderr.read()
    assert (last["event"], last["packets"], last["dropped"]) == ("captured", PACKETS, 0)
    assert (capture.returncode, tcpdump.returncode) == (0, 0)
    mine, other = (pcap.read(path).packets for path in (ours, theirs))
    assert np.abs(mine.time_ns - other.time_ns).max() < APART_NS
    assert without_times(ours) == without_times(theirs)


def without_times(file: Path) -> list[bytes]:
    """The header of a capture, then of each packet its two lengths and what was kept of it."""
    data, parts, at = file.read_bytes(), [], 24
    while at < len(data):
        kept = int.from_bytes(data[at + 8 : at + 12], "little")
        parts.append(data[at + 8 : at + 16 + kept])
        at += 16 + kept
    return [data[:24], *parts]
