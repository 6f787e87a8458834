"""Sizes of packets and frames.

A link has an MTU, the largest IP packet in bytes; the size of a full packet on the wire determines
the sizes of its shaper, its queue and its hop.
"""

from __future__ import annotations

MTU = 1500
"""Largest IP packet of a link by default, bytes: Ethernet's."""
ETHERNET_BYTES = 14
"""What Ethernet adds to an IP packet on the wire, without preamble and checksum, bytes."""

SMALLEST_FRAME_BYTES = 64
"""The smallest frame of Ethernet, with its checksum, bytes. Linux pads none of its own."""
FRAME_BYTES = MTU + ETHERNET_BYTES  # a full Ethernet frame without preamble: 1514

TCP_IP_BYTES = 20 + 20 + 12  # headers of IPv4 and TCP, with timestamps
UDP_IP_BYTES = 20 + 8  # headers of IPv4 and UDP
QUIC_BYTES = 1200
"""What a datagram of QUIC must be able to have (RFC 9000, section 14)."""
# Of a full packet of this QUIC stack (endpoints/src/quic/transport.rs): headers of IPv4 and UDP,
# short header with a connection id of 8 and a packet number of 2, frame type, stream id, offset of
# 4, and tag.
QUIC_OVERHEAD_BYTES = UDP_IP_BYTES + (1 + 8 + 2) + (1 + 1 + 4) + 16
# Memory that Linux takes for a TCP segment in addition to its IP packet: structures and room for
# headers; measured with cake at MTUs of 576, 1500, 4000 and 9000 on Linux 6.12.
SEGMENT_MEMORY_BYTES = 844


def frame_bytes(mtu: int) -> int:
    """Return the Ethernet frame of a full packet of a link, without preamble, bytes."""
    return mtu + ETHERNET_BYTES


def segment_bytes(mtu: int) -> int:
    """Return the payload of a full TCP segment, bytes: 1448 at an MTU of 1500."""
    return mtu - TCP_IP_BYTES


def stream_bytes(mtu: int) -> int:
    """Return the stream data in a full QUIC packet, bytes: 1439 at an MTU of 1500."""
    return min(mtu, MTU) - QUIC_OVERHEAD_BYTES


def datagram_bytes(mtu: int) -> int:
    """Return the UDP payload of a full QUIC packet, bytes: 1472 at an MTU of 1500."""
    return min(mtu, MTU) - UDP_IP_BYTES


def memory_bytes(mtu: int) -> int:
    """Return what Linux accounts for a full TCP segment (its truesize), bytes; measured."""
    return mtu + SEGMENT_MEMORY_BYTES


def datagram_memory_bytes(packet: int) -> int:
    """Return the most that Linux accounts for a datagram that waits in a socket, bytes: its IP
    packet in a power of two, and structures.
    """
    return 2 * packet + SEGMENT_MEMORY_BYTES
