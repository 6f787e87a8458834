"""The command line of `fairc demo`."""

from __future__ import annotations

from pathlib import Path

import click

from fairc.cli.options import Command, quiet, type_path


@click.command(cls=Command)
@click.argument("folder", type=type_path, default=Path("fairc-demo"))
@quiet()
def demo() -> None:
    """Write an example into FOLDER [default: fairc-demo], run it and show its report.

    Repeat the command to resume, or to show the report.
    """
