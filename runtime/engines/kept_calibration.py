"""The store of calibrations, to which the locks of later runs refer."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairc.compiler.files import whole
from fairc.dsl.core.cache import cache_directory

if TYPE_CHECKING:
    from .base import Engine


def keep(engine: str, identity: str, document: str) -> Path:
    """Write a calibration, as JSON, where the locks of later runs on the same engine find it;
    return the path.
    """
    path = _place(engine, identity)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path, path.parent) as part:
        part.write_text(document + "\n", encoding="utf-8")
    return path


def kept(engine: Engine) -> dict[str, Any] | None:
    """Return what a lock records of the calibration of an engine in its present state; None without
    one.
    """
    try:
        content = _place(engine.name, engine.identity).read_bytes()
        found = json.loads(content)
        readings = found["readings"]
        return {
            "sha256": hashlib.sha256(content).hexdigest(),
            "readings": len(readings),
            "hold": sum(bool(reading["holds"]) for reading in readings),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _place(engine: str, identity: str) -> Path:
    return cache_directory() / "calibrations" / f"{engine}-{identity[:16]}.json"
