"""The folder in which fairc keeps what it has built."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return fairc's folder in the user's cache directory (XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "fairc"
