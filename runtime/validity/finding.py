"""What a check finds: its severity, and a sentence on what is not as planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from fairc.runtime.measurement import Measurement

Verdict = Literal["valid", "flagged", "invalid"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: its severity, and a sentence on what is not as planned."""

    verdict: Literal["flagged", "invalid"]
    reason: str


BUSY = "the machine was too busy: run fewer cells at once (`--jobs`), at lower rates, or on `uml`"
"""The likely cause of what comes late, and what to do."""


def see(file: str) -> str:
    """Say where to look, among the raw artefacts of a cell (docs/reference/artefacts.md)."""
    return f"see {file} in the cell's raw.tar.zst"


Check = Callable[[Measurement], Iterator[Finding]]
