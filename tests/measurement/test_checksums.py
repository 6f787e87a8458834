"""Damaged packets, by their checksums: one bit flipped anywhere, against dpkt's packets."""

from __future__ import annotations

import dpkt
import pytest
from frames import Frame, pcap
from hypothesis import given
from hypothesis import strategies as st

from fairc.runtime.measurement.checksums import BROKEN, UNNOTICED, UNREAD
from fairc.runtime.measurement.pcap import parse

A, B = b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"
MACS = {"dst": bytes(5) + b"\x01", "src": bytes(5) + b"\x02"}


def frame(kind: str, content: bytes) -> bytes:
    """A frame as dpkt writes it, with all of its checksums."""
    inner, number = {
        "tcp": (dpkt.tcp.TCP(sport=443, dport=40000, seq=7, data=content), 6),
        "udp": (dpkt.udp.UDP(sport=443, dport=40000, ulen=8 + len(content), data=content), 17),
        "icmp": (dpkt.icmp.ICMP(type=8, data=dpkt.icmp.ICMP.Echo(data=content)), 1),
    }[kind]
    ip = dpkt.ip.IP(src=A, dst=B, p=number, data=inner, df=1)
    ip.len = len(ip)
    return bytes(dpkt.ethernet.Ethernet(**MACS, type=0x0800, data=ip))


def damages(frames: list[bytes], summed: bool = True) -> list[int]:
    data = pcap([Frame(0, each) for each in frames], snaplen=9216)
    found: list[int] = parse(data, summed=summed).packets.damage.tolist()
    return found


@given(st.sampled_from(["tcp", "udp", "icmp"]), st.binary(max_size=80))
def test_any_flipped_bit_is_seen(kind: str, content: bytes) -> None:
    sound = frame(kind, content)
    flipped = []
    for bit in range(8 * len(sound)):
        damaged = bytearray(sound)
        damaged[bit // 8] ^= 1 << bit % 8
        flipped.append(bytes(damaged))
    # The sender's address on the cable, at which nobody looks; behind the headers of Ethernet and
    # IP, what only the host looks at that the packet is for.
    expected = [
        UNNOTICED if 48 <= bit < 96 else UNREAD if bit < 8 * 34 else BROKEN
        for bit in range(len(flipped))
    ]
    found = damages([sound] * (len(flipped) + 1) + flipped)
    assert found[: len(flipped) + 1] == [0] * (len(flipped) + 1)
    wrong = [
        n
        for n, (a, b) in enumerate(zip(found[len(flipped) + 1 :], expected, strict=True))
        if a != b
    ]
    if kind == "udp":  # a checksum of one bit that is flipped is none, which is allowed
        wrong = [n for n in wrong if int.from_bytes(flipped[n][40:42], "big")]
    assert wrong == []


def test_what_the_interface_would_complete_is_sound() -> None:
    """Linux leaves the sum of the pseudo-header in place of the checksum (CHECKSUM_PARTIAL)."""
    whole = bytearray(frame("tcp", b"abc"))
    words = [*A, *B, 0, 6, *(len(whole) - 34).to_bytes(2, "big")]
    total = sum(high << 8 | low for high, low in zip(words[::2], words[1::2], strict=True))
    whole[50:52] = (total % 0xFFFF).to_bytes(2, "big")
    assert damages([bytes(whole)]) == [0]
    whole[51] ^= 1
    assert damages([bytes(whole)]) == [BROKEN]


@pytest.mark.parametrize("cut", [b"", b"\x00" * 40])
def test_nothing_is_said_unless_it_is_asked_for(cut: bytes) -> None:
    broken = bytearray(frame("udp", b"abcdef" + cut))
    broken[-1] ^= 1
    assert damages([bytes(broken)], summed=False) == [0]
