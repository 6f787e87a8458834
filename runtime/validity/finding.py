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


Check = Callable[[Measurement], Iterator[Finding]]
