"""Names of groups, panels and axes in captions, titles and legends."""

from __future__ import annotations

from collections.abc import Sequence

from fairc.runtime.formatting import listed, one_line


def worded(names: Sequence[str], key: Sequence[str]) -> str:
    """Return `loss = 1%, flow = bbr`."""
    return ", ".join(
        f"{one_line(n)} = {one_line(v) or 'none'}" for n, v in zip(names, key, strict=True)
    )


def headed(*parts: str) -> str:
    """Return what a group is called in a text: its panel's heading and its own name, `all` without
    either.
    """
    return ", ".join(filter(None, parts)) or "all"


def valued(key: Sequence[str]) -> str:
    """Return `1%, bbr`: for labels whose names are in the heading."""
    return ", ".join(one_line(v) or "none" for v in key)


def by_text(names: Sequence[str]) -> str:
    """Return `by loss and flow`, or nothing."""
    return f"by {listed([one_line(n) for n in names])}" if names else ""
