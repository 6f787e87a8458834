"""Files that a spec reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Input:
    """A file that a spec reads: its path from the folder of the spec, its SHA-256."""

    path: str
    sha256: str
