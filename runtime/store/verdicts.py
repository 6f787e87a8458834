"""How a cell came out, and whether it counts: from its status and the verdict on its set-up."""

from __future__ import annotations


def counts(status: str, verdict: str | None) -> bool:
    """Whether a cell enters summaries: it finished and its set-up is not invalid."""
    return status == "ok" and verdict != "invalid"


def word(status: str, verdict: str | None) -> str:
    """Return `valid`, `flagged`, `invalid` or `failed`."""
    return verdict if status == "ok" and verdict else "failed"
