"""The rules of measurement that metrics and verdicts cite as `measurement.md, rule N`: what makes a
number publishable.

The report includes those that its metrics cite, `fairc show METRIC` prints them,
docs/trust/measurement.md has all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

CITED = re.compile(r"measurement\.md,\s+rules?\s+([0-9]+)(?:(\s+(?:to|and)\s+)([0-9]+))?")

TEXT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
"""The rules as a numbered list, by section."""

RULES: Mapping[int, str] = MappingProxyType(
    {
        int(number): " ".join(rule.split())
        for number, rule in re.findall(r"^(\d+)\. (.+(?:\n {3}.+)*)", TEXT, re.MULTILINE)
    }
)
"""The rules by number, from 1."""


def cited(text: str) -> tuple[int, ...]:
    """Return the numbers of the rules that a text cites, ascending.

    >>> cited("RFC 6298; measurement.md, rules 1 and 19. Also measurement.md, rules 15 to 17.")
    (1, 15, 16, 17, 19)
    """
    found: set[int] = set()
    for match in CITED.finditer(text):
        first, last = int(match[1]), int(match[3] or match[1])
        found |= set(range(first, last + 1)) if "to" in (match[2] or "") else {first, last}
    return tuple(sorted(found))
