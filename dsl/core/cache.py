"""The folder in which fairc keeps what it has built."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return fairc's folder in the user's cache directory (XDG base directory specification, which
    ignores relative paths: kernels of a stranger's working directory would run).
    """
    named = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    base = named if named.is_absolute() else Path("~/.cache").expanduser()
    return base / "fairc"
