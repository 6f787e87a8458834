"""Waiting for what a test has started."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(
    condition: Callable[[], T],
    limit_s: float = 120.0,
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
        said = ""
        if process is not None:
            process.kill()
            said = " ".join(text for text in process.communicate() if text)
        raise AssertionError(f"it ended before: {said}" if ended else f"it never happened: {said}")
    return found
