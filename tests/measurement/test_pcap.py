"""The capture reader against hand-made files, and against dpkt as an oracle."""

from __future__ import annotations

import io
import struct
from itertools import combinations, pairwise
from typing import Any

import dpkt
import numpy as np
import pytest
from frames import Frame, ethernet, ipv4, pcap, tcp, timestamps, udp
from hypothesis import example, given
from hypothesis import strategies as st

from fairc.runtime.measurement.pcap import DIGEST_BYTES, PcapError, concatenate, parse

PORT = st.integers(0, 65535)
WORD = st.integers(0, 2**32 - 1)
ADDRESS = st.builds("10.{}.{}.{}".format, *[st.integers(0, 255)] * 3)
OPTION = st.one_of(
    st.just(b"\x01"),
    st.builds(timestamps, WORD, WORD),
    st.just(b"\x02\x04\x05\xb4"),
    st.just(b"\x04\x02"),
    st.just(b"\x03\x03\x07"),
)
OPTIONS = st.lists(OPTION, max_size=4).map(b"".join).filter(lambda o: len(o) <= 40)
TCP_SEGMENT = st.builds(
    tcp,
    PORT,
    PORT,
    st.binary(max_size=200),
    sequence=WORD,
    acknowledgement=WORD,
    flags=st.integers(0, 255),
    options=OPTIONS,
)
UDP_DATAGRAM = st.builds(udp, PORT, PORT, st.binary(max_size=200))


@st.composite
def wire_frames(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from(["tcp", "udp", "arp", "ipv6"]))
    if kind == "arp":
        return ethernet(draw(st.binary(min_size=28, max_size=28)), 0x0806)
    if kind == "ipv6":
        return ethernet(b"\x60" + draw(st.binary(min_size=39, max_size=60)), 0x86DD)
    payload = draw(TCP_SEGMENT if kind == "tcp" else UDP_DATAGRAM)
    packet = ipv4(
        draw(ADDRESS),
        draw(ADDRESS),
        6 if kind == "tcp" else 17,
        payload,
        ip_id=draw(PORT),
        options=draw(st.sampled_from([0, 4, 12])),
    )
    return ethernet(packet)


TIMES = st.integers(0, 2**32 * 10**9 - 1)
FRAMES = st.lists(st.builds(Frame, TIMES, wire_frames()), max_size=12)


def the_option(segment: dpkt.tcp.TCP) -> tuple[int, int]:
    for kind, value in dpkt.tcp.parse_opts(segment.opts):
        if kind == dpkt.tcp.TCP_OPT_TIMESTAMP:
            return struct.unpack(">II", value)
    return 0, 0


@given(FRAMES, st.sampled_from("<>"), st.booleans())
def test_columns_agree_with_dpkt(frames: list[Frame], order: str, nanoseconds: bool) -> None:
    data = pcap(frames, order=order, nanoseconds=nanoseconds, snaplen=65535)
    capture = parse(data)
    packets = capture.packets
    assert capture.cut_bytes == 0
    assert len(packets) == len(frames)
    for i, (_, wire) in enumerate(dpkt.pcap.Reader(io.BytesIO(data))):
        tick = 1 if nanoseconds else 1000
        assert packets.time_ns[i] == frames[i].time_ns // tick * tick
        assert packets.frame_bytes[i] == len(wire)
        packet = dpkt.ethernet.Ethernet(wire).data
        if not isinstance(packet, dpkt.ip.IP):
            assert packets.ip_bytes[i] == packets.protocol[i] == packets.source_port[i] == 0
            continue
        header: Any = packet  # dpkt makes its fields at run time
        assert packets.ip_bytes[i] == header.len
        assert packets.ip_id[i] == header.id
        assert packets.source[i] == int.from_bytes(header.src, "big")
        assert packets.destination[i] == int.from_bytes(header.dst, "big")
        segment: Any = header.data
        assert packets.source_port[i] == segment.sport
        assert packets.destination_port[i] == segment.dport
        assert packets.payload_bytes[i] == len(segment.data)
        if header.p == dpkt.ip.IP_PROTO_TCP:
            assert packets.sequence[i] == segment.seq
            assert packets.acknowledgement[i] == segment.ack
            assert packets.flags[i] == segment.flags & 0xFF
            assert (packets.ts_value[i], packets.ts_echo[i]) == the_option(segment)


# Few payloads, alike for long, so that equal ones and ones that differ late or in length occur.
ALIKE = st.builds(
    lambda length, at, byte: bytes(b if n != at else byte for n, b in enumerate(bytes(length))),
    st.integers(0, 80),
    st.integers(0, 80),
    st.integers(0, 2),
)


@given(st.lists(ALIKE, min_size=2, max_size=12), st.integers(42, 130))
@example([bytes(10), b"\x01" + bytes(10)], 53)  # lengths that differ in the bit that the bytes do
def test_digests_tell_payloads_apart_as_far_as_they_were_captured(
    payloads: list[bytes], snaplen: int
) -> None:
    """Against dpkt's reading; the length is another column, but digests of cut ones differ by
    it.
    """
    frames = [Frame(0, ethernet(ipv4("10.0.0.1", "10.0.0.2", 17, udp(1, 2, p)))) for p in payloads]
    digests = parse(pcap(frames, snaplen=snaplen)).packets.payload_digest.tolist()
    kept = []
    for frame in frames:
        packet: Any = dpkt.ethernet.Ethernet(frame.data).data
        kept.append(bytes(packet.data.data)[: min(DIGEST_BYTES, snaplen - 42)])
    for i, j in combinations(range(len(kept)), 2):
        assert (digests[i] == digests[j]) == (kept[i] == kept[j])


def test_only_udp_has_a_digest_and_what_follows_the_packet_is_not_in_it() -> None:
    short = ethernet(ipv4("10.0.0.1", "10.0.0.2", 17, udp(1, 2, b"abc")))
    padded = [Frame(0, short), Frame(0, short + b"\x00" * 10), Frame(0, short + b"\x07" * 10)]
    segment = Frame(0, ethernet(ipv4("10.0.0.1", "10.0.0.2", 6, tcp(1, 2, b"abc"))))
    digests = parse(pcap([*padded, segment])).packets.payload_digest
    assert len(set(digests[:3].tolist())) == 1
    assert digests[3] == 0 != digests[0]


@given(st.lists(st.builds(Frame, TIMES, wire_frames()), min_size=1, max_size=6), st.data())
def test_a_cut_file_keeps_its_whole_records(frames: list[Frame], data: st.DataObject) -> None:
    whole = pcap(frames)
    ends = [24]
    for frame in frames:
        ends.append(ends[-1] + 16 + min(96, len(frame.data)))
    cut = data.draw(st.integers(24, len(whole)))
    capture = parse(whole[:cut])
    complete = sum(end <= cut for end in ends) - 1
    assert len(capture.packets) == complete
    assert capture.cut_bytes == cut - ends[complete]


@given(
    runs=st.lists(
        st.tuples(st.sampled_from([0, 66, 96, 255, 256, 65535, 65536, 70000]), st.integers(1, 9)),
        max_size=6,
    ),
    cut=st.integers(0, 120),
)
@example([(66, 4095), (96, 1), (65536, 2), (66, 4097), (96, 9000)], 3)
@example([(65536, 3), (54, 4096)], 0)
def test_records_of_any_length_are_found(runs: list[tuple[int, int]], cut: int) -> None:
    """Their lengths are read two bytes at a time, and checked for thousands at once."""
    lengths = [length for length, count in runs for _ in range(count)]
    frames = [Frame(index, bytes(length)) for index, length in enumerate(lengths)]
    whole = pcap(frames, snaplen=1 << 17)
    ends = 24 + np.cumsum([16 + length for length in lengths])
    data = whole[: max(24, len(whole) - cut)]
    capture = parse(data)
    kept = int((ends <= len(data)).sum())
    assert capture.packets.frame_bytes.tolist() == lengths[:kept]
    assert capture.packets.time_ns.tolist() == list(range(kept))


@given(st.binary(max_size=400))
def test_rubbish_after_the_header_is_never_an_exception(rubbish: bytes) -> None:
    capture = parse(pcap([]) + rubbish)
    assert capture.cut_bytes <= len(rubbish)


@given(wire_frames(), st.integers(0, 95))
def test_any_snap_length_can_be_read(wire: bytes, snaplen: int) -> None:
    packets = parse(pcap([Frame(0, wire)], snaplen=snaplen)).packets
    assert packets.frame_bytes[0] == len(wire)


def test_the_snap_length_of_the_plan_keeps_every_field() -> None:
    options = b"\x02\x04\x05\xb4\x04\x02" + timestamps(7, 9)[2:] + b"\x01\x03\x03\x07" * 5
    segment = tcp(80, 5000, bytes(1000), sequence=11, options=options)
    packets = parse(pcap([Frame(5, ethernet(ipv4("10.0.0.1", "10.0.0.2", 6, segment)))])).packets
    assert packets.payload_bytes[0] == 1000
    assert packets.frame_bytes[0] == 14 + 20 + len(segment)
    assert (packets.ts_value[0], packets.ts_echo[0]) == (7, 9)


def test_a_later_fragment_has_no_ports() -> None:
    wire = bytearray(ethernet(ipv4("10.0.0.1", "10.0.0.2", 17, udp(1, 2, b"x"))))
    wire[14 + 6 : 14 + 8] = struct.pack(">H", 185)
    packets = parse(pcap([Frame(0, bytes(wire))])).packets
    assert packets.fragment[0] == 185
    assert packets.source_port[0] == packets.destination_port[0] == 0


def test_joined_captures_are_sorted_by_time() -> None:
    def capture(*times: int) -> bytes:
        return pcap([Frame(t, ethernet(ipv4("10.0.0.1", "10.0.0.2", 1, b""))) for t in times])

    joined = concatenate((parse(capture(5, 9)).packets, parse(capture(1, 5)).packets))
    assert joined.time_ns.tolist() == [1, 5, 5, 9]
    assert len(concatenate(())) == 0
    assert all(np.diff(joined.time_ns) >= 0)
    assert all(a <= b for a, b in pairwise(joined.time_ns.tolist()))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes"),
        (b"\xa1\xb2\xc3", "3 bytes"),
        (bytes(24), "begin like a capture"),
        (b"\x0a\x0d\x0d\x0a" + bytes(40), "begin like a capture"),
        (pcap([], link=113), "link type is 113"),
    ],
)
def test_what_is_not_a_capture_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(PcapError, match=words):
        parse(data)
