"""The console script `fairc`: handles Ctrl-C before anything else is imported."""

from __future__ import annotations

import gc

from fairc.cli import interruption


def main() -> None:
    """Run the command line and exit with its status."""
    interruption.begin()
    gc.disable()  # what is imported stays; `Command` enables it
    from fairc.__main__ import main as run

    run()
