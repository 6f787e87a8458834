"""The folder in which fairc keeps what it has built."""

from __future__ import annotations

import os
from pathlib import Path

NO_HOME = Path("/nonexistent")
"""The home of a user who has none, as in a container: there is nothing, and messages name it."""


def cache_directory() -> Path:
    """Return fairc's folder in the user's cache directory (XDG base directory specification, which
    ignores relative paths: kernels of a stranger's working directory would run).
    """
    named = os.environ.get("XDG_CACHE_HOME") or ""
    for place in (named, "~/.cache"):
        path = Path(os.path.expanduser(place))  # noqa: PTH111  pathlib raises without a home
        if path.is_absolute():
            return path / "fairc"
    return NO_HOME / ".cache" / "fairc"
