"""Digests of many rows at once: 64 bits each that distinguish rows of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UInt64s = NDArray[np.uint64]

# 2^64 over the golden ratio, made odd (Knuth, The Art of Computer Programming 3, section 6.4).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)


def absorb(digest: UInt64s, words: UInt64s) -> UInt64s:
    """Return the digests after one more word of each row, both of shape (rows,).

    A bijection of the word for a given digest, so rows that differ in only one word never collide.
    """
    mixed: UInt64s = (digest ^ words) * _MULTIPLIER
    return mixed ^ (mixed >> _FOLD)
