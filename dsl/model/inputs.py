"""Files that a spec reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Input:
    """A file that a spec reads: its path relative to the spec's folder, and its SHA-256."""

    path: str
    sha256: str
