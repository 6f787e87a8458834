"""The command line of `fairc doctor`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, quiet


@click.command(cls=Command)
@click.option(
    "--verify",
    "whole",
    is_flag=True,
    help="Read images, kernel, snapshots and endpoints in full and check their hashes.",
)
@quiet()
def doctor() -> None:
    """Show what this machine offers each engine; exit status 3 when none can run.

    With --verify, also check the hashes of what cells run on; exit status 3 when something is
    damaged.
    """
