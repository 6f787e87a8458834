"""The console script `fairc`: handles Ctrl-C before anything else is imported."""

from __future__ import annotations

from fairc.cli import interruption


def main() -> None:
    """Run the command line and exit with its status."""
    interruption.begin()
    from fairc.__main__ import main as run

    try:
        run()
    except SystemExit as end:
        _leave(end)


def _leave(end: SystemExit) -> None:
    """End this program after its exit handlers, but leave freeing its objects to the kernel.

    Freeing a million objects one by one takes as long as two `fairc --help`. A thread that is still importing
    (`cli/ahead.py`) is waited for, as at any exit.
    """
    import atexit
    import os
    import threading

    alone = threading.active_count() == 1
    if isinstance(end.code, int) and alone:  # and all output has been flushed (console.finish)
        atexit._run_exitfuncs()
        os._exit(end.code)
    raise end
