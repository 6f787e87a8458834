"""Diffserv code points: six bits of the IP header that name a packet's class (RFC 2474).

Names are those of RFC 4594, with `va` (RFC 5865) and `le` (RFC 8622).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairc.dsl.core.kinds import Words
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Value

CODE_POINTS: Mapping[str, int] = {
    **{f"cs{precedence}": 8 * precedence for precedence in range(8)},
    **{f"af{group}{drop}": 8 * group + 2 * drop for group in range(1, 5) for drop in range(1, 4)},
    "va": 44,
    "ef": 46,
    "le": 1,
}
"""The code points by their names; `cs0` is best effort, what packets have that ask for nothing."""

_NAMES: Words[str] = Words("code point", tuple(CODE_POINTS))


@dataclass(frozen=True)
class CodePoint:
    """The name of a code point."""

    phrase: str = "a Diffserv code point (`cs0` to `cs7`, `af11` to `af43`, `va`, `ef`, `le`)"

    def take(self, value: Value, use: str, at: Span | None = None) -> int:
        """Return the six bits. Raises CompileError for any other value."""
        return CODE_POINTS[_NAMES.take(value, use, at)]


A_CODE_POINT = CodePoint()
