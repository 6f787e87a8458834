"""Files of the cache that a machine has compiled, each behind its hash."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from fairc.compiler.files import content
from fairc.runtime.host import clean, supervisor

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
    clean.remove_temporary(place.parent)  # what was left when writing was killed
    prefix = supervisor.temporary_prefix("kept")
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place.parent) as scratch:
        part = Path(scratch, place.name)
        part.write_bytes(hashlib.sha256(compiled).digest() + compiled)
        part.replace(place)
