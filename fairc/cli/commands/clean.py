"""The command line of `fairc clean`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, quiet, type_path


@click.command(cls=Command)
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=type_path)
@click.option(
    "--raw", is_flag=True, help="Also remove the raw artefacts of the RUNs (or of results/*)."
)
@quiet()
def clean() -> None:
    """Remove leftovers of crashed runs: processes, namespaces, containers, files.

    fairc marks everything that it starts, and keeps everything that belongs to a running fairc.
    """
