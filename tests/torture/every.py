"""All strategies."""

from __future__ import annotations

from . import documents, kills, specs

STRATEGIES = (*specs.STRATEGIES, *documents.STRATEGIES, *kills.STRATEGIES)
