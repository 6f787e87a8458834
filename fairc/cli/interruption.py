"""Ctrl-C, handled in one place: whatever is running at the time, the command says so and exits with
130.

An interruption reaches Python code as KeyboardInterrupt, and not all code passes that on: a
finalizer loses it, DuckDB turns it into an error of its own, a library may swallow it. So it is
recorded here when it comes, sent again if a finalizer has lost it, and decides how the command
ends, whatever was raised. Before and after the command, when nothing is in progress, it ends the
program at once. This is the first module of fairc to be imported, so it imports little itself.
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
# Delay before a lost interruption is sent again, s.
AGAIN_S = 0.02

_working = False
_came = False
_kept = ""


def begin() -> None:
    """Handle Ctrl-C from now on, unless the parent process has it ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _on_signal)


def end_on_sigterm() -> None:
    """Treat SIGTERM as an interruption, too."""
    signal.signal(signal.SIGTERM, _on_signal)


def keeps(kept: str) -> None:
    """Set what the message of an interruption says: what is kept, and how to go on."""
    global _kept
    _kept = kept


def came() -> bool:
    """Return whether this command has been interrupted."""
    return _came


def message() -> str:
    """Return the message about an interruption."""
    return f"interrupted: {_kept}" if _kept else "interrupted"


def handled() -> None:
    """Have the program end with its own exit status, after it has handled an interruption.

    CPython ends a program by SIGINT if a KeyboardInterrupt has left an exec() of text, such as that
    which makes a dataclass while a module is imported, even if it was caught then. The next exec()
    forgets it (Python/pythonrun.c, run_eval_code_obj).
    """
    exec("")  # noqa: S102  the text is empty


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


def _on_signal(number: int, frame: FrameType | None) -> None:
    global _came
    _came = True
    if _working:
        raise KeyboardInterrupt
    if number == signal.SIGINT:  # nothing is in progress that could be left half done
        os.write(2, f"{message()}\n".encode(errors="replace"))
        os._exit(STATUS)


def _lost(what: Any) -> bool:
    """Resend an interruption that a finalizer or a callback could not pass on; return whether it
    was one.
    """
    lost = issubclass(what.exc_type, KeyboardInterrupt) and _working
    if lost:
        import threading

        target = threading.main_thread().ident
        again = threading.Timer(AGAIN_S, signal.pthread_kill, (target, signal.SIGINT))
        again.daemon = True
        again.start()
    return lost
