"""All strategies."""

from __future__ import annotations

from . import archives, damage, documents, kills, privileged, repeats, specs

STRATEGIES = (
    *specs.STRATEGIES,
    *documents.STRATEGIES,
    *archives.STRATEGIES,
    *privileged.STRATEGIES,
    *kills.STRATEGIES,
    *damage.STRATEGIES,
    *repeats.STRATEGIES,
)
