"""The command line of `fairc plan`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, engine, form, jobs, quiet, settings, type_path


@click.command(cls=Command)
@click.argument("file", type=type_path)
@settings()
@jobs()
@form("text", "json")
@engine()
@quiet()
def plan() -> None:
    """Show cells, estimated time and disk, and warnings; run nothing."""
