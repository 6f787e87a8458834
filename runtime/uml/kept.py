"""Files of the cache that a machine has compiled, each behind its hash."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from fairc.compiler.files import content

HASH_BYTES = hashlib.sha256().digest_size


def read(place: Path) -> bytes | None:
    """Return what was written; None: it is not there, or damaged."""
    try:
        written = content(place)
    except OSError:
        return None
    sha256, compiled = written[:HASH_BYTES], written[HASH_BYTES:]
    return compiled if hashlib.sha256(compiled).digest() == sha256 else None


def write(place: Path, compiled: bytes) -> None:
    """Write a file of the cache, whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
        file.write(hashlib.sha256(compiled).digest() + compiled)
    Path(file.name).replace(place)
