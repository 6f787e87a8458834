"""The endpoints' program, for the engines that run it."""

from __future__ import annotations

from pathlib import Path

from fairc.compiler.binary import EndpointsMissing, find_endpoints
from fairc.runtime.host.faults import EngineUnavailable


def endpoints() -> Path:
    """Return where the endpoints' program is. Raises EngineUnavailable."""
    try:
        return find_endpoints()
    except EndpointsMissing as problem:
        raise EngineUnavailable((str(problem),), "make setup") from problem
