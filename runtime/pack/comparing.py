"""Comparison of a file of a pack with what follows from its cells.

Equal bytes, or equal content where libraries write other bytes.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from fairc.runtime.store import tables

TEXTS = (".html", ".svg", ".md", ".json", ".csv", ".tex", ".cff")
LARGER_BYTES = 1 << 16
"""The most bytes beyond twice our size that a file may have to be compared at all."""
CLOSE = 1e-9
"""Largest relative difference of decimal fractions: processors sum in different orders."""
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")


def same(name: str, ours: Path | bytes, theirs: Path) -> bool:
    """Return whether a file of a pack says what ours says. Raises OSError."""
    if not theirs.is_file():
        return False
    mine = ours if isinstance(ours, bytes) else ours.read_bytes()
    size = theirs.stat().st_size
    may_differ = name.endswith((".parquet", *TEXTS))
    if size > 2 * len(mine) + LARGER_BYTES or (size != len(mine) and not may_differ):
        return False  # unread, whatever its size
    if theirs.read_bytes() == mine:
        return True
    if name.endswith(".parquet") and isinstance(ours, Path):
        return tables.same(ours, theirs)
    if name.endswith(TEXTS):
        return same_text(mine.decode(), theirs.read_bytes().decode(errors="replace"))
    return False


def same_text(mine: str, theirs: str) -> bool:
    """Return whether two texts are equal but for the last digits of decimal fractions."""
    first, second = _NUMBER.split(mine), _NUMBER.split(theirs)
    if len(first) != len(second) or first[::2] != second[::2]:
        return False
    return all(
        a == b or ("." in a and math.isclose(float(a), float(b), rel_tol=CLOSE))
        for a, b in zip(first[1::2], second[1::2], strict=True)
    )
