"""The command line: `fairc`, or `python -m fairc`. What it promises: docs/run/cli.md.

What a command does is imported when it is called, so all help imports click alone. Ctrl-C is
handled before any of these imports; only during Python's own start-up does it still give a
traceback.
"""

from __future__ import annotations

import gc

from fairc.cli import interruption

if __name__ == "__main__":
    interruption.begin()
    gc.disable()  # as in start.py

import os
import sys

from fairc.cli import console
from fairc.cli.commands import fairc
from fairc.cli.failures import Status, guarded


def main() -> None:
    """Run the command line and exit with its status."""
    # A command makes millions of objects that live until it ends; searching them for cycles at the
    # usual rate takes a fifth of its time.
    gc.set_threshold(100_000, 20, 20)
    # Nothing that extends pydantic is wanted; it would look for it in every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    interruption.begin()
    console.prepare()
    status = guarded(lambda: fairc.main(prog_name="fairc", standalone_mode=False))
    if status not in (Status.WELL, Status.NOT_ALL_VALID):
        # An exception may keep alive what DuckDB's extension then complains of as Python ends.
        gc.unfreeze()
    sys.exit(status)


if __name__ == "__main__":
    main()
