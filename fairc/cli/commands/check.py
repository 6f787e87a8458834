"""The command line of `fairc check`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, form, quiet, settings, type_path


@click.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=type_path)
@settings()
@form(
    *("full", "concise", "json", "github"),
    help="json and github (workflow annotations) go to standard output.",
)
@quiet()
def check() -> None:
    """Parse and check experiments; run nothing. FILE may be `-`: standard input.

    Features that cannot run yet are warnings here, and errors in `plan` and `run`.
    """
