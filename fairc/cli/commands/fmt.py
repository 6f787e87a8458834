"""The command line of `fairc fmt`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, quiet, type_path


@click.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=type_path)
@click.option(
    "--check", is_flag=True, help="Change nothing; exit with status 1 if a file is not formatted."
)
@click.option("--diff", is_flag=True, help="Change nothing; print what would change.")
@quiet()
def fmt() -> None:
    """Give experiments their canonical layout; comments and line breaks are kept.

    A file that does not parse is not touched. Layout has no meaning, so the plan stays the same.
    """
