"""Colours of a scale, light to dark, so that they keep their order in grey and for every eye.

They are not the page's colours, because those follow light and dark and a scale must not.
"""

from __future__ import annotations

# |F| from fair to unfair: green to red as the studies of session fairness draw it, each step darker
# than the one before, so that lightness alone shows it as well.
FAIR_TO_UNFAIR = ("#c2e8b4", "#efc964", "#e58a3a", "#c13f2e", "#6f0f1d")

# Any other metric: matplotlib's viridis, backwards, which is perceptually uniform.
UNIFORM = "viridis_r"

# Text and markers in a coloured cell.
DARK, LIGHT = "#101418", "#fdfdfe"


def luminance(colour: tuple[float, float, float]) -> float:
    """Return the relative luminance of an sRGB colour, 0 to 1 (WCAG 2.1)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(colour: tuple[float, float, float]) -> str:
    """Return dark or light, whichever has more contrast on the colour (WCAG 2.1)."""
    y = luminance(colour)
    return DARK if (y + 0.05) / 0.05 > 1.05 / (y + 0.05) else LIGHT
