"""The command line of `fairc trace`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, form, quiet, type_path


@click.command(cls=Command)
@click.argument("file", type=type_path)
@click.argument("arguments", required=False, default="")
@form("text", "json")
@quiet()
def trace() -> None:
    """Show what fairc reads from a recording: duration, statistics, course.

    ARGUMENTS are those of `trace` in an experiment, such as 'column: "rate_mbps", missing: hold'.
    """
