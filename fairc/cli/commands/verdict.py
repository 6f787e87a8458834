"""The command line of `fairc verdict`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, form, quiet, type_run


@click.command(cls=Command)
@click.argument("run", metavar="RUN|PACK", type=type_run)
@form("text", "json", "junit", "md", help="junit and md are for CI and its comments.")
@click.option(
    "--strict",
    is_flag=True,
    help="Also exit with 1 when a claim is undecided or cells of the plan were not run.",
)
@quiet()
def verdict() -> None:
    """Decide the claims of a run, and count its valid cells.

    The exit status is 1 when a claim fails or a cell is not valid; with --strict also when a claim
    is undecided or cells of the plan were not run. RUN may be the folder of several experiments:
    all of them count.
    """
