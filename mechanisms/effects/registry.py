"""The effects of links of the language, from their folders."""

from __future__ import annotations

from fairc.mechanisms import named

from .effect import EffectEntry

EFFECTS: dict[str, EffectEntry] = {
    name: module.DECLARATION for name, module in named("effects", "declaration")
}
"""By the kind that the plan has of each."""
