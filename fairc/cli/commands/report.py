"""The command line of `fairc report`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, quiet, type_run


@click.command(cls=Command)
@click.argument("run", metavar="RUN|PACK", type=type_run)
@click.option(
    "--format",
    "forms",
    type=click.Choice(("html", "md", "pdf", "svg", "csv", "tex")),
    multiple=True,
    default=("html",),
    show_default=True,
    help="May be repeated; pdf and svg are the figures, csv and tex the tables.",
)
@click.option(
    "--warmup-sensitivity",
    "warmup",
    is_flag=True,
    help="Also show results with half and with twice the warm-up, from raw artefacts.",
)
@quiet()
def report() -> None:
    """Build the report of RUN from its stored results; run nothing."""
