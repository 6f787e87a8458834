"""The console script `fairc`: handles Ctrl-C before anything else is imported."""

from __future__ import annotations

from fairc.cli import interruption


def main() -> None:
    """Run the command line and exit with its status."""
    interruption.begin()
    from fairc.__main__ import main as run

    run()
