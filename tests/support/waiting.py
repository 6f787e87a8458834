"""Waiting for what a test has started."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
LIMIT_S = 120.0


def eventually(
    condition: Callable[[], T | None],
    limit_s: float = LIMIT_S,
    process: subprocess.Popen[str] | None = None,
) -> T:
    """Return what a condition says as soon as that is something.

    process: what is to bring it about, with its streams in pipes. It must not end before; when the
    wait fails, it is ended, and what it said is the reason.
    """
    until = time.monotonic() + limit_s
    while not (found := condition()):
        ended = process is not None and process.poll() is not None
        if not ended and time.monotonic() < until:
            time.sleep(0.02)
            continue
        said = "" if process is None else _last_words(process)
        raise AssertionError(f"it ended before: {said}" if ended else f"it never happened: {said}")
    return found


def completed(
    command: Sequence[str | Path], *, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; return its status and, as text, what it printed.

    check: whether it must succeed. options: others of `subprocess.run`.
    """
    return subprocess.run(command, capture_output=True, text=True, check=check, **options)


def ended(process: subprocess.Popen[str], limit_s: float = LIMIT_S) -> tuple[str, str]:
    """Wait for the end of a process; return what it printed, and its errors.

    process: with its streams in pipes. When it does not end, it is killed, and what it said is the
    reason.
    """
    try:
        return process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"it did not end: {_last_words(process)}") from None


def _last_words(process: subprocess.Popen[str]) -> str:
    """Kill a process and return what it said; what it has started may still hold its streams."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        return " ".join(text for text in process.communicate(timeout=10) if text)
    return "its streams are still open"
