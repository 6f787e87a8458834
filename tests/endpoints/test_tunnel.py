"""An end of a tunnel, given all sixteen pairs of the two fields of ECN, against RFC 6040's table."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import completed

NAMESPACE = f"fairc-tunnel-{os.getpid()}"
HEADER_BYTES = 60
NOT_ECT, ECT_1, ECT_0, CE = range(4)
DROPPED = None
EF = 46 << 2
# Figure 4 of RFC 6040: inner field, then what comes out for each outer field.
TABLE: dict[int, dict[int, int | None]] = {
    NOT_ECT: {NOT_ECT: NOT_ECT, ECT_0: NOT_ECT, ECT_1: NOT_ECT, CE: DROPPED},
    ECT_0: {NOT_ECT: ECT_0, ECT_0: ECT_0, ECT_1: ECT_1, CE: CE},
    ECT_1: {NOT_ECT: ECT_1, ECT_0: ECT_1, ECT_1: ECT_1, CE: CE},
    CE: {NOT_ECT: CE, ECT_0: CE, ECT_1: CE, CE: CE},
}
# Of the program's interface `end`, and of the router's beside it.
OWN_MAC, ROUTER_MAC = "02:00:0a:00:00:02", "02:00:0a:00:00:01"
OWN, PEER, HOST, OTHER = "10.0.0.2", "10.0.0.6", "10.0.1.1", "10.0.2.1"

# Sends what it is given, one packet after the other, by `router`, and prints what comes there.
EXCHANGE = """
import json, socket, sys
frames = [bytes.fromhex(each) for each in json.load(sys.stdin)]
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
link.bind(("router", 0))
link.settimeout(3.0)
found = []
for frame in frames:
    link.send(frame)
    got = None
    while True:
        try:
            seen, name = link.recvfrom(2000)
        except TimeoutError:
            break
        if name[2] != socket.PACKET_OUTGOING and seen[12:14] == b"\\x08\\x00":
            got = seen.hex()
            break
    found.append(got)
print(json.dumps(found))
"""


@pytest.fixture
def network() -> Iterator[tuple[str, ...]]:
    """A command prefix: a namespace with a cable between `router` and `end`."""
    if os.geteuid() != 0:
        pytest.skip("needs root, for a network namespace and packet sockets")
    ip = shutil.which("ip") or "/usr/sbin/ip"
    subprocess.run([ip, "netns", "add", NAMESPACE], check=True)
    try:
        inside = (ip, "netns", "exec", NAMESPACE)
        ends = ["router", "address", ROUTER_MAC, "type", "veth"]
        ends += ["peer", "name", "end", "address", OWN_MAC]
        subprocess.run([*inside, ip, "link", "add", *ends], check=True)
        for name in ("router", "end"):
            subprocess.run([*inside, ip, "link", "set", name, "up"], check=True)
        yield inside
    finally:
        subprocess.run([ip, "netns", "delete", NAMESPACE], check=True)


def checksum(header: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(source: str, destination: str, protocol: int, tos: int, payload: bytes) -> bytes:
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    length = 20 + len(payload)
    head = struct.pack(">BBHHHBBH", 0x45, tos, length, 7, 0x4000, 64, protocol, 0)
    total = checksum(head + ends)
    return head[:10] + struct.pack(">H", total) + ends + payload


def exchange(
    network: tuple[str, ...], program: Path, packets: list[bytes], mode: str
) -> tuple[list[bytes | None], dict[str, Any]]:
    """Return what comes back for each IP packet, and the program's last report."""
    description = {
        "tunnel": "vpn",
        "interface": "end",
        "next_mac": ROUTER_MAC,
        "own_mac": OWN_MAC,
        "address": OWN,
        "peer": PEER,
        "mtu": 1500,
        "header_bytes": HEADER_BYTES,
        "ecn": mode,
    }
    ethernet = bytes.fromhex((OWN_MAC + ROUTER_MAC).replace(":", "")) + b"\x08\x00"
    role = [*network, str(program), "tunnel", "--epoch-ns", "0", json.dumps(description)]
    with subprocess.Popen(role, stdout=subprocess.PIPE, text=True) as tunnel:
        assert tunnel.stdout is not None
        assert json.loads(tunnel.stdout.readline())["event"] == "ready"
        frames = json.dumps([(ethernet + packet).hex() for packet in packets])
        command = [*network, sys.executable, "-c", EXCHANGE]
        ran = completed(command, input=frames, check=True)
        tunnel.terminate()
        report = json.loads(tunnel.stdout.read())
    came = [None if each is None else bytes.fromhex(each) for each in json.loads(ran.stdout)]
    assert all(each is None or each[:12] == ethernet[6:12] + ethernet[:6] for each in came)
    return [None if each is None else each[14:] for each in came], report


def test_what_comes_out_is_as_in_the_table(network: tuple[str, ...], program: Path) -> None:
    """Code points of the inside stay, whatever that of the outside has become."""
    pairs = [(inner, outer) for inner in TABLE for outer in TABLE[inner]]
    inside = {own: ipv4(OTHER, HOST, 17, EF | own, bytes(30)) for own in TABLE}
    padding = bytes(HEADER_BYTES - 20)
    packets = [ipv4(PEER, OWN, 253, outer, padding + inside[own]) for own, outer in pairs]
    came, report = exchange(network, program, packets, "copy")
    expected = []
    for own, outer in pairs:
        bits = TABLE[own][outer]
        expected.append(None if bits is None else ipv4(OTHER, HOST, 17, EF | bits, bytes(30)))
    assert came == expected
    assert report["decapsulated"] == [[1, 1, 1, 1]] * 4
    assert (report["dropped"], report["missed"], report["refused"]) == (1, 0, 0)


@pytest.mark.parametrize(("mode", "kept"), [("copy", 3), ("clear", 0)])
def test_what_goes_in_gets_the_bits_of_the_mode(
    network: tuple[str, ...], program: Path, mode: str, kept: int
) -> None:
    packets = [ipv4(HOST, OTHER, 17, EF | bits, bytes(30)) for bits in range(4)]
    came, report = exchange(network, program, packets, mode)
    for bits, (packet, got) in enumerate(zip(packets, came, strict=True)):
        assert got is not None
        assert got[HEADER_BYTES:] == packet
        assert len(got) == len(packet) + HEADER_BYTES == struct.unpack(">H", got[2:4])[0]
        assert (got[1], got[9], checksum(got[:20])) == (EF | (bits & kept), 253, 0)
        assert (got[12:16], got[16:20]) == (socket.inet_aton(OWN), socket.inet_aton(PEER))
    assert report["encapsulated"] == [1, 1, 1, 1]


def test_what_would_be_larger_than_the_mtu_is_not_sent(
    network: tuple[str, ...], program: Path
) -> None:
    fits, larger = (ipv4(HOST, OTHER, 17, 0, bytes(size)) for size in (1420, 1421))
    came, report = exchange(network, program, [larger, fits], "copy")
    assert came[0] is None and came[1] is not None and len(came[1]) == 1500
    assert report["oversized"] == 1
