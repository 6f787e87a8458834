"""Hashes: the identity of a cell and the seeds of its random streams, the same on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

# Made once: `json.dumps` makes one for every call.
_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(value: object) -> str:
    """Write a value as canonical JSON: keys sorted, no white space, characters not escaped."""
    return _JSON.encode(value)


def identity(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stream_seed(seed: int, *name: str) -> int:
    """Return the seed of a named random stream, 0 <= seed < 2^63.

    Independent of every other stream: a hash of the parent seed and the stream's name, so that
    adding a flow or link does not change the numbers of any other.
    """
    text = canonical([str(seed), *name])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def cell_seed(seed: int, bindings: Mapping[str, str], repetition: int, *, paired: bool) -> int:
    """Return a cell's seed, 63 bits, from the experiment's.

    paired: leave the bindings out, so that all configurations of a repetition share their
    random streams.
    """
    configuration = "" if paired else canonical(dict(bindings))
    return stream_seed(seed, "cell", configuration, str(repetition))


def draws_seed(seed: int, repetition: int) -> int:
    """Return the seed of the draws that all configurations of a repetition share, 63 bits.

    seed: the experiment's. It is the seed that the cell would have without a sweep, so that
    sweeping a name later does not change the draws of a repetition.
    """
    return cell_seed(seed, {}, repetition, paired=False)


def uniform(seed: int, bound: int, *name: str) -> int:
    """Draw one integer, uniform in [0, bound), from a named stream."""
    return (stream_seed(seed, *name) * bound) >> 63
