"""Lines for `ip -batch` and `tc -batch`: words between single spaces, and nothing that ends a line.

The plan's types let no such character in (compiler/plan/text.py). This is the border where lines
are made, and it does not rely on that.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"[!-~]+(?: [!-~]+)*", re.ASCII)
_OBEYED = frozenset("\"'\\#;|&$`<>(){}*?~!^")
"""What a batch of iproute2 (quotes, backslash, comments), or a shell, would read as more than itself."""


def line(text: str) -> str:
    """Return a line of a batch as it is. Raises ValueError for one that is not only words."""
    if not _LINE.fullmatch(text) or not _OBEYED.isdisjoint(text):
        raise ValueError(f"not a line of a batch: {text!r}")
    return text


def word(value: str) -> str:
    """Return a single word of a line as it is. Raises ValueError for anything that is not one."""
    if " " in value:
        raise ValueError(f"not one word: {value!r}")
    return line(value)
