"""Sizes of frames on the wire."""

FRAME_BYTES = 1514  # a full Ethernet frame without preamble: MTU 1500 and the header
PACKET_BYTES = 1500
"""A full IP packet."""
