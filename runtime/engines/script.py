"""The end of a cell's script, read from its artefacts."""

from __future__ import annotations

import json
from pathlib import Path

from fairc.cell.expansion import MAX_DRAIN_NS
from fairc.dsl.core.source import printable

# Of cell.json: that of a thousand flows has a tenth of a MB.
MOST_BYTES = 64 << 20
MOST_CHARACTERS = 2000

MOST_ENDING_S = 2 * MAX_DRAIN_NS / 1e9
"""After a cell's end: for clients to end, and then for queues to drain."""


def one_line(text: str) -> str:
    """Return what a cell said of itself, which may be anything, as a printable line of limited
    length.
    """
    return printable(" ".join(text.split())[:MOST_CHARACTERS])


def failure(artefacts: Path) -> str | None:
    """Return a script's reason for the failure of its cell; empty when it ran to its end.

    None when it left no such record. Raises ValueError for a malformed cell.json.
    """
    path = artefacts / "cell.json"
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("it is too large")
        document = json.loads(path.read_text())
        if document["ended_by"] != "failed":
            return ""
        return one_line(f"the script failed: {'; '.join(document['notes'])}")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"the script left a broken cell.json: {error!r}") from None


def ending(artefacts: Path, console: str) -> str:
    """Return why a script ended prematurely; empty when it ran to its end."""
    try:
        reason = failure(artefacts)
    except ValueError as error:
        return str(error)
    if reason is None:
        last = (console.strip().splitlines() or ["it printed nothing"])[-1]
        return one_line(f"the script ended early: {last}")
    return reason
