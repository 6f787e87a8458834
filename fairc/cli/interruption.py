"""Ctrl-C, handled in one place: whatever works at that moment, the command ends with 130 and says so.

An interruption reaches Python code as KeyboardInterrupt, and not everything passes that on: a finalizer
loses it, DuckDB turns it into an error of its own, a library may swallow it. So it is noted here when it
comes, is sent again when a finalizer has lost it, and decides how the command ends, whatever was raised.
While nothing is under way, before the command and after it, it ends the program at once.
This is the first module of fairc that is imported, so it imports little itself.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any

STATUS = 130
# When an interruption that was lost comes again, s.
AGAIN_S = 0.02

_working = False
_came = False
_kept = ""


def begin() -> None:
    """Hear of Ctrl-C from now on, unless whoever started us has it ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _heard)


def end_on_sigterm() -> None:
    """Take SIGTERM for an interruption, too."""
    signal.signal(signal.SIGTERM, _heard)


def keeps(kept: str) -> None:
    """Say from now on, if interrupted, what is kept and how to go on."""
    global _kept
    _kept = kept


def came() -> bool:
    """Whether this command has been interrupted."""
    return _came


def message() -> str:
    """Return the message about it."""
    return f"interrupted: {_kept}" if _kept else "interrupted"


@contextmanager
def working() -> Iterator[None]:
    """Have interruptions raise KeyboardInterrupt while a command works; forget earlier ones."""
    global _working, _came, _kept
    _came, _kept = False, ""
    before = sys.unraisablehook

    def hook(what: Any) -> None:
        if not _lost(what):
            before(what)

    sys.unraisablehook = hook
    _working = True
    try:
        yield
    finally:
        _working = False
        sys.unraisablehook = before


def _heard(number: int, frame: FrameType | None) -> None:
    global _came
    _came = True
    if _working:
        raise KeyboardInterrupt
    if number == signal.SIGINT:  # nothing is under way that could be half done
        os.write(2, f"{message()}\n".encode(errors="replace"))
        os._exit(STATUS)


def _lost(what: Any) -> bool:
    """Send an interruption again that a finalizer or a callback could not pass on; True if it is one."""
    lost = issubclass(what.exc_type, KeyboardInterrupt) and _working
    if lost:
        import threading

        target = threading.main_thread().ident
        again = threading.Timer(AGAIN_S, signal.pthread_kill, (target, signal.SIGINT))
        again.daemon = True
        again.start()
    return lost
