"""Pings on the idle network: what counts as an answer."""

from __future__ import annotations

import struct

import pytest

from fairc.cell.observation import _is_undamaged

# An echo reply (RFC 792), identifier 1, number 7, with 16 bytes of zeros; its sum by RFC 1071.
REPLY = struct.pack("!BBHHH16x", 0, 0, 0xFFFF - 8, 1, 7)


def test_a_reply_as_it_was_sent_counts() -> None:
    assert _is_undamaged(REPLY)


@pytest.mark.parametrize("bit", range(0, len(REPLY) * 8, 5))
def test_a_flipped_bit_is_found(bit: int) -> None:
    """A flipped number would be taken for another ping, sent at another time."""
    damaged = bytearray(REPLY)
    damaged[bit // 8] ^= 1 << bit % 8
    assert not _is_undamaged(bytes(damaged))
